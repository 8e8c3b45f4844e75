"""One trial of the image benchmark: an image of some level, a framed question, what was answered; a line of a sample log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from metrics.trial import Answer

Mode = Literal["intact", "subtractive", "corruptive"]
Framing = Literal["neutral", "hedged", "plain", "conviction"]
Elicitation = Literal["open", "closed"]
State = Literal["answer", "accept", "abstain"]

TASK = "cant_tell_or_wont_say"
TASKS: dict[Elicitation, str] = {"open": TASK, "closed": f"{TASK}_closed"}
INTACT: Mode = "intact"  # L0, the same image in both modes of degradation
DEGRADED: tuple[Mode, Mode] = ("subtractive", "corruptive")
FRAMINGS: tuple[Framing, ...] = ("neutral", "hedged", "plain", "conviction")  # by rising force
ASSERTING = FRAMINGS[1:]
OPTIONS = 4
CHANCE = 1 / OPTIONS
LETTERS = "ABCDE"  # of displayed options, in order; E only where "cannot be determined" is one of them
# Raised when a field changes its meaning; logs of another version are refused rather than misread.
IMAGE_LOG_VERSION = 1


@dataclass(frozen=True)
class ImageTrial:
    """A question about an image under a framing, and the answer (paper, "Approach").

    Letters name displayed options from the first one on. The four trials that differ in framing alone, same question, mode,
    level and slot, are a **block**: same image, same options in the same order, same paraphrase, and all but the neutral one
    assert the same option.
    """

    task: str
    release: str  # digest
    release_questions: int  # how many questions the release has, so that a partial log shows
    item: str  # the cluster that all intervals resample
    question: str  # `item_category`, unique in the release
    category: str
    mode: Mode
    level: int  # d; 0 exactly for the mode "intact"
    strength: float  # share of the region hidden, or blur sigma over the region's height; 0 if intact
    slot: int  # 0 or 1: two option orders and paraphrases of one question; right in one, wrong in the other
    framing: Framing
    paraphrase: int  # which wording of the framing
    elicitation: Elicitation
    options: tuple[str, ...]  # texts as displayed, four, or five with "cannot be determined"
    correct: str  # letter of the right option
    asserted: str  # letter of the option that this block's framings assert; the neutral one does not say it
    cannot: str | None  # letter of "cannot be determined"; None if it is no option
    image: str  # id
    answer: Answer  # "abstained" also where the option "cannot be determined" is chosen
    hedged: bool = False  # an answer in words of doubt
    refused: bool = False  # declines for policy, not for what can be seen; its answer is "unparseable"
    judged: Mapping[str, Any] | None = None  # a judge's reading: outcome, option, refused; None without a judge
    receipt: Mapping[str, Any] | None = None
    padding: bool = False  # repeated so that all ranks have equal shares; never counted
    release_levels: int = (
        0  # how many levels below L0 the release has in each mode, so that a missing one shows; 0: not known
    )

    def __post_init__(self) -> None:
        allowed: dict[str, tuple[object, ...]] = {
            "mode": (INTACT, *DEGRADED),
            "framing": FRAMINGS,
            "elicitation": tuple(TASKS),
            "slot": (0, 1),
        }
        for name, values in allowed.items():
            if getattr(self, name) not in values:
                raise ValueError(f"{name} is {getattr(self, name)!r}, none of {values}")
        if not isinstance(self.level, int) or self.level < 0 or (self.level == 0) != (self.mode == INTACT):
            raise ValueError(f"level {self.level!r} of the mode {self.mode!r}")
        letters = LETTERS[: len(self.options)]
        if len(self.options) != OPTIONS + (self.elicitation == "closed"):
            raise ValueError(f"{len(self.options)} options in the {self.elicitation} elicitation")
        if (self.cannot is not None) != (self.elicitation == "closed"):
            raise ValueError(f"cannot = {self.cannot!r} in the {self.elicitation} elicitation")
        for name in ("correct", "asserted", "cannot"):
            letter = getattr(self, name)
            if letter is not None and (len(letter) != 1 or letter not in letters):
                raise ValueError(f"{name} is {letter!r}, none of the options {letters}")
        if self.cannot is not None and self.cannot in (self.correct, self.asserted, self.answer.option):
            raise ValueError("to answer that it cannot be determined is to abstain, and is never right or asserted")
        given = self.answer.option_probabilities
        if given is not None and set(given) != set(letters):
            raise ValueError(f"option probabilities of {sorted(given)}, the question has {letters}")
        if self.answer.option is not None and self.answer.option not in letters:
            raise ValueError(f"an answer {self.answer.option!r}, the question has {letters}")
        if self.refused and self.answer.outcome != "unparseable":
            raise ValueError("a refusal for policy is neither an answer nor an abstention")

    @property
    def assertion_is_right(self) -> bool:
        """Whether the option that this block's framings assert is the right one."""
        return self.asserted == self.correct

    @property
    def state(self) -> State | None:
        """What the model did: accept the asserted option, answer with another one, or abstain; None if unreadable."""
        if self.answer.outcome == "unparseable":
            return None
        if self.answer.outcome == "abstained":
            return "abstain"
        return "accept" if self.answer.option == self.asserted else "answer"

    @property
    def block(self) -> tuple[str, str, int, int]:
        """What the four framings of one block have in common."""
        return self.question, self.mode, self.level, self.slot

    @property
    def key(self) -> tuple[str, ...]:
        """What tells trials of one run apart."""
        return (*map(str, self.block), self.framing)

    def to_json(self) -> dict[str, Any]:
        """A dictionary that JSON can hold; `from_json` turns it back."""
        return {"log_version": IMAGE_LOG_VERSION, **asdict(self), "options": list(self.options)}

    @staticmethod
    def from_json(fields: Mapping[str, Any]) -> ImageTrial:
        """The trial of a log line.

        Raises:
            ValueError: if it was written by another version, or lacks fields.
        """
        rest = dict(fields)
        version = rest.pop("log_version", None)
        if version != IMAGE_LOG_VERSION:
            raise ValueError(f"log version {version}, this version of the package reads {IMAGE_LOG_VERSION}")
        try:
            rest["answer"] = Answer(**rest["answer"])
            rest["options"] = tuple(rest["options"])
            return ImageTrial(**rest)
        except (KeyError, TypeError, OverflowError) as error:
            raise ValueError(f"no trial: {error}") from error

    def __str__(self) -> str:
        return "/".join(self.key)
