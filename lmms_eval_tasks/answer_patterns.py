"""The phrases by which responses state, reject, withhold and word an answer; English and ten other languages."""

from __future__ import annotations

import re

_OPEN = r"[\(\[\{\"'«「『【\s]*"
_LETTER = r"(?P<letter>[A-Z])(?![A-Za-z])"
_IS = r"(?:\s*(?:is|are|was|would be|should be|must be|=|:|-|–|—|→|是|为|為|应该是|应为|は|が|es|est|ist|é|è|seria|sería)){0,2}"
_KIND = r"(?:(?:the |an? )?(?:option|choice|letter|answer|opción|opcion|opção|opzione)\s*)?"

# "the answer is B", "I would go with option B", "答案是B", "La respuesta es B"
STATED = re.compile(
    r"(?:(?i:"
    r"\b(?:final |correct |right |best |my |only )?(?:answer|choice|selection)\b(?:\s+(?:here|then|therefore|to (?:this|the) question))?"
    r"|\bcorrect (?:option|letter|order|one|sequence)\b"
    r"|\b(?:I|we)(?:'d| would| will|'ll| have to| must| can| should)?\s+(?:still |rather |probably |most likely |confidently )?"
    r"(?:choose|pick|select|go with|say|answer|opt for|chose|picked|selected|lean towards|lean to|agree with)\b"
    r"|\b(?:therefore|thus|hence|so),?\s+(?:it is|it's|it must be|option|choice)\b"
    r"|\bit(?:'s| is| must be)(?: definitely| clearly| probably)?(?=\s+(?:option|choice)?\s*\(?[A-Z]\b)"
    r"|\b(?:respuesta|réponse|reponse|antwort|risposta|resposta|cevap|odpowiedź|antwoord|svar)\b"
    r"(?:\s+(?:correcta|correcte|correta|corretta|final|richtige|est|es))?"
    r"|\bответ"
    r"|(?:正确)?答案|答え|正解|回答|应选|應選|选择|選擇|选|選|정답|답"
    r")"
    rf"{_IS}\s*{_KIND}){_OPEN}{_LETTER}"
)

# "B", "(B)", "B.", "B) ...", "B because ..." at the very start
LEADING = re.compile(
    r"[^\w]*(?i:option|choice|answer)?[^\w]*(?P<letter>[A-Za-z])(?=\s*$|\s*\n|\s*[.):\]},;\-–—。、:,」』】\"]|\s+\S)(?![A-Za-z'])"
)

# any letter standing alone; "I" only where punctuation marks it as a name
MENTIONED = re.compile(r"(?<![A-Za-z'’])(?P<letter>[A-HJ-Z]|(?<=[(\[])I(?=[)\]]))(?![A-Za-z'’])")

# what may follow an "A" that names an option, when it is not punctuation
AFTER_A_LETTER = re.compile(
    r"\s+(?:because|since|as|is|was|and|but|or|seems|looks|appears|would|must|should|comes|it|the|based|given|for|which)\b"
)

# "A or B", "A and B", "Option A, option B": a letter that shares its place with another one
SHARED_AFTER = re.compile(
    r"(?i)[)\].\"']*\s*(?:,|/|&|\+|or|and|und|oder|ou|et|y|o|e|或|和)+\s*(?:the )?(?:option |choice )?[(\[\"']*[A-Z](?![A-Za-z])"
)

REJECTED_BEFORE = re.compile(
    r"(?i)(?:\b(?:not|isn't|wasn't|never|neither|nor|rule out|ruled out|reject|rejected|eliminate|excluding|instead of|"
    r"rather than|unlike|against|cannot be|can't be|couldn't be|won't be|no es|n'est pas|nicht|не|incorrect|wrong)"
    r"|不是|并非)(?:\s+(?:the|option|choice|answer|to|be|is|that|go|with|say|choose))*[\s\(\[\"':]*$"
    r"|\b(?:whether|if)\b(?:\s+[\w']+){0,4}\s*[\(\"']*$"
    r"|\b(?:whether|between|either)\b[^.,]*$"
    r"|\b(?:can't|cannot|can not|couldn't|don't|do not|wouldn't|won't|not)\s+(?:\w+\s+){0,3}$"
)
REJECTED_AFTER = re.compile(
    r"(?i)[\)\]\"'.]*\s*(?:is|was|would be|'s|isn't|can|could|must|does|seems|looks)?\s*"
    r"(?:not|n't|isn't|wasn't|incorrect|wrong|false|ruled out|impossible|cannot|can't|doesn't|no es|不对|错)\b"
)
CORRECTION = re.compile(
    r"(?i)\b(?:actually|wait|correction|sorry|scratch that|on second thought|let me correct|I mean|no,|rather,|"
    r"looking again|upon review)|其实|不对"
)
GUESS = re.compile(
    r"(?i)\b(?:guess|probably|likely|but|maybe|perhaps|lean|leaning|suppose|possibly|if I had to|however|still)\b"
)

