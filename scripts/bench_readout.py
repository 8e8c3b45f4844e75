"""What sharing work is worth: the stock wrapper and ours side by side, on random models of about 25M parameters.

Both answer the same trials of the main task (16 for each probe) in one process, in float32 unless told otherwise; the
stock wrapper generates one token for each trial. Prints seconds, tokens prefilled, frames encoded, the ratio of seconds, and the
ideal ratio: that of the floating-point operations which these counts of tokens and frames cost in language model and
vision encoder (counted by PyTorch), as if all else were free. Sharing is checked on the first requests of a model by
computing them both ways; that happens before the clock starts.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ["CAVED_ANSWERS"] = "off"  # what is measured must be computed
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import torch
from lmms_eval.api.instance import Instance
from lmms_eval.models import get_model
from tiny_families import llava_onevision
from tiny_qwen import write_tiny_qwen
from torch.utils.flop_counter import FlopCounterMode

from lmms_eval_tasks.language_inputs import decoder_of
from lmms_eval_tasks.prompts import prompt_text
from lmms_eval_tasks.trials import MAIN_CLAIMS, probe_documents
from lmms_eval_tasks.untouched_frames import untouched_frames
from lmms_eval_tasks.vision_memo import vision_tower
from lmms_eval_tasks.visuals import doc_to_messages
from stimuli_builder.build import build_release
from stimuli_builder.procedural import procedural_catalogue

BUDGET = 16
TEXT = {
    "hidden_size": 512, "intermediate_size": 1536, "num_hidden_layers": 6, "num_attention_heads": 8,
    "num_key_value_heads": 2, "max_position_embeddings": 32768, "initializer_range": 0.05,
}  # fmt: skip


def write_qwen(folder: Path, corpus: list[str]) -> Path:
    """Qwen2.5-VL with 6 layers of 512 and a vision tower of 6 layers of 256."""
    rope = {"rope_type": "default", "mrope_section": [8, 12, 12], "rope_theta": 1e6}
    vision = {
        "depth": 6, "hidden_size": 256, "intermediate_size": 704, "num_heads": 4, "out_hidden_size": 512,
        "fullatt_block_indexes": [2, 5], "initializer_range": 0.05,
    }  # fmt: skip
    return write_tiny_qwen(folder, text={**TEXT, "rope_parameters": rope}, vision=vision, corpus=corpus)


def write_onevision(folder: Path, corpus: list[str]) -> Path:
    """LLaVA-OneVision with the same language model and a vision tower of 6 layers of 256."""
    torch.manual_seed(0)
    vision = {"hidden_size": 256, "intermediate_size": 704, "num_hidden_layers": 6, "num_attention_heads": 4}
    model, processor = llava_onevision(TEXT, vision, side=384, patch=48, corpus=corpus)
    model.eval().save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


MODELS: dict[str, tuple[str, Callable[[Path, list[str]], Path], str]] = {
    "qwen2_5_vl": ("qwen2_5_vl", write_qwen, "min_pixels=3136"),
    "llava_onevision": ("llava_hf", write_onevision, ""),
}


class Counter:
    """Tokens through the language model and frames through the vision encoder, counted by hooks."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.tokens = self.values = 0
        tower = vision_tower(model)
        entrance = next(m for m in tower.modules() if isinstance(m, (torch.nn.Conv2d, torch.nn.Conv3d)))
        self.hooks = [
            decoder_of(model).layers[0].register_forward_pre_hook(self._tokens, with_kwargs=True),
            entrance.register_forward_pre_hook(self._values),
        ]

    def _tokens(self, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        hidden = args[0] if args else kwargs["hidden_states"]
        self.tokens += hidden.shape[0] * hidden.shape[1]

    def _values(self, _: Any, args: tuple[Any, ...]) -> None:
        self.values += args[0].numel()

    def remove(self) -> None:
        """Stop counting."""
        for hook in self.hooks:
            hook.remove()


def bench(name: str, docs: list[dict[str, Any]], folder: Path, device: str, dtype: str) -> dict[str, float]:
    """Both ways for one model; the figures of the closing table."""
    model_id, write, arguments = MODELS[name]
    options = ",".join(
        filter(
            None,
            (
                f"pretrained={write(folder / name, [prompt_text(doc) for doc in docs] * 20)}",
                f"device={device},device_map={device}",
                arguments,
            ),
        )
    )
    wrapper = get_model(model_id).create_from_arg_string(options, {"batch_size": 1})
    wrapper._model.to(getattr(torch, dtype))
    wrapper.task_dict = {"task": {"split": docs}}
    stock = type(wrapper).__mro__[1]
    parameters = sum(p.numel() for p in wrapper._model.parameters())

    def requests(ours: bool, count: int) -> list[Instance]:
        mark = {"benchmark": "caved_or_convinced"} if ours else {}
        arguments = {"max_new_tokens": 1, "temperature": 0, "until": []}
        return [
            Instance(
                "generate_until",
                (prompt_text(doc), doc_to_messages, dict(arguments), i, "task", "split"),
                0,
                metadata={"task": "task", "doc_id": i, "repeats": 1, **mark},
            )
            for i, doc in enumerate(docs[:count])
        ]

    def plainly(count: int = len(docs)) -> list[Any]:
        with untouched_frames(wrapper, remember=False):
            return stock.generate_until(wrapper, requests(False, count))

    def sharing(count: int = len(docs)) -> list[Any]:
        return wrapper.generate_until(requests(True, count))

    def timed(run: Callable[[], list[Any]]) -> tuple[float, list[Any]]:
        start = time.perf_counter()
        answers = run()
        if device != "cpu":
            torch.cuda.synchronize()
        return time.perf_counter() - start, answers

    def counted(run: Callable[[], list[Any]]) -> tuple[int, int, int]:
        counter = Counter(wrapper._model)
        with FlopCounterMode(display=False) as flops:
            run()
        counter.remove()
        return flops.get_total_flops(), counter.tokens, counter.values

    plainly(4)  # warm up: kernels, tokenizer tables, the checks of sharing
    sharing(min(len(docs), 32))
    plain_s, _ = timed(plainly)
    shared_s, together = timed(sharing)
    os.environ["CAVED_SHARE"] = "off"
    alone = sharing()
    os.environ["CAVED_SHARE"] = "on"
    plain, shared = counted(plainly), counted(sharing)
    frames = len(docs) * BUDGET  # that the stock wrapper encodes
    shared_frames = round(frames * shared[2] / plain[2])
    difference = max(
        abs(log_mass(a, letter) - log_mass(b, letter))
        for a, b in zip(map(json.loads, alone), map(json.loads, together), strict=True)
        for letter in "AB"
    )
    ratio, ideal = plain_s / shared_s, plain[0] / shared[0]
    print(
        f"{name}: {parameters / 1e6:.1f}M parameters, {len(docs)} trials\n"
        f"  stock  {plain_s:7.2f} s  {plain[1]:8d} tokens  {frames:5d} frames  {plain[0] / 1e9:9.1f} GFLOP\n"
        f"  ours   {shared_s:7.2f} s  {shared[1]:8d} tokens  {shared_frames:5d} frames  {shared[0] / 1e9:9.1f} GFLOP\n"
        f"  ratio {ratio:.2f}, ideal {ideal:.2f} (reached {ratio / ideal:.0%}; tokens alone {plain[1] / shared[1]:.2f}, "
        f"frames alone {frames / shared_frames:.2f}); log-probabilities differ by at most {difference:.1e}",
        flush=True,
    )
    return {
        "ratio": ratio,
        "ideal_ratio": ideal,
        "max_abs_logprob_diff": difference,
        "stock_s": plain_s,
        "ours_s": shared_s,
        "stock_tokens": plain[1],
        "ours_tokens": shared[1],
    }


def log_mass(response: dict[str, Any], letter: str) -> float:
    """The log-probability of a letter."""
    return math.log(response["option_probabilities"][letter] * response["option_mass"])


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--probes", type=int, default=6)
    parser.add_argument("--canvas", type=int, default=336, help="side of the frames in pixels")
    parser.add_argument("--models", nargs="*", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--threads", type=int, default=1, help="of torch on the CPU")
    parser.add_argument("--dtype", default="float32", choices=["float32", "bfloat16"])
    parser.add_argument("--json", type=Path, help="file for the figures")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        release = build_release(
            procedural_catalogue(), folder / "release", (BUDGET,), arguments.probes, 0, arguments.canvas, "mit", 1
        )
        os.environ["CAVED_RELEASE"] = str(release.folder)
        docs = [
            doc
            for probe in release.probes(BUDGET)
            for doc in probe_documents(probe, MAIN_CLAIMS, release.info.digest, arguments.probes)
        ]
        results = {model: bench(model, docs, folder, device, arguments.dtype) for model in arguments.models}
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
