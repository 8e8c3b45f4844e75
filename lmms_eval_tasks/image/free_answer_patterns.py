"""The phrases by which free answers assert, deny, suppose and report an option, agree and disagree; several languages lightly.

Mentions of options stand in these texts as their letter between brackets, see `option_mentions`.
"""

from __future__ import annotations

import re

from lmms_eval_tasks.image.option_mentions import OPEN
from lmms_eval_tasks.image.phrases import NOT, phrases

_I = re.IGNORECASE
_NT = rf"\b{NOT}\b"

# What looks like doubt or denial and is none; blanked out before anything else is read.
DOUBT_DENIED = phrases(
    r"(?:no|without(?: a| any)?|beyond(?: a| any| all)?|not the slightest|leaves? no (?:room for)?) (?:real |reasonable |shadow of a )?"
    r"(?:doubts?|question|uncertainty|ambiguity|mistaking)\b",
    r"undoubtedly\b|(?:do not|don't|never) doubt\b|(?:don't|do not|no) need to guess\b|no (?:difficulty|trouble|problem|issues?)\b",
    rf"{NOT} (?:at all |that |too |so |very |particularly )?(?:hard|difficult|impossible|tricky) to \w+",
    rf"(?:{NOT}|never|neither) (?:(?:at all|that|so|too|very|really|even|actually|in any way|the least bit|being) )?"
    r"(?:blurr\w*|hidden|obscured|covered|ambiguous|unclear|uncertain|unsure|guessing|a guess|illegible|in (?:any )?doubt|dark|small|degraded|distorted)"
    r"(?: (?:to|for me to) \w+)?",
    r"(?:no|any) reason (?:for me )?to (?:doubt|question)\b|(?:none|no) other than\b|nothing (?:but|other than|else than)\b",
    rf"(?:cannot|can not|{NOT}) (?:\w+ ){{0,3}}anything (?:but|other than|else(?: than)?)",
    rf"{NOT} (?:only|just|merely)\b",
    r"can(?:'t|not) (?:help but|deny|go wrong|miss|possibly be wrong)\b",
)

# Where one thing that is said ends and another begins.
SENTENCE = re.compile(r"[.!?。！？…]+[\"')\]]*(?=\s|$)|[。！？]|[\n;；]")
TURN = re.compile(
    r"(?<!anything )(?<!nothing )(?<!all )(?<!none )\bbut\b|\b(?:however|yet|though|although|whereas|while|nevertheless|nonetheless|so(?! (?:blurr|dark|small|far|sure|certain|faint|low|"
    r"much|many|badly|heavily|degraded))|therefore|hence|thus|because|since|aber|jedoch|sondern|obwohl|pero|sino|aunque|mais|cependant|mas|porém)\b"
    r"|但是?|不过|然而|可是|所以|因此|でも|しかし|ですが|けれど|けど|ので|が(?=[、,])",
    _I,
)
PAUSE = re.compile(r"[,，、:：()（）\[\]{}]|\s[-–—]+\s|[–—]")
COLON = re.compile(r"[:：]\s*[\"']?\s*$")
RESTART = re.compile(
    r"\b(?:and|then|und|y|et)\b(?= (?:it|the|this|that|i|we|there|shows?|reads?|says?|is|are|has|looks?|appears?|seems?|my|clearly|es|das|el|"
    r"la|le)\b)",
    _I,
)
# Between mentions of one list, such as "red, orange or brown".
LIST_GAP = re.compile(
    r"(?:[\s,，、;；/|&+\"'.•·*()\[\]–—-]|\b(?:and|or|nor|und|oder|y|o|et|ou|vs\.?|versus|the|an?|option|either|"
    r"else|also|even|maybe|perhaps|possibly)\b|\bor (?:it(?:'s| is| could be| might be| may be)|there (?:are|could be|might be|may be))\b|和|或者?|与|还是|か|と|または)*",
    _I,
)
OR = re.compile(r"\b(?:or|oder|o|ou|versus|vs)\b|或|还是|か|または", _I)
JOINED = re.compile(r"\b(?:and|or|nor|und|oder|y|o|et|ou)\b|[/&+]|和|或|与|还是|と", _I)

