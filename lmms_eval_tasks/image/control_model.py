"""What models of this package have in common that answer questions about one image, from image and prompt alone."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from lmms_eval.api.instance import Instance
from lmms_eval.api.model import lmms
from PIL import Image
from tqdm import tqdm

from lmms_eval_tasks.image.asked_question import image_and_text
from lmms_eval_tasks.readout import marked_response
from lmms_eval_tasks.stop import RunStopped


class ControlModel(lmms):
    """An lmms-eval chat model that answers one request after another."""

    is_simple = False
    model_id: ClassVar[str]
    control: ClassVar[str]  # what its logs are marked as, whatever they are called later

    def __init__(self) -> None:
        super().__init__()
        self.device = torch.device("cpu")  # the harness gathers counts on it when it runs on several ranks

    def respond(self, image: Image.Image, prompt: str) -> str:
        """The answer to a question."""
        raise NotImplementedError

    def generate_until(self, requests: list[Instance]) -> list[str]:
        """Answer requests one by one."""
        responses = []
        for request in tqdm(requests, "Model Responding", disable=self.rank != 0):
            _, doc_to_messages, _, doc_id, task, split = request.args
            messages: list[dict[str, Any]] = doc_to_messages(self.task_dict[task][split][doc_id])
            image, prompt = image_and_text(messages, self.model_id)
            got = {"frames": 1, "order": "as shown", "size_px": list(image.size)}
            responses.append(marked_response(self.respond(image, prompt), self.control, got))
        return responses

    def generate_until_multi_round(self, requests: list[Instance]) -> list[str]:
        """Not offered."""
        raise RunStopped(f"{self.model_id} answers single questions only")

    def loglikelihood(self, requests: list[Instance]) -> list[tuple[float, bool]]:
        """Not offered."""
        raise RunStopped(f"{self.model_id} generates text only")
