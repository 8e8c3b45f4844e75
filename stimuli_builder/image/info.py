"""The description of an image release: what its `release.json` says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from stimuli_builder.errors import CavedError

IMAGE_FORMAT_VERSION = 1
IMAGE_BENCHMARK = "cant_tell_or_wont_say"
NOT_CALIBRATED = "not calibrated by people"  # all that this version can say of levels
PARAPHRASES = 3  # wordings of each framing; which one a slot has is stored with the question


@dataclass(frozen=True)
class ImageReleaseInfo:
    """What `release.json` says of an image release."""

    benchmark: str
    format_version: int
    made_by: str
    digest: str
    seed: int
    items: int
    questions: int
    categories: tuple[str, ...]
    levels: int  # how many below L0 in each mode
    # by category and mode, the strengths of L1 ...: a region has those of the category that stands first among its questions;
    # a category that stands first nowhere is left out
    strengths: Mapping[str, Mapping[str, tuple[float, ...]]]
    margin: float  # by which degradation reaches beyond the region, over the region's height
    canvas_px: int  # side of procedural images; 0: annotated images, of their own sizes
    sources: str
    sources_fingerprint: str
    licence: str
    calibrated_by: str  # who found the levels: `NOT_CALIBRATED` until people have answered
    libraries: Mapping[str, str]

    def to_json(self) -> str:
        """Indented JSON, keys in the order of the fields."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n"

    @staticmethod
    def from_json(text: str, where: str) -> ImageReleaseInfo:
        """Read `release.json`; `where` names the release in messages.

        Raises:
            CavedError: if it is no release of this benchmark, or one of another format.
        """
        remedy = "build it again with `caved build image`"
        try:
            fields = json.loads(text)
            version, benchmark = fields["format_version"], fields["benchmark"]
        except (ValueError, KeyError, TypeError) as error:
            raise CavedError(f"{where}: release.json is damaged ({error!r}): {remedy}") from error
        if benchmark != IMAGE_BENCHMARK:
            raise CavedError(
                f"{where} is a release of {benchmark}, not of {IMAGE_BENCHMARK}: build one with `caved build image`, or unset "
                "CAVED_RELEASE for the embedded default"
            )
        if version != IMAGE_FORMAT_VERSION:
            raise CavedError(
                f"{where} has release format {version}, this version of the package reads {IMAGE_FORMAT_VERSION}: {remedy}, "
                f"or install the version of the package that made it ({fields.get('made_by')})"
            )
        try:
            fields["categories"] = tuple(fields["categories"])
            fields["strengths"] = {
                category: {mode: tuple(map(float, values)) for mode, values in modes.items()}
                for category, modes in fields["strengths"].items()
            }
            return ImageReleaseInfo(**fields)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise CavedError(f"{where}: release.json lacks or has odd fields ({error}): {remedy}") from error
