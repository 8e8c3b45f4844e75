"""Taking from a response what is not its answer: thinking, mark-up, look-alike letters, the question's echo."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Protocol

_THINK = r"(?:think|thinking|thought|reasoning|reflection)"
_LOOKALIKES = str.maketrans("АВСЕαβΑΒ", "ABCEabAB")  # Cyrillic and Greek capitals drawn like Latin ones


class Worded(Protocol):
    """An option as far as cleaning needs it."""

    @property
    def letter(self) -> str:
        """The option's capital letter."""

    @property
    def text(self) -> str:
        """The option's words."""


def _without_thinking(text: str) -> str | None:
    text = text.replace("◁", "<").replace("▷", ">")
    closed = max(
        (m.end() for m in re.finditer(rf"</{_THINK}>", text, flags=re.I)), default=0
    )  # none to look for beyond
    text = re.sub(rf"<{_THINK}>.*?</{_THINK}>", " ", text[:closed], flags=re.S | re.I) + text[closed:]
    text = re.split(rf"</{_THINK}>", text, flags=re.I)[-1]  # templates may put the opening tag into the prompt
    before, opened, _ = (*re.split(rf"<{_THINK}>", text, maxsplit=1, flags=re.I), None, None)[:3]
    if opened is not None and not (before or "").strip():
        return None
    return before


def clean_response(response: str) -> str | None:
    """The response as plain text, or None if it ends before its thinking does.

    Full-width letters and punctuation become plain ones (NFKC); Markdown, LaTeX boxes, answer tags and
    special tokens are taken off; a lone Cyrillic or Greek capital that looks like a Latin one becomes it.
    """
    text = unicodedata.normalize("NFKC", response)
    text = re.sub(r"[\u200b-\u200f\u2060\ufeff]", "", text)
    text = text.replace("’", "'").replace("‘", "'").replace("“", '"').replace("”", '"')
    text = re.sub(r"<\|[^|>]*\|>|</?s>|\[/?INST\]", " ", text)
    unthought = _without_thinking(text)
    if unthought is None:
        return None
    text = unthought
    for pattern in (r"<answer>(.*?)(?:</answer>|$)", r"\\boxed\s*\{((?:[^{}]|\{[^{}]*\})*)\}"):
        marked = re.findall(pattern, text, flags=re.S | re.I)
        if marked:
            text = marked[-1]
    text = re.sub(r"\\(?:text|mathrm|mathbf|textbf)\s*\{([^{}]*)\}", r"\1", text)
    text = re.sub(r"[*_`~$]|^[ \t]*[#>]+[ \t]*", "", text, flags=re.M)
    if len(text.strip(" .:()[]\n")) == 1:
        text = text.translate(_LOOKALIKES)
    text = re.sub(r"(?i)(ответ|απάντηση)(\W*)([АВСЕΑΒ])\b", lambda m: m[1] + m[2] + m[3].translate(_LOOKALIKES), text)
    return text.strip()


def _squeezed(text: str) -> str:
    return re.sub(r"[ \t]+", " ", text).strip()


def without_echo(text: str, prompt: str, options: Sequence[Worded]) -> str:
    """`text` without lines that repeat the prompt.

    The options' own lines are an echo only where all of them are repeated; one of them alone is an answer.
    """
    text = re.sub(r"[ \t]+", " ", text)
    option_lines = [f"{o.letter}. {o.text}" for o in options]
    for line in map(_squeezed, prompt.splitlines()):
        if len(line) > 8 and line not in option_lines:
            text = text.replace(line, " ")
    if all(line in text for line in option_lines):
        for line in option_lines:
            text = text.replace(line, " ", 1)
    return text.strip()
