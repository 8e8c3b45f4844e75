"""Degradation takes what it says from a region, leaves the rest of the image alone, and is the same everywhere."""

import hashlib
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw
from scipy.ndimage import gaussian_filter, gaussian_filter1d, gaussian_laplace

from stimuli_builder.errors import CavedError
from stimuli_builder.image.blur import blurred, gaussian_matrix, sigma_share, to_bytes
from stimuli_builder.image.degraded import affected, degraded_views
from stimuli_builder.image.grain import bands, drawn_grain, lost_share, measured_grain
from stimuli_builder.image.item import CATEGORIES, Region, region_of_mask
from stimuli_builder.image.levels import DEFAULT_STRENGTHS, MARGIN, check_strengths, strengths_for
from stimuli_builder.image.occlusion import SHARE_TOLERANCE, TONES, hidden_pixels, occluded
from stimuli_builder.image.symbols import SHAPES, shape_outline

FEW = {"subtractive": (0.25, 0.6, 1.0), "corruptive": (0.1, 0.2, 0.5)}


def printed(size=(160, 120), ink=(30, 30, 36), paper=(226, 222, 214)) -> tuple[Image.Image, Region]:
    """Bars and a ring on plain paper: print that no version of a font renderer changes."""
    image = Image.new("RGB", size, paper)
    draw = ImageDraw.Draw(image)
    for i, x in enumerate(range(52, 108, 7)):
        draw.rectangle((x, 45 + 3 * (i % 3), x + 2, 74), fill=ink)
    draw.ellipse((84, 48, 100, 70), outline=ink, width=4)
    return image, Region("code", (50, 44, 110, 76))


def grainy(image: Image.Image, deviation: float, coloured: bool = False, coarse_px: float = 0) -> Image.Image:
    noise = np.random.RandomState(5).standard_normal((image.height, image.width, 3 if coloured else 1))
    if coarse_px:
        noise = gaussian_filter(noise, (coarse_px, coarse_px, 0))
        noise /= noise.std()
    return Image.fromarray(to_bytes(np.asarray(image) + deviation * noise))


@st.composite
def regions(draw):
    """(size, region): boxes from 20 pixels on and speckled masks, some at the image's edges."""
    width, height = draw(st.integers(12, 90)), draw(st.integers(12, 90))
    w, h = draw(st.integers(5, width)), draw(st.integers(4, height))
    left, top = draw(st.integers(0, width - w)), draw(st.integers(0, height - h))
    box = (left, top, left + w, top + h)
    if draw(st.booleans()):
        return (width, height), Region("r", box)
    mask = np.zeros((height, width), dtype=bool)
    mask[top : top + h, left : left + w] = np.random.RandomState(draw(st.integers(0, 99))).rand(h, w) < draw(
        st.sampled_from([0.2, 0.5, 0.9])
    )
    mask[top, left : left + w] = mask[top : top + h, left] = True  # at least 8 pixels
    mask[top + 1 : top + 4, left + 1 : left + 5] = True
    return (width, height), region_of_mask("r", mask)


def within(region: Region, size: tuple[int, int], margin: float) -> np.ndarray:
    """The region's box and what lies nearer to one of its pixels than the margin, by comparing with each of them."""
    left, top, right, bottom = region.box
    ys, xs = (part.ravel() for part in np.mgrid[top:bottom, left:right])
    rows, columns = np.mgrid[: size[1], : size[0]]
    least = np.full((size[1], size[0]), np.inf)
    for y, x in zip(ys, xs, strict=True):
        least = np.minimum(least, (rows - y) ** 2 + (columns - x) ** 2)
    return least <= round(margin * region.height_px) ** 2


