"""Making a model of lmms-eval as the harness makes it, and saying in one line why it cannot be made."""

from __future__ import annotations

import ast
import difflib
import inspect
import shlex
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from lmms_eval_tasks.masking import masked
from lmms_eval_tasks.plugin import TASK_FOLDER
from lmms_eval_tasks.stop import RunStopped
from lmms_eval_tasks.switches import READOUT, TIME, reads_probabilities
from lmms_eval_tasks.trials import TASK, task_name
from metrics.trial import Time
from stimuli_builder.errors import CavedError

_CHARACTERS = 300  # of an error's first line


@dataclass(frozen=True)
class Choice:
    """Which model is probed, and what for."""

    model: str
    model_args: str = ""
    batch_size: str | None = None  # as typed; None: 1
    device: str | None = None
    force_simple: bool = False
    time: Time = "withheld"

    def command(self, budget: int) -> str:
        """The command of a run that was proven to work; empty if no task has this budget."""
        name = task_name(budget)
        if not (TASK_FOLDER / f"{name}.yaml").is_file():
            return ""
        words = ["lmms-eval", "--tasks", name, "--model", self.model]
        for option, value in (
            ("--model_args", masked(self.model_args)), ("--batch_size", self.batch_size), ("--device", self.device)
        ):  # fmt: skip
            words += [option, value] if value else []
        words += ["--force_simple"] if self.force_simple else []
        set_first = f"{TIME}={self.time} " if self.time != "withheld" else ""
        set_first += "" if reads_probabilities() else f"{READOUT}=text "
        return set_first + shlex.join([*words, "--log_samples", "--output_path", "logs"])


def first_line(error: BaseException) -> str:
    """An error's type and the first line of what it says."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:_CHARACTERS]}" if lines else type(error).__name__


def missing_packages(kind: type) -> list[str]:
    """Packages that a wrapper's modules import, if only when they are there, and that are not installed."""
    names: set[str] = set()
    for base in kind.__mro__:
        module = sys.modules.get(base.__module__)
        if not base.__module__.startswith("lmms_eval.models.") or module is None:
            continue
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.partition(".")[0])
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "optional_import":  # lmms-eval's own
                names |= {
                    str(first.value).partition(".")[0] for first in node.args[:1] if isinstance(first, ast.Constant)
                }
    return sorted(name for name in names if name not in sys.modules and find_spec(name) is None)


def hint(error: BaseException, kind: type | None = None) -> str:
    """What may help against an error of a wrapper; empty if nothing is known."""
    import torch

    text = str(error).lower()
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"it needs the package {error.name.partition('.')[0]!r}: install it, its own pages say how"
    missing = missing_packages(kind) if kind is not None else []
    if missing and (isinstance(error, NameError) or "'nonetype'" in text):
        return f"packages that it imports are not installed: {', '.join(missing)}"
    if "out of memory" in text:
        return "give it less: fewer frames, --batch_size 1, a smaller model, or device_map=auto over more devices"
    if not torch.cuda.is_available() and ("cuda" in text or "nvidia" in text):
        return "there is no GPU here: add device=cpu,device_map=cpu to --model_args"
    if "batch size" in text or "batch_size" in text:
        return "run it with --batch_size 1"
    if isinstance(error, OSError):
        return "look at the names in --model_args: a folder that exists, or a name on the Hub that can be reached"
    return ""


def reason_of(stop: RunStopped) -> str:
    """The message of a stopped run, without the name in front of it."""
    return str(stop).removeprefix(f"{TASK}: ")


def _arguments(kind: type) -> list[str]:
    parameters = inspect.signature(kind.__init__).parameters.values()  # type: ignore[misc]
    return [p.name for p in parameters if p.name != "self" and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]


def load_wrapper(choice: Choice) -> Any:
    """The wrapper, made as the harness makes it.

    Raises:
        CavedError: if there is no such model, or it cannot be made with these arguments.
    """
    import lmms_eval.models as models
    from lmms_eval.utils import simple_parse_args_string

    known = models.list_available_models(include_aliases=True)
    if choice.model not in known:
        close = difflib.get_close_matches(choice.model, known, 3)
        meant = f", did you mean {' or '.join(close)}?" if close else ""
        raise CavedError(f"--model {choice.model}: lmms-eval has no such model{meant} `lmms-eval models` lists them")
    try:
        simple_parse_args_string(choice.model_args)
    except ValueError as error:
        raise CavedError(f"--model_args {masked(choice.model_args)}: write name=value, separated by commas") from error
    kind = None
    try:
        kind = models.get_model(choice.model, choice.force_simple)
        more = {"batch_size": choice.batch_size or 1, "max_batch_size": None, "device": choice.device}
        return kind.create_from_arg_string(choice.model_args, more)
    except RunStopped as stop:
        raise CavedError(f"--model {choice.model}: {reason_of(stop)}") from stop
    except (Exception, SystemExit) as error:
        remedy = hint(error, kind) or (f"it takes {', '.join(_arguments(kind))}" if kind is not None else "")
        given = f" --model_args {masked(choice.model_args)}" if choice.model_args else ""
        raise CavedError(
            f"--model {choice.model}{given}: the model cannot be loaded ({first_line(error)}); "
            f"{remedy or 'look at its module in lmms-eval for what it needs'}"
        ) from error
