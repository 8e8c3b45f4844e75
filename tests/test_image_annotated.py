"""Annotated real images: read as they are seen, refused with every reason at once, built and verified."""

import csv
import io
import json
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from stimuli_builder.errors import BadInputs, CavedError
from stimuli_builder.image.annotated import annotated_source
from stimuli_builder.image.annotation_options import alike_key, alike_options
from stimuli_builder.image.build import build_image_release
from stimuli_builder.image.image_files import UnreadableImage, read_upright
from stimuli_builder.image.levels import MARGIN
from stimuli_builder.image.photos import photos_of
from stimuli_builder.image.remarks import remarks
from stimuli_builder.image.sources import procedural_source
from stimuli_builder.image.verify import verify_image_release

COLUMNS = ("path", "box", "category", "question", "options", "answer")
SIGN = (20, 30, 60, 40)  # x, y, width, height of what is not noise in `picture`


def picture(seed: int = 0, size: tuple[int, int] = (160, 120), colour=(200, 30, 30)) -> Image.Image:
    """Noise with a plain sign on it."""
    pixels = np.random.default_rng(seed).integers(60, 200, (size[1], size[0], 3), dtype=np.uint8)
    x, y, width, height = SIGN
    pixels[y : y + height, x : x + width] = colour
    return Image.fromarray(pixels)


def row(path: str = "a.png", **changes: str) -> dict[str, str]:
    usual = {
        "path": path,
        "box": "20,30,60,40",
        "category": "colour",
        "question": "What colour is the sign?",
        "options": "red|green|blue|black",
        "answer": "red",
    }
    return {**usual, **changes}


def write_csv(path: Path, rows: list[dict[str, str]], columns: tuple[str, ...] = COLUMNS) -> Path:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns)
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(text.getvalue(), encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path) -> Path:
    """Two images, a.png and sub/b.png."""
    (tmp_path / "sub").mkdir()
    picture(0).save(tmp_path / "a.png")
    picture(1).save(tmp_path / "sub" / "b.png")
    return tmp_path


def problems_of(annotations: Path, **more) -> list[str]:
    with pytest.raises(BadInputs) as caught:
        annotated_source(annotations, **more)
    return list(caught.value.problems)


# --- image files


@pytest.mark.parametrize("suffix", ["png", "jpg", "webp"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_rotation_is_applied(tmp_path, suffix, orientation):
    """The four corners of what a viewer shows, for every orientation."""
    corners = np.array([[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [255, 255, 0]]], dtype=np.uint8)
    seen = np.kron(corners, np.ones((32, 48, 1), dtype=np.uint8))
    stored = {
        1: seen,
        2: seen[:, ::-1],
        3: seen[::-1, ::-1],
        4: seen[::-1],
        5: seen.transpose(1, 0, 2),
        6: np.rot90(seen, 1),
        7: np.rot90(seen, 2).transpose(1, 0, 2),
        8: np.rot90(seen, -1),
    }[orientation]
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.fromarray(np.ascontiguousarray(stored)).save(tmp_path / f"a.{suffix}", exif=exif)
    upright = read_upright(tmp_path / f"a.{suffix}")
    assert upright.image.size == (96, 64)
    assert upright.stored_size == ((64, 96) if orientation > 4 else (96, 64))
    off = np.abs(np.asarray(upright.image).astype(int) - seen)[4:-4:8, 4:-4:8]
    assert np.median(off) <= 8
    assert upright.notes == (() if orientation == 1 else ("turned upright as its EXIF tag says",))


def test_16_bits_are_scaled_and_not_cut(tmp_path):
    values = np.linspace(0, 65535, 64 * 64).reshape(64, 64)
    for suffix in ("png", "tif"):
        Image.fromarray(values.astype(np.uint16)).save(tmp_path / f"a.{suffix}")
        pixels = np.asarray(read_upright(tmp_path / f"a.{suffix}").image)
        assert np.abs(pixels[..., 0] - values / 257).max() <= 0.51 and (pixels[..., 0] == pixels[..., 2]).all()


def deep_png(path: Path, values: np.ndarray) -> None:
    """16 bits a channel, grey or colour, with or without alpha, which Pillow reads and does not write."""
    height, width, channels = values.shape
    kind = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in values)

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 16, kind, 0, 0, 0)
    content = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + content)


