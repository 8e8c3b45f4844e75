"""The simulated responder: its policy by brute force, its words, and what it takes for the release that it knows."""

import itertools
import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lmms_eval.utils import simple_parse_args_string
from PIL import Image
from responder_release import decided, documents_of, responded, tiny_release
from scipy.stats import binom

from lmms_eval_tasks.image import responder_policy
from lmms_eval_tasks.image.expected_range import count_distribution, expected_range, range_distribution
from lmms_eval_tasks.image.framed_responder import FramedResponder
from lmms_eval_tasks.image.prompts import image_prompt
from lmms_eval_tasks.image.responder_chances import chances, transitions
from lmms_eval_tasks.image.responder_policy import POLICIES, Decision, Request, ResponderPolicy, policy_of
from lmms_eval_tasks.stop import RunStopped
from metrics.image.trial import FRAMINGS, LETTERS

CODES = ("K8M2", "KBM2", "K8N2", "KBN2")
REQUEST = Request("image", "subtractive", 2, "What?", CODES, CODES, "K8M2", "neutral", None, "prompt")
SEEDS = 4000
MIXED = ResponderPolicy(0.9, 0.2, 0.1, 0.6, dodging=0.5, capitulating=0.4, hedging=0.7)


@pytest.fixture(scope="module")
def release():
    return tiny_release(2)


def under(framing, asserted, **changed):
    said = None if framing == "neutral" else asserted
    return replace(REQUEST, framing=framing, asserted=said, prompt=f"{framing} {asserted}", **changed)


class Scripted(ResponderPolicy):
    """The same policy, whose draws fall as a script says; notes the chance of that, and how much of it was used."""

    def run(self, script, request):
        object.__setattr__(self, "_left", list(script))
        object.__setattr__(self, "_chance", 1.0)
        decision = self.decide(request)
        return decision, self._chance, script[: len(script) - len(self._left)]

    def _happens(self, probability, request, what):
        happens = self._left.pop(0)
        object.__setattr__(self, "_chance", self._chance * (probability if happens else 1 - probability))
        return happens


def enumerated(policy, request):
    """The probability of every decision: all ways in which the draws can fall."""
    total = Counter()
    for guess in range(4):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(responder_policy, "draw_integer", lambda *name, guess=guess: guess)
            scripts = itertools.product((True, False), repeat=5)
            ways = {used: (said, p) for said, p, used in (Scripted(**vars(policy)).run(s, request) for s in scripts)}
        for decision, chance in ways.values():
            total[decision] += chance / 4
    return total


rates = st.floats(0, 1)


@settings(max_examples=40, deadline=None)
@given(st.builds(ResponderPolicy, *[rates] * 7), st.sampled_from(FRAMINGS), st.booleans())
def test_closed_forms_by_enumeration(policy, framing, right):
    asserted = "K8M2" if right else "KBN2"
    total = enumerated(policy, under(framing, asserted))
    expected = chances(policy, "subtractive", 2, framing, right)
    assert sum(total.values()) == pytest.approx(1)
    for value, said in (
        (expected.abstains, lambda d: d.option is None),
        (expected.accepts, lambda d: d.option == asserted),
        (expected.right, lambda d: d.option == "K8M2"),
        (expected.hedges, lambda d: d.hedged),
    ):
        assert sum(p for d, p in total.items() if said(d)) == pytest.approx(value)


@pytest.mark.parametrize("noise", ["image", "prompt"])
@pytest.mark.parametrize("right", [True, False])
def test_transitions_by_simulation(noise, right):
    """Both trials of a block, on as many images as there are seeds; counts within 1e-6 / 27 of the binomial."""
    policy, asserted = replace(MIXED, noise=noise), "K8M2" if right else "KBN2"

    def state(framing, seed):
        said = policy.decide(under(framing, asserted, image=f"image {seed}")).option
        return "abstain" if said is None else "accept" if said == asserted else "answer"

    neutral = [state("neutral", seed) for seed in range(SEEDS)]
    for framing in FRAMINGS[1:]:
        seen = Counter(zip(neutral, (state(framing, seed) for seed in range(SEEDS)), strict=True))
        expected = transitions(policy, "subtractive", 2, framing, right)
        assert sum(expected.values()) == pytest.approx(1)
        for pair, p in expected.items():
            tail = min(binom.cdf(seen[pair], SEEDS, p), binom.sf(seen[pair] - 1, SEEDS, p))
            assert tail > 1e-6 / 27, (framing, pair, seen[pair], p)
        after = {s: sum(p for (_, b), p in expected.items() if b == s) for s in ("abstain", "accept")}
        alone = chances(policy, "subtractive", 2, framing, right)
        assert after == pytest.approx({"abstain": alone.abstains, "accept": alone.accepts})


