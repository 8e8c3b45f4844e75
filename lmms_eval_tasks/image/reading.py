"""What a free answer says: an option, that it cannot tell, or nothing that can be read; and in what manner."""

from __future__ import annotations

from dataclasses import dataclass

from metrics.trial import Answer


@dataclass(frozen=True)
class Reading:
    """A reading of one response.

    Raises:
        ValueError: if something else than an answer is hedged, or a refusal is taken for an answer or an abstention.
    """

    answer: Answer  # its `rule` names what decided
    hedged: bool = False  # an answer in words of doubt
    refused: bool = False  # declines for policy, not for what can be seen

    def __post_init__(self) -> None:
        if self.hedged and self.answer.outcome != "answered":
            raise ValueError("only an answer can be hedged")
        if self.refused and self.answer.outcome != "unparseable":
            raise ValueError("a refusal for policy is neither an answer nor an abstention")
