"""The description of a release: what `release.json` says."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from stimuli_builder.errors import CavedError
from stimuli_builder.offsets import OFFSETS_LIMIT, VIDEO_BUDGET
from stimuli_builder.parts import REVERSAL, Part

FORMAT_VERSION = 2
BENCHMARK = "caved_or_convinced"
INFO_FILE = "release.json"
CARD_FILE = "README.md"


@dataclass(frozen=True)
class ReleaseInfo:
    """What `release.json` says of a release.

    Raises:
        ValueError: for offsets that the reversal test cannot have, or that have no videos of k = 16.
    """

    benchmark: str
    format_version: int
    made_by: str
    digest: str
    seed: int
    probes: int
    budgets: tuple[int, ...]
    reversal_offsets: int  # n offsets for each of the reversal test's budgets; 0: no such part
    canvas_px: int
    sources: str
    sources_fingerprint: str  # of the names and sizes of all files that could be drawn
    classes: tuple[str, ...]
    clips: int
    backgrounds: int
    licence: str
    libraries: dict[str, str]

    def __post_init__(self) -> None:
        if self.reversal_offsets not in range(OFFSETS_LIMIT + 1):
            raise ValueError(f"reversal_offsets = {self.reversal_offsets!r}")
        if self.reversal_offsets and VIDEO_BUDGET not in self.budgets:
            raise ValueError(f"reversal_offsets = {self.reversal_offsets} without k = {VIDEO_BUDGET}")

    @property
    def parts(self) -> tuple[Part, ...]:
        """The budgets, and "reversal" if the release has that part."""
        return (*self.budgets, REVERSAL) if self.reversal_offsets else self.budgets

    def to_json(self) -> str:
        """Indented JSON, keys in the order of the fields."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n"

    @staticmethod
    def from_json(text: str, where: str) -> ReleaseInfo:
        """Read `release.json`; `where` names the release in messages.

        Raises:
            CavedError: if it is no release of this benchmark, or one of another format.
        """
        remedy = "build it again with `caved build video`"
        try:
            fields = json.loads(text)
            version, benchmark = fields["format_version"], fields["benchmark"]
        except (ValueError, KeyError, TypeError) as error:
            raise CavedError(f"{where}: {INFO_FILE} is damaged ({error!r}): {remedy}") from error
        if benchmark != BENCHMARK:
            raise CavedError(f"{where} is a release of {benchmark}, not of {BENCHMARK}: set CAVED_RELEASE to another")
        if version != FORMAT_VERSION:
            raise CavedError(
                f"{where} has release format {version}, this version of the package reads {FORMAT_VERSION}: "
                f"{remedy}, or install the version of the package that made it ({fields.get('made_by')})"
            )
        try:
            fields["budgets"], fields["classes"] = tuple(fields["budgets"]), tuple(fields["classes"])
            return ReleaseInfo(**fields)
        except (KeyError, TypeError, ValueError) as error:
            raise CavedError(f"{where}: {INFO_FILE} lacks or has odd fields ({error}): {remedy}") from error
