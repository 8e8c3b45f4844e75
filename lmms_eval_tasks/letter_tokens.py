"""Which entries of a model's vocabulary spell an option letter."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from lmms_eval_tasks.stop import RunStopped

_LONGEST = 8  # characters of a vocabulary entry that may still be a letter with white space around it


@lru_cache(maxsize=4)
def letter_token_ids(tokenizer: Any, letters: tuple[str, ...]) -> dict[str, tuple[int, ...]]:
    """For each letter, the ids of all entries that decode, without surrounding white space, to it.

    `A`, ` A` and `A` after a line break are different entries of most vocabularies; a model may use any.

    Raises:
        RunStopped: if no entry spells one of the letters.
    """
    found: dict[str, list[int]] = {letter: [] for letter in letters}
    special = set(getattr(tokenizer, "all_special_ids", []))
    for token, index in tokenizer.get_vocab().items():
        text = token.decode("utf-8", "replace") if isinstance(token, bytes) else str(token)
        if index in special or len(text) > _LONGEST or not any(letter in text for letter in letters):
            continue
        spelt = tokenizer.decode([index]).strip()
        if spelt in found:
            found[spelt].append(index)
    missing = [letter for letter, ids in found.items() if not ids]
    if missing:
        raise RunStopped(
            f"no entry of this model's vocabulary spells {', '.join(missing)}: set CAVED_READOUT=text to read its "
            "generated text instead"
        )
    return {letter: tuple(sorted(ids)) for letter, ids in found.items()}


def letters_of(options: Sequence[str]) -> tuple[str, ...]:
    """Option letters as a hashable, ordered key."""
    return tuple(dict.fromkeys(options))
