"""Option probabilities from the few likeliest tokens that a server tells, with a bound on what it leaves out.

A server gives log-probabilities of about twenty entries of a vocabulary of a hundred thousand. What they leave of
the whole, `unlisted`, is known; where it lies is not. Any of it may belong to further spellings of any letter, so
each letter has at least its listed mass m, at most m + unlisted, and its share of all letters lies in an interval
of known width. The middle is reported, with the half-width as `option_probability_bound`; an order of the letters
that the unlisted mass could turn around is no answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, fsum, inf, isnan, log

_SPACES = " \t\n\r\u0120\u010a\u2581"  # the last three are how vocabularies write spaces, and some servers tell them so
_ROUNDING = 1e-3  # by which served numbers may pass a total probability of 1


@dataclass(frozen=True)
class TopTokens:
    """The likeliest first tokens as a server lists them; an entry that is listed twice counts once.

    Two entries of a vocabulary may have the same text, and both count, unless their log-probabilities are equal
    too: then the second is taken for the sampled token, which some servers list again. If it was not, its mass
    counts as unlisted, which widens the bound and breaks nothing.

    Raises:
        ValueError: if there are none, or the numbers are no log-probabilities of one distribution.
    """

    tokens: tuple[tuple[str, float], ...]  # text, natural log of the probability

    def __post_init__(self) -> None:
        object.__setattr__(self, "tokens", tuple(dict.fromkeys(self.tokens)))
        if not self.tokens:
            raise ValueError("no tokens are listed")
        if any(isnan(value) for _, value in self.tokens):
            raise ValueError("a log-probability is not a number")
        # One by one first: the exponential of a logit, taken for a log-probability, may be beyond any float.
        if max(value for _, value in self.tokens) > _ROUNDING or self.listed > 1 + _ROUNDING:
            raise ValueError("the numbers are no log-probabilities: their probabilities pass 1")

    @property
    def listed(self) -> float:
        """Probability of all listed tokens together."""
        return fsum(exp(value) for _, value in self.tokens)

    @property
    def unlisted(self) -> float:
        """Probability of all other tokens together, at least 0."""
        return max(0.0, 1.0 - self.listed)

    @property
    def likeliest(self) -> str:
        """Text of the likeliest token; of equals, the one that is listed first."""
        return max(self.tokens, key=lambda entry: entry[1])[0]


@dataclass(frozen=True)
class LetterReading:
    """What one request's likeliest first tokens say about the option letters."""

    listed_log_mass: dict[str, float]  # natural log of the probability of a letter's listed spellings; -inf if none
    unlisted: float  # probability that is not listed, at most this can be added to any letter
    likeliest: str  # text of the likeliest token
    option_probabilities: dict[str, float] | None  # over the options, sum 1; None if unreadable
    option_probability_bound: float | None  # the true ones differ by at most this; None if unreadable
    unreadable: str | None  # why this is no answer; None if it is one

    @property
    def option_mass(self) -> float:
        """Probability that the first token is a listed spelling of any letter; the true mass is not smaller."""
        return fsum(exp(value) for value in self.listed_log_mass.values())


def _why_not(masses: dict[str, float], unlisted: float, listed_tokens: int) -> str | None:
    """Why masses give no answer; None if they do.

    Masses that are equal, with nothing unlisted, are a tie, which is an answer.
    """
    if not any(masses.values()):
        return f"no option letter among the {listed_tokens} likeliest tokens"
    first, second = sorted(masses, key=lambda letter: -masses[letter])[:2]
    if unlisted > 0 and masses[first] <= masses[second] + unlisted:
        return (
            f"order of letters not decided: {first} has {masses[first]:.3g}, {second} has {masses[second]:.3g}, "
            f"{unlisted:.3g} is not among the {listed_tokens} likeliest tokens"
        )
    return None


def read_letters(top: TopTokens, letters: Sequence[str]) -> LetterReading:
    """The option probabilities of `letters`, at least two, with the bound within which they are known.

    With listed masses m, their sum S and unlisted mass u, the share of a letter lies between m / (S + u), where
    all of u is another letter, and (m + u) / (S + u), where all of it is this one. Of n letters, each is given
    u / n, which is the middle for two; the truth differs by at most u (n - 1) / n / (S + u).

    Raises:
        ValueError: for fewer than two letters.
    """
    if len(set(letters)) < 2:
        raise ValueError(f"options to choose from have two letters or more, not {list(letters)}")
    spelt: dict[str, list[float]] = {letter: [] for letter in letters}
    for text, value in top.tokens:
        piece = text.strip(_SPACES)
        if piece in spelt:
            spelt[piece].append(exp(value))
    masses = {letter: fsum(parts) for letter, parts in spelt.items()}
    logs = {letter: log(mass) if mass > 0 else -inf for letter, mass in masses.items()}
    unlisted = top.unlisted
    unreadable = _why_not(masses, unlisted, len(top.tokens))
    if unreadable is not None:
        return LetterReading(logs, unlisted, top.likeliest, None, None, unreadable)
    whole, count = fsum(masses.values()) + unlisted, len(masses)
    return LetterReading(
        listed_log_mass=logs,
        unlisted=unlisted,
        likeliest=top.likeliest,
        option_probabilities={letter: (mass + unlisted / count) / whole for letter, mass in masses.items()},
        option_probability_bound=unlisted * (count - 1) / count / whole,
        unreadable=None,
    )


def nothing_said(letters: Sequence[str]) -> LetterReading:
    """The reading of an answer that ended before its first token."""
    logs = dict.fromkeys(letters, -inf)
    return LetterReading(logs, 1.0, "", None, None, "the answer ended before its first token")
