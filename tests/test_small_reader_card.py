"""What a training measured is kept whole, and the card and the page show all of it beside the warning of what it is not."""

import math

from lmms_eval_tasks.expected_cells import TASK
from lmms_eval_tasks.small_reader.card import Subject, image_card, video_card
from lmms_eval_tasks.small_reader.suite import Measured, side_by_side
from lmms_eval_tasks.small_reader.validation_part import CARD_MEASURES, small_reader_part
from metrics.intervals import NOTHING, Estimate

IMAGE_TASK = "cant_tell_or_wont_say"
VERSIONS = {"torch": "9.9"}


def measured(seed: int) -> Measured:
    suite = {
        TASK: {
            "on_grid_J0": Estimate(0.9 + seed / 100, 0.8, 0.95, 48, "bootstrap"),
            "on_grid_J": Estimate(0.5, 0.4, 0.6, 48, "bootstrap"),
            "in_gap_J": Estimate(0.0, 0.0, 0.0, 48, "by construction"),
            "on_grid_J_confidence": Estimate(0.45, 0.4, 0.5, 48, "bootstrap"),
            "in_gap_S": NOTHING,
        },
        IMAGE_TASK: {
            "EIV": Estimate(0.05, 0.0, 0.1, 16, "bootstrap"),
            "EIV_p": Estimate(0.02, math.nan, math.nan, 16, "point"),
        },
    }
    return Measured(seed, "ab" * 32, 48, 60.0 * (seed + 1), suite)


def same(a: Estimate, b: Estimate) -> bool:
    return all(x == y or (x != x and y != y) for x, y in zip(vars(a).values(), vars(b).values(), strict=True))


def test_a_measurement_survives_its_json():
    first = measured(2)
    again = Measured.from_json(first.to_json())
    assert (again.seed, again.release, again.probes, again.seconds) == (2, "ab" * 32, 48, 180.0)
    assert all(same(again.suite[t][n], value) for t, cells in first.suite.items() for n, value in cells.items())
    assert math.isnan(again.suite[TASK]["in_gap_S"].value) and "NaN" not in first.to_json()


def test_seeds_stand_side_by_side():
    lines = side_by_side([measured(0), measured(1)]).splitlines()
    assert "| measure | seed 0 | seed 1 |" in lines
    assert "| `on_grid_J0` | 0.900 [0.800, 0.950] | 0.910 [0.800, 0.950] |" in lines
    assert "| `in_gap_S` | - | - |" in lines
    assert not any("confidence" in line for line in lines)
    chosen = side_by_side([measured(0)], {TASK: ("on_grid_J_confidence", "unknown")}).splitlines()
    assert chosen[-2:] == ["| `on_grid_J_confidence` | 0.450 [0.400, 0.500] |", "| `unknown` | - |"]


def test_cards_say_what_a_reader_is_not_and_show_every_seed():
    subject = Subject("small-reader", 1_234_567, 0, VERSIONS)
    for card in (
        video_card(subject, [measured(seed) for seed in (0, 1, 2)], CARD_MEASURES["video"]),
        image_card(subject, [measured(seed) for seed in (0, 1, 2)], CARD_MEASURES["image"]),
    ):
        assert card.startswith("---\nlicense: mit\n") and "1,234,567 parameters" in card
        assert "**no evidence about any other model**" in card and "caved_control" in card
        assert "| measure | seed 0 | seed 1 | seed 2 |" in card
        assert "seed 0 1 min, seed 1 2 min, seed 2 3 min" in card and "torch 9.9" in card
        assert "{" not in card


def test_the_page_names_releases_and_leaves_out_no_seed():
    found = {"video": [measured(0), measured(3)], "image": [measured(1)]}
    page = small_reader_part(found, VERSIONS, [True, False, False, False])
    assert "in 1 of the 4 probes" in page and "S = 0.250, J0 = 1 and J = 0.750" in page
    assert "known before" not in small_reader_part(found, VERSIONS)
    assert page.startswith("## Small readers") and "They are controls" in page
    assert "seed 0 | seed 3" in page and "`" + "ab" * 32 + "`" in page
    assert "| `EIV_p` | 0.020 |" in page and "nan" not in page
    assert "training took 1.0, 4.0 minutes" in page and "| `EIV` | 0.050 [0.000, 0.100] |" in page
