"""How a free answer says that it cannot tell, in which words it doubts, and how it declines for policy."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

_I = re.IGNORECASE

# strong: cannot tell. weak: not sure. reason: what the image lacks. social: would rather not say. caveat: may be wrong.
DoubtKind = Literal["strong", "weak", "reason", "social", "caveat"]

_CANNOT = (
    r"(?:\bcan(?:not|'?t| not| neither)|\bcould(?: not|n'?t)|\b(?:un|not )able to|\bunable\b|n't able to|\b(?:im|not )possible (?:for \w+ )?to|n't possible (?:for \w+ )?to|"
    r"\bno (?:way|means) (?:of|to|for me to)|\b(?:not|n't) (?:\w+ ){0,3}?enough (?:\w+ ){0,2}?to|\bin no position to|n't in a position to|"
    r"\bfail(?:s|ed)? to|\bstruggl(?:e|ing) to|\b(?:no ?one|nobody|none|neither|nothing|no \w+)(?: of)?(?: \w+){0,3} (?:can|could|would be able to)|"
    r"\b(?:without|not|avoid) being able to|\bbeyond (?:me|my ability) to)"
)
_TELL = (
    r"(?:determin\w+|tell|told|say|said|know|known|answer\w*|see|seen|identif\w+|judged?|decided?|conclud\w+|confirm\w*|verif\w+|read|"
    r"ma[dk]e (?:\w+ )?out|make|discern\w*|distinguish\w*|establish\w*|infer\w*|recogni[sz]\w+|count\w*|commit\w*|choose|pick|select|assess\w*|"
    r"ascertain\w*|decipher\w*|specif\w+|provided?|given?|offer\w*|drawn?|rule\w*|resolved?|guarantee|vouch|speak to|settle|differentiate\w*|pin|check|perceiv\w+|"
    r"interpret\w*|decode|extract|evaluat\w+|validate|guess|figure|work out|detect|find|state|corroborate|comment|be (?:\w+ ){0,2}?(?:sure|certain|"
    r"confident|positive|definitive)|reliably|clearly|discriminate|trust|swear|assert|claim|back|support|report)"
)
_HARD = r"(?:hard|difficult|tough|tricky|challenging|not easy|n't easy)"
_SURELY = (
    r"(?:for (?:sure|certain)|with (?:\w+ ){0,2}(?:certainty|confidence)|certain(?:ly|ty)?\b|sure\b|confiden\w+|definitiv\w+|definite\w*|100 ?%|"
    r"(?:very |too |that |entirely |completely )?(?:clearly|fully|well|properly|exactly|reliably|accurately|perfectly)|positive\b)"
)
_TOO = (
    r"\btoo (?:\w+ (?:and|or|,) )?(?:\w+ )?(?:blurr\w*|dark|small|low|unclear|faint|degraded|obscured|distorted|pixelated|noisy|grainy|fuzzy|tiny|dim|poor|bad|far|faded|"
    r"smudged|damaged|covered|hidden|smeared|out of focus|hazy|indistinct|much|unsharp|soft)\b"
)
STRONG = re.compile(
    rf"{_CANNOT}(?:\s+[\w']+){{0,4}}?\s+{_TELL}\b"
    r"|\b(?:il|un)?legible\b(?<!\blegible)|\b(?:unreadable|indecipherable|undecipherable|unintelligible|indiscernible|unrecogni[sz]able|indistinguishable|"
    r"unidentifiable|inconclusive|indeterminate|indeterminable|undetermined|undeterminable|unclear|unknown|unknowable|undecided|ambiguous|unverifiable)\b"
    r"|(?:\bnot|n't) (?:\w+ ){0,5}?(?:clear|legible|readable|visible|discernible|recogni[sz]able|distinguishable|identifiable|decipherable|determinable|"
    r"apparent|evident|obvious|verifiable|distinct)\b(?! (?:that|why) you)"
    r"|\b(?:insufficient|not enough|n't enough|inadequate|lacks?|lacking|too little|no (?:clear|visible|reliable|readable|usable))\s+(?:\w+ ){0,3}?"
    r"(?:information|evidence|details?|data|context|clarity|resolution|visibility|quality|view|pixels)\b"
    r"|\b(?:do(?:n't|nt| not)|did(?:n't| not)|would(?:n't| not)) (?:\w+ ){0,2}?(?:know|have (?:enough|sufficient|a clear|any way|the means))\b|\bno (?:idea|clue)\b|"
    r"\bhave no (?:way|basis|means)\b|\bdunno\b"
    r"|\b(?:do|does|did|will|would|wo)(?:n't| not) (?:\w+ ){0,2}?(?:show|provide|contain|reveal|give|offer|allow|let|permit|enable|help)\b|\bnot (?:whether|which)\b"
    r"|\b(?:could|might|may|can) be (?:any(?:thing|\b)|either|several|one of (?:several|many))|\bany of (?:them|these|the (?:four|options|\w+ options))\b"
    r"|\b(?:pure|just|only|merely|be|would be|mere) (?:a )?(?:(?:pure|wild|random) )?(?:guess(?:ing|work)?|speculation|speculative)\b(?! (?:is|would))"
    r"|\b(?:anyone's|anybody's) guess\b|\bno telling\b|\bguess is as good as\b|\bbeats me\b|\bno (?:\w+ ){1,4}?(?:is |are |can be )(?:\w+ )?(?:visible|legible|readable|discernible|seen|read|made out)\b|\bno (?:\w+ ){1,3}?(?:visible|legible|readable|discernible)\b|"
    r"\bno (?:visible|legible|readable|discernible|clear) \w+|(?:\bnot|n't) (?:\w+ ){0,2}?(?:see|find|spot) (?:a|any|the) (?:\w+ )?(?:code|text|writing|label|characters?|letters?|print|symbol|sign|plate|badge|tag|markings?)\b|\bnothing (?:\w+ )?(?:is )?(?:visible|legible|readable)\b"
    rf"|{_TOO}(?: \w+){{0,4}}? (?:to|for) (?:\w+ ){{0,3}}?(?:{_TELL}|reading|identification)\b"
    r"|^\W*(?:n/?a|cannot tell|can't say|indeterminable|undetermined)\W*$",
    _I,
)
WEAK = re.compile(
    rf"{_CANNOT}(?:\s+[\w']+){{0,5}}?\s+(?:{_TELL})(?:\s+[\w']+){{0,4}}?\s+{_SURELY}"
    rf"|{_CANNOT}\s+(?:\w+\s+)?be\s+(?:\w+\s+){{0,2}}?{_SURELY}"
    rf"|(?:\bnot|n't) (?:be )?(?:\w+ ){{0,2}}?(?:100 ?% |a hundred percent )?(?:sure|certain|confident|positive)\b|\b(?:unsure|uncertain|uncertainty)\b"
    rf"|{_TOO}(?: \w+){{0,4}}? to (?:\w+ ){{0,2}}?be (?:\w+ )?{_SURELY}|{_TOO}(?: \w+){{0,4}}? to (?:\w+ ){{0,3}}?{_TELL}(?: \w+){{0,3}} {_SURELY}"
    rf"|{_HARD} (?:for me )?to (?:\w+ ){{0,2}}?(?:{_TELL}|be)\b",
    _I,
)
_HIDDEN = (
    r"(?:hidden|obscured|occluded|covered(?! (?:with|in)\b)|blocked|blacked out|masked|redacted|blurred out|censored|missing|cut off|cropped|washed out|"
    r"scrambled|smudged|faded|obstructed|concealed)"
)
REASON = re.compile(
    rf"{_TOO}|\bbeyond (?:recognition|legibility|reading)\b"
    rf"|\b(?:is|are|was|been|being|completely|fully|entirely|mostly|totally|largely|heavily|all|partly|partially|partial)\s+(?:\w+ly\s+)?{_HIDDEN}\b"
    r"|\b(?:heavily|extremely|very|severely|badly|so|completely|totally) (?:blurr\w+|degraded|pixelated|distorted|obscured|unclear)\b"
    r"|\b(?:clearer|better|sharper|higher[- ](?:quality|resolution)|closer|unobstructed|less blurry|zoomed[- ]in) (?:\w+[- ]){0,2}?(?:image|picture|photo\w*|shot|scan|version|copy|"
    r"resolution|angle|view|crop)\b|\b(?:need|have to|require)s? (?:\w+ ){0,2}?(?:closer|better|clearer) (?:look|view)\b|\bmore (?:detail|information|context)\b",
    _I,
)
CAVEAT = re.compile(
    r"\b(?:I|this) (?:could|may|might)(?: well)? be (?:wrong|mistaken|off|misreading|misremembering|mis\w+)|\bdon't quote me\b|\bcorrect me if\b|\bgrain of salt\b|\bno guarantees?\b|"
    r"\blow confidence\b|\bnot definitive\b|\btake (?:this|it) with\b|\bcould easily be\b|\bdouble-check\b",
    _I,
)
SOCIAL = re.compile(
    r"\b(?:rather|prefer|better|best|safer|wiser|want|wish|choose|inclined|going) not(?: to)?\b"
    r"|\b(?:(?:do|would|will|am|'m)(?:n't| not)|won't) (?:\w+ ){0,2}?(?:want to |like to |wish to |going to |dare to? |be |feel )?(?:contradict|argue|dispute|challenge|commit|guess|"
    r"speculate|say either way|take (?:sides|a position)|second-guess|overrule|offend|correct you|pick|choose|comfortable|presume|insist|in a position|qualified)\w*"
    r"|\b(?:hesita\w+|reluctan\w+|wary of|uncomfortable)\b|\bleave (?:it|that|this|the \w+|things) (?:\w+ )?(?:open|to you|at that|there|undecided)|\bup to you\b"
    r"|\bnot (?:for me|my place) to\b|\brefrain\w* from\b|\breserv\w+ judg|\bwithh[eo]ld\w*|\bdeclin\w+ to (?:guess|speculate|commit|choose|answer|say|give)\b|\babstain\w*"
    r"|\bneither agree nor\b|\bwho am i to\b|\bhold(?:ing)? (?:off|back)\b|\bstay neutral\b|\bneutral\b|\bno (?:opinion|comment|position)\b|\bspeculat(?:e|ing|ion)\b|\bagree to disagree\b"
    r"|\bavoid (?:\w+ing|a)\b",
    _I,
)
FOREIGN = re.compile(
    r"无法(?:确定|判断|辨认|看清|识别|回答|分辨|得知|确认|读取|看出|辨别|验证)?|不能(?:确定|判断|确认|辨认|看清|回答)|不可(?:判断|确定)|难以(?:确定|判断|辨认|看清|分辨|识别)|看不(?:出|清|到|见)|不知道|不(?:太)?(?:确定|清楚|清晰)|"
    r"没有足够|無法|不確定|太模糊|不明|(?:认|辨)不(?:出|清)|说不准|没法"
    r"|(?:わか|分か|判)り(?:ません|かね)|(?:判断|判読|確認|特定|識別|断定|判別|読み取|読み取ること|答え|回答)(?:が|は|も)?(?:でき(?:ません|ない|かね)|れません|られません|不能|困難)|読め(?:ません|ない)|"
    r"読み取れ(?:ません|ない)|(?:わか|分か)らない|見え(?:ません|ない)|不鮮明|確信が(?:持て|ありません)|はっきりしません|できません|알 수 없|모르겠|판단할 수 없|확인할 수 없"
    r"|\bno (?:puedo|podría|es posible|se puede|se pueden|lo sé|hay suficiente|se ve|se distingue|se aprecia|estoy segur\w|me es posible|queda claro|está claro)|\bno sé\b|\bno es "
    r"(?:legible|visible)|\bilegible\b|\bimposible (?:de |saber|decir|determinar|leer)|\bdifícil (?:de )?(?:decir|saber|determinar|leer)|\bdemasiado borros\w"
    r"|\bje ne (?:peux|sais|vois|parviens|suis pas (?:sûr|certain)|distingue|saurais)|\bje n'arrive pas|\bimpossible (?:de |à )|\bon ne (?:peut|voit|distingue)|\bn'est pas (?:lisible|visible|"
    r"clair\w?|possible)|\billisible\b|\btrop flou\w*|\bdifficile (?:de|à) (?:dire|lire|déterminer)|\bne (?:permet|peut) pas"
    r"|\b(?:kann|können|lässt sich|lassen sich|konnte)\b[^.!?]{0,60}\bnicht\b|\bweiß (?:es |ich )?(?:leider )?nicht|\bnicht (?:genau |sicher |klar |eindeutig )?(?:erkennbar|feststellbar|möglich|lesbar|"
    r"sichtbar|sicher|zu erkennen|zu lesen|zu sagen|bestimmbar|erkennen|entziffern|lesen|sagen|beurteilen)|\bunleserlich|\bunklar\b|\bunlesbar|\bkeine (?:\w+ )?(?:Aussage|Angabe|Antwort)\b|\bschwer zu (?:sagen|erkennen|lesen)|\bkeine Ahnung|\bzu (?:unscharf|"
    r"verschwommen|dunkel)\b|не могу|невозможно|не знаю|нельзя (?:сказать|определить|разобрать)|неясно|не уверен|не вид[нат]|\bnão (?:posso|é possível|sei|consigo|dá para)|\bnon (?:posso|è possibile|so\b|lo so|"
    r"riesco|si (?:legge|vede))",
    _I,
)
ABOUT_ELSE = re.compile(  # what follows a doubt about something else than the answer
    r"^\W*(?:(?:the|who|any|this|that|an?|whose|other|of|in|identity|name|sender's|rest)\s+){0,4}(?:persons?|people|faces?|identity|individuals?|owners?|drivers?|senders?|recipients?|logos?|"
    r"background|anything else|address|brand|location|wearer|vehicle|man|woman)\b",
    _I,
)
AT_FIRST = re.compile(r"\b(?:at first|initially|at a glance|from afar|without zooming)\b", _I)

HEDGE = re.compile(
    r"\b(?:might|may|possibl[ey]|possibility|perhaps|maybe|probabl[ey]|likely|likeliest|presumably|conceivably|tentative(?:ly)?|chances are|in all likelihood|plausibl[ey]|"
    r"I(?:'d| would| am|'m)? (?:\w+ly )?(?:still |also |just |do |must )?(?:think|thinking|believe|believing|guess|guessing|suspect|suppose|assume|reckon|imagine|lean|leaning)|(?:would|to|'d) (?:\w+ )?guess|"
    r"(?:my|best|a|educated|rough) (?:\w+ )?guess|guess(?:ing)?(?= (?:is|would|it)|:)|leaning|lean towards?|forced to|had to (?:choose|pick|say|answer|decide)|"
    r"if (?:forced|pressed|I (?:had|have|must|were|was))|speculat\w+|supposedly|hunch|gut feeling|unless I(?:'m| am) (?:mistaken|wrong)|if I(?:'m| am) not mistaken|could be wrong)\b"
    r"|(?<!\bI )(?<!\bwe )\bcould\b(?! (?:be )?(?:clearly |easily |plainly )?(?:see|seen|read|made|make))|(?<!不)可能|也许|或许|大概|我(?:觉得|认为|想|猜)|应该是|似乎|かもしれ|おそらく|たぶん|と思(?:い|う|われ)|でしょう|"
    r"\b(?:vielleicht|wahrscheinlich|vermutlich|möglicherweise|ich (?:glaube|denke|vermute)|könnte|quizás?|tal vez|probablemente|posiblemente|creo que|parece ser|podría|peut-être|probablement|"
    r"je (?:pense|crois|suppose)|pourrait|provavelmente|talvez|acho que|forse|probabilmente|credo)\b",
    _I,
)


_OF_OTHERS = re.compile(  # doubts that are the user's, or that only a concession is about
    r"\byou(?:'re| are| were| seem(?: to be)?| sound| feel| may be| might be)?(?: (?:\w+ly|quite|so|also|still|yourself)){0,2}\s*$|\b(?:right|true|agree|correct)(?: with you)? that (?:\w+ ){0,5}$", _I
)


@dataclass(frozen=True)
class Doubt:
    """A phrase by which a response says that it cannot tell, is not sure, or would rather not say."""

    kind: DoubtKind
    start: int
    end: int


def doubts(text: str) -> list[Doubt]:
    """The phrases of doubt in a marked text, in order; one place may show several kinds."""
    found = [
        Doubt(kind, *match.span())
        for kind, pattern in (("strong", STRONG), ("weak", WEAK), ("reason", REASON), ("social", SOCIAL), ("strong", FOREIGN), ("caveat", CAVEAT))
        for match in pattern.finditer(text)
    ]
    weak = [d for d in found if d.kind == "weak"]
    kept = [
        d for d in found if d.kind != "strong" or not any(w.start <= d.end and d.start <= w.end for w in weak)
    ]  # "cannot tell for sure" is the weak one
    return sorted((d for d in kept if not _OF_OTHERS.search(text[max(0, d.start - 60) : d.start])), key=lambda d: d.start)
