"""Pages that several commands write: each replaces its own part and leaves the others."""

from __future__ import annotations

from pathlib import Path

from stimuli_builder.atomic import write_whole
from stimuli_builder.errors import CavedError


def _marks(name: str) -> tuple[str, str]:
    return f"<!-- {name} -->", f"<!-- end of {name} -->"


def with_part(page: str, name: str, text: str) -> str:
    """The page with a part of this name: in its place, or at the end if there was none.

    Raises:
        CavedError: if the part has a beginning and no end, or the reverse.
    """
    first, last = _marks(name)
    part = f"{first}\n{text.strip()}\n{last}\n"
    if first not in page and last not in page:
        return f"{page.rstrip()}\n\n{part}".lstrip()
    before, _, rest = page.partition(f"{first}\n")
    _, found, after = rest.partition(f"{last}\n")
    if not found:
        raise CavedError(
            f"the page has {first} or {last} without the other: put both on lines of their own, or take both out"
        )
    return before + part + after


def write_part(path: Path, name: str, text: str) -> None:
    """Write a part of the page at `path`, which need not be there yet.

    Raises:
        CavedError: as `with_part`.
    """
    page = path.read_text(encoding="utf-8") if path.is_file() else ""
    write_whole(path, with_part(page, name, text).encode())