DENIED_BEFORE = re.compile(
    rf"(?:\b(?:not|never|neither|nor|no|nothing|nobody|none|cannot|without|unlike|except|doubt|doubtful|s[ck]eptical|disagree|deny|denies|denied|exclud\w*|reject\w*|hardly|"
    r"than|instead of|as opposed to|contrary to|anything but|other than|far from|different from|differs from|rul(?:e|es|ed|ing) out|"
    r"wrong(?:ly)? to|incorrect(?:ly)? to|mistake(?:n|nly)?|mistaken for|confus(?:ed|ing) with|unlikely|(?:less|least) likely|nicht|keine?[rsnm]?|pas|ne|nunca|"
    rf"jamais|não|statt|anstatt)\b|{_NT}|不是|并非|而非|不像|并不)(?:\W*\b\w+){{0,6}}\W*$"
    r"|\b(?:nothing|no (?!need|reason|doubt|question|problem|mistake|wonder)\w+)(?: of)?(?: (?!to\b)\w+){0,3} (?:that|which|to(?! see| tell| know| say| recogni[sz]e| be sure))\b(?: \w+){1,9}\W*$",
    _I,
)
_VERBS = (
    r"(?:(?:is|was|are|were|does|did|do|can|could|would|will|seems?|appears?|looks?|must|has|have|be|to|the|an?|\w+ly|option|choice|"
    r"answer|one|colou?r|code|shape|number|count|also|just|being|in fact)\s+)"
)
_WRONG = r"(?:wrong|incorrect|inaccurate|false|mistaken|unlikely|(?:less|least) likely|impossible|ruled out|excluded|no match|untrue|falsch|incorrecto|faux)\b"
DENIED_AFTER = re.compile(
    rf"^[\"')\]\s]*,?\s*(?:which\s+|that\s+)?{_VERBS}{{0,5}}(?:{_WRONG}|out\b|ruled\b)"
    rf"|^[\"')\]\s]*,?\s*(?:which\s+|that\s+)?{_VERBS}{{1,5}}(?:not|never)\b(?! only| (?:sure|certain))"
    r"|^[\"')\]\s]*,?\s*(?:which\s+|that\s+)?(?:(?:it|this|option|answer)\s+)?(?:isn't|wasn't|aren't|doesn't|didn't|don't|won't|wouldn't|isnt|doesnt|cannot be|can't be|"
    r"couldn't be)\b(?! (?:it|that|you|they)\b)"
    r"|^[\"')\]\s]*(?:it|this|that|they) (?:is|are|was) (?:\w+ly )?not\b|^[\"')\]\s]*(?:ist|es|est) (?:nicht|falsch|pas)\b|^(?:では|じゃ)(?:な|あり)|^(?:不对|不正确|是错)|^n'est pas\b",
    _I,
)
VERDICT_NO = re.compile(
    rf"^[\"')\]\s]*(?:[:=–—(?→-]+\s*(?:no\b(?! doubt)|not\b(?!\s*(?:the |an? )?{OPEN})|nope\b|{_WRONG}|x\b|[✗✘❌×])|[✗✘❌×])",
    _I,
)
NAMES = (
    r"(?:said|says?|saying|thinks?|thought|believe[sd]?|claim(?:s|ed|ing)?|states?|stated|assert(?:s|ed)?|suggest(?:s|ed|ing)?|mention(?:s|ed)?|"
    r"insist(?:s|ed)?|feel|felt|certain|sure|confident|convinced|positive|propos(?:e|es|ed)|guess(?:ed)?|wrote|asks?|asked|describe[sd]?|"
    r"expect(?:ed)?|consider|see|saw|read|report(?:ed)?|noted?|call(?:ed)?|assum(?:e|ed)|provided|gave|given|perceive[sd]?|indicated?|referr?ed)"
)
ATTRIBUTED_BEFORE = re.compile(
    rf"(?<!\bas )\b(?:you|user|users|questioner|they|he|she|someone|somebody|people|prompt|question)(?:'re|'ve|'d| are| were| have| had| do| "
    rf"did| may| might| seem| appear| to| be| feel| sound| quite| also| well| so| very| just| clearly| completely| absolutely| totally| "
    rf"\w+ly){{0,4}} {NAMES}\b"
    r"|\byour (?:\w+ )?(?:claim|suggestion|answer|assertion|statement|guess|reading|confidence|certainty|belief|opinion|observation|assessment|"
    r"proposal|impression|view|choice|response|conviction|interpretation|idea|conclusion)\b"
    r"|\b(?:suggested|claimed|asserted|proposed|alleged|supposed|stated|mentioned)\b|\baccording to (?:you|the user)\b"
    r"|\b(?:Sie|du) (?:sagen|sagst|meinen|meinst|behaupten)\b|\b(?:usted|tú) (?:dice|dices)\b|\bvous (?:dites|pensez)\b|[你您](?:说|认为|觉得|确信)",
    _I,
)
ATTRIBUTED_AFTER = re.compile(
    rf"^[\"')\]\s]*,?\s*(?:that |which |like )?(?:you|the user)(?:'ve|'re| have| had)? {NAMES}\b", _I
)
SUPPOSED_BEFORE = re.compile(
    r"\bwhether\b|\b(?:love|like|wish|want) (?:to|I could) (?:agree|confirm)\b|\bif (?!I (?:had|have|must|were|was)\b|forced|pressed|you (?:look|zoom|say so|insist)|I'm (?:forced|pressed))"
    r"|\b(?:such as|for example|e\.?g\.?|for instance|as in|compared? (?:to|with)|"
    r"would (?:have|need|require) to be|at least|at most|up to|a minimum of|supposed to be|tell apart|between|options?(?: here| given| provided| listed)? (?:are|include|were)|choices? (?:are|include))\b|\bob\b|如果|是否|もし",
    _I,
)
POSSIBLE_AFTER = re.compile(
    r"^[\"')\]\s]*,?\s*(?:which |that )?(?:also )?(?:could|might|may)\b|^[^.!?;,]{0,12}\b(?:are|is|seems?|looks?) (?:both |all |equally |just as |also ){0,2}(?:possible|plausible|likely|conceivable)",
    _I,
)
FIRST_IMPRESSION = re.compile(
    r"\b(?:at first|first glance|first sight|initially|first thought|first impression|originally|tempted to|(?:was|were) (?:going|about) to|would have (?:said|guessed)|I (?:\w+ )?(?:thought|assumed|mistook|believed|read it as))\b",
    _I,
)
SUPPOSED_AFTER = re.compile(
    r"^[\"')\]\s]*(?:would (?:have|need|require|look|show|contain|begin|start|end)|is (?:one|among|also (?:an?|one))|can be confused|and similar|or not|,? ?(?:and |or |but )?(?:it )?(?:might|may|could) (?:just as well )?not)\b"
    r"|^かどうか|^吗[?？]?",
    _I,
)
DEFERRING_CONDITION = re.compile(r"\bif you(?:'re| are)? (?:\w+ )?(?:certain|sure|confident|say so|insist)", _I)
WOULD = re.compile(r"\b(?:would|could|might|may)\b|'d\b", _I)
CONDITION = re.compile(
    r"^\W*(?:and |but |even )?if (?!I (?:had|have|must|were|was)\b|forced|pressed|you (?:look|zoom)|I'm (?:forced|pressed))",
    _I,
)
ASKS = re.compile(
    rf"^\W*(?:(?:is|are|was|were|could|can|would|do|does|did|might|may|should|shall|have|has) (?:it|this|that|there|the|you|i|we|they|an?|{OPEN})"
    r"|(?:what|which|how|why)\b)[^.!。]*\?",
    _I,
)
POSSIBLE = re.compile(
    r"\b(?:might|may|could|possibly|possible|conceivably|perhaps|maybe)\b(?! (?:clearly |easily |plainly )?(?:see|make out|find|tell|read|count|confirm|say)\b)"
    r"|(?<!不)可能|かもしれ|könnte|podría|pourrait",
    _I,
)

