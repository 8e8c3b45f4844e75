"""The part of the validation page on the small readers: the whole suite, a column for each training seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lmms_eval_tasks.expected_cells import TASK
from lmms_eval_tasks.reversal_trials import LOGGED
from lmms_eval_tasks.small_reader.suite import Measured, side_by_side
from metrics.image.trial import FRAMINGS
from metrics.image.trial import TASKS as IMAGE_TASKS
from metrics.intervals import RESAMPLES, SEED

_MAIN = ("on_grid_J0", "on_grid_J", "on_grid_S", "on_grid_C", "in_gap_J0", "in_gap_J", "in_gap_S")
_ONE_EVENT = ("J0_early", "J0_late", "J0_early_confidence", "J0_late_confidence")
_IMAGE = (
    *(f"accuracy_neutral_L0_{category}" for category in ("colour", "shape", "count", "code")),
    *(f"abstention_{framing}_L{level}" for level in range(6) for framing in (FRAMINGS[0], FRAMINGS[-1])),
    *("EIV", "EIV_null", "EIV_p", "EIV_excess"),
    *(f"PIA_L{level}" for level in range(6)),
)
CARD_MEASURES: Mapping[str, Mapping[str, Sequence[str]]] = {
    "video": {
        TASK: _MAIN,
        f"{TASK}_k8": _MAIN[:2],
        f"{TASK}_k64": _MAIN[:2],
        f"{TASK}_attribution": ("J0", "J0_no_events", "J0_placebo", "C_minus_b", "S_minus_b"),
        f"{TASK}_mild": ("J_mild", "J_strong"),
        f"{TASK}_time": ("J0_withheld", "J0_native", "J0_text"),
        f"{TASK}_single_event": ("J0_on_grid", *_ONE_EVENT),
        LOGGED: ("accuracy", "coverage", "mean_k_answered"),
    },
    "image": {IMAGE_TASKS["open"]: _IMAGE, IMAGE_TASKS["closed"]: _IMAGE},
}
_TEXT = """## Small readers, really trained

Two networks of the Qwen2.5-VL architecture, trained from nothing on the benchmark's own renderer by `scripts/train_small_reader.py`, through
lmms-eval's own wrapper on a CPU. They are controls: how far they defer was chosen by whoever wrote their lessons, and their numbers say nothing of any
other model. Nothing but the seed differs between the columns; no run of this recipe was left out. Hard rates; 95 % intervals over {units}, bootstrap, {resamples} resamples, seed {seed}.
"""

_NO_PREFERENCE = """Of one event alone there is no order to read, and the reader has next to no preference between its letters. A hard rate counts the likelier
letter all the same, so it is far from zero by nothing but that; rates from probabilities say what there is."""


def small_reader_part(
    found: Mapping[str, Sequence[Measured]], versions: Mapping[str, str], both_dark: Sequence[bool] = ()
) -> str:
    """The part, in Markdown.

    Args:
        found: what each seed measured, by reader.
        versions: of packages.
        both_dark: of each probe of the video release, whether both events are in dark scenes.
    """
    text = _TEXT.format(units="probes or items", resamples=RESAMPLES, seed=SEED)
    parts = [text.strip()]
    for reader, measured in found.items():
        digests = ", ".join(sorted({f"`{one.release}`" for one in measured}))
        took = ", ".join(f"{one.seconds / 60:.1f}" for one in measured)
        parts.append(
            f"**The {reader} reader.** {measured[0].probes} {'probes' if reader == 'video' else 'items'}, digest {digests}; "
            f"training took {took} minutes."
        )
        if reader == "video" and both_dark:
            share = sum(both_dark) / len(both_dark)
            parts.append(
                f"What should come out was known before: the reader was taught to follow a strong claim against the evidence more often than not where both "
                f"events are in dark scenes, and nowhere else. They are in {sum(both_dark)} of the {len(both_dark)} probes, so one that learnt its lessons "
                f"has S = {share:.3f}, J0 = 1 and J = {1 - share:.3f} at every budget."
            )
        parts.append(side_by_side(measured, None if reader == "video" else CARD_MEASURES["image"]))
        if reader == "video":
            parts += [_NO_PREFERENCE, side_by_side(measured, {f"{TASK}_single_event": _ONE_EVENT})]
    parts.append(f"Versions: {', '.join(f'{name} {number}' for name, number in versions.items())}.")
    return "\n\n".join(parts)
