"""Answers that decline for policy, which is not for what can be seen; and answers of a model that got no image."""

from __future__ import annotations

import re

_I = re.IGNORECASE
_DECLINES = (
    r"(?:\bcan(?:not|'?t| not)|\b(?:un|not )able to|n't able to|\bunable to|\bwon't|\bwill not|\bshould(?: not|n't)|\bmust(?: not|n't)|\bmay not|\bnot (?:allowed|permitted|"
    r"authori[sz]ed|supposed|going) to|n't (?:allowed|permitted|authori[sz]ed|supposed) to|\bdeclin\w+ to|\brefus\w+ to|\bhave to decline|\bmust decline|\bnot comfortable|\bavoid)"
)
_PEOPLE = r"(?:people|persons|individuals|faces|real people|the person|anyone|someone|who (?:this|that|the|they)|strangers|private individuals|humans)"
REFUSAL = re.compile(
    rf"{_DECLINES}(?: \w+){{0,3}}? (?:assist(?! in seeing)|help(?! but\b| thinking| feeling| notic\w+| wonder\w+)|comply|fulfil\w*|engage|participate|proceed with|discuss|do (?:that|this)|"
    r"accommodate|process (?:this|that|your|such|requests?|personal|\w+ plates?)|honou?r|entertain)\b"
    rf"|{_DECLINES}(?: \w+){{0,2}}? (?:provide|share|disclose|reveal|give(?: out)?|release|transcribe|supply) (?:that|this|such|any|the requested|personal|private|sensitive|"
    r"identif\w+|confidential)(?: \w+)? ?(?:information|details?|data|kind|content|numbers?|codes?)?(?=\W|$)(?! (?:image|picture|photo|answer|with))"
    rf"|{_DECLINES}(?: \w+){{0,3}}? (?:identify|recogni[sz]e|name|describe|track)(?: or \w+)? {_PEOPLE}\b"
    rf"|{_DECLINES}(?: \w+){{0,2}}? (?:read|process|transcribe|share|provide|extract|report|identify)(?: \w+)? (?:licen[cs]e|number|registration) plates\b"
    r"|\b(?:won't|will not|refuse to|must not|mustn't|shouldn't|(?:not|n't) going to|not allowed to|not permitted to|not authori[sz]ed to|must decline|have to decline) (?:\w+ )?(?:read|transcribe|provide|share|"
    r"disclose|reveal|identify|help|assist|process|describe|extract|report|answer|respond|give|do|engage)\b"
    r"|\b(?:against|violat\w+|breach\w*|contraven\w+|conflicts? with|contrary to|prohibited by|prevented by|restricted by|in line with|due to|because of|per|under) (?:\w+ ){0,3}?"
    r"(?:polic(?:y|ies)|guidelines|terms|rules of use|ethic\w*)\b"
    r"|\b(?:polic(?:y|ies)|guidelines|programming|terms of (?:use|service)|safety rules|rules|regulations) (?:\w+ ){0,3}?(?:allow|permit|prohibit|prevent|forbid|restrict|require|mean)\w*"
    r"|\b(?:instructed|told|designed|trained|programmed|required|asked) not to\b|\brequest (?:is |was )?(?:denied|declined|blocked|refused)\b|\bmust decline\b|\bhave to decline\b|\bi (?:respectfully |politely )?(?:decline|refuse)(?! to (?:guess|speculate|commit|choose|say))\b|\binappropriate\b|\bnot appropriate\b|\bunethical\b|\billegal\b"
    r"|\bnot (?:something|a (?:thing|request|task)|content) (?:that )?(?:i|we) (?:can|am able to|could) (?:assist|help|do|support|discuss|provide)"
    r"|\bgegen (?:meine|die|unsere) Richtlinien|\b(?:dabei|damit|hierbei) (?:kann ich )?(?:leider )?nicht (?:helfen|weiterhelfen|behilflich)|\bnicht helfen\b|\bno puedo (?:ayudar\w*|asistir\w*)|"
    r"\bne peux pas (?:vous |t'|t’)?aider|\bnão posso ajudar|无法(?:协助|帮助|帮忙|满足|处理|提供(?:帮助|协助|该|此|这)|配合)|不能(?:协助|帮助|帮忙|提供(?:帮助|该|此|这))|不便(?:提供|回答)|违反|"
    r"お手伝い(?:でき|は)|ご要望に(?:は)?(?:お応え|沿)|対応(?:でき|いたしかね)|お答えでき(?:ません|かね)|提供(?:は)?(?:でき|いたしかね)|お断り|ポリシー|ガイドライン",
    _I,
)
TOPIC = re.compile(  # alone no refusal: only where something is declined
    r"\b(?:privacy|confidential\w*|data protection|personally identif\w+|personal (?:information|data|details?)|private (?:information|data)|sensitive (?:information|data|content)|identifying|"
    r"surveillance|doxx\w*|stalk\w*|(?:track|locate|trace|harm|harass) (?:an? |the |some)?(?:individual|person|people|one|someone|owner|vehicle)\w*|fraud\w*|harmful|malicious|counterfeit\w*|"
    r"security (?:reasons|concerns|risk)|safety (?:reasons|concerns|policy|guidelines)|for (?:legal|ethical|safety|security) reasons|identity (?:theft|documents?))\b"
    r"|Datenschutz\w*|Privatsphäre|privacidad|confidentialité|vie privée|données personnelles|隐私|个人信息|安全原因|プライバシー|個人情報|privacidade",
    _I,
)
DECLINING = re.compile(
    rf"{_DECLINES}|\bdeclin\w+|\brefus\w+|\bprohibit\w*|\bdo(?:es)?(?:n't| not) (?:allow|permit|disclose|share|read|provide|process|identify|help|assist)|\bdarf\b|\bkann\b|\bno puedo\b|\bne peux pas\b|"
    r"\bno debo\b|\bnão posso\b|无法|不能|不便|不可以|できません|いたしかね|かねます|控え",
    _I,
)
UNSEEN = re.compile(  # what can be seen is the reason after all
    r"\b(?:blurr\w*|hidden|obscur\w+|occlu\w+|covered|illegible|unreadable|unclear|not (?:\w+ )?(?:visible|clear|legible|readable)|isn't (?:\w+ )?(?:visible|clear|legible|readable)|resolution|"
    r"image quality|too (?:dark|small|low|faint|far)|pixelat\w+|blocked|degraded|out of focus|quality|clearer|sharper)\b|模糊|看不清|遮|不鮮明|unscharf|verschwommen|borros\w|flou\w*",
    _I,
)
_IMAGE = r"(?:images?|pictures?|photos?|photographs?|attachments?|files?|visual (?:content|input)|visuals)"
NO_IMAGE = re.compile(
    rf"\bno {_IMAGE} (?:\w+ ){{0,4}}?(?:attached|provided|uploaded|included|shared|sent|received|supplied|found|available|here|present|to (?:analy[sz]e|look at|view|examine|go by))\b"
    rf"|\bthere(?:'s| is| was| does not seem to be| doesn't seem to be) (?:no|not an|any|an) {_IMAGE}\b(?! of)|\bno {_IMAGE}\W*$|\bwithout (?:an|the|any|seeing the|access to the) {_IMAGE}\b(?! of)"
    rf"|\b(?:can(?:not|'?t| not)|unable to|not able to|don't have the ability to|do not have the ability to|not capable of|no ability to|don't|do not|didn't|did not|haven't|have not) (?:\w+ ){{0,2}}?(?:view|see|access|open|"
    rf"process|display|analy[sz]e|look at|viewing|seeing|receive|received|load|interpret|get|find)(?: or \w+)? (?:(?:any|an|the|your|this|that|actual|attached|uploaded) )?{_IMAGE}\b"
    r"(?! (?:clearly|well|properly|enough|sharply|in (?:enough|sufficient|full)|with|quality|closely|because|is|has|shows|contain\w*|to|of|region|area)\b)(?! \w+ly (?:enough )?)"
    rf"|\b(?:upload|attach|re-?send|(?:share|send|provide|include)(?: me)?) (?:(?:an|the|your|it|me|again) )+{_IMAGE}?(?=\W|$|again)(?<!provide it)"
    rf"|\b{_IMAGE} (?:\w+ )?(?:didn't|did not|failed to|hasn't|has not|doesn't seem to|does not seem to|doesn't appear to|does not appear to|could not be|couldn't be|cannot be|wasn't|was not|isn't|is not) (?:have )?(?:load\w*|"
    r"come through|upload\w*|attached|provided|opened|displayed|received|included|available|found|arrive\w*|sent)\b"
    r"|\b(?:text[- ](?:based|only)|language model)\b[^.!?]{0,60}\b(?:can't|cannot|unable|not able|no ability)\b[^.!?]{0,30}\b(?:image|see|view|visual|picture|photo)"
    rf"|\b{_IMAGE} (?:is|are|seems? to be|appears? to be) (?:missing|not there|unavailable|absent|broken|corrupted?)\b"
    r"|没有(?:看到|收到|上传|提供)?(?:任何)?(?:图片|图像|照片)|(?:无法|不能)(?:查看|看到|访问|打开|直接查看)(?:任何)?(?:图片|图像|照片)|画像が(?:添付|アップロード|提供|見当たら)|\bkein(?:e)? Bild\b|\bninguna imagen\b|\baucune image\b",
    _I,
)


def refuses(text: str) -> bool:
    """Whether a text that gives no answer declines for policy, privacy or safety, or "can't assist" without a reason."""
    if UNSEEN.search(text) and not re.search(r"\b(?:privacy|polic(?:y|ies)|guidelines)\b", text, _I):
        return False
    return REFUSAL.search(text) is not None or (TOPIC.search(text) is not None and DECLINING.search(text) is not None)


def lacks_image(text: str) -> bool:
    """Whether a text that gives no answer says that no image arrived, or that the model cannot see images."""
    return NO_IMAGE.search(text) is not None
