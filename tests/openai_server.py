"""An OpenAI-compatible server for tests: HTTP, JSON and errors as OpenAI's, answers by a tiny real checkpoint.

`POST /v1/chat/completions` decodes the images that really arrived, runs the checkpoint on them, and tells the
log-probabilities of the likeliest tokens if it is asked for them. What it does otherwise is set by `Behaviour`.
"""

from __future__ import annotations

import base64
import io
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from tiny_qwen import write_tiny_qwen
from transformers import AutoProcessor, Qwen2_5_VLForConditionalGeneration


def load_checkpoint(folder: Path) -> Qwen2_5_VLForConditionalGeneration:
    """A checkpoint in float32 whose weights are those that wrappers load in bfloat16."""
    return Qwen2_5_VLForConditionalGeneration.from_pretrained(folder, dtype=torch.bfloat16).float().eval()


def model_inputs(processor: Any, messages: list[dict[str, Any]], images: list[Image.Image]) -> dict[str, torch.Tensor]:
    """The inputs of the model for OpenAI-style messages whose images are at hand."""
    plain = [
        {
            "role": m["role"],
            "content": [{"type": "text", "text": p["text"]} if p["type"] == "text" else {"type": "image"} for p in m["content"]],
        }
        for m in messages
    ]  # fmt: skip
    text = processor.apply_chat_template(plain, tokenize=False, add_generation_prompt=True)
    return processor(text=[text], images=images or None, return_tensors="pt")


@torch.no_grad()
def write_soft_qwen(folder: Path, asked: Sequence[tuple[str, list[Image.Image]]], seed: int = 0) -> Path:
    """A tiny checkpoint that likes both letters, never the same, and leaves something to every other token.

    `asked` are prompts with images: letters get logits of about 10 there, other tokens logits around 0.
    """
    write_tiny_qwen(folder, seed)
    model, processor = load_checkpoint(folder), AutoProcessor.from_pretrained(folder)
    hidden = []
    for prompt, images in asked:
        parts = [{"type": "image_url"}] * len(images) + [{"type": "text", "text": prompt}]
        inputs = model_inputs(processor, [{"role": "user", "content": parts}], images)
        hidden.append(model(**inputs, output_hidden_states=True).hidden_states[-1][0, -1])
    states = torch.stack(hidden)
    common = states.mean(0)
    differing = torch.pca_lowrank(states - common, 1, center=False)[2][:, 0]
    side = differing - (differing @ common) / (common @ common) * common
    side /= ((states - common) @ side).abs().max()
    head = model.get_output_embeddings().weight
    torch.manual_seed(seed)
    head.copy_(torch.randn_like(head) * 0.1)
    for letter, sign in (("A", 1), ("B", -1)):
        index = processor.tokenizer.convert_tokens_to_ids(letter)
        head[index] = 10 * common / (common @ common) + 1.5 * sign * side
    model.to(torch.bfloat16).save_pretrained(folder)
    return folder


@dataclass
class Behaviour:
    """What a server does with requests; changed by tests between them."""

    most: int = 20  # top_logprobs; more is refused with status 400
    refuses: str | None = None  # message with which logprobs are refused
    ignores: bool = False  # answers as if logprobs had not been asked for
    status: int | None = None  # fails every request with this status
    text: str | None = None  # answers this without a model
    requests: list[dict[str, Any]] = field(default_factory=list)  # bodies that arrived
    images: list[list[Image.Image]] = field(default_factory=list)  # of each request that was answered


class _Answers:
    """The checkpoint behind a server; one request at a time."""

    def __init__(self, checkpoint: Path | None, behaviour: Behaviour) -> None:
        self.behaviour, self.lock = behaviour, threading.Lock()
        if checkpoint is not None:
            self.model, self.processor = load_checkpoint(checkpoint), AutoProcessor.from_pretrained(checkpoint)

    def refusal(self, body: dict[str, Any]) -> tuple[int, str] | None:
        """Status and message with which a request is refused."""
        if self.behaviour.status is not None:
            return self.behaviour.status, "the server is not well"
        if body.get("logprobs") and self.behaviour.refuses:
            return 400, self.behaviour.refuses
        if body.get("top_logprobs", 0) > self.behaviour.most:
            return 400, f"top_logprobs must be between 0 and {self.behaviour.most}"
        return None

    @torch.no_grad()
    def log_probabilities(self, body: dict[str, Any], images: list[Image.Image]) -> torch.Tensor:
        """Of all tokens at the first position, shape (vocabulary,)."""
        inputs = model_inputs(self.processor, body["messages"], images)
        return self.model(**inputs).logits[0, -1].double().log_softmax(-1)

    def completion(self, body: dict[str, Any]) -> dict[str, Any]:
        """A chat completion of one token: the likeliest, whatever the temperature."""
        parts = [p for m in body["messages"] if not isinstance(m["content"], str) for p in m["content"]]
        urls = [p["image_url"]["url"] for p in parts if p["type"] == "image_url"]
        images = [Image.open(io.BytesIO(base64.b64decode(url.split(",", 1)[1]))).convert("RGB") for url in urls]
        text, told = self.behaviour.text, None
        with self.lock:
            self.behaviour.images.append(images)
            if text is None:
                logs = self.log_probabilities(body, images)
                values, ids = logs.topk(max(1, body.get("top_logprobs", 1)))
                entries = [self.entry(i, v) for i, v in zip(ids.tolist(), values.tolist(), strict=True)]
                text = entries[0]["token"]
                told = {"content": [{**entries[0], "top_logprobs": entries}], "refusal": None}
        if not body.get("logprobs") or self.behaviour.ignores:
            told = None
        message = {"role": "assistant", "content": text, "refusal": None}
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "logprobs": told, "finish_reason": "length"}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 1, "total_tokens": 101},
        }

    def entry(self, token: int, value: float) -> dict[str, Any]:
        """One token as OpenAI lists it."""
        text = self.processor.tokenizer.decode([token])
        return {"token": text, "logprob": value, "bytes": list(text.encode())}


class _Handler(BaseHTTPRequestHandler):
    answers: _Answers
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.answers.behaviour.requests.append(body)
        refusal = None if self.path == "/v1/chat/completions" else (404, f"no {self.path}")
        refusal = refusal or self.answers.refusal(body)
        if refusal:
            status, message = refusal
            error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
            self.give(status, {"error": error})
        else:
            self.give(200, self.answers.completion(body))

    def give(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def openai_server(checkpoint: Path | None = None) -> Iterator[tuple[str, Behaviour]]:
    """A running server: its base URL and what it does. Without a checkpoint it answers with `Behaviour.text`."""
    behaviour = Behaviour()
    handler = type("Handler", (_Handler,), {"answers": _Answers(checkpoint, behaviour)})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", behaviour
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