def deep_tiff(path: Path, values: np.ndarray) -> None:
    """16 bits in each of three channels."""
    height, width, channels = values.shape
    data = values.astype("<u2").tobytes()
    at = 8 + len(data)
    bits_at = at + 2 + 9 * 12 + 4
    tags = [(256, 3, 1, width), (257, 3, 1, height), (258, 3, channels, bits_at), (259, 3, 1, 1), (262, 3, 1, 2)]
    tags += [(273, 4, 1, 8), (277, 3, 1, channels), (278, 3, 1, height), (279, 4, 1, len(data))]
    directory = struct.pack("<H", 9) + b"".join(struct.pack("<HHII", *tag) for tag in tags) + b"\0" * 4
    path.write_bytes(struct.pack("<2sHI", b"II", 42, at) + data + directory + struct.pack("<HHH", 16, 16, 16))


@pytest.mark.parametrize("channels", [2, 3, 4, "tiff"])
def test_16_bits_of_colour_are_scaled_or_refused_as_those_of_grey_are(tmp_path, channels):
    name, write = ("a.tif", deep_tiff) if channels == "tiff" else ("a.png", deep_png)
    bands = 3 if channels == "tiff" else channels
    values = np.linspace(0, 65535, 64 * 64 * bands).reshape(64, 64, bands).astype(np.uint16)
    if bands in (2, 4):
        values[..., -1] = 65535
    write(tmp_path / name, values)
    upright = read_upright(tmp_path / name)
    colours = values[..., : 1 if bands == 2 else 3]
    assert np.abs(np.asarray(upright.image).astype(float) - colours / 257).max() <= 1
    assert upright.notes == ("16-bit colour, scaled to 8 bits",)
    colours[...] >>= 4  # 12 bits
    write(tmp_path / name, values)
    with pytest.raises(UnreadableImage, match="16-bit pixels that stay below 4096 of 65535"):
        read_upright(tmp_path / name)
    colours[0, 0] = 4096
    write(tmp_path / name, values)
    assert read_upright(tmp_path / name).notes


def test_transparent_pixels_are_put_on_white(tmp_path):
    rgba = picture().convert("RGBA")
    rgba.putalpha(Image.fromarray(np.full((120, 160), 255, dtype=np.uint8)))
    rgba.save(tmp_path / "opaque.png")
    assert read_upright(tmp_path / "opaque.png").notes == ()
    rgba.putalpha(128)
    rgba.save(tmp_path / "half.png")
    half = read_upright(tmp_path / "half.png")
    assert half.notes == ("transparent pixels put on white",)
    expected = np.asarray(picture()).astype(float) * 128 / 255 + 127
    assert np.abs(np.asarray(half.image) - expected).max() <= 1
    palette = picture().quantize(8)
    palette.save(tmp_path / "palette.png", transparency=palette.getpixel((30, 40)))
    assert read_upright(tmp_path / "palette.png").image.getpixel((30, 40)) == (255, 255, 255)


