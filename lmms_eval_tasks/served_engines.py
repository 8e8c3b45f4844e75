"""Engines that run in the process, vLLM and SGLang: what they are asked in addition, and where outputs hold it.

Written after vLLM 0.33 (`LLM.chat`, `LLM.generate`, `SamplingParams`, `Logprob`) and SGLang 0.5.23
(`Engine.generate`, `TokenizerManager`); neither is imported here. With the temperature of 0 that wrappers set, both
give the distribution of the model itself: vLLM's `logprobs_mode` is `raw_logprobs` unless it is set otherwise, and
SGLang takes the logarithm before any scaling.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

from PIL import Image

from lmms_eval_tasks.sent_media import flat_images, sent_images, sent_text
from lmms_eval_tasks.served_readings import Entries, Served, StandIn


def _engine(
    served: Served, requests: int, ask: Callable[[int], Any], entries: Callable[[Any], Entries],
    images: Callable[[int], list[Image.Image]], texts: list[str], put: Callable[[Any, str], None], note: Callable[[], Any],
) -> list[Any]:  # fmt: skip
    """The outputs of a batch, read; notes in their place where the engine refuses."""
    while served.no_log_probabilities is None:
        count = served.asked_for
        try:
            outputs = list(ask(count))
        except Exception as error:
            if not served.goes_on(error, count):
                raise
            continue
        for index, output in enumerate(outputs):
            put(output, served.responds(entries(output), lambda index=index: images(index), texts[index]))  # type: ignore[misc]
        return outputs
    return [note() for _ in range(requests)]


def _vllm_params(params: Any, count: int) -> Any:
    """Copies of sampling parameters that ask for one token and `count` log-probabilities."""
    if isinstance(params, (list, tuple)):
        return [_vllm_params(one, count) for one in params]
    asked = copy.deepcopy(params)
    asked.max_tokens, asked.logprobs = 1, count
    return asked


def vllm_stand_in(client: Any, served: Served) -> Any:
    """A vLLM engine (`LLM`) whose `chat` and `generate` are read."""

    def text_of(token: int, told: Any) -> str:
        return told.decoded_token if told.decoded_token is not None else client.get_tokenizer().decode([token])

    def entries(output: Any) -> Entries:
        positions = output.outputs[0].logprobs
        if not positions or not positions[0]:
            return None
        return [(text_of(token, told), float(told.logprob)) for token, told in positions[0].items()]

    def put(output: Any, text: str) -> None:
        output.outputs[0].text = text

    def note() -> Any:
        return SimpleNamespace(outputs=[SimpleNamespace(text=served.note)])

    def chat(messages: Any, sampling_params: Any = None, **others: Any) -> list[Any]:
        def ask(count: int) -> Any:
            return client.chat(messages=messages, sampling_params=_vllm_params(sampling_params, count), **others)

        texts = list(map(sent_text, messages))
        return _engine(served, len(messages), ask, entries, lambda i: sent_images(messages[i]), texts, put, note)

    def generate(prompts: Any, sampling_params: Any = None, **others: Any) -> list[Any]:
        def ask(count: int) -> Any:
            return client.generate(prompts, _vllm_params(sampling_params, count), **others)

        def images(index: int) -> list[Image.Image]:
            media = prompts[index].get("multi_modal_data") or {}
            return flat_images([media.get(name) for name in ("image", "video")])

        texts = [str(one.get("prompt", "")) if isinstance(one, dict) else str(one) for one in prompts]
        return _engine(served, len(prompts), ask, entries, images, texts, put, note)

    return StandIn(client, chat=chat, generate=generate)


def sglang_stand_in(client: Any, served: Served, tokenizer: Any) -> Any:
    """An SGLang engine whose `generate` is read.

    Its method does not pass on `return_text_in_logprobs`, so entries carry ids, which are decoded here.
    """

    def told(listed: Iterable[tuple[float, int, str | None]]) -> list[tuple[str, float]]:
        return [
            (text if text is not None else tokenizer.decode([token]), float(value)) for value, token, text in listed
        ]

    def entries(output: Any) -> Entries:
        positions = output["meta_info"].get("output_top_logprobs")
        return told(positions[0]) if positions and positions[0] else None

    def put(output: Any, text: str) -> None:
        output["text"] = text

    def note() -> Any:
        return {"text": served.note, "meta_info": {}}

    def generate(
        prompt: Any, sampling_params: Any = None, image_data: Any = None, video_data: Any = None, **others: Any
    ) -> list[Any]:
        media = {name: data for name, data in (("image_data", image_data), ("video_data", video_data)) if data}

        def ask(count: int) -> Any:
            asked = [{**one, "max_new_tokens": 1} for one in sampling_params]
            fields = {**media, **others, "return_logprob": True, "top_logprobs_num": count}
            return client.generate(prompt=prompt, sampling_params=asked, **fields)

        def images(index: int) -> list[Image.Image]:
            return flat_images([data[index] for data in media.values()])

        return _engine(served, len(prompt), ask, entries, images, list(prompt), put, note)

    return StandIn(client, generate=generate)
