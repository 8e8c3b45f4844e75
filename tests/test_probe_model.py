"""`caved probe-model`: every fault of a wrapper is shown, and the verdict says what a run would stop with."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import typer
from lmms_eval.api.model import lmms
from PIL import Image
from tiny_families import FAMILIES, write_tiny
from tiny_qwen import write_tiny_qwen

from lmms_eval_tasks.colour_clip import clip_document, colour_clip, colours, read_back
from lmms_eval_tasks.probe_loading import Choice, load_wrapper
from lmms_eval_tasks.probe_report import NEXT_TOKEN, TEXT, describe
from lmms_eval_tasks.probing import probe
from lmms_eval_tasks.receipts import shown_thumbnails
from lmms_eval_tasks.visuals import doc_to_messages, frames_in_memory
from lmms_eval_tasks.wrapped_models import _generate_until
from stimuli_builder import cli
from stimuli_builder.errors import CavedError

BUDGET, CANVAS = 8, 112
FLIP = Image.Transpose.FLIP_LEFT_RIGHT


@pytest.fixture(scope="module")
def tiny():
    """Model and processor, in this process, without a file."""
    torch.manual_seed(0)
    model, processor = FAMILIES["llava_onevision"]()
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() > 1:
                weight.normal_(std=0.3)
    return model.eval(), processor


class Plain(lmms):
    """A chat wrapper that ends in transformers' `generate`; `spoil` is what it does to frames."""

    is_simple = False
    batch_size = 1

    def __init__(self, tiny, spoil=list):
        super().__init__()
        self.model, self.processor = tiny
        self.spoil = spoil

    def answer(self, messages):
        frames = self.spoil(messages[0]["content"][0]["url"])
        text = self.processor.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        inputs = self.processor(text=[text], videos=[frames], return_tensors="pt")
        out = self.model.generate(**inputs, max_new_tokens=3)
        return self.processor.tokenizer.decode(out[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)

    def messages(self, request):
        _, doc_to_messages, _, doc_id, task, split = request.args
        return doc_to_messages(self.task_dict[task][split][doc_id])

    def generate_until(self, requests):
        return [self.answer(self.messages(request)) for request in requests]

    def loglikelihood(self, requests):
        raise NotImplementedError

    def generate_until_multi_round(self, requests):
        raise NotImplementedError


def read(base):
    """The subclass that answers our tasks with option probabilities, as `wrapped_models` makes it of a built-in."""

    def generate_until(self, requests):
        return _generate_until(base, self, requests)

    generate_until.__module__ = "lmms_eval_tasks.wrapped_models"
    return type(base.__name__, (base,), {"generate_until": generate_until})


def report_of(wrapper, budget=BUDGET, canvas=CANVAS, **choice):
    return probe(wrapper, Choice("fake", **choice), colour_clip(budget, canvas))


def test_the_clip_has_clearly_different_frames_at_every_budget():
    for count in (2, 8, 16, 64):
        chosen = np.array(colours(count))
        apart = np.abs(chosen[:, None] - chosen[None]).max(-1) + 255 * np.eye(count)
        assert chosen[0].tolist() == [240, 16, 16] and chosen[1].tolist() == [16, 16, 240]
        assert apart.min() >= 74
    clip = colour_clip(16, 100)
    assert len(clip.ids) == 16 and {image.size for image in clip.frames.values()} == {(100, 100)}
    for wrong in (1, 65):
        with pytest.raises(ValueError, match="2 to 64 frames"):
            colour_clip(wrong, 64)


def test_frames_in_memory_are_shown_by_the_functions_of_the_task_and_cannot_be_changed():
    clip = colour_clip(4, 56)
    document = clip_document(clip, True, "strong", "BA", "text")
    with frames_in_memory("colour clip", clip.frames):
        ((turn,),) = [doc_to_messages(document)]
        media, text = turn["content"]
        assert media["type"] == "video"
        assert [f.getpixel((50, 50)) for f in media["url"]] == list(clip.colours[::-1])
        media["url"][0].putpixel((50, 50), (1, 2, 3))
        assert doc_to_messages(document)[0]["content"][0]["url"][0].getpixel((50, 50)) == clip.colours[-1]
    assert (
        "2.30 s, 8.80 s, 15.30 s, 21.80 s" in text["text"] and "A. a blue picture, then a red picture" in text["text"]
    )


TURNED = {
    "as shown": lambda x: x,
    "mirrored left to right": lambda x: np.flip(x, -1),
    "mirrored top to bottom": lambda x: np.flip(x, -2),
    "turned by 180 degrees": lambda x: np.rot90(x, 2, (-2, -1)),
    "turned by 90 degrees to the left": lambda x: np.rot90(x, 1, (-2, -1)),
    "turned by 90 degrees to the right": lambda x: np.rot90(x, -1, (-2, -1)),
    "with rows and columns exchanged": lambda x: np.swapaxes(x, -2, -1),
    "red and blue exchanged": lambda x: x[:, ::-1],
    "mirrored left to right, red and blue exchanged": lambda x: np.flip(x[:, ::-1], -1),
}


@pytest.mark.parametrize("side", [84, 112, 224, 384])
@pytest.mark.parametrize("looks", TURNED)
def test_received_frames_are_read_back_whatever_the_normalisation_and_size(looks, side):
    frames = list(colour_clip(16, 448).frames.values())
    shown = shown_thumbnails(frames)
    resized = shown_thumbnails([frame.resize((side, side), Image.Resampling.BICUBIC) for frame in frames])
    order = [*range(16)] if "exchanged" in looks else [3, 0, 0, 7, 15]  # red and blue exchanged, red is blue
    arrived = read_back((TURNED[looks](resized[order]) / 255 - 0.48) / 0.27, shown)
    assert (arrived.order, arrived.looks) == (tuple(order), looks)
    if "blue" not in looks and "rows" not in looks:
        assert arrived.colours == ("#f0f0f0", "#f01010", "#f01010", "#f010f0", "#f05b5b")


def test_frames_that_are_none_of_the_clip():
    clip = colour_clip(8, 112)
    frames = list(clip.frames.values())
    pixels = np.array(frames[1])
    pixels[(pixels == clip.colours[1]).all(-1)] = (53, 128, 203)
    arrived = read_back(shown_thumbnails([frames[0], Image.fromarray(pixels)]), shown_thumbnails(frames))
    assert arrived.order == (0, None) and arrived.colours == ("#f01010", "#3580cb")
    cropped = [frame.crop((56, 56, 112, 112)) for frame in frames]
    arrived = read_back(shown_thumbnails(cropped), shown_thumbnails(frames))
    assert arrived.looks == "changed: cropped, padded or replaced"


def test_a_faultless_wrapper_is_ready(tiny):
    wrapper = read(Plain)(tiny)
    report = report_of(wrapper)
    assert report.ready and report.verdict.startswith("8 frames arrive in order")
    assert "lmms-eval --tasks caved_or_convinced_k8 --model fake --log_samples" in report.verdict
    assert report.letters == {"A": [(32, "A")], "B": [(33, "B")]} and report.why_text is None
    assert [a.order for a in report.asked] == [tuple(range(8))] * 4
    assert report.asked[0].received == report.asked[0].shown == report.asked[2].received[::-1]
    assert {a.size_px for a in report.asked} == {(112, 112)} and {a.looks for a in report.asked} == {"as shown"}
    for asked in report.asked:
        assert sum(asked.option_probabilities.values()) == pytest.approx(1) and 0 < asked.option_mass < 1
        assert asked.readout == NEXT_TOKEN and asked.fault is None and asked.outcome in ("A", "B")
        assert asked.seconds > 0
    assert report.asked[0].option_probabilities != report.asked[2].option_probabilities  # the order has an influence
    assert report.together.fault is None and report.together.largest_difference < 1e-3
    assert json.loads(report.to_json())["asked"][2]["order"] == list(range(8))
    text = describe(report)
    assert "8 received of 8 shown, 112 x 112 px, each as shown" in text and text.splitlines()[-1].startswith("ready: ")
    assert "    1      #1010f0  #1010f0  frame 1\n" in text


FAULTS = {
    "dropped": (lambda f: f[:3] + f[5:], (0, 1, 2, 5, 6, 7), "as shown", "6 frames of 8 .* drops frames .*num_frames=8"),
    "repeated": (lambda f: [*f, f[-1]], (0, 1, 2, 3, 4, 5, 6, 7, 7), "as shown", "9 frames of 8 .* repeats frames"),
    "resampled": (lambda f: [f[i // 2 * 2] for i in range(8)], (0, 0, 2, 2, 4, 4, 6, 6), "as shown", "resamples frames"),
    "reordered": (lambda f: f[::-1], (7, 6, 5, 4, 3, 2, 1, 0), "as shown", "reorders frames: those at 7 6 5"),
    "mirrored": (
        lambda f: [i.transpose(FLIP) for i in f], tuple(range(8)), "mirrored left to right",
        r"frame \d does not reach the model as it is shown .*arrive mirrored left to right",
    ),
    "tiles": (
        lambda f: [i for i in f for _ in "ab"], tuple(i // 2 for i in range(16)), "as shown", "cuts each of them into 2",
    ),
    "only one": (lambda f: f[4:5], (4,), "as shown", "1 frames of 8 reached"),
}  # fmt: skip


@pytest.mark.parametrize(("spoil", "order", "looks", "message"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_shown_with_what_is_known_beside_it(spoil, order, looks, message, tiny):
    report = report_of(read(Plain)(tiny, spoil))
    assert not report.ready and report.together is None
    for asked in report.asked:  # each request, not only the first
        assert (asked.order, asked.looks) == (order, looks)
        assert asked.received == tuple(asked.shown[place] for place in order)
        assert sum(asked.option_probabilities.values()) == pytest.approx(1)  # read before the run stopped
        assert asked.outcome is None
    text = describe(report)
    assert f"  order    {' '.join(map(str, order))}" in text
    verdict = text.splitlines()[-1]
    assert verdict == f"not ready: {report.verdict}" and "caved_or_convinced:" not in verdict
    assert re.search(message, verdict), verdict


def test_an_error_that_a_wrapper_swallows(tiny):
    class Swallowing(Plain):
        def answer(self, messages):
            try:
                return self.model.generate(inputs_embeds=torch.zeros(1, 1, 3))
            except Exception:
                return ""

    report = report_of(read(Swallowing)(tiny))
    assert not report.ready and report.asked[0].order is None and report.asked[0].option_probabilities is None
    assert "answered '' to document 0" in report.verdict and "swallowed an error (" in report.verdict
    assert "readout  none" in describe(report) and "  answer   none" in describe(report)


def test_an_error_that_is_swallowed_before_the_model_is_called(tiny):
    from loguru import logger

    class Silent(Plain):
        def answer(self, messages):
            logger.error("no frames for you")
            return ""

    report = report_of(read(Silent)(tiny))
    assert not report.ready and "answers nothing: it swallowed an error" in report.verdict
    assert report.messages.count("no frames for you") == 1 and "no frames for you" in describe(report)
    assert report.why_text == "it does not end in transformers' generate"


def test_an_error_that_a_wrapper_raises_is_no_traceback(tiny):
    def fail(frames):
        raise ValueError("I take 4 frames\nand more lines")

    report = report_of(read(Plain)(tiny, fail))
    assert not report.ready and report.asked[3].fault == report.verdict
    assert "the wrapper fails (ValueError: I take 4 frames), and a run would end without results" in report.verdict


class Talking(Plain):
    """A wrapper whose model is somewhere else, and comes back as text."""

    said = "The answer is A."

    def answer(self, messages):
        return self.said


def test_a_model_that_is_read_from_its_text(tiny):
    report = report_of(read(Talking)(tiny))
    assert report.ready and "its text is read" in report.verdict and "cannot be seen" in report.verdict
    assert report.why_text == "it does not end in transformers' generate"
    assert [(a.readout, a.text, a.outcome) for a in report.asked] == [(TEXT, Talking.said, "A")] * 4
    text = describe(report)
    assert "readout  text: it does not end in transformers' generate" in text
    assert "answer   A (generated text 'The answer is A.')" in text


def test_text_without_an_option_is_not_ready(tiny):
    class Rambling(Talking):
        said = "What a lovely video!"

    report = report_of(read(Rambling)(tiny))
    assert not report.ready and "none of 4 answers names an option ('What a lovely video!'" in report.verdict


def test_a_wrapper_that_is_none_of_the_built_in_ones(tiny):
    report = report_of(Talking(tiny))
    assert report.ready and report.why_text.startswith("the wrapper is run as it is")


def test_text_by_choice_is_part_of_the_command(tiny, monkeypatch):
    monkeypatch.setenv("CAVED_READOUT", "text")
    report = report_of(read(Talking)(tiny))
    assert report.why_text == "CAVED_READOUT=text is set"
    assert "; CAVED_READOUT=text lmms-eval --tasks caved_or_convinced_k8" in report.verdict


def test_times_that_do_not_arrive(tiny):
    report = report_of(read(Plain)(tiny), time="native")
    assert not report.ready and report.verdict.startswith("time: native, but no true time reached this model")
    assert report.asked[0].order == tuple(range(8))
    assert "CAVED_TIME=text " in report_of(read(Plain)(tiny), time="text").verdict


def test_frames_without_influence_on_a_model_whose_inputs_cannot_be_read(tiny):
    class Blind(Plain):
        def answer(self, messages):
            ids = torch.tensor([self.processor.tokenizer.encode(messages[0]["content"][1]["text"])])
            out = self.model.generate(input_ids=ids, max_new_tokens=3)
            return self.processor.tokenizer.decode(out[0, ids.shape[1] :])

    report = report_of(read(Blind)(tiny))
    assert not report.ready and report.asked[0].order is None
    assert "the reverse order has exactly the same probabilities" in report.verdict


def test_a_wrapper_that_loses_answers_when_requests_go_together(tiny):
    class Forgetful(Plain):
        batch_size = 4

        def generate_until(self, requests):
            answers = super().generate_until(requests)
            return answers if len(answers) < 2 else [*answers[1:], answers[0] + "!"]

    report = report_of(read(Forgetful)(tiny))
    assert not report.ready and not any(a.fault for a in report.asked)
    assert report.verdict.startswith("all requests in one call: ")


def test_answers_are_neither_kept_nor_taken_from_the_store(tiny, monkeypatch, tmp_path):
    monkeypatch.setenv("CAVED_ANSWERS", str(tmp_path / "store"))
    assert report_of(read(Plain)(tiny)).ready
    assert not (tmp_path / "store").exists() and os.environ["CAVED_ANSWERS"] == str(tmp_path / "store")


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (Choice("qwen2_5_v"), "lmms-eval has no such model, did you mean qwen2_5_vl"),
        (Choice("qwen2_5_vl", "pretrained"), "write name=value, separated by commas"),
        (Choice("internvl_hf", "pretrained=/nowhere", batch_size="2"), "run it with --batch_size 1"),
        (Choice("qwen2_5_vl", "pretrained=a/b,colour=3"), r"Unexpected kwargs.*; it takes pretrained, device, "),
        (Choice("scripted_observer", "reading=7"), "scripted_observer: reading=7 is a probability"),
        (Choice("qwen2_5_vl", "pretrained=/no/where,device=cpu,device_map=cpu"), "a folder that exists, or a name on"),
    ],
)
def test_what_cannot_be_loaded_is_one_line_with_a_remedy(choice, message):
    with pytest.raises(CavedError, match=message) as raised:
        load_wrapper(choice)
    assert "\n" not in str(raised.value)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "lmms_eval.models.simple.videochat2", None)
    monkeypatch.delitem(sys.modules, "lmms_eval.models.simple.videochat2")
    monkeypatch.setitem(sys.modules, "easydict", None)  # as if it were not installed
    with pytest.raises(CavedError, match="it needs the package 'easydict'"):
        load_wrapper(Choice("videochat2"))


class Point:
    """An entry point of another package."""

    def __init__(self, name, load):
        self.name, self.load = name, load


def test_commands_of_other_packages_are_added_once_and_a_broken_one_breaks_nothing(monkeypatch, capsys):
    def broken():
        raise ImportError("no such thing")

    def leaving():
        raise SystemExit("bye")

    def register(app: typer.Typer):
        app.command("say-hello")(lambda: typer.echo("hello"))

    points = [Point("broken", broken), Point("leaving", leaving), Point("say-hello", lambda: register)]
    monkeypatch.setattr(cli, "entry_points", lambda group: points if group == "caved.commands" else [])
    monkeypatch.setattr(cli.app, "registered_commands", list(cli.app.registered_commands))
    monkeypatch.setattr(sys, "argv", ["caved", "say-hello"])
    for _ in range(2):
        with pytest.raises(SystemExit) as stop:
            cli.main()
        out, err = capsys.readouterr()
        assert stop.value.code == 0 and out == "hello\n"
        assert "without the command broken, which cannot be loaded: no such thing" in err and "leaving" in err
    assert [c.name for c in cli.app.registered_commands].count("say-hello") == 1


def caved(*arguments, **environment):
    """The real command, in a fresh process."""
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": "", **environment}
    command = [str(Path(sys.executable).with_name("caved")), *map(str, arguments)]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=300)


def test_help_lists_the_command_without_loading_a_model_library():
    code = (
        "import sys; sys.argv = ['caved', '--help']\nimport stimuli_builder.cli as cli\n"
        "try: cli.main()\nfinally: print({'torch', 'transformers', 'lmms_eval'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "probe-model" in done.stdout and done.stdout.splitlines()[-1] == "set()", done.stderr


SIZES = {"qwen2_5_vl": 448, "internvl_hf": 112, "llava_hf": 84}


@pytest.mark.slow
@pytest.mark.parametrize(("model", "family"), [("qwen2_5_vl", ""), ("internvl_hf", "internvl"), ("llava_hf", "molmo2")])
def test_a_tiny_checkpoint_through_the_command(model, family, tmp_path):
    checkpoint = write_tiny(family, tmp_path / "tiny") if family else write_tiny_qwen(tmp_path / "tiny")
    arguments = f"pretrained={checkpoint},device=cpu,device_map=cpu"
    done = caved("probe-model", "--model", model, "--model_args", arguments, "--json", tmp_path / "report.json")
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    verdict = done.stdout.splitlines()[-1]
    assert verdict.startswith("ready: 16 frames arrive in order") and f"--model_args {arguments}" in verdict
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["ready"] and report["letters"] == {"A": [[32, "A"]], "B": [[33, "B"]]}
    for asked in report["asked"]:
        assert asked["order"] == list(range(16)) and asked["received"] == asked["shown"]
        assert asked["size_px"] == [SIZES[model]] * 2 and asked["readout"] == NEXT_TOKEN
    assert report["together"]["largest_difference"] < 0.05
    odd = caved("probe-model", "--model", model, "--model_args", arguments, "--budget", 7)
    assert odd.returncode == (1 if model == "qwen2_5_vl" else 0)
    if model == "qwen2_5_vl":
        assert "  order    0 1 2 3 4 5 6 6  (not as shown)\n" in odd.stdout
        assert odd.stdout.splitlines()[-1].endswith("use a task with an even number of frames")


@pytest.mark.slow
@pytest.mark.parametrize(("model", "family"), [("qwen3_vl", "qwen3_vl"), ("llava_hf", "molmo2")])
def test_true_times_through_the_command(model, family, tmp_path):
    arguments = f"pretrained={write_tiny(family, tmp_path / 'tiny')},device=cpu,device_map=cpu"
    done = caved("probe-model", "--model", model, "--model_args", arguments, "--budget", 8, "--time", "native")
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    first = "'<5.6 seconds>', '<18.6 seconds>'" if model == "qwen3_vl" else "'2.3', '8.8', '15.3'"
    assert f"  time     beside the frames {first}" in done.stdout
    assert "CAVED_TIME=native lmms-eval" in done.stdout


@pytest.mark.slow
def test_a_wrapper_of_ones_own_as_the_documentation_has_it(tmp_path):
    text = (Path(__file__).parents[1] / "docs" / "adding_a_model.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (tmp_path / "my_package.py").write_text(example)
    about = tmp_path / "my_package-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[lmms_eval.models]\nmy_package = my_package:manifests\n")
    arguments = f"pretrained={write_tiny('llava_onevision', tmp_path / 'tiny')},device=cpu"
    done = caved(
        *("probe-model", "--model", "my_model", "--model_args", arguments, "--budget", 8), PYTHONPATH=str(tmp_path)
    )
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert "8 received of 8 shown, 112 x 112 px, each as shown" in done.stdout
    assert "wrapper  MyModel, chat kind" in done.stdout and f"readout  {NEXT_TOKEN}\n" in done.stdout


@pytest.mark.slow
def test_a_served_model_is_shown_with_its_request(tmp_path, monkeypatch):
    from openai_server import openai_server

    with openai_server(write_tiny_qwen(tmp_path / "tiny")) as (url, behaviour):
        wrapper = load_wrapper(
            Choice("openai", f"model=tiny,base_url={url},api_key=none,max_retries=1,num_concurrent=2")
        )
        report = probe(wrapper, Choice("openai"), colour_clip(4, 112))
        assert report.ready, report.verdict
        assert report.letters is None and report.why_no_letters == "not known for a served model"
        assert all(a.order == (0, 1, 2, 3) and "last pixel" in a.looks for a in report.asked)
        assert {a.readout for a in report.asked} == {"top log-probabilities"}
        assert behaviour.requests
        monkeypatch.setenv("LMMS_IMAGE_ENCODE_FORMAT", "JPEG")
        report = probe(wrapper, Choice("openai"), colour_clip(4, 112))
        assert not report.ready and report.asked[0].order == (None,) * 4
        assert "unset LMMS_IMAGE_ENCODE_FORMAT" in report.verdict and "? ? ? ?  (not as shown)" in describe(report)