def bad_images(folder: Path) -> dict[str, str]:
    """{name of a file that was written: what is said of it}."""
    image = picture()
    image.convert("CMYK").save(folder / "cmyk.jpg")
    image.convert("LAB").save(folder / "lab.tif")
    values = np.zeros((64, 64))
    Image.fromarray(values.astype(np.float32)).save(folder / "float.tif")
    Image.fromarray(values.astype(np.uint16) + 1023).save(folder / "ten_bits.png")
    image.save(folder / "moving.gif", save_all=True, append_images=[picture(1)])
    exif = Image.Exif()
    exif[0x0112] = 6
    image.save(folder / "turned.tif", exif=exif)
    image.save(folder / "whole.jpg", quality=95)
    image.save(folder / "whole.png")
    for name in ("whole.jpg", "whole.png"):
        data = (folder / name).read_bytes()
        (folder / f"cut_{name}").write_bytes(data[: len(data) // 2])
    (folder / "text.png").write_text("no image")
    (folder / "empty.png").write_bytes(b"")
    image.resize((20, 200)).save(folder / "narrow.png")
    Image.new("1", (12000, 10000)).save(folder / "huge.png")
    Image.new("1", (20000, 12000)).save(folder / "bomb.png")
    (folder / "folder.png").mkdir()
    return {
        "cmyk.jpg": "is in CMYK, whose colours depend on a press: save it as RGB",
        "lab.tif": "pixels of the kind LAB",
        "float.tif": "pixels of the kind F",
        "ten_bits.png": "stay at 1023 of 65535",
        "moving.gif": "holds 2 pictures",
        "turned.tif": "save it upright",
        "cut_whole.jpg": "is damaged",
        "cut_whole.png": "is damaged",
        "text.png": "is no image that can be read here",
        "empty.png": "is no image that can be read here",
        "narrow.png": "is 20 x 200 px",
        "huge.png": "more than 100 million pixels",
        "bomb.png": "more than 100 million pixels",
        "folder.png": "is a folder",
        "nowhere.png": "does not exist: check the path",
        "WHOLE.PNG": "whole.png does: mind upper and lower case",
    }


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_every_image_that_cannot_be_used_is_named_at_once(tmp_path):
    said = bad_images(tmp_path)
    for name, message in said.items():
        with pytest.raises(UnreadableImage) as caught:
            read_upright(tmp_path / name)
        assert message in str(caught.value), (name, caught.value)
    problems = problems_of(write_csv(tmp_path / "labels.csv", [row(name) for name in said]))
    assert len(problems) == len(said)
    for number, (name, message) in enumerate(said.items(), start=2):
        assert any(p.startswith(f"labels.csv row {number}: {name} ") and message in p for p in problems), name


def test_photos_are_looked_at_all_at_once_and_used_evenly(tmp_path):
    photos = tmp_path / "photos"
    (photos / "below").mkdir(parents=True)
    for seed, name in enumerate(("a.png", "b.jpg", "below/c.webp")):
        picture(seed, (300, 260)).save(photos / name)
    (photos / ".hidden.png").write_text("x")
    good = photos_of(photos)
    assert good.names == ("a.png", "b.jpg", "below/c.webp")
    behind = [good.behind(3, index) for index in range(12)]
    assert all(sorted(behind[i : i + 3]) == list(good.names) for i in range(0, 12, 3)) and len(set(behind[::3])) > 1
    source = procedural_source(4, 3, 224, good)
    assert "4 items share 3 photos" in source.notes[-1]
    release = build_image_release(
        source, tmp_path / "r", 3, {"subtractive": (0.5,), "corruptive": (0.2,)}, MARGIN, "", 1
    )
    assert verify_image_release(release) == []
    assert [q.source.split()[-1] for q in release.questions()[::4]] == behind[:4]
    (photos / "cut.jpg").write_bytes((photos / "b.jpg").read_bytes()[:2000])
    (photos / "again.png").write_bytes((photos / "a.png").read_bytes())
    with pytest.raises(BadInputs, match=r"(?s)2 photo.*cut.jpg is damaged.*again.png shows the same pixels as a.png"):
        photos_of(photos)
    for place, message in ((tmp_path / "no", "does not exist"), (tmp_path / "r" / "items", "holds no photo")):
        with pytest.raises(CavedError, match=message):
            photos_of(place)


def test_photos_that_are_left_aside_are_counted_and_links_go_round_once(tmp_path):
    photos = tmp_path / "photos"
    (photos / "below").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    picture(0).save(photos / "a.png")
    picture(1).save(photos / "below" / "b.png")
    picture(2).save(tmp_path / "elsewhere" / "c.png")
    for name in ("d.heic", "e.HEIC", "below/f.jfif", "notes", ".DS_Store"):
        (photos / name).write_text("x")
    (photos / "below" / "up").symlink_to(photos)
    (photos / "one").symlink_to(tmp_path / "elsewhere")
    (photos / "two").symlink_to(tmp_path / "elsewhere")
    found = photos_of(photos)
    assert found.names == ("a.png", "below/b.png", "one/c.png")
    (note,) = found.notes
    assert "4 file(s) were left aside, whose names end otherwise: 2 in .heic, 1 in .jfif, 1 in nothing" in note
    (photos / "gone.png").symlink_to(tmp_path / "nowhere.png")
    with pytest.raises(BadInputs, match=r"gone.png is a symbolic link to .*nowhere.png, which does not exist: mend"):
        photos_of(photos)
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "d.heic").write_text("x")
    with pytest.raises(CavedError, match=r"holds no photo: .* 1 in .heic"):
        photos_of(tmp_path / "raw")


def test_a_photo_that_changes_meanwhile_stops_the_build(tmp_path):
    (tmp_path / "photos").mkdir()
    picture(0, (300, 260)).save(tmp_path / "photos" / "a.png")
    source = procedural_source(1, 3, 224, photos_of(tmp_path / "photos"))
    picture(1, (300, 260)).save(tmp_path / "photos" / "a.png")
    with pytest.raises(BadInputs, match=r"item 0: a.png was changed while the release was built"):
        build_image_release(source, tmp_path / "r", 3, {"subtractive": (0.5,), "corruptive": (0.2,)}, MARGIN, "", 1)
    assert not (tmp_path / "r").exists()


def test_a_release_says_that_items_share_photos_and_regions_reach_into_others(tmp_path):
    (tmp_path / "photos").mkdir()
    picture(0, (300, 260)).save(tmp_path / "photos" / "p.png")
    strengths = {"subtractive": (0.5,), "corruptive": (0.2,)}
    photos = photos_of(tmp_path / "photos")
    shared = build_image_release(procedural_source(2, 3, 224, photos), tmp_path / "s", 3, strengths, MARGIN, "", 1)
    assert shared.info.sources.startswith("procedural scenes on 1 photos; items that share a photo are not independent")
    (remark,) = remarks(shared)
    assert "are not independent" in remark and "not independent" in (shared.folder / "README.md").read_text()
    alone = build_image_release(procedural_source(1, 3, 224, photos), tmp_path / "t", 3, strengths, MARGIN, "", 1)
    assert remarks(alone) == []
    # A sign of 40 px: the margin of 0.75 reaches 30 px beyond it.
    for seed, name in enumerate("abcd"):
        picture(seed).save(tmp_path / f"{name}.png")
    rows = [row(f"{name}.png") for name in "abcd"]
    rows += [row("a.png", category="side", box="60,40,60,40")]  # overlaps
    rows += [row("b.png", category="side", box="0,85,20,10")]  # within the margin
    rows += [row("c.png", category="side", box="125,100,30,10")]  # beyond both margins
    rows += [row("d.png", category="side")]  # the same region
    source = annotated_source(write_csv(tmp_path / "labels.csv", rows))
    near = build_image_release(source, tmp_path / "n", 0, strengths, MARGIN, "", 1)
    assert verify_image_release(near) == []
    (remark,) = remarks(near)
    assert "reaches that of another in 2 item(s) (i00000, i00001)" in remark


# --- from annotations to a release


def test_a_csv_file_gives_items_with_several_questions(folder, tmp_path):
    rows = [
        row(question="Welche  Farbe hat das Schild?"),
        row("./sub/b.png", item="b"),
        row(category="text_on_it", question="何と書いてありますか", options="東京|京都|大阪|奈良", answer="京都"),
        row(category="side", box="0,0,50,30", options="left|right|top|bottom", answer="left"),
    ]
    source = annotated_source(write_csv(tmp_path / "labels.csv", rows, (*COLUMNS, "item")))
    one, two = source.plans
    assert (one.item, two.item, one.path, two.path) == ("i00000", "b", "a.png", "sub/b.png")
    scene = one.scene()
    assert scene.image.tobytes() == picture(0).tobytes() and scene.kind == "photo"
    assert [(q.category, q.region, q.answer) for q in scene.questions] == [
        ("colour", "r0", 0),
        ("text_on_it", "r0", 1),
        ("side", "r1", 0),
    ]
    assert [region.box for region in scene.regions] == [(20, 30, 80, 70), (0, 0, 50, 30)]
    assert scene.questions[0].text == "Welche Farbe hat das Schild?"
    assert [two.number_of("colour"), one.number_of("side")] == [1, 0]
    release = build_image_release(
        source, tmp_path / "r", 0, {"subtractive": (0.5, 1), "corruptive": (0.1, 0.3)}, MARGIN, "cc0"
    )
    assert verify_image_release(release) == []
    info = release.info
    assert (info.items, info.questions, info.canvas_px) == (2, 4, 0)
    assert (
        info.categories == ("colour", "text_on_it", "side")
        and info.sources == "annotated images of labels.csv, longest side 1024 px"
    )


def coco(images: list[dict], annotations: list[dict], path: Path) -> Path:
    path.write_text(json.dumps({"images": images, "annotations": annotations}), encoding="utf-8")
    return path


def attributes(**changes) -> dict:
    usual = {
        "category": "colour",
        "question": "What colour is the sign?",
        "options": ["red", "green", "blue", "black"],
        "answer": "red",
    }
    return {**usual, **changes}


def annotation(**changes) -> dict:
    return {"image_id": 1, "bbox": list(SIGN), "attributes": attributes(), **changes}


IMAGE = {"id": 1, "file_name": "a.png", "width": 160, "height": 120}


def test_coco_and_csv_say_the_same(folder, tmp_path):
    images = [IMAGE, {"id": "b", "file_name": "sub/b.png", "item": "b", "licence": 3}]
    listed = [annotation(), annotation(image_id="b", bbox=[0.2, 3.5, 30, 40.1], iscrowd=0)]
    ours = annotated_source(coco(images, listed, tmp_path / "labels.json"))
    rows = [row(), row("sub/b.png", item="b", box="0.2,3.5,30,40.1")]
    assert ours.plans == annotated_source(write_csv(tmp_path / "labels.csv", rows, (*COLUMNS, "item"))).plans
    assert ours.plans[1].regions[0].box == (0, 3, 31, 44)  # outward


def test_polygons_run_lengths_and_mask_files_give_the_same_region(folder, tmp_path):
    """A triangle, and a pixel of it by hand: (30, 35) is inside, (75, 65) is not."""
    polygon = [20, 30, 79, 30, 20, 69]
    mask = np.zeros((120, 160), dtype=bool)
    source = annotated_source(coco([IMAGE], [annotation(segmentation=[polygon])], tmp_path / "one.json"))
    (region,) = source.plans[0].regions
    mask = region.mask((160, 120))
    assert mask[35, 30] and not mask[65, 75] and region.box == (20, 30, 80, 70)
    assert abs(int(mask.sum()) - 60 * 40 / 2) < 60
    down = mask.T.ravel()  # column by column
    edges = np.flatnonzero(np.diff(down)) + 1
    counts = np.diff([0, *edges.tolist(), down.size]).tolist()
    runs = {"counts": counts, "size": [120, 160]}
    assert annotated_source(coco([IMAGE], [annotation(segmentation=runs)], tmp_path / "two.json")).plans[0].regions == (
        region,
    )
    Image.fromarray(mask.astype(np.uint8) * 255).save(tmp_path / "mask.png")
    for box in ("", "20,30,60,40"):
        rows = [row(mask="mask.png", box=box)]
        by_file = annotated_source(write_csv(tmp_path / "three.csv", rows, (*COLUMNS, "mask")))
        assert by_file.plans[0].regions == (region,)
    release = build_image_release(source, tmp_path / "r", 0, {"subtractive": (0.5,), "corruptive": (0.2,)}, MARGIN, "")
    assert verify_image_release(release) == [] and release.questions()[0].region == region


def test_boxes_are_those_of_the_upright_image_and_shrink_with_it(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    picture(0, (640, 480)).transpose(Image.Transpose.ROTATE_90).save(tmp_path / "a.png", exif=exif)
    source = annotated_source(write_csv(tmp_path / "labels.csv", [row()]), longest_side_px=320)
    scene = source.plans[0].scene()
    assert scene.image.size == (320, 240)
    assert scene.regions[0].box == (10, 15, 40, 35)
    sign = np.asarray(scene.image)[17:33, 12:38]
    assert np.abs(sign.astype(int) - (200, 30, 30)).max() < 12
    assert source.notes == (
        "turned upright as its EXIF tag says; boxes are taken for pixels of the upright image: 1 file(s), a.png",
    )
    assert annotated_source(tmp_path / "labels.csv", longest_side_px=0).plans[0].scene().image.size == (640, 480)
    # Annotated by a tool that does not know of EXIF.
    image = {"id": 1, "file_name": "a.png", "width": 480, "height": 640}
    (problem,) = problems_of(coco([image], [annotation()], tmp_path / "labels.json"))
    assert "it was annotated without its EXIF rotation: rotate the file itself" in problem


def test_a_file_that_changes_meanwhile_stops_the_build(folder, tmp_path):
    source = annotated_source(write_csv(tmp_path / "labels.csv", [row(), row("sub/b.png")]))
    picture(5).save(folder / "a.png")
    with pytest.raises(BadInputs, match=r"a.png was changed while the release was built"):
        build_image_release(source, tmp_path / "r", 0, {}, MARGIN, "", workers=1)
    assert not (tmp_path / "r").exists()


# --- what is wrong with annotations


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"path": ""}, "path is empty"),
        ({"path": "../a.png"}, "leads outside of the folder of images"),
        ({"path": "/etc/a.png"}, "leads outside of the folder of images"),
        ({"path": "C:/a.png"}, "leads outside of the folder of images"),
        ({"path": "A.png"}, "a.png does: mind upper and lower case"),
        ({"path": "sub\\b.png"}, "with / between folders"),
        ({"box": ""}, "neither box nor mask"),
        ({"box": "1,2,3"}, "give four numbers"),
        ({"box": "1,2,3,x"}, "give four numbers"),
        ({"box": "1,2,3,nan"}, "give finite numbers"),
        ({"box": "20,30,0,40"}, "is empty: x, y, width and height are expected, not two corners"),
        ({"box": "80,70,-60,-40"}, "is empty: x, y, width and height"),
        ({"box": "-5,0,40,40"}, "reaches outside of the upright image of 160 x 120 px"),
        ({"box": "120,80,60,40"}, "reaches outside of the upright image"),
        ({"box": "300,300,40,40"}, "reaches outside of the upright image"),
        ({"box": "20,30,60,7"}, "the region is 7 px high, at least 8 are needed"),
        ({"category": ""}, "category ''"),
        ({"category": "House number"}, "such as house_number"),
        ({"category": "日本"}, "lower-case letters"),
        ({"question": " "}, "question is empty"),
        ({"question": "a\u202eb"}, "control character U+202E"),
        ({"question": "two\nlines"}, "control character U+000A"),
        ({"question": "caf\ufffd"}, "decoded wrongly once"),
        ({"options": "red|green|blue"}, "3 options"),
        ({"options": "red|green|blue|black|white"}, "5 options"),
        ({"options": "red|green||black"}, "option 3 is empty"),
        ({"options": "red|green|green|black"}, "the option 'green' is given twice"),
        ({"options": "red|green|Green|black"}, "the options 'green' and 'Green' are the same but for case"),
        ({"options": "red|K 7|K7|black"}, "the options 'K 7' and 'K7' are the same"),
        ({"options": "red|K7|Ｋ７|black"}, "are the same but for case, spaces"),
        ({"options": "red|cafe\u0301|caf\u00e9|black"}, "the option 'caf\u00e9' is given twice"),
        ({"options": "red|a1\u200b|b1|c1"}, "option 2 'a1\\u200b' has the control character U+200B"),
        ({"options": "red|A|b2|c2"}, "the option 'A' would be read as the letter of an option"),
        ({"options": "red|blue; dark|b2|c2"}, "has a ';'"),
        ({"options": "red|Cannot be determined|b2|c2"}, "is an abstention"),
        ({"answer": "rot"}, "the answer 'rot' is none of the options"),
        ({"answer": "Red"}, "the answer 'Red' is none of the options"),
        ({"answer": ""}, "answer is empty"),
    ],
)
def test_each_fault_of_a_row_is_named_with_its_place(folder, changes, message):
    problems = problems_of(write_csv(folder / "labels.csv", [row("sub/b.png"), row(**changes)]))
    assert any(p.startswith("labels.csv row 3: ") and message in p for p in problems), problems
    assert len(problems) == 1, problems


