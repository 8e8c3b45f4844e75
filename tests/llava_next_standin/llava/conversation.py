"""Chat templates: only that of Qwen."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum


class SeparatorStyle(Enum):
    TWO = "two"
    CHATML = "chatml"


@dataclass
class Conversation:
    system: str
    roles: tuple[str, str]
    sep: str
    sep2: str | None = None
    sep_style: SeparatorStyle = SeparatorStyle.CHATML
    messages: list[list[str | None]] = field(default_factory=list)

    def copy(self) -> Conversation:
        return replace(self, messages=[list(message) for message in self.messages])

    def append_message(self, role: str, message: str | None) -> None:
        self.messages.append([role, message])

    def get_prompt(self) -> str:
        """Turns one after the other; the turn without a message is the one to be written."""
        turns = [f"{self.system}{self.sep}\n"]
        turns += [f"{role}\n" if text is None else f"{role}\n{text}{self.sep}\n" for role, text in self.messages]
        return "".join(turns)


conv_templates = {
    "qwen_1_5": Conversation(
        system="<|im_start|>system\nYou are a helpful assistant.",
        roles=("<|im_start|>user", "<|im_start|>assistant"),
        sep="<|im_end|>",
    )
}