@settings(max_examples=40, deadline=None)
@given(regions(), st.sampled_from([0, 0.1, 0.5, 0.75, 1.3]), st.integers(0, 99))
def test_what_degradation_reaches_hides_and_leaves(sized, margin, seed):
    size, region = sized
    dark = np.random.RandomState(seed).randint(0, 60, (size[1], size[0], 3), dtype=np.uint8)  # darker than any patch
    image, reach, mask = Image.fromarray(dark), affected(region, size, margin), region.mask(size)
    assert (reach == within(region, size, margin)).all()
    views = list(degraded_views(image, region, FEW, margin, seed, "i00000", region.name))
    assert [v[:3] for v in views] == [(m, i + 1, s) for m in FEW for i, s in enumerate(FEW[m])]
    hidden_before = np.zeros_like(mask)
    for mode, _, strength, achieved, view in views:
        shown = np.asarray(view)
        assert (shown[~reach] == dark[~reach]).all()
        if mode == "corruptive":
            assert achieved == strength
            continue
        hidden = (shown != dark).any(-1)
        assert set(np.unique(shown[hidden])) <= set(TONES) and np.ptp(shown[hidden], axis=1).max() == 0
        assert achieved == pytest.approx(hidden[mask].mean())
        assert abs(achieved - strength) <= SHARE_TOLERANCE
        assert not (hidden_before & ~hidden).any() and hidden.sum() > hidden_before.sum()
        hidden_before = hidden


@settings(max_examples=25, deadline=None)
@given(regions(), st.lists(st.floats(0.03, 1), min_size=2, max_size=5, unique=True), st.integers(0, 9))
def test_a_share_hides_the_same_whatever_other_levels_there_are(sized, shares, seed):
    size, region = sized
    shares = sorted(shares)
    try:
        masks, achieved, _ = hidden_pixels(region, size, shares, MARGIN, seed, "i")
    except CavedError as error:  # too near to one another for so few pixels
        assert "a larger region" in str(error)
        return
    for share, mask, got in zip(shares, masks, achieved, strict=True):
        alone, (as_well,), _ = hidden_pixels(region, size, [share], MARGIN, seed, "i")
        assert (alone[0] == mask).all() and as_well == got


def test_a_sigma_blurs_the_same_whatever_other_levels_there_are():
    image, region = printed()
    image = grainy(image, 4)
    together = blurred(image, region, (0.1, 0.24, 0.7), MARGIN, 3, "i")
    for sigma, view in zip((0.1, 0.24, 0.7), together, strict=True):
        assert blurred(image, region, [sigma], MARGIN, 3, "i")[0].tobytes() == view.tobytes()


def test_a_sigma_of_zero_is_the_image_itself():
    image, region = printed()
    image = grainy(image, 4, coloured=True)
    assert blurred(image, region, [0.0], MARGIN, 3, "i")[0].tobytes() == image.tobytes()


def test_regions_of_too_few_pixels_are_refused():
    image = Image.new("RGB", (40, 40), "white")
    with pytest.raises(
        CavedError, match=r"region r of 9 pixels: hiding 0\.15, 0\.3, .* mark a larger region, or choose"
    ):
        list(degraded_views(image, Region("r", (5, 5, 8, 8)), strengths_for("code"), MARGIN, 0))
    with pytest.raises(CavedError, match="choose shares farther apart"):
        occluded(image, Region("r", (5, 5, 25, 25)), (0.503, 0.5031), MARGIN, 0)
    with pytest.raises(ValueError, match="outside of the image"):
        list(degraded_views(image, Region("r", (5, 5, 50, 20)), FEW, MARGIN, 0))


@pytest.mark.parametrize("margin", [0, MARGIN])
@pytest.mark.parametrize("box", [(0, 0, 60, 40), (20, 10, 44, 26)])
@pytest.mark.parametrize("tone", [0, 72, 100, 128, 150, 184, 255])
def test_patches_stand_out_from_any_grey_wherever_they_lie(tone, box, margin):
    """Also where the region is the whole image: between 2 in 5 and all of what is hidden differs by half of the tones' distance."""
    plain = Image.new("RGB", (60, 40), (tone, tone, tone))
    for _, view in occluded(plain, Region("r", box), (0.1, 0.5, 1.0), margin, 3, "i"):
        shown = np.asarray(view)[..., 0].astype(int)
        hidden = np.isin(shown, TONES) if tone not in TONES else shown != tone
        assert (np.abs(shown - tone)[hidden] >= 56).mean() > 0.4 and hidden.any()