def test_rows_that_do_not_fit_together(folder):
    picture(0).save(folder / "copy.png")
    rows = [
        row(),
        row(question="Which colour?"),
        row("sub/b.png", item="one"),
        row("sub/b.png", item="two", category="side"),
        row("copy.png", item="one"),
    ]
    problems = problems_of(write_csv(folder / "labels.csv", rows, (*COLUMNS, "item")))
    for message in (
        "labels.csv row 3: a.png has a question of the category colour already (labels.csv row 2)",
        "labels.csv row 4: sub/b.png is called one and two: one image is one item",
        "labels.csv row 6: the item one is sub/b.png already",
        "copy.png shows the same pixels as a.png",
    ):
        assert any(message in problem for problem in problems), problems
    clash = [row(item="x", category="a_b"), row("sub/b.png", item="x_a", category="b")]
    (problem,) = problems_of(write_csv(folder / "clash.csv", clash, (*COLUMNS, "item")))
    assert "have a question x_a_b each" in problem


def test_every_problem_of_every_kind_is_said_in_one_go(folder):
    """A row with wrong words has its image and box looked at all the same."""
    rows = [
        row(options="red|green", box="100,100,100,100"),
        row("nowhere.png", answer="pink", question=""),
        row("sub/b.png", mask="nowhere_either.png"),
    ]
    problems = problems_of(write_csv(folder / "labels.csv", rows, (*COLUMNS, "mask")))
    for number, message in (
        (2, "2 options"),
        (2, "reaches outside"),
        (3, "does not exist"),
        (3, "the answer 'pink'"),
        (3, "question is empty"),
        (4, "the mask nowhere_either.png does not exist"),
    ):
        assert any(p.startswith(f"labels.csv row {number}:") and message in p for p in problems), (message, problems)
    assert len(problems) == 6


