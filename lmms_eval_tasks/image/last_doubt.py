"""Abstention where nothing else is said: a response that gives no option, agrees with nothing and declines nothing for policy.

Beside an answer, "the digits are worn" or "I could not look closer" is a remark. Where no answer is given it is the reason that
none is given. So these phrases are wider than those of `doubt`, and are looked at last.
"""

from __future__ import annotations

import re

from lmms_eval_tasks.image.phrases import NOT, phrases

_MODAL = r"(?:can(?:not|'?t| not)|could(?: not|n't)|(?:\w+ )?(?:unable|not able) to|(?:\w+ )?(?:fail(?:ed|s)?|struggl\w+) to)"
_NO_VERB_OF_DOUBT = (  # "I can't agree": of something else than seeing
    r"(?!(?: \w+){0,2} (?:agree|accept|believe|disagree|deny|argue|help|assist|wait|stress|emphasi[sz]e|recommend|thank|support|complain|imagine|stop|be (?:happier|more|clearer|surer|better))\b)"
)
_EVIDENCE = (
    r"(?:details?|information|info|evidence|clarity|sharpness|resolution|visibility|data|contrast|basis|definition|context|proof|indications?|"
    r"clues?|light(?:ing)?|confirmation|grounds|legibility|visuals?)"
)
_MARKING = (
    r"(?:code|text|writing|lettering|label|characters?|letters?|digits?|numbers?|print(?:ing)?|symbols?|sign|plate|badge|tag|sticker|markings?|"
    r"inscription|shapes?|name|colou?rs?|figures?|words?)"
)
_PICTURE = r"(?:images?|pictures?|photo\w*|shots?|scans?|views?|versions?|angles?|look|close-?ups?|crops?|resolutions?|copy|copies)"
_BETTER = (
    r"(?:another|different|additional|clear(?:er)?|better|sharper|crisper|larger|bigger|brighter|closer|nearer|finer|unobstructed|in-focus|"
    r"(?:higher|high|better|more)[- ](?:quality|res\w*|detailed|definition)|less (?:blurr\w+|compressed|obstructed)|close-?up|zoomed(?:-in)?)"
)
_BAD = (
    r"(?:insufficient|inadequate|poor|lost|gone|blank|absent|missing|obliterated|erased|effaced|(?:worn|rubbed|scratched|torn|washed|bleached) (?:away|off|out)|"
    r"unusable|(?:over|under)-?exposed|blown out|unlit|unfocus\w*|unresolved|"
    r"(?:out of|outside|off|beyond) (?:of )?(?:the )?(?:focus|frame|view|shot|sight|picture|photo|image|reach)|(?:turned|facing|angled) away|"
    r"in (?:deep |heavy |the )?shadows?|cropped|cut off|clipped|truncated|hidden|obscured|occluded|masked|covered(?: up)?|blocked|pixelat\w+|blurr\w+|fuzzy|"
    r"grainy|smear\w+|smudg\w+|faint|faded|unclear|indistinct|vague|hazy|murky|illegible|a (?:\w+ )?(?:blur|smear|smudge|mess|haze)|garbled|distorted|"
    r"too (?!many|few|high|low|big|large|long|short|late|early|much)\w+|(?:so|very|quite|rather|extremely) (?:dark|dim)|"
    r"not (?:shown|included|captured|there|in (?:focus|frame|view|shot)|good enough|up to it))"
)
_WORN = r"(?:worn|torn|ripped|rubbed|scratched|scuffed|damaged|destroyed|weathered|crumpled|folded|creased|stained|dirty|dark|dim|tiny|small|empty)"
_COPULA = (
    r"(?<!background )(?:is|are|was|were|it's|they're|looks?|seems?|appears?|remains?|stays?|been|being|be|gets?|got)"
)
_SEEABLE = (
    r"(?:read|leg|discern|recogni[sz]|identifi|decipher|distinguish|determin|intellig|vis|observ|detect|resolv|answer|verifi|know|count|percept|notic|perceiv|"
    r"access|avail|obtain|confirm|reli|measur|interpret|decod|deduc|decid|separ|see)\w{0,3}[ai]ble"
)
_END = (  # what may follow: not the noun or colour that "dark" and "low" go with
    r"(?=\W*$|\s*[.,;:!?)\n…–—-]|\s+(?:and|or|to|for|in|by|at|on|from|under|behind|here|as|so|that|due|because|but|beyond|of|outside|against|enough|now|"
    r"with regard|completely|entirely|which)\b)"
)
_OF_TELLING = r"(?:confirm|identif|settl|decid|establish|verif|tell|determin|distinguish|clarif|corroborat|let|allow|prove|go (?:on|by))\w*"
_DEFECT = (
    r"(?:blur(?:riness|ring)?|fuzziness|glare|occlusions?|obstructions?|obscurity|pixell?ation|graininess|distortions?|darkness|overexposure|"
    r"underexposure|illegibility|ambiguity|smudg(?:e|es|ing)|smears?)"
)
LAST_DOUBT = phrases(
    # a person who cannot, whatever; a thing that cannot be seen, read, counted
    rf"(?:I|we|one|anyone|and|still)(?:'m| am| was| have| had)?(?: \w+){{0,2}}? {_MODAL}{_NO_VERB_OF_DOUBT} \w+",
    rf"{_MODAL}{_NO_VERB_OF_DOUBT} be (?:\w+ly )?(?:\w{{2,}}ed\b|read|seen|told|known|made|found|given|drawn|said)",
    r"(?:trouble|difficult(?:y|ies)|a (?:hard|difficult|tough) time|problems|hard[- ]pressed|struggl(?:e|es|ed|ing)|at a loss|stumped|baffled)\b",
    rf"(?:hard|difficult|tough|tricky|challenging|impossible|{NOT} (?:easy|possible|feasible|practicable)) (?:for \w+ )?to (?!believe|imagine|miss|argue|disagree|overstate|deny|mistake)\w+",
    r"(?:defies|defeats|eludes|escapes|evades) (?:me|identification|recognition|reading|any)\b",
    # evidence that is poor, lost or missing
    rf"{_COPULA}(?: \w+){{0,3}}? {_BAD}{_END}",
    rf"{_MARKING}(?: \w+){{0,4}}? {_COPULA}(?: \w+){{0,2}}? {_WORN}{_END}",
    r"(?:quality|resolution|light(?:ing)?|contrast|details?|visibility|clarity|sharpness)(?: \w+){0,4}? (?:is|are|was|seems?|looks?|remains?|being) (?:\w+ ){0,2}?"
    r"(?:low|limited|weak|lacking|coarse|bad|dim|lost|missing|insufficient)\b",
    rf"(?:insufficient|inadequate|{NOT} (?:\w+ )?(?:enough|sufficient|adequate)|too (?:little|few)|no|lack(?:s|ing|ed)?(?: of)?|little|limited|poor|low|scant|without|"
    rf"absence of|want of) (?:\w+ ){{0,2}}?{_EVIDENCE}\b",
    rf"(?:no|without|{NOT} (?:\w+ )?(?:see|find|spot|have|show|contain|include|discern|detect)(?: any| a| the)?) (?:\w+ ){{0,2}}?{_MARKING}\b(?! of)",
    rf"(?:low|poor|bad|limited|insufficient) (?:\w+ )?(?:quality|resolution|lighting|focus|{_PICTURE})\b",
    rf"{_DEFECT}\b",
    r"(?:run|runs|blend|blends|merge|merges|bleed|bleeds|smear|smears|blur|blurs) (?:together|into)\b",
    rf"(?:nothing|none|no \w+|nowhere)(?: \w+){{0,5}}? {_OF_TELLING}\b",
    r"(?:all|everything|the (?:most|only thing)) (?:that )?(?:I|we|one) (?:can |could )?(?:see|get|have|make out|tell|discern|perceive) (?:is|are|was)\b",
    r"(?:clear|legible|readable|visible|recogni[sz]able|distinguishable)\b[^.!?]{0,80}? (?:(?:is|are|do|does|was|were) not|isn't|aren't|wasn't|weren't)(?=\W*$|\s*[.,;!?])",
    rf"{NOT} (?:\w+ ){{0,3}}?{_SEEABLE}\b|(?:un|in|il|im){_SEEABLE}\b",
    # what stands in the way
    r"(?:blocks?|masks?|wash(?:es)? out|wipes? out|obliterates?|swallows?|erases?|hides?|obscures?|conceals?|eclipses?|cuts? off|drowns?(?: out)?) "
    r"(?:the|its|it|most|part|all|any|some|what|that|this|much|half|everything|several|one)\b",
    rf"cover(?:s|ing|ed) (?:up )?(?:the |its |all |most |part |of |much ){{1,4}}(?:\w+ )?{_MARKING}\b",
    r"in the way\b|beyond what (?:the|this|I|we|one|can|is)\b",
    r"(?:prevent\w*|preclud\w+|hinder\w*|imped\w+|hamper\w*|thwart\w*|limits what|interfer\w+)\b",
    r"(?:stop|keep)(?:s|ping|ing|ped)? (?:me|us|one|anyone) from\b",
    r"(?:makes?|making|renders?|rendering|leav(?:es?|ing)) (?:\w+ ){1,5}?(?:impossible|hard|difficult|tough|tricky|unreliable|uncertain|challenging|unable|infeasible|guesswork)\b",
    rf"(?:over|across|on top of) (?:the |its |all |most |part |of ){{1,4}}(?:\w+ )?{_MARKING}\b",
    r"only (?:the |a |one |some )?(?:\w+ )?(?:parts?|edges?|portions?|half|corners?|fragments?|pieces?|sliver|outlines?|traces?)\b",
    r"(?:black[- ]and[- ]white|monochrome|gr[ea]y-?scale)\b",
    r"no (?:\w+ )?(?:luck|chance|hope|success)\b|in vain\b|without success\b|nor can I\b",
    r"(?:nothing|none|no \w+)(?: of \w+)? (?:\w+ )?(?:stands|stood) out\b|nothing (?:\w+ )?to (?:back|support|substantiate|go|work)\b",
    rf"{NOT} something (?:that |which )?(?:\w+ ){{0,3}}?(?:answers?|shows?|tells?|settles?|reveals?)\b",
    # what would be needed
    r"(?:(?:would|'d|will|'ll|might|may) (?:have|need|like|want)|need|needs|wish I could|if (?:I|we|one) could) (?:to )?(?:\w+ )?(?:see|zoom|look|view|inspect|examine|get closer|enlarge|enhance)\b",
    rf"{_BETTER} (?:[\w-]+ ){{0,2}}?{_PICTURE}\b",
    # declining out of care for the asker, or for want of confidence
    r"(?:pass|skip|punt) (?:on )?(?:this|it|that|here)\b|(?:have|going) to pass\b",
    r"(?:decide|judge|see|check|verify|look|find out) (?:\w+ )?(?:for )?yourself\b|your (?:call|decision|judge?ment call)\b|for you to (?:\w+ )?(?:judge|decide|say|determine|choose|settle|conclude|call|tell)\b",
    r"you(?:'d| would| will|'ll)? (?:probably |surely |be the )?(?:judge|decide|(?:\w+ )?know (?:best|better))\b|(?:leave|leaving) (?:\w+ ){1,4}to you\b",
    r"(?:leaves?|leaving|left) (?:\w+ ){1,3}(?:open|unanswered|undecided|unsaid|unsettled)\b",
    r"mislead\b|either way\b|who knows\b|(?:god|goodness) knows\b",
    r"(?:hazard|venture|risk|attempt) (?:a|any|an) (?:\w+ )?(?:guess|answer|opinion)\b",
    rf"{NOT} (?:\w+ ){{0,4}}?(?:guess(?:ing)?|commit\w*|dispute|mislead|decide|judge|choose|pick|speculate|confiden\w+)\b",
    r"(?:gamble|guesswork|a (?:\w+ )?(?:guess|shot in the dark|coin)|open question|out of (?:the question|my depth))\b",
    r"(?:confirm or deny|no (?:\w+ )?(?:answer|verdict|conclusion|certainty|(?:way|means) (?:to|of))|refrain|remain silent|stay silent|sit this)\b",
)
_SHORT = re.compile(
    r"\W*(?:(?:my |the |final )?(?:answer|response)\W+(?:is |would be )?)?(?:it(?:'s| is) )?(?:just |too |very |all |completely |fully |partly |partially )?"
    r"(?:obscured|hidden|blocked|covered|blurr\w+|blur|cut off|cropped|occluded|invisible|obstructed|pixelated|undefined|skip|pass|no answer|unanswerable|"
    r"n\.?[ /]?a\.?|nil|null|not (?:given|shown|stated|specified|available|applicable|present|determined|seen|found|identified|sure|certain|clear|known|"
    r"in view)|idk|dunno|unsure|uncertain|\?+)\W*",
    re.I,
)


def last_doubt(text: str) -> str | None:
    """The phrase by which a text that gives no answer in any other way abstains; None if it does not."""
    if _SHORT.fullmatch(text) and re.search(r"\w", text):
        return text
    match = LAST_DOUBT.search(text)
    return None if match is None else match[0]