def masks_of_shapes(side: int = 60) -> dict[str, np.ndarray]:
    masks = {}
    for shape in SHAPES[2:]:
        drawn = Image.new("1", (140, 130))
        points = [(40 + round((side - 1) * x), 30 + round((side - 1) * y)) for x, y in shape_outline(shape)]
        ImageDraw.Draw(drawn).polygon(points, fill=1)
        masks[shape] = np.array(drawn)
    return masks


@pytest.mark.parametrize("margin", [0, 0.1, MARGIN])
def test_the_outline_of_a_mask_is_nowhere_when_all_of_it_is_hidden(margin):
    """Six shapes, each with its own mask, antialiased rim left out: the images are the same, and blurs cover the same pixels."""
    masks = masks_of_shapes()
    patches, reaches, guesses = set(), set(), []
    for mask in masks.values():
        pixels = np.full((130, 140, 3), 220, dtype=np.uint8)
        pixels[mask] = (40, 40, 120)
        region = region_of_mask("r0", mask)
        assert region.box == (40, 30, 100, 90)
        ((achieved, view),) = occluded(Image.fromarray(pixels), region, [1.0], margin, 0, "i", "r0")
        patched = np.isin(np.asarray(view), TONES).all(-1)
        overlap = [(patched & other).sum() / (patched | other).sum() for other in masks.values()]
        guesses.append(int(np.argmax(overlap)))
        patches.add(view.tobytes())
        reaches.add(affected(region, (140, 130), margin).tobytes())
        assert achieved == 1 and (patched == affected(region, (140, 130), margin)).all()
    assert len(patches) == 1 and len(reaches) == 1
    assert sum(guess == i for i, guess in enumerate(guesses)) == 1


def test_shares_count_the_pixels_of_a_mask():
    for mask in masks_of_shapes().values():
        region = region_of_mask("r0", mask)
        masks, achieved, _ = hidden_pixels(region, (140, 130), strengths_for("shape")["subtractive"], MARGIN, 1, "i")
        for hidden, share, asked in zip(masks, achieved, strengths_for("shape")["subtractive"], strict=True):
            assert share == pytest.approx(hidden[mask].mean()) and abs(share - asked) <= SHARE_TOLERANCE
    thin = np.eye(130, 140, dtype=bool)
    with pytest.raises(CavedError, match="mark its box instead, or a larger region"):
        hidden_pixels(region_of_mask("r", thin), (140, 130), (0.501, 0.502), MARGIN, 1, "i")


def test_patches_tell_nothing_of_what_they_hide():
    """Whatever a region shows, what is left of the image at a share of 1 is the same to the last bit."""
    image, region = printed()
    views = set()
    for colour in ((0, 0, 0), (255, 255, 255), (28, 158, 62), (250, 222, 30)):
        painted = np.array(image)
        painted[region.mask(image.size)] = colour
        ((_, view),) = occluded(Image.fromarray(painted), region, [1.0], MARGIN, 3, "i")
        views.add(view.tobytes())
    assert len(views) == 1


@settings(max_examples=30, deadline=None)
@given(st.integers(3, 60), st.floats(0.3, 30), st.integers(0, 99))
def test_blur_along_an_axis_is_that_of_scipy(length, sigma_px, seed):
    values = np.random.RandomState(seed).rand(length, 2)
    expected = gaussian_filter1d(values, sigma_px, axis=0, mode="nearest", radius=int(np.ceil(4 * sigma_px)))
    assert gaussian_matrix(length, sigma_px) @ values == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("sigma", [0.05, 0.2, 0.6])