CORRECTION = re.compile(
    r"\b(?:actually|wait|correction|sorry|apologies|scratch that|second thoughts?|let me correct|i mean(?:t)?|no|rather|looking (?:again|closer|more "
    r"closely|carefully)|look again|clos(?:er|e) (?:look|inspection|examination)|upon (?:review|closer|further)|hmm+|on reflection|in fact|second glance|"
    r"re-?examin\w*|zoom\w*|recount\w*|count again|make that|instead|correct myself|or rather|strike that|my mistake|revis\w*|ultimately|in reality|"
    r"turns out)\b|其实|不对|实际上|いや|実際は|eigentlich|nein|en realidad|en fait",
    _I,
)
TAKES_BACK = re.compile(
    r"\b(?:actually|wait|correction|scratch that|second thoughts?|looking (?:again|closer|more closely)|clos(?:er|e) (?:look|inspection)|on reflection|hmm+|"
    r"then again|strike that|come to think|re-?examin\w*|no, )\b",
    _I,
)
TOTAL_BEFORE = re.compile(
    r"(?:\b(?:in total|in all|altogether|all together|total(?:s|ling|ing)?|sums? to|makes?|making|giving|gives|for a total|adds? up to|adding to|combined|equals)\b"
    r"|=|一共|总共|合計|insgesamt|en total)[^.!?;]{0,24}$",
    _I,
)
TOTAL_AFTER = re.compile(
    r"^(?:\s\w+){0,3}?\s(?:in total|in all|altogether|all together|total|overall|combined|insgesamt|en total)\b", _I
)
CONCLUDES = re.compile(
    r"\b(?:answer|final|conclusion|conclude|therefore|thus|hence|consequently|so|verdict|best (?:match|fit|choice|option)|i(?:'d|'ll| would| will)? (?:choose|pick|select|go with|"
    r"say|settle on|opt for))\b|答案|所以|因此|答え|よって|antwort|respuesta|réponse",
    _I,
)
# between agreement and a doubt: the agreement stands against it
CONCEDES = re.compile(r"\b(?:but|though|although|however|even (?:if|though)|despite|while)\b", _I)
STATES = re.compile(
    r"\b(?:is|are|was|were|it's|that's|be|reads?|says?|shows?|displays?|contains?|spells?|see|sees|count|answer|option|choose|pick|select|say|go with|going with|read|so|has|have|total|makes?)"
    r"\W*(?:(?:an?|the|of|only|exactly|indeed|just|about|as|to be|like|clearly|actually|\w+ly|there are|it is|it's)\W+)*$",
    _I,
)
BESIDE_BEFORE = re.compile(
    r"\b(?:with|on|against|over|in|inside|near|beside|behind|above|below|under|next to|surrounded by) (?:an?|the|some|its) (?:\w+ly )?$",
    _I,
)
BESIDE_AFTER = re.compile(r"^ (?!and\b|or\b|with\b|on\b|in\b|but\b)[a-z]+", _I)
