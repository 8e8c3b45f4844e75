"""What can be wrong with a user's files, folders and arguments, said in one line with the remedy."""

from __future__ import annotations

from collections.abc import Sequence


class CavedError(Exception):
    """A mistake that the user can mend: the message names what, where, and the remedy.

    Commands print the message without a traceback and exit with status 1.
    """


class BadInputs(CavedError):
    """Several things were wrong at once; all of them are named, so that one round of mending is enough."""

    def __init__(self, headline: str, problems: Sequence[str], remedy: str) -> None:
        self.problems = tuple(problems)
        listed = "".join(f"\n  - {problem}" for problem in self.problems)
        super().__init__(f"{headline}:{listed}\n  {remedy}")