def test_the_region_is_blurred_by_its_sigma_as_stored(sigma):
    image, region = printed()  # plain paper: no grain to put back
    part = np.s_[44 - 24 : 76 + 24, 50 - 24 : 110 + 24]  # the region and its margin: what lies beyond does not count
    expected = np.zeros((120, 160, 3))
    expected[part] = gaussian_filter(np.asarray(image)[part].astype(float), (sigma * 32, sigma * 32, 0), mode="nearest")
    shown = np.asarray(blurred(image, region, [sigma], MARGIN, 0)[0])
    full = sigma_share(np.hypot(0, np.arange(30.0)), 24)
    assert (full[:13] == 1).all() and (np.diff(full[12:26]) < 0).all() and (full[25:] == 0).all()
    inside = np.s_[44 - 8 : 76 + 8, 50 - 8 : 110 + 8]
    assert np.abs(shown[inside] - expected[inside]).max() <= 0.51


def test_dark_on_light_and_light_on_dark_lose_the_same():
    image, region = printed()
    negative = Image.fromarray(255 - np.asarray(image))
    for a, b in zip(
        blurred(image, region, (0.1, 0.3), 0.75, 0), blurred(negative, region, (0.1, 0.3), 0.75, 0), strict=True
    ):
        assert np.abs(255 - np.asarray(a).astype(int) - np.asarray(b)).max() <= 1


@pytest.mark.parametrize("deviation", [0, 4])
def test_fine_detail_falls_with_every_level_down_to_the_grain(deviation):
    image, region = printed()
    image = grainy(image, deviation) if deviation else image
    box = region.box
    detail = [
        float(
            np.square(gaussian_laplace(np.asarray(view.convert("L")).astype(float), 1.0))[
                box[1] : box[3], box[0] : box[2]
            ].mean()
        )
        for view in [image, *blurred(image, region, (0.05, 0.09, 0.13, 0.2, 0.4), MARGIN, 1)]
    ]
    assert (np.diff(detail) < 0).all()
    paper = np.square(gaussian_laplace(np.asarray(image.convert("L")).astype(float), 1.0))[85:115, 10:150].mean()
    assert detail[-1] == pytest.approx(paper, rel=0.25, abs=0.5)


@pytest.mark.parametrize("coloured, coarse_px", [(False, 0), (True, 0), (False, 1.0)])
def test_blurred_parts_are_as_grainy_as_their_surroundings(coloured, coarse_px):
    image, region = printed((200, 160))
    image = grainy(image, 5, coloured, coarse_px)
    view = np.asarray(blurred(image, region, [0.5], MARGIN, 1)[0]).astype(float)
    inside, outside = np.s_[44:76, 50:110], np.s_[110:155, 10:190]
    for band in bands(view):
        for channel in (band, band - band.mean(-1, keepdims=True)):  # all of it, and what is coloured of it
            assert channel[inside].std() == pytest.approx(channel[outside].std(), rel=0.25, abs=0.2)