GOOD = "path,box,category,question,options,answer\n" + 'a.png,"20,30,60,40",colour,Which?,é1|b1|c1|d1,é1\n'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (GOOD.encode("utf-16"), "is in UTF-16: save it as UTF-8"),
        (GOOD.encode("utf-16-le"), "is in UTF-16"),
        (GOOD.encode("cp1252"), "line 2 is not UTF-8, perhaps Windows-1252"),
        (b"PK\x03\x04" + b"\xff" * 9, "is a spreadsheet or an archive: export it as CSV in UTF-8"),
        (b"", "is empty"),
        (b"\xef\xbb\xbf \n", "is empty"),
        (GOOD.splitlines()[0].encode(), "no row below the first"),
        (GOOD.replace(",", ";").encode(), "its columns are separated by ';', commas are expected"),
        (GOOD.replace("answer", "solution").encode(), "lacks the columns answer; it has path, box"),
        (GOOD.replace("question", "path").encode(), "lacks the columns question"),
        (GOOD.replace("question,", "question,path,").encode(), "has the columns path twice"),
        (GOOD.replace('"', "").encode(), "row 2: 9 cells, the first row has 6: put texts with commas in quotes"),
        ((GOOD + 'a.png,"unclosed').encode(), "is no CSV file (unexpected end of data)"),
        (GOOD.replace("Which?", "a\0b").encode(), "holds a NUL character"),
    ],
)
def test_files_that_are_no_table(folder, content, message):
    (folder / "labels.csv").write_bytes(content)
    problems = problems_of(folder / "labels.csv")
    assert any(message in problem for problem in problems), problems


