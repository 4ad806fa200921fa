"""The generated known-bad subjects that write requests: every member dropped, altered, moved or repeated."""

from __future__ import annotations

import pickle
from functools import cache
from typing import Any

import pytest

from tests.support.thoroughness import spread
from toolparity.conformance.known_bad.generated import equivalents
from toolparity.conformance.known_bad.generated.bodies import RequestMutant, places, request_traits
from toolparity.conformance.laws import LAWS
from toolparity.conformance.runner import request_bench, survival
from toolparity.conformance.runner.judge import CaseFilter
from toolparity.conformance.runner.request_bench import RequestBench, Target, targets

FEW = CaseFilter(
    scenarios=("two-rounds", "server-search-and-call", "words-in-every-round"),
    policies=("all",),
    modes=("plain",),
    providers=("openai", "xai"),
)
OWN = Target("openai.responses", own=True)


@cache
def bench(target: Target, case_filter: CaseFilter = FEW) -> RequestBench:
    return RequestBench(case_filter, target)


def test_the_sampled_subjects_are_killed() -> None:
    # Three scenarios do not show every exchange, reversal and alteration: the thorough test covers those.
    mutants = [
        mutant.name
        for target in targets()
        for mutant in bench(target).mutants()
        if mutant.operator not in ("swap", "move", "reverse", "alter") and mutant.name not in equivalents()
    ]
    figures = survival.run(FEW, spread(mutants, 150), jobs=1)
    assert figures.subjects > 50
    assert figures.survivors == []


def test_every_member_and_element_has_subjects() -> None:
    body = {"stream": True, "input": [{"role": "user", "content": "a"}], "tools": [{"parameters": {"type": "object"}}]}
    paths = {place.path for place in places(body)}
    assert paths == {".input", ".input[user]", ".input[user].role", ".input[user].content", ".tools", ".tools[]"} | {
        ".tools[].parameters"
    }


def test_every_loss_has_subjects() -> None:
    traits = set(request_traits({"body": {}, "losses": ["reasoning"]}))
    assert {".losses[reasoning]", "no .losses[refusal]"} <= traits
    operators = {mutant.operator for mutant in bench(OWN).mutants() if ".losses[" in mutant.path}
    assert "invent-loss" in operators


def test_a_survivor_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the law `replay`, nothing compares the encrypted state."""
    monkeypatch.setattr(request_bench, "_OWN", [LAWS["answered"]])
    name = "replay/drop:openai.responses.include"
    assert survival.run(FEW, [name], jobs=1).survivors == [name]


#: What the providers document for a request without the member.
_AUTO = ({"mode": "AUTO"}, {"functionCallingConfig": {"mode": "AUTO"}})
CHOICES = ("auto", {"mode": "TOOL_MODE_AUTO"}, {"auto": {}}, *_AUTO)
#: The name of a member -> the values that mean its default.
DEFAULTS: dict[str, tuple[Any, ...]] = {
    "n": (1,),
    "candidateCount": (1,),
    "strict": (False,),
    "mode": ("TOOL_MODE_AUTO", "AUTO"),
    "content": ("",),
    **dict.fromkeys(("tool_choice", "toolChoice", "toolConfig", "functionCallingConfig"), CHOICES),
}


@pytest.mark.thorough
def test_the_equivalents_drop_only_defaults() -> None:
    """Proof of `default-of-the-provider`: where no law sees that a member is dropped, it has its default."""
    seen = set()
    for mutant, before in _unseen("default-of-the-provider"):
        member = mutant.path.rpartition(".")[2]
        for value in before:
            assert value in DEFAULTS[member]
        seen.add(mutant.name)
    assert seen == {name for name, kind in equivalents().items() if kind == "default-of-the-provider"}


@pytest.mark.thorough
def test_the_equivalents_change_what_the_conversation_does_not_state() -> None:
    """Proof of `choice-of-the-caller`: only the model, and a limit that no other request states."""
    members = {mutant.path for mutant, _ in _unseen("choice-of-the-caller")}
    assert members == {".model", ".modelId", ".max_tokens"}


def _unseen(kind: str) -> list[tuple[RequestMutant, list[Any]]]:
    """Return the equivalents of a kind, each with the values of its member that it changes in some request."""
    found = []
    for target in targets():
        whole = bench(target, CaseFilter(policies=("all",)))
        for mutant in whole.mutants():
            if equivalents().get(mutant.name) == kind:
                assert whole.kill(mutant).case == ""
                found.append((mutant, [*_values(whole, mutant)]))
    return found


def _values(whole: RequestBench, mutant: RequestMutant) -> list[Any]:
    values = []
    for cached in whole._requests:
        for pickled in cached.requests.values():
            request = pickle.loads(pickled)
            held = [place.value for place in places(request["body"]) if place.path == mutant.path]
            if held and mutant.change(request):
                values.append(held[0 if mutant.operator.endswith("-first") else -1])
    return values
