"""`caved model-args`: the arguments of the models that come with the package, and what it says where something is amiss."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from lmms_eval.utils import simple_parse_args_string

from lmms_eval_tasks.small_reader import packaged
from lmms_eval_tasks.small_reader.packaged import PACKAGED, model_args, packaged_folder, pixels_of
from stimuli_builder.errors import CavedError

SIDES = {"small-reader": 56, "small-image-reader": 112}
FILES = {"small-reader": "video_preprocessor_config.json", "small-image-reader": "preprocessor_config.json"}


def size(side):
    return {"size": {"shortest_edge": side**2, "longest_edge": side**2}}


def write(folder, name):
    """A checkpoint that looks complete; the other processor of each has another size."""
    place = folder / name
    place.mkdir(parents=True)
    (place / "config.json").write_text("{}")
    (place / "model.safetensors").write_bytes(b"x")
    for model, file in FILES.items():
        (place / file).write_text(json.dumps(size(SIDES[name] if model == name else 448)))
    return place


@pytest.fixture
def checkpoints(tmp_path, monkeypatch):
    for name in PACKAGED:
        write(tmp_path / "checkpoints", name)
    monkeypatch.setattr(packaged, "CHECKPOINTS", tmp_path / "checkpoints")
    return tmp_path / "checkpoints"


def test_arguments_are_those_of_the_files(checkpoints):
    start = f"pretrained={checkpoints}"
    assert model_args("small-reader") == (
        f"{start}/small-reader,device=cpu,device_map=cpu,min_pixels=3136,max_pixels=3136,max_num_frames=64"
    )
    assert model_args("small-image-reader") == (
        f"{start}/small-image-reader,device=cpu,device_map=cpu,min_pixels=12544,max_pixels=12544"
    )


@pytest.mark.parametrize("device", ["cuda", "cuda:1"])
def test_a_device_is_named_twice_as_the_wrapper_wants_it(checkpoints, device):
    parsed = simple_parse_args_string(model_args("small-reader", device))
    assert (parsed["device"], parsed["device_map"]) == (device, device)
    assert parsed["pretrained"] == str(checkpoints / "small-reader") and Path(parsed["pretrained"]).is_absolute()
    assert parsed["max_pixels"] == 3136


@pytest.mark.parametrize("device", ["", "auto", "cuda:", "cpu,x=1", "CUDA", "cuda:1 "])
def test_other_devices_are_refused(checkpoints, device):
    with pytest.raises(CavedError, match=r"--device .*: choose cpu, cuda, or a single one such as cuda:1"):
        model_args("small-reader", device)


def test_settings_of_all_processors_in_one_file_are_read_first(checkpoints):
    for name, reader in PACKAGED.items():
        other = ({"image_processor", "video_processor"} - {reader.processor}).pop()
        settings = {reader.processor: size(28), other: size(56), "processor_class": "Qwen2_5_VLProcessor"}
        (checkpoints / name / "processor_config.json").write_text(json.dumps(settings))
        assert pixels_of(checkpoints / name, reader.processor) == (784, 784)
        (checkpoints / name / "processor_config.json").write_text(json.dumps({"processor_class": "x"}))
        assert pixels_of(checkpoints / name, reader.processor) == (SIDES[name] ** 2,) * 2


@pytest.mark.parametrize("settings", ["{}", '{"size": {"height": 56, "width": 56}}', '{"size": 56}', "[]"])
def test_a_checkpoint_that_does_not_say_its_size_is_refused(checkpoints, settings):
    (checkpoints / "small-reader" / FILES["small-reader"]).write_text(settings)
    with pytest.raises(CavedError, match=r"how many pixels the model sees .*: install the package again"):
        model_args("small-reader")
    (checkpoints / "small-reader" / FILES["small-reader"]).write_text("{")
    with pytest.raises(CavedError, match=r"video_preprocessor_config.json is damaged .*: install the package again"):
        model_args("small-reader")


@pytest.mark.parametrize("name", ["reader", "", "../small-reader", "Small-Reader"])
def test_an_unknown_name_lists_the_known_ones(checkpoints, name):
    with pytest.raises(CavedError, match=r"choose from small-reader, small-image-reader"):
        model_args(name)


@pytest.mark.parametrize("file", ["config.json", "model.safetensors"])
def test_a_missing_checkpoint_names_its_files_and_the_remedy(checkpoints, file):
    (checkpoints / "small-reader" / file).unlink()
    with pytest.raises(CavedError, match=rf"small-reader lacks {file}: .*install the package again"):
        packaged_folder("small-reader")


@pytest.mark.parametrize("part", ["a,b", "run=1", "x,y=z"])
def test_a_path_that_lmms_eval_would_split_is_refused(tmp_path, monkeypatch, part):
    write(tmp_path / part, "small-reader")
    monkeypatch.setattr(packaged, "CHECKPOINTS", tmp_path / part)
    with pytest.raises(CavedError, match=r"where lmms-eval splits --model_args: copy this folder"):
        model_args("small-reader")


def test_a_path_with_spaces_survives_the_command_line(tmp_path, monkeypatch):
    write(tmp_path / "my models", "small-reader")
    monkeypatch.setattr(packaged, "CHECKPOINTS", tmp_path / "my models")
    assert simple_parse_args_string(model_args("small-reader"))["pretrained"].endswith("my models/small-reader")


def command(*arguments, folder):
    """The command in a process of its own, with checkpoints in a folder; and what it imported."""
    code = (
        "import sys; from pathlib import Path; from stimuli_builder import cli\n"
        "from lmms_eval_tasks.small_reader import packaged\n"
        f"packaged.CHECKPOINTS = Path({str(folder)!r}); sys.argv = ['caved', *{list(arguments)!r}]\n"
        "try: cli.main()\n"
        "finally: print({'torch', 'lmms_eval', 'transformers'} & set(sys.modules), file=sys.stderr)"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_the_command_prints_the_arguments_and_nothing_else(checkpoints):
    done = command("model-args", "small-reader", "--device", "cuda", folder=checkpoints)
    assert (done.returncode, done.stdout) == (0, model_args("small-reader", "cuda") + "\n"), done.stderr
    assert done.stderr.splitlines()[-1] == "set()"
    wrong = command("model-args", "large-reader", folder=checkpoints)
    assert wrong.returncode == 1 and wrong.stdout == ""
    assert "caved: no packaged model is called 'large-reader': choose from small-reader" in wrong.stderr


@pytest.mark.parametrize("name", PACKAGED)
def test_the_packaged_checkpoints_say_what_they_are(name):
    folder = packaged.CHECKPOINTS / name
    assert json.loads((folder / "config.json").read_text())["caved_control"] == "control"
    parsed = simple_parse_args_string(model_args(name))
    assert parsed["min_pixels"] == parsed["max_pixels"]
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "no evidence about any other model" in card and "| measure | seed 0 | seed 1 | seed 2 |" in card
    assert ("max_num_frames" in parsed) == (PACKAGED[name].frames is not None)
    if name == "small-reader":
        assert parsed["max_pixels"] == 56**2 and parsed["max_num_frames"] == 64