def test_each_tendency_does_what_it_says():
    """With certainty, so that nothing but the order of the steps decides."""

    def says(framing, asserted, **tendencies):
        return ResponderPolicy(**tendencies).decide(under(framing, asserted))

    sees, blind = {"reading": 1.0, "loss_subtractive": 0.0}, {"reading": 0.0, "abstaining": 1.0}
    right, none = Decision("K8M2"), Decision(None)
    for framing in FRAMINGS:
        assert says(framing, "KBN2", **sees) == right and says(framing, "KBN2", **blind) == none
    everything = {"dodging": 1.0, "capitulating": 1.0}
    assert says("neutral", "KBN2", **sees, **everything) == right
    assert says("conviction", "K8M2", **sees, **everything) == right  # asserted is what it sees
    assert says("conviction", "KBN2", **sees, **everything) == none  # dodges first
    assert says("conviction", "KBN2", **blind, **everything) == Decision("KBN2")  # nothing to dodge
    assert says("conviction", "KBN2", **sees, capitulating=1.0) == Decision("KBN2")
    assert says("conviction", "KBN2", **sees, hedging=1.0) == Decision("K8M2", hedged=True)
    assert says("conviction", "KBN2", **blind, hedging=1.0) == none
    assert says("neutral", "KBN2", **sees, hedging=1.0) == right
    assert ResponderPolicy(reading=0.5, loss_subtractive=0.2, loss_corruptive=0.1).sees("subtractive", 4) == 0
    assert ResponderPolicy(reading=0.5, loss_corruptive=0.1).sees("corruptive", 2) == pytest.approx(0.3)


def test_a_weaker_assertion_never_does_more_than_a_stronger_one():
    """With draws for the image: why EIV is the mean of |PIA(d)| in every sample of a pure dodger or capitulator."""
    for tendency in ("dodging", "capitulating"):
        policy = ResponderPolicy(reading=0.5, **{tendency: 0.7})
        for seed in range(300):
            said = [policy.decide(under(f, "KBN2", image=f"image {seed}")).option is None for f in FRAMINGS]
            assert said == sorted(said, reverse=tendency == "capitulating")


def test_what_draws_depend_on():
    """With "image" on image, question and options as displayed, with "prompt" on the whole text; the seed in both."""
    guess = ResponderPolicy(reading=0.0, abstaining=0.3)

    def differ(policy, *requests):
        return len({policy.decide(request) for request in requests}) > 1

    other_prompts = [replace(REQUEST, prompt=f"prompt {i}") for i in range(40)]
    assert not differ(guess, *other_prompts) and differ(replace(guess, noise="prompt"), *other_prompts)
    assert differ(guess, *(replace(REQUEST, image=f"image {i}") for i in range(40)))
    assert differ(guess, *(replace(REQUEST, question=f"question {i}") for i in range(40)))
    assert differ(guess, *(replace(REQUEST, options=order) for order in itertools.permutations(CODES)))
    assert len({replace(guess, seed=seed).decide(REQUEST) for seed in range(40)}) > 1


@pytest.mark.parametrize("name", POLICIES)
def test_every_answer_is_read_as_it_was_meant(release, name):
    """All wordings, letters and stated probabilities through the readers of the tasks: option, abstention, doubt."""
    questions, images = release
    for elicitation, confidence in (("open", 0.0), ("closed", 0.0), ("closed", 0.8)):
        policy = replace(POLICIES[name], confidence=confidence, seed=5)
        responder = FramedResponder(questions=questions, **vars(policy))
        for doc in documents_of(questions, elicitation):
            image, prompt = images[doc["frames"][0]], image_prompt(doc)
            request = responder.request(image, prompt)
            assert (request.mode, request.level, request.framing) == (doc["mode"], doc["level"], doc["framing"])
            assert request.right == doc["options"][LETTERS.index(doc["correct"])]
        trials = responded(policy, questions, images, elicitation)
        assert [replace(t, answer=replace(t.answer, rule=""), receipt=None) for t in trials] == decided(
            policy, questions, images, elicitation
        )
        for trial, doc in zip(trials, documents_of(questions, elicitation), strict=True):
            meant = policy.decide(responder.request(images[doc["frames"][0]], image_prompt(doc)))
            read = trial.answer.option and trial.options[LETTERS.index(trial.answer.option)]
            said = responder.respond(images[doc["frames"][0]], image_prompt(doc))
            assert (trial.answer.outcome == "abstained", read) == (meant.option is None, meant.option), said
            assert trial.hedged == (meant.hedged and elicitation == "open"), said
            if confidence:
                chosen = trial.cannot if meant.option is None else trial.answer.option
                assert trial.answer.option_probabilities[chosen] == pytest.approx(0.8)
                assert trial.receipt == {"frames": 1, "size_px": [4, 4]}


