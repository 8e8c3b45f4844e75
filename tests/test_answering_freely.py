"""Free answers at the model's door: what a wrapper may not do without the run being stopped."""

from types import SimpleNamespace

import pytest
import torch
from transformers import GenerationMixin

from lmms_eval_tasks.answering_freely import answer_freely
from lmms_eval_tasks.image.documents import image_documents
from lmms_eval_tasks.image.prompts import image_prompt
from lmms_eval_tasks.readout import receipt_of, text_of
from lmms_eval_tasks.stop import RunStopped
from lmms_eval_tasks.visuals import doc_to_messages

SPECIAL = {0: "<end>"}


class Tokenizer:
    """A character a token."""

    pad_token_id = eos_token_id = 0
    all_special_ids = (0,)

    def get_vocab(self):
        return {chr(i): i for i in range(1, 256)}

    def decode(self, tokens, skip_special_tokens=False):
        return "".join(("" if skip_special_tokens else "<end>") if t == 0 else chr(int(t)) for t in tokens)


def encode(texts):
    longest = max(map(len, texts))
    return torch.tensor([[0] * (longest - len(t)) + [ord(c) for c in t] for t in texts])


class Model(GenerationMixin):
    """Writes a sentence that depends on image and prompt, through transformers' own `generate`."""

    config = SimpleNamespace(vision_config=SimpleNamespace(patch_size=1))


@pytest.fixture(autouse=True)
def written(monkeypatch):
    """`generate` as a model would have it: the prompt, then its answer."""

    def generate(self, input_ids=None, pixel_values=None, **_):
        answers = [
            f"It is number {int(ids.sum())} {int(image.sum())}."
            for ids, image in zip(input_ids, pixel_values, strict=True)
        ]
        return torch.cat([input_ids, encode([a + "\0" for a in answers])], dim=1)

    monkeypatch.setattr(GenerationMixin, "generate", generate)


class Wrapper:
    """A wrapper of lmms-eval as far as its answers go; subclasses do what wrappers do wrong."""

    is_simple, rank = False, 0

    def __init__(self, documents, batch_size=1):
        self.batch_size, self.tokenizer, self.model = batch_size, Tokenizer(), Model()
        self.task_dict = {"t": {"s": documents}}

    def shown(self, document):
        import numpy as np

        image = document_image(document)
        return torch.from_numpy(np.asarray(image)).permute(2, 0, 1).float()

    def prompt(self, document):
        return image_prompt(document)

    def ask(self, documents):
        texts = encode([self.prompt(d) for d in documents])
        images = torch.stack([self.shown(d) for d in documents])
        out = self.model.generate(input_ids=texts, pixel_values=images)
        return [self.tokenizer.decode(row[texts.shape[1] :], skip_special_tokens=True) for row in out]

    def generate_until(self, requests):
        documents = [self.task_dict["t"]["s"][r.args[-3]] for r in requests]
        size, answers = self.batch_size, []
        for start in range(0, len(documents), size):
            answers += self.ask(documents[start : start + size])
        return answers


def document_image(document):
    (message,) = doc_to_messages(document, {"frames_as": "images"})
    return message["content"][0]["url"]


@pytest.fixture
def documents(image_release, monkeypatch):
    monkeypatch.setenv("CAVED_RELEASE", str(image_release.folder))
    return image_documents(image_release.questions(), "open", image_release.info.digest)[:24]


def requests_of(documents):
    def messages(document):
        return doc_to_messages(document, {"frames_as": "images"})

    return [
        SimpleNamespace(args=(image_prompt(d), messages, {"max_new_tokens": 9}, i, "t", "s"))
        for i, d in enumerate(documents)
    ]


def answers(kind, documents, batch_size=1):
    wrapper = kind(documents, batch_size)
    return answer_freely(wrapper, kind, requests_of(documents))


@pytest.mark.parametrize("batch_size", [1, 4])
def test_an_honest_wrapper_answers_with_receipts(documents, batch_size):
    responses = answers(Wrapper, documents, batch_size)
    alone = Wrapper(documents)
    assert [text_of(r) for r in responses] == [alone.ask([d])[0] for d in documents]
    if batch_size == 1:
        assert all(receipt_of(r)["order"] == "as shown" for r in responses)


class Reverses(Wrapper):
    def ask(self, documents):
        return super().ask(documents)[::-1]


class Invents(Wrapper):
    def ask(self, documents):
        return ["It is green." for _ in super().ask(documents)]


class Remembers(Wrapper):
    """Answers by prompt, whatever the image."""

    def ask(self, documents):
        known = vars(self).setdefault("known", {})
        if documents[0]["framing"] not in known:
            known[documents[0]["framing"]] = super().ask(documents)
        return known[documents[0]["framing"]]


class CutsPrompts(Wrapper):
    def prompt(self, document):
        return super().prompt(document)[:40]


class ShowsAnother(Wrapper):
    def shown(self, document):
        return super().shown(document).flip(1)


class AsksTwice(Wrapper):
    def ask(self, documents):
        super().ask(documents)
        return super().ask(documents)


@pytest.mark.parametrize(
    ("kind", "batch_size", "said"),
    [
        (Reverses, 4, "mixes up answers"),
        (Invents, 1, "mixes up answers, or changes them"),
        (Remembers, 1, "without asking its model"),
        (CutsPrompts, 1, "changes or cuts prompts"),
        (ShowsAnother, 1, "does not reach the model as it is shown"),
        (AsksTwice, 1, "asked its model 2 times"),
    ],
)
def test_what_gives_a_trial_another_answer_stops_the_run(documents, kind, batch_size, said):
    with pytest.raises(RunStopped, match=said):
        answers(kind, documents, batch_size)


def test_an_answer_that_a_wrapper_trims_is_the_models_own(documents):
    class Trims(Wrapper):
        def ask(self, documents):
            return [answer.split(".")[0].strip().upper() for answer in super().ask(documents)]

    assert len(answers(Trims, documents)) == len(documents)