def test_what_excel_writes_is_read(folder):
    """A byte order mark, line ends of Windows, blank rows, a column of notes."""
    text = GOOD.replace("\n", ",note\r\n", 1).replace("é1\n", "é1,mind\r\n") + ",,,,,,\r\n"
    (folder / "labels.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    source = annotated_source(folder / "labels.csv")
    assert source.plans[0].questions[0].options[0] == "é1"
    assert source.notes == ("labels.csv: columns that mean nothing here: note",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "holds no object"),
        ("{", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ("{}", "images is no list, or empty"),
        ({"images": [IMAGE]}, "annotations is no list, or empty"),
        ({"images": [3], "annotations": [annotation()]}, "images[0] is no object"),
        ({"images": [IMAGE, IMAGE], "annotations": [annotation()]}, "images[1]: the id 1 is that of another image"),
        ({"images": [{"file_name": "a.png"}], "annotations": [annotation()]}, "images[0]: id is None"),
        ({"images": [{"id": 1}], "annotations": [annotation()]}, "images[0]: file_name is None"),
        ({"images": [{**IMAGE, "width": "x"}], "annotations": [annotation()]}, "images[0]: width and height"),
        ({"images": [{**IMAGE, "width": 99}], "annotations": [annotation()]}, "the annotations say 99 x 120 px"),
        (
            {"images": [IMAGE], "annotations": [annotation(image_id=9)]},
            "annotations[0]: image_id 9 is none of the images",
        ),
        ({"images": [IMAGE], "annotations": [annotation(image_id=[1])]}, "image_id [1] is none"),
        ({"images": [IMAGE], "annotations": [annotation(attributes=None)]}, "attributes is no object"),
        (
            {"images": [IMAGE], "annotations": [annotation(attributes=attributes(options="a|b|c|d"))]},
            "give a list of 4 texts",
        ),
        ({"images": [IMAGE], "annotations": [annotation(attributes=attributes(answer=0))]}, "answer is 0, no text"),
        (
            {"images": [IMAGE], "annotations": [annotation(attributes=attributes(options=[1, 2, 3, 4]))]},
            "give a list of 4 texts",
        ),
        ({"images": [IMAGE], "annotations": [annotation(bbox=[1, 2, True, 4])]}, "give four numbers"),
        ({"images": [IMAGE], "annotations": [annotation(bbox=[10**400, 2, 3, 4])]}, "give four numbers"),
        ({"images": [IMAGE], "annotations": [annotation(bbox={})]}, "give four numbers"),
        ({"images": [IMAGE], "annotations": [annotation(bbox=None)]}, "neither box nor mask"),
        (
            {"images": [IMAGE], "annotations": [annotation(segmentation={"counts": "abc", "size": [120, 160]})]},
            "compressed run lengths",
        ),
        (
            {"images": [IMAGE], "annotations": [annotation(segmentation={"counts": [5], "size": [120, 160]})]},
            "fill 5 pixels of 160 x 120",
        ),
        (
            {"images": [IMAGE], "annotations": [annotation(segmentation={"counts": [-5, 9], "size": [2, 2]})]},
            "whole numbers from 0",
        ),
        (
            {"images": [IMAGE], "annotations": [annotation(segmentation={"counts": [19200], "size": [120, 160]})]},
            "the mask holds no pixel",
        ),
        (
            {"images": [IMAGE], "annotations": [annotation(segmentation={"counts": [9], "size": [3]})]},
            "give [height, width]",
        ),
        ({"images": [IMAGE], "annotations": [annotation(segmentation=[[1, 2, 3, 4]])]}, "give a list of polygons"),
        (
            {"images": [IMAGE], "annotations": [annotation(segmentation=[[1, 2, 3, 4, 5, "x"]])]},
            "give a list of polygons",
        ),
        (
            {"images": [IMAGE], "annotations": [annotation(segmentation=[[1, 2, 300, 4, 5, 70]])]},
            "a polygon reaches outside",
        ),
        (
            {"images": [IMAGE], "annotations": [annotation(segmentation=[[1, 2, 90, 4, 5, 70]])]},
            "px outside of the box",
        ),
    ],
)
def test_each_fault_of_a_json_file_is_named_with_its_place(folder, content, message):
    path = folder / "labels.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    problems = problems_of(path)
    assert any("labels.json" in problem and message in problem for problem in problems), problems