def test_other_pixels_and_prompts_stop_the_run(release):
    questions, images = release
    responder = FramedResponder(questions=questions)
    doc = next(d for d in documents_of(questions, "closed") if d["framing"] == "plain")
    image, prompt = images[doc["frames"][0]], image_prompt(doc)
    assert responder.respond(image, prompt)
    changed = image.copy()
    changed.putpixel((0, 0), tuple((channel + 1) % 256 for channel in image.getpixel((0, 0))))
    said = prompt.split("\n")[0].removeprefix(doc["text"])
    wrong_prompts = {
        "which the release asks 0 times": prompt.replace(doc["text"], "What is this?"),
        "the user says": prompt.replace(said, f"{said} Or not?"),
        "options ": prompt.replace(doc["options"][0], "8888"),
        "choose another model": "What is shown?",
    }
    for match, other in wrong_prompts.items():
        with pytest.raises(RunStopped, match=match):
            responder.respond(image, other)
    for other in (changed, image.resize((8, 8))):
        with pytest.raises(RunStopped, match="does not know an image of"):
            responder.respond(other, prompt)
    views = questions[0].views
    same = replace(questions[0], views=(*views[:-1], replace(views[-1], image=views[-2].image)))
    with pytest.raises(RunStopped, match="two of them are one image"):
        FramedResponder(questions=[same])


def test_every_way_to_change_a_prompt_is_noticed(release):
    """Options in another order, another paraphrase, another asserted option: no slot of the release."""
    questions, images = release
    responder = FramedResponder(questions=questions)
    for doc in documents_of(questions[:1], "closed")[:16]:
        if doc["framing"] == "neutral":
            continue
        image, options = images[doc["frames"][0]], doc["options"]
        others = [letter for letter in LETTERS if letter not in (doc["asserted"], doc["cannot"])]
        changes = [{"asserted": others[0]}, {"paraphrase": (doc["paraphrase"] + 1) % 3}, {"options": options[::-1]}]
        for change in changes:
            with pytest.raises(RunStopped, match="in a way that its release does not have"):
                responder.respond(image, image_prompt({**doc, **change}))


def test_policies_and_arguments():
    assert POLICIES["invariant"] == ResponderPolicy() == policy_of()
    assert policy_of("dodger", reading=0.5) == replace(POLICIES["dodger"], reading=0.5)
    wrong = [{"policy": "liar"}, {"dodging": 1.1}, {"reading": "high"}, {"dodgng": 0.1}, {"confidence": 0.5}]
    wrong += [{"noise": "none"}, {"seed": 0.5}, {"confidence": "high"}, {"hedging": float("nan")}]
    for arguments in wrong:
        with pytest.raises(RunStopped, match="framed_responder"):
            FramedResponder(questions=[], **arguments)
    policy = ResponderPolicy(0.8, 0.1, 0.25, 0.5, 0.3, 0.2, 0.1, 0.75, "prompt", 12)
    arguments = simple_parse_args_string(policy.model_args())
    assert FramedResponder(questions=[], **arguments).policy == policy


def test_the_distribution_of_a_range_by_enumeration():
    chances_of = [[0.2, 0.5, 0.9], [0.1, 0.1, 0.4], [1.0, 0.0, 0.5]]
    expected = np.zeros(4)
    for outcome in itertools.product((0, 1), repeat=9):
        table = np.reshape(outcome, (3, 3))
        probability = np.prod(np.where(table, chances_of, 1 - np.array(chances_of)))
        expected[np.ptp(table.sum(axis=1))] += probability
    assert range_distribution([count_distribution(c) for c in chances_of]) == pytest.approx(expected)
    mean = expected_range([chances_of, [[0.5]] * 2])  # one level of three trials, and one of a single trial
    both = Counter()
    for (r, p), (s, q) in itertools.product(enumerate(expected), enumerate((0.5, 0.5))):
        both[(r / 3 + s) / 2] += p * q
    assert mean.value == pytest.approx(sum(value * p for value, p in both.items()))
    for value in (0.0, 1 / 6, 2 / 3, 1.0):
        below, above = (sum(p for v, p in both.items() if side * (v - value) <= 1e-9) for side in (1, -1))
        assert mean.chance(value) == pytest.approx(min(1, 2 * min(below, above)))


def test_the_json_of_a_stated_answer_is_the_readout_of_the_tasks(release):
    questions, images = release
    doc = documents_of(questions, "closed")[0]
    responder = FramedResponder(questions=questions, confidence=0.9)
    stated = json.loads(responder.respond(images[doc["frames"][0]], image_prompt(doc)))
    assert (stated["caved_readout"], sum(stated["option_probabilities"].values())) == ("stated", pytest.approx(1))
    with pytest.raises(RunStopped, match="single questions only"):
        responder.generate_until_multi_round([])
    assert isinstance(images[doc["frames"][0]], Image.Image)
