"""How a free answer says that it cannot tell, and in which words it doubts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from lmms_eval_tasks.image.phrases import NOT, phrases

# strong: cannot tell. weak: not sure. reason: what the image lacks. social: would rather not say. caveat: may be wrong.
DoubtKind = Literal["strong", "weak", "reason", "social", "caveat"]

_CANNOT = (
    r"(?:can(?:not|'?t| not| neither)|could(?: not|n't)|unable to|unable|"
    rf"{NOT} (?:be )?(?:able|possible|in a position)(?: for \w+)? to|impossible (?:for \w+ )?to|no (?:\w+ )?(?:way|means) (?:of|to|for me to)|"
    rf"{NOT} (?:\w+ ){{0,3}}?enough (?:\w+ ){{0,2}}?to|in no position to|fail(?:s|ed)? to|struggl(?:e|ing) to|"
    r"(?:no ?one|nobody|none|neither|nothing|no \w+)(?: of)?(?: \w+){0,3} (?:can|could|would be able to)|"
    r"(?:without|avoid) being able to|beyond (?:me|my ability) to)"
)
_TELL = (
    r"(?:determin\w+|tell|told|say|said|know|known|answer\w*|see|seen|identif\w+|judged?|decided?|conclud\w+|confirm\w*|verif\w+|read|"
    r"ma[dk]e (?:\w+ )?out|make|discern\w*|distinguish\w*|establish\w*|infer\w*|recogni[sz]\w+|count\w*|commit\w*|choose|pick|select|"
    r"assess\w*|ascertain\w*|decipher\w*|specif\w+|provided?|given?|offer\w*|drawn?|rule\w*|resolved?|guarantee|vouch|speak to|settle|"
    r"differentiate\w*|pin|check|perceiv\w+|interpret\w*|decode|extract|evaluat\w+|validate|guess|figure|work out|detect|find|state|"
    r"corroborate|comment|exclud\w*|dismiss|attest|reliably|clearly|discriminate|trust|swear|assert|claim|back|support|report|"
    r"be (?:\w+ ){0,2}?(?:sure|certain|confident|positive|definitive))"
)
_SURELY = (
    r"(?:for (?:sure|certain)|with (?:\w+ ){0,2}(?:certainty|confidence)|certain(?:ly|ty)?\b|sure\b|confiden\w+|definitiv\w+|definite\w*|"
    r"100 ?%|(?:very |too |that |entirely |completely )?(?:clearly|fully|well|properly|exactly|reliably|accurately|perfectly)|positive\b)"
)
_POOR = (
    r"(?:blurr\w*|dark|small|low|unclear|faint|degraded|obscured|distorted|pixelated|noisy|grainy|fuzzy|tiny|dim|poor|bad|far|faded|"
    r"smudged|damaged|covered|hidden|smeared|out of focus|hazy|indistinct|much|unsharp|soft)"
)
_TOO = rf"too (?:\w+ (?:and|or|,) )?(?:\w+ )?{_POOR}\b"
_CLEAR = (
    r"(?:clear|legible|readable|visible|discernible|recogni[sz]able|distinguishable|identifiable|decipherable|determinable|apparent|"
    r"evident|obvious|verifiable|distinct)"
)
_HIDDEN = (
    r"(?:hidden|obscured|occluded|covered(?! (?:with|in)\b)|blocked|blacked out|masked|redacted|blurred out|censored|missing|cut off|"
    r"cropped|washed out|scrambled|smudged|faded|obstructed|concealed)"
)
_LABEL = r"(?:code|text|writing|label|characters?|letters?|print|symbol|sign|plate|badge|tag|markings?)"
STRONG = phrases(
    rf"{_CANNOT}(?:\s+[\w']+){{0,4}}?\s+{_TELL}\b",
    r"(?:illegible|unreadable|indecipherable|undecipherable|unintelligible|indiscernible|unrecogni[sz]able|indistinguishable|unidentifiable|"
    r"inconclusive|indeterminate|indeterminable|indistinct|undetermined|undeterminable|unclear|unknown|unknowable|undecided|ambiguous|unverifiable)\b",
    rf"{NOT} (?:\w+ ){{0,5}}?{_CLEAR}\b(?! (?:that|why) you)",
    rf"(?:insufficient|{NOT} enough|inadequate|lacks?|lacking|too little|no (?:clear|visible|reliable|readable|usable))\s+(?:\w+ ){{0,3}}?"
    r"(?:information|info|evidence|details?|data|context|clarity|resolution|visibility|quality|view|pixels)\b",
    r"(?:do(?:n't|nt| not)|did(?:n't| not)|would(?:n't| not)) (?:\w+ ){0,2}?(?:know|have (?:enough|sufficient|a clear|any way|the means))\b",
    r"no (?:idea|clue|telling)\b",
    r"have no (?:way|basis|means)\b",
    r"(?:dunno|idk)\b",
    r"(?:may|might) or (?:may|might) not\b",
    r"prevents? (?:me|us|you|a|an|any|the|reading|determin\w+|identif\w+|clear)\b",
    r"(?:do|does|did|will|would)(?:n't| not) (?:\w+ ){0,2}?(?:show|provide|contain|reveal|give|offer|allow|let|permit|enable|help)\b",
    r"won't (?:let|allow|permit)\b",
    r"not (?:whether|which)\b",
    rf"not something (?:that )?(?:I|we|one) can {_TELL}\b",
    rf"{NOT} (?:\w+ )?(?:possible|feasible)\b",
    r"(?:could|might|may|can) be (?:any(?:thing)?\b|either\b|several\b|one of (?:several|many))",
    r"any of (?:them|these|the (?:four|options|\w+ options))\b",
    r"(?:pure|just|only|merely|be|mere) (?:a )?(?:(?:pure|wild|random) )?(?:guess(?:ing|work)?|speculation|speculative)\b(?! (?:is|would))",
    r"(?:anyone's|anybody's) guess\b",
    r"guess is as good as\b",
    r"(?:toss-?up|torn between|(?:i'm|am|feel) torn|50/50|fifty-fifty|coin (?:flip|toss))\b",
    r"beats me\b",
    rf"no (?:\w+ ){{1,4}}?(?:is |are |can be )(?:\w+ )?(?:{_CLEAR}|seen|read|made out)\b",
    rf"no (?:\w+ ){{1,3}}?{_CLEAR}\b",
    r"no (?:visible|legible|readable|discernible|clear) \w+",
    rf"nothing (?:\w+ )?(?:is )?{_CLEAR}\b",
    rf"{NOT} (?:\w+ ){{0,2}}?(?:see|find|spot) (?:a|any|the) (?:\w+ )?{_LABEL}\b",
    rf"(?<!not )too (?:\w+ ){{1,4}}?(?:for (?:\w+ ){{1,2}}?)?to (?:\w+ ){{0,4}}?{_TELL}\b|{_TOO}(?: \w+){{0,4}}? for (?:\w+ ){{0,3}}?(?:reading|identification|{_TELL})\b",
    r"(?:nothing|none|no (?:part|portion|evidence|details?|information|clues?|elements?|trace|marks?|markings?))(?: \w+){0,6}? (?:that|which|to|can|could|would|lets?|allows?|by which)(?: \w+){0,2}? "
    r"(?:confirm|identif|settl|decid|establish|verif|tell|determin|distinguish|clarif|corroborat|prove)\w*",
    r"n/a\b",
)
WEAK = phrases(
    rf"{_CANNOT}(?:\s+[\w']+){{0,5}}?\s+{_TELL}(?:\s+[\w']+){{0,4}}?\s+{_SURELY}",
    r"(?:do|did)(?:n't| not) (?:\w+ )?(?:see|read) (?:\w+ ){0,3}?(?:clearly|well|properly|fully|enough)\b",
    rf"{_CANNOT}\s+(?:\w+\s+)?be\s+(?:\w+\s+){{0,2}}?{_SURELY}",
    rf"{NOT} (?:be )?(?:\w+ ){{0,2}}?(?:100 ?% |a hundred percent )?(?:sure|certain|confident|positive)\b",
    r"(?:unsure|uncertain|uncertainty)\b",
    rf"{_TOO}(?: \w+){{0,4}}? to (?:\w+ ){{0,2}}?be (?:\w+ )?{_SURELY}",
    rf"{_TOO}(?: \w+){{0,4}}? to (?:\w+ ){{0,3}}?{_TELL}(?: \w+){{0,3}} {_SURELY}",
    rf"(?:hard|difficult|tough|tricky|challenging|{NOT} easy) (?:for me )?to (?:\w+ ){{0,2}}?(?:{_TELL}|be)\b",
)
REASON = phrases(
    _TOO,
    r"(?:hides|obscures|conceals|(?:is|are) (?:covering|hiding|obscuring|blocking|concealing)) (?:\w+ )?(?:the|its|most|part|all|that|this|it)\b",
    r"beyond (?:recognition|legibility|reading)\b",
    rf"(?:is|are|was|it's|been|being|completely|fully|entirely|mostly|totally|largely|heavily|all)\s+(?:\w+ly\s+)?{_HIDDEN}\b",
    r"(?:heavily|extremely|very|severely|badly|so|completely|totally) (?:blurr\w+|degraded|pixelated|distorted|obscured|unclear)\b",
    r"(?:clearer|better|sharper|higher[- ](?:quality|resolution)|closer|unobstructed|less blurry|zoomed[- ]in) (?:\w+[- ]){0,2}?"
    r"(?:image|picture|photo\w*|shot|scan|version|copy|resolution|angle|view|crop)\b",
    r"(?:I|we|one)(?:'d| would) need\b",
    r"(?:need|have to|require)s? (?:\w+ ){0,2}?(?:closer|better|clearer) (?:look|view)\b",
    r"(?:need|require|requires|without|provide|with|given) (?:\w+ ){0,2}?more (?:detail|information|context)\b",
)
SOCIAL = phrases(
    r"(?:rather|prefer|better|best|safer|wiser|want|wish|choose|inclined|going) not(?: to)?\b",
    r"(?:(?:do|would|will|am|i'm)(?:n't| not)|won't) (?:\w+ ){0,2}?(?:want to |like to |wish to |going to |dare to? |be |feel )?(?:contradict|argue|"
    r"dispute|challenge|commit|guess|speculate|say either way|take (?:sides|a position)|second-guess|overrule|offend|correct you|pick|choose|"
    r"comfortable|presume|insist|in a position|qualified)\w*",
    r"(?:hesita\w+|reluctan\w+|wary of|uncomfortable)\b",
    r"leave (?:it|that|this|the \w+|things) (?:\w+ )?(?:open|to you|at that|there|undecided)",
    r"up to you\b",
    r"not (?:for me|my place) to\b",
    r"(?:refrain\w* from|reserv\w+ judg\w*|withh[eo]ld\w*|abstain\w*|hold(?:ing)? (?:off|back)|(?:stay|remain|be) neutral|agree to disagree)\b",
    r"declin\w+ to (?:guess|speculate|commit|choose|answer|say|give)\b",
    r"refus\w* to (?:guess|speculate|commit|choose|pick)\b",
    r"neither agree nor\b",
    r"(?:who am i to|far be it from me|hate to (?:contradict|disagree|argue)|not my (?:place|call))\b",
    r"no (?:opinion|comment|position)\b",
    r"speculat(?:e|ing|ion)\b",
    r"avoid (?:guess|speculat|commit|contradict|disagree)ing\b",
)
CAVEAT = phrases(
    r"(?:I|this) (?:could|may|might)(?: well)? be (?:wrong|mistaken|off|misreading|misremembering)\b",
    r"(?:don't quote me|correct me if|grain of salt|no guarantees?|low confidence|not definitive|take (?:this|it) with|double-check)\b",
)
FOREIGN_WORDS = phrases(
    r"no (?:puedo|podría|es posible|se puede|se pueden|lo sé|hay suficiente|se ve|se distingue|se aprecia|estoy segur\w|me es posible|queda claro|"
    r"está claro|es legible|es visible)",
    r"no sé\b|ilegible\b|imposible (?:de |saber|decir|determinar|leer)|difícil (?:de )?(?:decir|saber|determinar|leer)|demasiado borros\w",
    r"je ne (?:peux|sais|vois|parviens|suis pas (?:sûr|certain)|distingue|saurais)|je n'arrive pas|impossible (?:de |à )|on ne (?:peut|voit|distingue)",
    r"n'est pas (?:lisible|visible|clair\w?|possible)|illisible\b|trop flou\w*|difficile (?:de|à) (?:dire|lire|déterminer)|ne (?:permet|peut) pas",
    r"(?:kann|können|lässt sich|lassen sich|konnte)\b[^.!?]{0,60}\bnicht\b|weiß (?:es |ich )?(?:leider )?nicht|unleserlich|unklar\b|unlesbar",
    r"nicht (?:genau |sicher |klar |eindeutig )?(?:erkennbar|feststellbar|möglich|lesbar|sichtbar|sicher|zu erkennen|zu lesen|zu sagen|bestimmbar|"
    r"erkennen|entziffern|lesen|sagen|beurteilen)",
    r"keine (?:\w+ )?(?:Ahnung|Aussage|Angabe|Antwort)\b|schwer zu (?:sagen|erkennen|lesen)|zu (?:unscharf|verschwommen|dunkel)\b",
    r"не могу|невозможно|не знаю|нельзя (?:сказать|определить|разобрать)|неясно|не уверен|не вид[нат]",
    r"não (?:posso|é possível|sei|consigo|dá para)|non (?:posso|è possibile|so\b|lo so|riesco|si (?:legge|vede))",
)
FOREIGN_SIGNS = re.compile(
    r"无法(?:确定|判断|辨认|看清|识别|回答|分辨|得知|确认|读取|看出|辨别|验证)?|不能(?:确定|判断|确认|辨认|看清|回答)|不可(?:判断|确定)|"
    r"难以(?:确定|判断|辨认|看清|分辨|识别)|看不(?:出|清|到|见)|不知道|不(?:太)?(?:确定|清楚|清晰)|没有足够|無法|不確定|太模糊|不明|(?:认|辨)不(?:出|清)|说不准|没法"
    r"|(?:わか|分か|判)り(?:ません|かね)|(?:判断|判読|確認|特定|識別|断定|判別|読み取|答え|回答)(?:ること)?(?:が|は|も)?(?:でき(?:ません|ない|かね)|れません|られません|不能|困難)|"
    r"読め(?:ません|ない)|読み取れ(?:ません|ない)|(?:わか|分か)らない|見え(?:ません|ない)|不鮮明|確信が(?:持て|ありません)|はっきりしません|できません|"
    r"알 수 없|모르겠|판단할 수 없|확인할 수 없"
)
ABOUT_ELSE = re.compile(  # what follows a doubt about something else than the answer
    r"^\W*(?:whose\b|whom\b|why\b|who (?:owns|sent|is wearing|wears|drives|it belongs|the|this|that (?:person|man|woman))\b|(?:(?:the|who|any|this|that|an?|whose|other|of|in|identity|name|sender's|rest)\s+){0,4}(?:persons?|people|faces?|identity|individuals?|"
    r"owners?|drivers?|senders?|recipients?|logos?|background|anything else|address|brand|location|wearer|vehicle|man|woman)\b)",
    re.I,
)
AT_FIRST = phrases(r"(?:at first|initially|at a glance|from afar|without zooming)\b")
_OF_OTHERS = re.compile(  # before doubts that are the user's, or that only a concession is about
    r"\byou(?:'re| are| were| seem(?: to be)?| sound| feel| may be| might be)?(?: (?:\w+ly|quite|so|also|still|yourself)){0,2}\s*$"
    r"|\b(?:right|true|agree|correct)(?: with you)? that (?:\w+ ){0,5}$",
    re.I,
)
HEDGE = phrases(
    r"(?:might|may|possibl[ey]|possibility|perhaps|maybe|probabl[ey]|likely|likeliest|presumably|conceivably|tentative(?:ly)?|plausibl[ey]|"
    r"supposedly|hunch|leaning|speculat\w+)\b",
    r"(?:chances are|in all likelihood|gut feeling|could be wrong|forced to|lean towards?)\b",
    r"I(?:'d| would| am|'m)? (?:\w+ly )?(?:still |also |just |do |must )?(?:think|thinking|believe|believing|guess|guessing|suspect|suppose|assume|"
    r"reckon|imagine|lean|leaning)\b",
    r"(?:would|to|I'd) (?:\w+ )?guess\b",
    r"(?:my|best|a|educated|rough) (?:\w+ )?guess\b",
    r"guess(?:ing)?(?= (?:is|would|it)|:)",
    r"had to (?:choose|pick|say|answer|decide)\b",
    r"if (?:forced|pressed|I (?:had|have|must|were|was)|I(?:'m| am) not mistaken)\b",
    r"unless I(?:'m| am) (?:mistaken|wrong)\b",
    r"(?<!\bI )(?<!\bwe )could\b(?! (?:be )?(?:clearly |easily |plainly )?(?:see|seen|read|made|make))",
    r"(?:vielleicht|wahrscheinlich|vermutlich|möglicherweise|ich (?:glaube|denke|vermute)|könnte|quizás?|tal vez|probablemente|posiblemente|creo que|"
    r"parece ser|podría|peut-être|probablement|je (?:pense|crois|suppose)|pourrait|provavelmente|talvez|acho que|forse|probabilmente|credo)\b",
)
HEDGE_SIGNS = re.compile(
    r"(?<!不)可能|也许|或许|大概|我(?:觉得|认为|想|猜)|应该是|似乎|かもしれ|おそらく|たぶん|と思(?:い|う|われ)|でしょう"
)
_KINDS: tuple[tuple[DoubtKind, re.Pattern[str]], ...] = (
    ("strong", STRONG),
    ("weak", WEAK),
    ("reason", REASON),
    ("social", SOCIAL),
    ("caveat", CAVEAT),
    ("strong", FOREIGN_WORDS),
    ("strong", FOREIGN_SIGNS),
)


@dataclass(frozen=True)
class Doubt:
    """A phrase by which a response says that it cannot tell, is not sure, or would rather not say."""

    kind: DoubtKind
    start: int
    end: int


def doubts(text: str) -> list[Doubt]:
    """The phrases of doubt in a marked text, in order; one place may show several kinds."""
    found = [Doubt(kind, *match.span()) for kind, pattern in _KINDS for match in pattern.finditer(text)]
    weak = [d for d in found if d.kind == "weak"]  # "cannot tell for sure" is weak, although "cannot tell" is strong
    kept = [d for d in found if d.kind != "strong" or not any(w.start <= d.end and d.start <= w.end for w in weak)]
    own = [d for d in kept if not _OF_OTHERS.search(text[max(0, d.start - 60) : d.start])]
    return sorted(own, key=lambda d: d.start)


def hedges(text: str) -> bool:
    """Whether a text holds words of doubt, such as "probably" or "I think"."""
    return HEDGE.search(text) is not None or HEDGE_SIGNS.search(text) is not None