_CANNOT = (
    r"(?:can(?:not|'t| not| neither)|could(?: not|n't)|(?:am|is|are|was|be|being)?\s*unable to|not able to|"
    r"impossible to|not possible to|difficult to|hard to|no way to|(?:isn't|not) (?:enough|sufficient) \w+ to)"
)
_DO = (
    r"(?:determine|determined|tell|say|know|answer|see|identify|judge|decide|conclude|confirm|verify|provide|help|"
    r"assist|discern|establish|infer|view|watch|comply|be sure|be certain|be determined|be told|be known|make out)"
)
ABSTENTION = re.compile(
    rf"(?i)\b{_CANNOT}\s+(?:\w+\s+){{0,3}}?{_DO}\b"
    r"|\b(?:not enough|insufficient|no) (?:information|evidence|context|details?|data|clues?)\b"
    r"|\b(?:I|we) (?:do not|don't|really don't|honestly don't) (?:\w+ )?know\b|\bno idea\b"
    r"|\b(?:do not|don't|does not|doesn't|did not|didn't) (?:\w+ ){0,2}(?:show|contain|depict|reveal|provide|"
    r"indicate|include|see|appear|have enough|specify)\b"
    r"|\bneither (?:event|of|one|option|is|clip|action)\b|\bnone of (?:the|these|them)\b"
    r"|\b(?:unclear|ambiguous|undetermined|indeterminate|inconclusive|not clear|not sure|not certain|unsure|uncertain)\b"
    r"|\bneither (?:option )?[a-z] nor (?:option )?[a-z]\b"
    r"|^\W*(?:unknown|n/a|none|neither|unsure)\W*$"
    r"|\b(?:I'm sorry|I apologi[sz]e|sorry),? (?:but )?I (?:can|am|won't|will not)\w*"
    r"|无法|不能(?:确定|判断|回答)|不可(?:判断|确定)|看不(?:出|清|到)|不知道|不确定|没有足够|無法|不確定"
    r"|わかりません|分かりません|判断できません|わからない|不明です"
    r"|알 수 없|모르겠|판단할 수 없"
    r"|\bno (?:puedo|es posible|se puede|lo sé|hay suficiente)|\bno sé\b"
    r"|\bje ne (?:peux|sais|vois)|\bimpossible de (?:dire|déterminer|savoir)"
    r"|\b(?:kann|lässt sich)\b[^.]{0,40}\bnicht\b|\bweiß (?:es |ich )?nicht|\bnicht (?:erkennbar|feststellbar|möglich)"
    r"|не могу|невозможно|не знаю|нельзя (?:сказать|определить)|неясно"
    r"|\bnão (?:posso|é possível|sei|consigo)|\bnon (?:posso|è possibile|so|riesco)"
    r"|لا (?:أستطيع|يمكن)|لا أعرف"
)


def plain_words(text: str) -> str:
    """Lower-case words without punctuation and articles, for comparing phrases; sentences end in ` . `."""
    text = re.sub(r"[.!?;\n]+", " . ", text.lower())
    text = re.sub(r"[^\w\s.\-]", " ", text)
    return re.sub(r"\s+", " ", re.sub(r"\b(?:a|an|the)\b", " ", text)).strip()


def states_order(plain: str, first: str, second: str) -> bool:
    """Whether `plain` words say that `first` comes before `second`, and do not say that it does not.

    Args:
        plain: the response, from `plain_words`.
        first: phrase of the event that the option puts first.
        second: phrase of the other event.
    """
    p, q = re.escape(plain_words(first)), re.escape(plain_words(second))
    near = r"[^.]{0,60}?"
    forward = rf"\b{p}\b{near}\b(?:before|then|precedes|preceded|prior to|earlier than|followed by)\b{near}\b{q}\b"
    backward = rf"\b{q}\b{near}\b(?:after|follows|later than|following)\b{near}\b{p}\b"
    after_q = rf"\b(?:after|following)\b [^.]{{0,3}}{p}\b{near}\b{q}\b"
    alone = rf"(?:it is |it s |it was )?{p}(?: (?:is|was|comes|came|happens|happened|appears|appeared|occurs|occurred|goes|starts))? ?(?:first|earlier)?(?: \.)?"
    leads = (
        rf"(?:\bfirst\b (?:event |one |thing |action )?(?:is |was |comes |shows )?{p}\b)"
        rf"|(?:\b{p}\b (?:\w+ ){{0,3}}(?:first|earlier)\b)"
    )
    if re.search(rf"\b(?:not|never|no|isn t|doesn t|didn t|wasn t)\b[^.]{{0,80}}\b(?:{p}|{q})\b", plain):
        return False
    if re.search(rf"\b(?:{p}|{q})\b[^.]{{0,40}}\b(?:not|never|doesn t|isn t|didn t)\b", plain):
        return False
    # Reported or disputed speech says what somebody claims, not what is answered.
    if re.search(
        r"\b(?:claim\w*|user|you (?:said|say|think|stated?)|otherwise|contrary|disagree|wrong|false|incorrect)\b",
        plain,
    ):
        return False
    return bool(
        re.search(forward, plain)
        or re.search(backward, plain)
        or re.search(after_q, plain)
        or re.search(leads, plain)
        or re.fullmatch(alone, plain)
    )
