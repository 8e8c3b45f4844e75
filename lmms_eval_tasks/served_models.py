"""Served models, which return text only, made to answer with the log-probabilities that their servers know.

lmms-eval's wrappers of servers and engines (`openai`, `async_openai`, `litellm`, `vllm`, `vllm_generate`,
`sglang`) prepare the request and hand it to a `client`. While `reading_top_log_probabilities` is active, the client
is called through a stand-in: one token is asked for, with the log-probabilities of the likeliest ones, and the text
of the response is replaced by JSON that says what was read, and under which number the images of the request are
noted. Wrappers may then retry, batch and re-order as they do.

What chat completions are asked, and where they hold the answer, follows openai 3.57 (`types/chat`).
"""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Literal

from lmms_eval_tasks.sent_media import sent_images, sent_text
from lmms_eval_tasks.served_engines import sglang_stand_in, vllm_stand_in
from lmms_eval_tasks.served_readings import Entries, Served, StandIn

Kind = Literal["openai", "vllm", "sglang"]


def kind_of(client: Any) -> Kind | None:
    """How a wrapper's client is called; None if it is no server's or engine's client that is known here."""
    if callable(getattr(getattr(getattr(client, "chat", None), "completions", None), "create", None)):
        return "openai"
    roots = {base.__module__.partition(".")[0] for base in type(client).__mro__}
    if "vllm" in roots:
        return "vllm"
    return "sglang" if "sglang" in roots else None


def serves(wrapper: Any) -> bool:
    """Whether a wrapper hands its requests to a client whose log-probabilities can be read."""
    return kind_of(getattr(wrapper, "client", None)) is not None


def _openai_fields(payload: Mapping[str, Any], count: int) -> dict[str, Any]:
    """A payload that asks for one token and `count` log-probabilities.

    At a temperature of 1 every server tells what the model said: some divide by the temperature first, and might
    call the choice at 0 certain. Which token is drawn does not matter. What a payload lacks it has a reason to lack.
    """
    asked = {**payload, "logprobs": True, "top_logprobs": count}
    asked.update((name, 1) for name in ("max_tokens", "max_completion_tokens") if name in payload)
    asked.update((name, 1) for name in ("temperature", "top_p") if payload.get(name) is not None)
    asked.update((name, 0) for name in ("presence_penalty", "frequency_penalty") if payload.get(name) is not None)
    return asked


def _openai_entries(choice: Any) -> Entries:
    """Tokens and log-probabilities of a choice's first position, the drawn one last if it is not among the top."""
    content = getattr(getattr(choice, "logprobs", None), "content", None)
    if not content:  # an empty list is told of an empty answer, and of others by servers that do not mean it
        return [] if content is not None and not choice.message.content else None
    first = content[0]
    entries = [(top.token, float(top.logprob)) for top in first.top_logprobs or []]
    if first.token not in {text for text, _ in entries}:
        entries.append((first.token, float(first.logprob)))
    return entries


def _openai_note(served: Served) -> Any:
    """The shape of a chat completion, for a request that is not sent."""
    message = SimpleNamespace(role="assistant", content=served.note, tool_calls=None)
    choice = SimpleNamespace(index=0, message=message, finish_reason="stop", logprobs=None)
    return SimpleNamespace(choices=[choice], usage=None)


def _with_own_connections(client: Any) -> Any:
    """A copy of an asynchronous client that shares no connections with it; itself if it is not OpenAI's.

    A connection belongs to the event loop that opened it. The wrapper runs a new loop for each call, where
    connections that are kept from the last one fail.
    """
    openai = sys.modules.get("openai")  # imported by the wrapper, if the client is its
    if openai is None or not isinstance(client, openai.AsyncOpenAI):
        return client
    http_client = openai.DefaultAsyncHttpxClient(base_url=client.base_url, timeout=client.timeout)
    return client.copy(http_client=http_client)


def _openai_stand_in(client: Any, served: Served) -> Any:
    """A client of the OpenAI kind, synchronous or not, whose chat completions are read."""
    original = client.chat.completions.create
    last_loop: list[Any] = [None, original]

    def read(response: Any, messages: Any) -> Any:
        choice = response.choices[0]
        choice.message.content = served.responds(
            _openai_entries(choice), lambda: sent_images(messages), sent_text(messages)
        )
        return response

    def create(**payload: Any) -> Any:
        while served.no_log_probabilities is None:
            count = served.asked_for
            try:
                return read(original(**_openai_fields(payload, count)), payload["messages"])
            except Exception as error:
                if not served.goes_on(error, count):
                    raise
        return _openai_note(served)

    async def create_later(**payload: Any) -> Any:
        loop = asyncio.get_running_loop()
        if last_loop[0] is not loop:
            last_loop[:] = loop, _with_own_connections(client).chat.completions.create
        ask = last_loop[1]
        while served.no_log_probabilities is None:
            count = served.asked_for
            try:
                return read(await ask(**_openai_fields(payload, count)), payload["messages"])
            except Exception as error:
                if not served.goes_on(error, count):
                    raise
        return _openai_note(served)

    replacement = create_later if inspect.iscoroutinefunction(inspect.unwrap(original)) else create
    completions = StandIn(client.chat.completions, create=replacement)
    return StandIn(client, chat=StandIn(client.chat, completions=completions))


@contextmanager
def reading_top_log_probabilities(wrapper: Any, letters: tuple[str, ...]) -> Iterator[Served]:
    """Within this block the wrapper's client gives one token and its log-probabilities, read for `letters`.

    Raises:
        ValueError: if the wrapper has no client that is known here (`serves`).
    """
    client = getattr(wrapper, "client", None)
    kind, served = kind_of(client), Served(letters)
    if kind is None:
        raise ValueError(f"{type(wrapper).__name__} has no client of a server or engine that is known")
    if kind == "openai":
        wrapper.client = _openai_stand_in(client, served)
    elif kind == "vllm":
        wrapper.client = vllm_stand_in(client, served)
    else:
        wrapper.client = sglang_stand_in(client, served, getattr(wrapper, "tokenizer", None))
    try:
        yield served
    finally:
        wrapper.client = client
