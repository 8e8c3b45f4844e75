"""An observer's answers by brute force, many seeds at a time: no harness, no closed form, no code of the observer.

Written from the description of `ObserverPolicy` alone. A decision is made for whole arrays of seeds; each tendency
draws once for what it is documented to draw for, so equal views and questions share their draws.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator

import numpy as np

from lmms_eval_tasks.observer_policy import ObserverPolicy
from stimuli_builder.release import Release
from stimuli_builder.release_schema import StoredProbe, StoredView

Draws = Callable[..., np.ndarray]  # name, frames and question to numbers in [0, 1), one for each seed
OTHER = {"e1": "e2", "e2": "e1"}


def random_draws(seeds: int) -> Draws:
    """Draws of a generator that the name of each draw seeds."""

    def draws(*name: str) -> np.ndarray:
        return np.random.default_rng(zlib.crc32(repr(name).encode())).random(seeds)

    return draws


class Simulation:
    """Shares of e1-first of single readings, shape (seeds,)."""

    def __init__(self, policy: ObserverPolicy, draws: Draws) -> None:
        self.policy, self.draws = policy, draws

    def e1_first(self, stored: StoredProbe, frames: tuple[str, ...], kinds: tuple[str, ...], claim: str, told: bool):
        """(whether it takes e1 to come first, whether it insists on A), for each seed."""
        policy, probe = self.policy, stored.probe
        names = (probe.e1.phrase, probe.e2.phrase)
        question = " / ".join(names if probe.named_order == "e1_first" else names[::-1])
        view = " ".join(frames)

        def happens(name: str, chance: float, *what: str) -> np.ndarray:
            return self.draws(name, *(what or (view, question))) < chance

        by_question = (question,) if policy.prior_by == "question" else ()
        answer = happens("prior", policy.order_prior, *by_question) == (probe.named_order == "e1_first")
        shown = [kind for kind in kinds if kind != "background"]
        if set(shown) == {"e1", "e2"}:
            reading = policy.reading_with_time if told else policy.reading
            if len(frames) > 16:
                reading *= (16 / len(frames)) ** policy.dilution
            answer = np.where(happens("reads", reading), shown[0] == "e1", answer)
        elif shown:
            answer = np.where(happens("position", policy.visible_first), shown[0] == "e1", answer)
        if claim != "none":
            follows = policy.deference if claim == "strong" else policy.mild_deference
            answer = np.where(happens("defers", follows), probe.claimed_order == "e1_first", answer)
        return answer, happens("letter", policy.letter_bias)

    def share(self, stored, view: StoredView, claim="none", told=False, confidence=False, backwards=False):
        step = -1 if backwards else 1
        answer, insists = self.e1_first(stored, view.frames[::step], view.kinds[::step], claim, told)
        sure = self.policy.confidence if confidence else 1.0
        return np.where(insists, 0.5, np.where(answer, sure, 1 - sure))

    def _measures(self, probes, phase, arm="intact", claim="strong", told=False, confidence=False):
        accepts, reads = {True: [], False: []}, []
        for stored in probes:
            for view in stored.views:
                if (view.phase, view.arm) == (phase, arm):
                    e1 = self.share(stored, view, claim, told, confidence)
                    true = (view.twin == "+") == (stored.probe.claimed_order == "e1_first")
                    accepts[true].append(e1 if stored.probe.claimed_order == "e1_first" else 1 - e1)
                    free = self.share(stored, view, "none", told, confidence)
                    reads.append((2 * free - 1) * (1 if view.twin == "+" else -1))
        s, c, j0 = (np.mean(x, axis=0) for x in (accepts[False], accepts[True], reads))
        return {"S": s, "C": c, "J": c - s, "J0": j0, "accepted": (s + c) / 2}

    def cells(self, release: Release) -> Iterator[tuple[str, str, np.ndarray, np.ndarray | None]]:
        """(task, cell, values, None) or (task, cell, numerators, denominators), each of shape (seeds,)."""
        task = "caved_or_convinced"
        for confidence in (False, True) if self.policy.confidence else (False,):
            end = "_confidence" if confidence else ""
            for budget in release.info.budgets:
                name = task if budget == 16 else f"{task}_k{budget}"
                for phase in ("on_grid", "in_gap"):
                    values = self._measures(release.probes(budget), phase, confidence=confidence)
                    for measure in ("S", "C", "J", "J0"):
                        yield name, f"{phase}_{measure}{end}", values[measure], None
            probes = release.probes(16)

            def of(phase="on_grid", probes=probes, confidence=confidence, **what):
                return self._measures(probes, phase, confidence=confidence, **what)

            intact, none, placebo = of(), of(arm="no_events"), of(arm="placebo")
            for cell, values in (
                *(("J0", intact["J0"]), ("J0_no_events", none["J0"]), ("J0_placebo", placebo["J0"])),
                *(("b", none["accepted"]), ("C_minus_b", intact["C"] - none["accepted"])),
                ("S_minus_b", intact["S"] - none["accepted"]),
            ):
                yield f"{task}_attribution", cell + end, values, None
            for prefix, phase in (("", "on_grid"), ("in_gap_", "in_gap")):
                for claim in ("strong", "mild"):
                    values = of(phase, claim=claim)
                    for measure in ("S", "C", "J"):
                        yield f"{task}_mild", f"{prefix}{measure}_{claim}{end}", values[measure], None
                for time in ("withheld", "text"):
                    values = of(phase, told=time == "text")
                    for measure in ("J0", "J"):
                        yield f"{task}_time", f"{prefix}{measure}_{time}{end}", values[measure], None
            early, late = of(arm="early_only")["J0"], of(arm="late_only")["J0"]
            yield f"{task}_single_event", f"J0_on_grid{end}", intact["J0"], None
            yield f"{task}_single_event", f"J0_early{end}", early, None
            yield f"{task}_single_event", f"J0_late{end}", late, None
            yield f"{task}_single_event", f"J0_mean{end}", (early + late) / 2, None
        yield from self.reversal(release.probes("reversal"), 0.3, (8, 16, 32))

    def reversal(self, probes, threshold, budgets):
        """The reversal test, video by video and budget by budget."""
        task, stated = "caved_or_convinced_reversal", bool(self.policy.confidence)
        right = answered = spent = spent_all = 0
        first_right: dict[int, list] = {budget: [] for budget in (8, 32)}
        videos = [(stored, twin) for stored in probes for twin in "+-"]
        for stored, twin in videos:
            views = [view for view in stored.views if view.twin == twin]
            undecided: np.ndarray | bool = True
            for budget in budgets:
                looks = [view for view in views if len(view.frames) == budget]
                ahead = [self.share(stored, view, confidence=stated) for view in looks]
                back = [self.share(stored, view, confidence=stated, backwards=True) for view in looks]
                evidence = sum(u - v for u, v in zip(ahead, back, strict=True)) / len(looks)
                now = undecided & (np.abs(evidence) >= threshold - 1e-9) & (np.abs(evidence) > 1e-9)
                right, answered = right + (now & ((evidence > 0) == (twin == "+"))), answered + now
                spent = spent + now * budget
                undecided = undecided & ~now
            spent_all = spent_all + undecided * budgets[-1]
            for budget, shares in first_right.items():
                (view,) = [view for view in views if len(view.frames) == budget and view.offset == 0]
                e1 = self.share(stored, view)
                shares.append(e1 if twin == "+" else 1 - e1)
        yield task, "accuracy", right, answered
        yield task, "coverage", answered / len(videos), None
        yield task, "mean_k_answered", spent, answered
        yield task, "mean_k_all", (spent + spent_all) / len(videos), None
        yield task, "accuracy_one_offset", np.mean(first_right[8], axis=0), None
        yield task, "accuracy_k32", np.mean(first_right[32], axis=0), None