def test_files_and_folders_that_are_not_there(folder):
    labels, dangling = write_csv(folder / "labels.csv", [row()]), folder / "dangling"
    dangling.symlink_to(folder / "nowhere")
    for arguments, message in (
        ((folder / "no.csv",), "does not exist"),
        ((folder,), "is a folder"),
        ((dangling,), "is a symbolic link to .*nowhere, which does not exist: give a CSV"),
        ((labels, dangling), "--images .* is no folder, it is a symbolic link to .*nowhere, which does not exist"),
        ((write_csv(folder / "labels.csv", [row()]), folder / "no"), "--images .* is no folder"),
    ):
        with pytest.raises(CavedError, match=message):
            annotated_source(*arguments)


@given(
    st.text(max_size=12), st.sampled_from([str.upper, str.title, lambda s: f" {s}\u00a0", lambda s: s.replace(" ", "")])
)
def test_options_that_differ_in_case_and_spaces_alone_are_alike(text, change):
    folded = alike_key(text)
    assert alike_key(folded) == folded
    if text.isascii():
        assert alike_key(change(text)) == folded
        assert alike_options([text, change(text)]) == [(text, change(text))]


def test_images_that_are_cut_short_are_refused_whatever_another_library_told_pillow(tmp_path, monkeypatch):
    from PIL import ImageFile

    from stimuli_builder.frames import decode, encode
    from stimuli_builder.image.image_files import UnreadableImage, read_upright

    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    path = tmp_path / "photo.jpg"
    Image.effect_noise((64, 64), 90).convert("RGB").save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UnreadableImage):
        read_upright(path)
    with pytest.raises(OSError):
        decode(whole[: len(whole) // 2])
    assert decode(encode(Image.new("RGB", (8, 8)))).size == (8, 8) and ImageFile.LOAD_TRUNCATED_IMAGES
