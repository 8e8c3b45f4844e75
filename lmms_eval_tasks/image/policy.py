"""Answers that decline for policy, which is not for what can be seen; and answers of a model that got no image."""

from __future__ import annotations

import re

from lmms_eval_tasks.image.phrases import NOT, first_of, phrases

_CANNOT = r"(?:can(?:not|'?t| not)|unable to|" + NOT + r" able to)"
_MAY_NOT = (
    rf"(?:won't|will not|should(?: not|n't)|must(?: not|n't)|may not|{NOT} (?:allowed|permitted|authori[sz]ed|supposed|going) to|refus\w+ to|declin\w+ to|"
    r"have to decline|must decline|not comfortable|avoid)"
)
_DECLINES = rf"(?:{_CANNOT}|{_MAY_NOT})"
_PEOPLE = r"(?:people|persons|individuals|faces|real people|the person|anyone|someone|who (?:this|that|the|they)|strangers|private individuals|humans)"
_POLICIES = r"(?:polic(?:y|ies)|guidelines|programming|terms of (?:use|service)|terms|ethic\w*|rules|regulations|laws?|principles|restrictions)"
_SECRET = r"(?:personal(?! (?:opinion|view|judge?ment|preference|guess))\w*|private|confidential\w*|sensitive|privacy|credentials|GDPR)"
REFUSAL = first_of(
    phrases(
        rf"{_DECLINES}(?: \w+){{0,3}}? (?:assist(?:ing|ance)?(?! in seeing)|support (?:this|that|your|such) (?:request|task|query)|help(?:ing)?(?! but\b| thinking| feeling| notic\w+| wonder\w+)|comply(?:ing)?|fulfil\w*|engage|participate|"
        r"proceed with|discuss|do (?:that|this)|accommodate|process (?:this|that|your|such|requests?|personal|\w+ plates?)|honou?r|entertain)\b",
        rf"{_DECLINES}(?: \w+){{0,2}}? (?:provide|share|disclose|reveal|give(?: out)?|release|transcribe|supply) (?:that|this|such|any|the requested|personal|"
        r"private|sensitive|identif\w+|confidential)(?: \w+)? ?(?:information|details?|data|kind|content|numbers?|codes?)?(?=\W|$)"
        r"(?! (?:image|picture|photo|answer|with))",
        rf"{_DECLINES}(?: \w+){{0,3}}? (?:identify|recogni[sz]e|name|describe|track)(?: or \w+)? {_PEOPLE}\b",
        rf"{_DECLINES}(?: \w+){{0,2}}? (?:read|process|transcribe|share|provide|extract|report|identify)(?: \w+)? (?:licen[cs]e|number|registration) plates\b",
        rf"{_MAY_NOT} (?:\w+ )?(?:read|transcribe|provide|share|disclose|reveal|identify|help|assist|process|describe|extract|report|answer|respond|give|do|"
        r"engage)\b",
        rf"(?:against|violat\w+|breach\w*|contraven\w+|conflicts? with|contrary to|prohibited by|prevented by|restricted by|in line with|due to|because of|per|"
        rf"under) (?:\w+ ){{0,3}}?{_POLICIES}\b",
        r"(?:my|our|company|content|usage|safety|privacy|platform|\w+'s) (?:\w+ )?(?:polic(?:y|ies)|guidelines|rules|safeguards|guardrails)\b|(?:content|safety) filters?\b",
        # words that are used of secrets alone
        rf"(?<!image )(?<!photo )(?<!picture )(?<!label )(?<!it ){_DECLINES}(?:,? \w+){{0,4}}?,? (?:disclos\w+|divulg\w+|reveal\w*|expose|releas\w+|give out|hand out|pass on)\b"
        r"(?! (?:\w+ ){0,2}(?:answer|detail|more|enough|certain))",
        rf"{_DECLINES}(?: \w+){{0,2}}? (?:provide|share|supply|give|publish|process|extract|handle|collect|store) (?:\w+ ){{0,4}}?(?:{_SECRET}|identif(?:y|ies|iable|iers?))\b",
        r"(?:outside|beyond) (?:of )?(?:the (?:scope|bounds|limits) of )?what (?:I'm|I am|we're|we are) (?:able|allowed|permitted|meant|supposed) to "
        r"(?!see|read|make|tell|discern|determine)\w+",
        r"(?:break|breaking|bypass\w*|cross\w*) (?:my|the|any|our|privacy) (?:\w+ )?(?:rules|lines?|boundar\w+|safeguards)\b",
        rf"{_POLICIES} (?:[\w']+ ){{0,3}}?(?:allow|let|permit|prohibit|prevent|forbid|restrict|require|mean)\w*",
        r"(?:instructed|told|designed|trained|programmed|required|asked|configured|built|set up|bound|obliged) (?:not to|to (?:avoid|decline|refuse|protect|respect))\b",
        r"request (?:is |was |has been |must be )?(?:denied|declined|blocked|refused|rejected)\b",
        r"(?:flagged|blocked|stopped|caught|filtered|rejected) (?:by|as|for|under) (?:the |my |our |an? |its )?(?:\w+ )?(?:filter\w*|moderation|safety|policy|system|content|unsafe|harmful|review)\b",
        rf"(?:a|this|that|your|the|such a) request (?:that |which )?(?:I|we) {_DECLINES}\b",
        r"(?:must|have to) decline\b",
        r"i (?:\w+ )?(?:am declining|will decline|decline|refuse|'m declining)(?! to (?:guess|speculate|commit|choose|say))\b",
        r"(?:inappropriate|not appropriate|unethical|illegal)\b",
        r"not (?:something|a (?:thing|request|task)|content) (?:that )?(?:i|we) (?:can|am able to|could) (?:assist|help|do|support|discuss|provide)",
        r"gegen (?:meine|die|unsere) Richtlinien|(?:dabei|damit|hierbei) (?:kann ich )?(?:leider )?nicht (?:helfen|weiterhelfen|behilflich)|nicht helfen\b",
        r"no puedo (?:ayudar\w*|asistir\w*)|ne peux pas (?:vous |t')?aider|não posso ajudar",
    ),
    re.compile(
        r"无法(?:协助|帮助|帮忙|满足|处理|提供(?:帮助|协助|该|此|这)|配合)|不能(?:协助|帮助|帮忙|提供(?:帮助|该|此|这))|不便(?:提供|回答)|违反|お手伝い(?:でき|は)|"
        r"ご要望に(?:は)?(?:お応え|沿)|対応(?:でき|いたしかね)|お答えでき(?:ません|かね)|提供(?:は)?(?:でき|いたしかね)|お断り|ポリシー|ガイドライン"
    ),
)
TOPIC = first_of(  # alone no refusal: only where something is declined
    phrases(
        rf"(?:{_SECRET}|data protection|"
        r"sensitive (?:information|data|content)|identifying|surveillance|doxx\w*|stalk\w*|fraud\w*|harmful|malicious|counterfeit\w*|(?:content|safety) (?:filter|moderation)\w*|misus\w+)\b",
        r"(?:track|locate|trace|harm|harass|identify) (?:an? |the |some)?(?:individual|person|people|one|someone|owner|vehicle)\w*",
        r"(?:security (?:reasons|concerns|risk)|safety (?:reasons|concerns|policy|guidelines)|for (?:legal|ethical|safety|security) reasons|"
        r"identity (?:theft|documents?))\b",
        r"(?:Datenschutz\w*|Privatsphäre|privacidad|confidentialité|vie privée|données personnelles|privacidade)",
    ),
    re.compile(r"隐私|个人信息|安全原因|プライバシー|個人情報"),
)
DECLINING = first_of(
    phrases(
        rf"{_DECLINES}|declin\w+|refus\w+|prohibit\w*|forbid\w*|(?:rather|prefer|better|best) (?:not|leave|avoid)\b|(?:don't|do not) (?:feel|think it)\b|"
        r"not going to\b|keep (?:it|that|this) to myself\b|(?:have|need) to say no\b|would be (?:wrong|improper|irresponsible)\b",
        r"do(?:es)?(?:n't| not) (?:allow|permit|disclose|share|read|provide|process|identify|help|assist)|(?:respect|protect)\w*",
        r"(?:darf|kann|no puedo|ne peux pas|no debo|não posso)\b",
    ),
    re.compile(r"无法|不能|不便|不可以|できません|いたしかね|かねます|控え"),
)
UNSEEN = first_of(  # what can be seen is the reason after all
    phrases(
        rf"(?:blurr\w*|hidden|obscur\w+|occlu\w+|covered|illegible|unreadable|unclear|{NOT} (?:\w+ )?(?:visible|clear|legible|readable)|resolution|quality|"
        r"too (?:dark|small|low|faint|far)|pixelat\w+|blocked|degraded|out of focus|clearer|sharper|unscharf|verschwommen|borros\w|flou\w*)\b"
    ),
    re.compile(r"模糊|看不清|遮|不鮮明"),
)
_IMAGE = r"(?:images?|pictures?|photos?|photographs?|attachments?|files?|visual (?:content|input)|visuals)"
NO_IMAGE = first_of(
    phrases(
        rf"no {_IMAGE} (?:\w+ ){{0,4}}?(?:attached|provided|uploaded|included|shared|sent|received|supplied|found|available|here|present|"
        r"to (?:analy[sz]e|look at|view|examine|go by))\b",
        rf"there(?:'s| is| was| does not seem to be| doesn't seem to be) (?:no|not an|any|an) {_IMAGE}\b(?! of)",
        rf"no {_IMAGE}\W*$",
        rf"without (?:an|the|any|seeing the|access to the) {_IMAGE}\b(?! of)",
        rf"(?:{_CANNOT}|(?:don't|do not) have the ability to|not capable of|(?:no|lack the) ability to|don't|do not|didn't|did not|haven't|have not) (?:\w+ ){{0,2}}?"
        r"(?:view|see|access|open|process|display|analy[sz]e|look at|viewing|seeing|receive|received|load|interpret|get|find)(?: or \w+)? "
        rf"(?:(?:any|an|the|your|this|that|actual|attached|uploaded) )?{_IMAGE}\b"
        r"(?! (?:clearly|well|properly|enough|sharply|in (?:enough|sufficient|full)|with|quality|closely|because|is|has|shows|contain\w*|to|of|region|area|that|which|where|like|depicting|from)\b)"
        r"(?! \w+ly (?:enough )?)",
        rf"(?:upload|attach|re-?send|(?:share|send|provide|include)(?: me)?) (?:(?:an|the|your|it|me|again) )+{_IMAGE}?(?=\W|$|again)(?<!provide it)",
        rf"{_IMAGE} (?:\w+ )?(?:didn't|did not|failed to|hasn't|has not|doesn't seem to|does not seem to|doesn't appear to|does not appear to|could not be|"
        r"couldn't be|cannot be|wasn't|was not|isn't|is not) (?:have )?(?:load\w*|come through|upload\w*|attached|provided|opened|displayed|received|"
        r"included|available|found|arrive\w*|sent)\b",
        rf"(?:don't|do not|no|without) (?:have )?(?:\w+ )?access to (?:the|any|your) {_IMAGE}\b",
        rf"(?:haven't|have not|didn't|did not|forgot to) (?:\w+ )?(?:attach|upload|provide|include|share|send|sent)\w* (?:an|any|the) {_IMAGE}\b",
        rf"{_IMAGE} (?:not|could not be) (?:found|available|loaded|provided|attached)\b",
        r"text-only (?:model|assistant|AI)\b",
        rf"{_IMAGE} (?:is|are|seems? to be|appears? to be) (?:missing|not there|unavailable|absent|broken|corrupted?)\b",
        r"(?:text[- ](?:based|only)|language model)\b[^.!?]{0,60}\b(?:can't|cannot|unable|not able|no ability)\b[^.!?]{0,30}\b"
        r"(?:image|see|view|visual|picture|photo)",
        r"(?:keine? Bild|ninguna imagen|aucune image)\b",
    ),
    re.compile(
        r"没有(?:看到|收到|上传|提供)?(?:任何)?(?:图片|图像|照片)|(?:无法|不能)(?:查看|看到|访问|打开|直接查看)(?:任何)?(?:图片|图像|照片)|"
        r"画像が(?:添付|アップロード|提供|見当たら)"
    ),
)
_BY_NAME = phrases(r"(?:privacy|polic(?:y|ies)|guidelines|(?:is|are|being) (?:\w+ )?(?:private|confidential))\b")


def refuses(text: str) -> bool:
    """Whether a text that gives no answer declines for policy, privacy or safety, or "can't assist" without a reason."""
    if UNSEEN.search(text) and not _BY_NAME.search(text):
        return False
    return REFUSAL.search(text) is not None or (TOPIC.search(text) is not None and DECLINING.search(text) is not None)


def lacks_image(text: str) -> bool:
    """Whether a text that gives no answer says that no image arrived, or that the model cannot see images."""
    return NO_IMAGE.search(text) is not None