def test_grain_is_measured_beside_scenery_and_never_invented():
    image, region = printed((200, 160))
    mask, everywhere = region.mask(image.size), np.ones((160, 200), dtype=bool)
    assert not measured_grain(np.asarray(image), (~mask, mask)).any()
    white = grainy(image, 6)
    for band, measured in enumerate(measured_grain(np.asarray(white), (everywhere,))):
        plain = list(bands(np.random.RandomState(1).standard_normal((300, 300, 3))))[band].std() * 6
        assert measured[0] == pytest.approx(plain * 3**0.5, rel=0.12)
        assert measured[1:] == pytest.approx([0, 0], abs=0.3)  # grey grain: rounding alone is coloured
    scenery = np.asarray(white).copy()  # blinds over two thirds of it
    scenery[:108] ^= np.where(np.arange(200) // 3 % 2, 0, 96).astype(np.uint8)[:, None]
    for busy, plain in zip(
        *(measured_grain(pixels, (everywhere,)) for pixels in (scenery, np.asarray(white))), strict=True
    ):
        assert busy[0] <= 1.4 * plain[0]
    half = np.asarray(image).copy()
    half[:60] = np.asarray(white)[:60]
    rough, clean = np.zeros((160, 200), dtype=bool), np.zeros((160, 200), dtype=bool)
    rough[:50], clean[90:] = True, True
    assert not measured_grain(half, (rough, clean)).any() and not measured_grain(half, (clean, rough)).any()
    assert not measured_grain(half, (np.zeros_like(rough),)).any()


@pytest.mark.parametrize("coarse_px", [0, 0.5, 1.0])
@pytest.mark.parametrize("sigma_px", [0.3, 0.6, 1.0, 4.0])
def test_grain_left_and_grain_put_back_make_the_grain_before(coarse_px, sigma_px):
    before = 5 * gaussian_filter(np.random.RandomState(0).standard_normal((200, 200, 3)), (coarse_px, coarse_px, 0))
    deviations = np.array([band.std((0, 1)) for band in bands(before)])
    after = gaussian_filter(before, (sigma_px, sigma_px, 0))
    for band, channel, part in drawn_grain(deviations, (200, 200), 3):  # along red, green and blue here
        after[..., channel] += part * lost_share(band, np.full((200, 200), sigma_px))
    assert np.array([band.std((0, 1)) for band in bands(after)]) == pytest.approx(deviations, rel=0.12)


@pytest.mark.parametrize("coarse_px", [0, 1, 2, 4, 6])
@pytest.mark.parametrize("sigma", [0.09, 0.3, 2.0])
def test_coarse_grain_does_not_announce_a_blur(coarse_px, sigma):
    plain = Image.new("RGB", (400, 300), (128, 128, 128))
    image, region = grainy(plain, 8, coarse_px=coarse_px), Region("r", (120, 110, 280, 190))
    found = []
    for seed in range(3):
        shown = np.asarray(blurred(image, region, [sigma], MARGIN, seed, "i")[0]).astype(float)
        found.append(shown[110:190, 120:280].std())
    assert np.mean(found) == pytest.approx(8, rel=0.22)


def test_grain_that_is_put_back_tells_nothing_of_the_region():
    """Whatever the region shows, grain is drawn as strong: all that differs under the strongest blur is the mean."""
    image, region = printed()
    image = grainy(image, 4)
    found = []
    for paint in (lambda x: x, lambda x: np.full_like(x, 128), lambda x: x[::-1] ^ 90):
        pixels = np.array(image)
        pixels[44:76, 50:110] = paint(pixels[44:76, 50:110])
        shown = np.asarray(blurred(Image.fromarray(pixels), region, [8.0], MARGIN, 1)[0]).astype(float)
        found.append([band[44:76, 50:110].std() for band in bands(shown, 4)])
    assert np.ptp(found, axis=0).max() < 0.1


def test_memory_does_not_grow_with_sigma():
    """A sigma far larger than the region, as that of colour is."""
    image = Image.fromarray(np.random.RandomState(0).randint(0, 255, (300, 400, 3), dtype=np.uint8))
    tracemalloc.start()
    try:
        blurred(image, Region("r", (0, 0, 400, 300)), (0.3, 6.0), MARGIN, 0)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 120 * 400 * 300  # bytes: a 3000 x 2000 region takes 720 MB


def test_nothing_frames_a_blurred_part():
    """No step is steeper than in an image that is blurred all over: neither where the blur ends, nor at the label's edge."""
    image = Image.new("RGB", (200, 160), (176, 140, 100))
    draw = ImageDraw.Draw(image)
    draw.rectangle((60, 60, 139, 99), fill=(240, 240, 236))
    draw.rectangle((66, 70, 133, 89), fill=(30, 30, 34))
    region = Region("label", (60, 60, 140, 100))
    for sigma in (0.2, 0.35, 0.5):
        shown = np.asarray(blurred(image, region, [sigma], MARGIN, 0)[0]).astype(float)
        throughout = gaussian_filter(np.asarray(image).astype(float), (sigma * 40, sigma * 40, 0), mode="nearest")
        steps, least = (max(np.abs(np.diff(v, axis=a)).max() for a in (0, 1)) for v in (shown, throughout))
        assert steps <= 1.5 * least + 1, sigma


@pytest.mark.parametrize(
    "strengths, message",
    [
        ({"subtractive": (0.5,)}, "strengths for subtractive: give them for subtractive and corruptive"),
        ({"subtractive": (), "corruptive": (0.1,)}, "no strengths for the subtractive mode: give at least one"),
        ({"subtractive": (0.0, 0.5), "corruptive": (0.1, 0.2)}, "subtractive strengths 0,0.5: give numbers above 0"),
        ({"subtractive": (0.5,), "corruptive": (float("nan"),)}, "corruptive strengths nan: give numbers above 0"),
        ({"subtractive": (0.5,), "corruptive": (float("inf"),)}, "corruptive strengths inf: give numbers above 0"),
        ({"subtractive": (0.5, 1.1), "corruptive": (0.1, 0.2)}, "give shares of the region, at most 1"),
        (
            {"subtractive": (0.5, 0.5), "corruptive": (0.1, 0.2)},
            "subtractive strengths 0.5,0.5: each level must be str",
        ),
        ({"subtractive": (0.5, 0.8), "corruptive": (0.2, 0.1)}, "corruptive strengths 0.2,0.1: each level must be str"),
        (
            {"subtractive": (0.5, 0.8), "corruptive": (0.1,)},
            "2 subtractive and 1 corruptive strengths: both modes need",
        ),
    ],
)
def test_strengths_that_are_no_levels(strengths, message):
    image, region = printed()
    for refused in (lambda: check_strengths(strengths), lambda: list(degraded_views(image, region, strengths, 0.5, 0))):
        with pytest.raises(CavedError, match=message):
            refused()


@pytest.mark.parametrize("margin", [-0.1, float("nan"), float("inf")])
def test_margins_that_are_none(margin):
    image, region = printed()
    with pytest.raises(CavedError, match="give a share of the region's height, 0 or more"):
        list(degraded_views(image, region, FEW, margin, 0))


def test_default_strengths_are_levels_and_the_last_hides_everything():
    assert set(DEFAULT_STRENGTHS) == set(CATEGORIES)
    for category in (*CATEGORIES, "licence_plate"):
        strengths = strengths_for(category)
        check_strengths(strengths)
        assert len(strengths["subtractive"]) == 5 and strengths["subtractive"][-1] == 1
    assert strengths_for("licence_plate") == strengths_for("code")


def test_draws_have_names():
    image, region = printed()
    image = grainy(image, 4)

    def views(*name):
        return [view.tobytes() for *_, view in degraded_views(image, region, FEW, MARGIN, *name)]

    assert views(1, "i00000", "code") == views(1, "i00000", "code")
    for other in ((2, "i00000", "code"), (1, "i00001", "code")):
        first, second = views(1, "i00000", "code"), views(*other)
        assert [a != b for a, b in zip(first, second, strict=True)] == [True] * 6


def test_golden_images():
    """Patches to the byte; blurs by means over blocks, which the last bit of a byte does not move."""
    image, region = printed()
    image = grainy(image, 4, coloured=True)
    found = {}
    for mode, level, _, _, view in degraded_views(image, region, FEW, MARGIN, 7, "i00000", "code"):
        pixels = np.asarray(view)
        if mode == "corruptive":
            pixels = np.rint(pixels.reshape(15, 8, 20, 8, 3).mean((1, 3)) / 2).astype(np.uint8)
        found[f"{mode} L{level}"] = hashlib.sha256(pixels.tobytes()).hexdigest()[:16]
    assert found == {
        "subtractive L1": "6eba4dfcc4c76fa4",
        "subtractive L2": "2b641b3f6a297769",
        "subtractive L3": "2008a6e3f085bd9d",
        "corruptive L1": "b151218555e03231",
        "corruptive L2": "56f0fa97c41f5d32",
        "corruptive L3": "b44f7009bb5f9c71",
    }
