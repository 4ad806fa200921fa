"""The known-bad subjects: each written and generated one is killed, each exemption is proved, and a run resumes."""

from __future__ import annotations

import pickle
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec.structs import fields as members_of
from msgspec.structs import replace

from tests.support.thoroughness import spread
from toolparity.cli import main
from toolparity.conformance.errors import InvalidRunState
from toolparity.conformance.known_bad import generated, known_bad
from toolparity.conformance.known_bad.generated import answers, equivalents, inputs, mutants
from toolparity.conformance.known_bad.generated.bodies import RequestMutant, places, request_traits
from toolparity.conformance.known_bad.generated.fields import OWNERS, fields, objects
from toolparity.conformance.laws import LAWS
from toolparity.conformance.runner import answer_bench, input_bench, kill, request_bench, survival
from toolparity.conformance.runner.bench import cached_cases
from toolparity.conformance.runner.input_bench import InputBench
from toolparity.conformance.runner.judge import CaseFilter, Judge
from toolparity.conformance.runner.kill_state import Counts, KillState
from toolparity.conformance.runner.request_bench import RequestBench, Target, targets
from toolparity.conformance.subjects import CallResult, SubjectExchange

#: Scenarios in which the members of the sampled subjects occur: of answers, inputs and requests.
ANSWERS = CaseFilter(
    scenarios=("single-call", "two-of-each-kind", "parallel-three", "*-thinking", "server-search", "cut-only-call"),
    surfaces=("openai.responses", "anthropic.messages"),
)
INPUTS = CaseFilter(scenarios=("parallel-three", "two-rounds", "single-call", "error-in-the-words", "limit-three"))
REQUESTS = CaseFilter(
    scenarios=("two-rounds", "server-search-and-call", "words-in-every-round"),
    policies=("all",),
    modes=("plain",),
    providers=("openai", "xai"),
)


@cache
def bench(target: Target, case_filter: CaseFilter = REQUESTS) -> RequestBench:
    return RequestBench(case_filter, target)


def of_kind(kind: str) -> list[str]:
    return [name for name, found in equivalents().items() if found == kind]


# Every member has subjects


def test_every_member_of_answers_and_inputs_has_subjects() -> None:
    changed = {mutant.field for mutant in mutants().values()}
    assert {field.path for field in fields()} <= changed
    assert {f"blocks.{owner}" for owner in OWNERS if owner.endswith(("text", "call", "opaque"))} <= changed
    assert len(mutants()) > 1000
    read = {field.name for field in members_of(SubjectExchange)} - {"base_url", "tools", "tools_url", "final"}
    of_results = {f"results.{field.name}" for field in members_of(CallResult)}
    assert {mutant.member for mutant in inputs().values()} == read | {"results"} | of_results


def test_every_member_element_and_loss_of_a_request_has_subjects() -> None:
    body = {"stream": True, "input": [{"role": "user", "content": "a"}], "tools": [{"parameters": {"type": "object"}}]}
    user = (".input[user]", ".input[user].role", ".input[user].content")
    assert {place.path for place in places(body)} == {".input", *user, ".tools", ".tools[]", ".tools[].parameters"}
    traits = set(request_traits({"body": {}, "losses": ["reasoning"]}))
    assert {".losses[reasoning]", "no .losses[refusal]"} <= traits
    own = bench(Target("openai.responses", own=True)).mutants()
    assert "invent-loss" in {mutant.operator for mutant in own if ".losses[" in mutant.path}


# They are killed


def test_the_sampled_subjects_of_answers_are_killed() -> None:
    names = [name for name in mutants() if not name.startswith("brief/") and "@" not in name]
    chosen = spread(names, 60)
    figures = survival.run(ANSWERS, [name for name in chosen if name not in equivalents()], jobs=1)
    assert figures.survivors == []
    assert figures.subjects > len(chosen) // 2


def test_the_subjects_of_inputs_are_killed() -> None:
    # Of concatenated messages, only a repeated end shows that they were several.
    few = replace(INPUTS, scenarios=(*INPUTS.scenarios, "figures-with-a-second-finish"))
    figures = survival.run(few, [name for name in inputs() if name not in equivalents()], jobs=1)
    assert figures.survivors == []
    assert figures.subjects > 40


def test_the_sampled_subjects_of_requests_are_killed() -> None:
    # Three scenarios do not show every exchange, reversal and alteration: the thorough tests cover those.
    names = [
        mutant.name
        for target in targets()
        for mutant in bench(target).mutants()
        if mutant.operator not in ("swap", "move", "reverse", "alter") and mutant.name not in equivalents()
    ]
    figures = survival.run(REQUESTS, spread(names, 150), jobs=1)
    assert figures.survivors == []
    assert figures.subjects > 50


def test_a_survivor_and_a_gap_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without their laws, nothing sees a signature, the policy or the encrypted state. No change is a gap, no kill."""
    assert survival.run(ANSWERS, ["move:opaque.raw", "drop:error.type"], jobs=1).gaps == ["drop:error.type"]
    monkeypatch.setattr(answer_bench, "_LAWS", [law for law in answer_bench._LAWS if law.id != "content"])
    monkeypatch.setattr(input_bench, "LAWS", {"usage": LAWS["usage"]})
    monkeypatch.setattr(request_bench, "_OWN", [LAWS["answered"]])
    for few, name in (
        (ANSWERS, "drop:reasoning.signature"),
        (INPUTS, "input/as-first:policy"),
        (REQUESTS, "replay/drop:openai.responses.include"),
    ):
        assert survival.run(few, [name], jobs=1).survivors == [name]


# The exemptions


def test_the_equivalents_change_only_sentences() -> None:
    """Proof of `documented-free-text`: a listed subject changes a sentence into another one, and nothing else."""
    table = tomllib.loads((resources.files(generated) / "equivalents.toml").read_text("utf-8"))["documented-free-text"]
    for name in table["names"]:
        mutant = mutants()[name]
        assert mutant.field in table["members"]
        owner, member = mutant.field.split(".")
        form = _form()
        before = [reference[member] for reference in form["selection"][owner]]
        assert mutant.change(form), name
        for reference, sentence in zip(form["selection"][owner], before, strict=True):
            assert reference[member]
            assert isinstance(reference[member], str)
            reference[member] = sentence
        assert form == _form()


def _form() -> Any:
    """Return a canonical form with a kept, a dropped and a rejected call."""
    reasons = {"kept": None, "dropped": "policy first keeps one call", "rejected": "its arguments were truncated"}
    selection = {
        group: [{"block": index, "choice": 0, "id": f"call_{index}", "name": "look", "reason": reason}]
        for index, (group, reason) in enumerate(reasons.items())
    }
    return {"response": {"choices": []}, "selection": {"policy": "first", "limit": None, "choice": 0, **selection}}


@pytest.mark.thorough
def test_the_tables_of_members_are_needed() -> None:
    """No operator is left out for a member that some answer would show."""
    seen = {trait for cached in cached_cases(CaseFilter()) for trait in cached.traits}
    assert {path for path in answers._NEVER_EMPTY if f"absent:{path}" in seen} == set()
    assert {path for path in answers._ALWAYS_EMPTY if f"present:{path}" in seen} == set()
    assert {path for path in answers._SAME_IN_ALL if f"several:{path}" in seen} <= {"dropped.reason", "rejected.reason"}
    for path in answers._FIRST_CHOICE:
        owner, _, member = path.partition(".")
        forms = (form for cached in cached_cases(CaseFilter()) for form in cached.forms if form is not None)
        assert {each[member] for form in forms for each in objects(pickle.loads(form), owner)} == {0}, path


def test_the_same_meaning_changes_nothing() -> None:
    """Proof of `same-meaning`: the reference gives the same answers, and writes the same requests."""
    names = of_kind("same-meaning")
    assert set(survival.run(INPUTS, names, jobs=1).equivalents) == set(names)
    whole = InputBench(INPUTS)
    assert not any(whole.kill(inputs()[name]).changed for name in names)


def test_concatenated_messages_are_read_or_refused() -> None:
    """Each answer is the same, except that errors become unreadable, and ends that were sent twice."""
    mutant = inputs()["input/join:pieces@messages"]
    subject = input_bench._Misinformed(mutant)
    rounds = [round for cached in InputBench(replace(INPUTS, wires=("xai.grpc",)))._cases for round in cached.rounds]
    differing = [round for round in rounds if input_bench._reads_differently(mutant, subject, round)]
    assert differing
    for round in differing:
        assert round.expected.failed
        assert "error" in subject.read(round.exchange)


#: The name of a member -> the values that mean its default, as the providers document a request without the member.
DEFAULTS: dict[str, tuple[Any, ...]] = {
    "n": (1,),
    "candidateCount": (1,),
    "strict": (False,),
    "detail": ("auto", "DETAIL_AUTO"),
    "content": ("",),
}


@pytest.mark.thorough
def test_the_equivalents_drop_only_defaults() -> None:
    """Proof of `default-of-the-provider`: where no law sees that a member is dropped, it has its default."""
    unseen = list(_unseen("default-of-the-provider"))
    for mutant, before in unseen:
        assert all(value in DEFAULTS[mutant.path.rpartition(".")[2]] for value in before), mutant.name
    assert {mutant.name for mutant, _ in unseen} == {*of_kind("default-of-the-provider")}


@pytest.mark.thorough
def test_the_equivalents_change_what_the_conversation_does_not_state() -> None:
    """Proof of `choice-of-the-caller`: only the model."""
    assert {mutant.path for mutant, _ in _unseen("choice-of-the-caller")} == {".model", ".modelId"}


def _unseen(kind: str) -> Iterator[tuple[RequestMutant, list[Any]]]:
    """The equivalents of a kind, each with the values of its member that it changes in some request."""
    names = {*of_kind(kind)}
    for target in targets():
        whole = bench(target, CaseFilter(policies=("all",)))
        for mutant in whole.mutants():
            if mutant.name in names:
                assert whole.kill(mutant).case == ""
                yield mutant, list(_values(whole, mutant))


def _values(whole: RequestBench, mutant: RequestMutant) -> Iterator[Any]:
    for pickled in (pickled for cached in whole._requests for pickled in cached.requests.values()):
        request = pickle.loads(pickled)
        held = [place.value for place in places(request["body"]) if place.path == mutant.path]
        if held and mutant.change(request):
            yield held[0 if mutant.operator.endswith("-first") else -1]


TABLE = Path(__file__).with_name("known_bad.toml")


def test_each_known_bad_subject_fails_its_law(proves: Callable[[str], None]) -> None:
    table = tomllib.loads(TABLE.read_text("utf-8"))
    assert table.keys() == known_bad().keys()
    cases = {case.id: case for case in CaseFilter().cases()}
    survivors = []
    for name, subject in known_bad().items():
        (verdict,) = Judge(subject.make(), twice=False).result(cases[table[name]], [LAWS[subject.law]]).verdicts
        if verdict.outcome != "fail":
            survivors.append(f"{name}: {subject.law} is {verdict.outcome} in {table[name]}")
            continue
        proves(f"known-bad {name}")
        proves(f"law {subject.law}")
    assert survivors == []


FEW = CaseFilter(scenarios=("single-call",), surfaces=("openai.chat",), modes=("plain",))


def test_an_interrupted_run_resumes_where_it_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state, ran = tmp_path / "state.jsonl", []
    two = dict(list(known_bad().items())[:2])

    def count(case_filter: CaseFilter, name: str) -> Counter[str]:
        ran.append(name)
        if len(ran) == 2:
            raise KeyboardInterrupt
        return Counter({"order": len(ran)})

    monkeypatch.setattr(kill, "known_bad", lambda: two)
    monkeypatch.setattr(kill, "_count_failures", count)
    monkeypatch.setattr(survival, "tasks", lambda names=None, tables=False: [])
    with pytest.raises(KeyboardInterrupt):
        kill.run(FEW, jobs=1, state=state)
    finished: list[int] = []
    run = kill.run(FEW, jobs=1, state=state, on_progress=finished.append)
    first, second = two
    assert ran == [first, second, second]
    assert ([each.by for each in run.kills], finished) == ([{"order": 1}, {"order": 3}], [1, 1])


def test_the_generated_subjects_of_a_finished_task_do_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["drop:tool_call.name", "drop:tool_call.id"]
    state = tmp_path / "state.jsonl"
    first = survival.run(FEW, names, jobs=1, kept=KillState(state, FEW))

    def refuse(case_filter: CaseFilter, task: survival.Task) -> None:
        raise AssertionError("ran again")

    monkeypatch.setattr(survival, "_run_task", refuse)
    assert survival.run(FEW, names, jobs=1, kept=KillState(state, FEW)) == first


def test_a_line_that_was_cut_is_not_a_result(tmp_path: Path) -> None:
    path = tmp_path / "state.jsonl"
    KillState(path, FEW).add(Counts("one", {"order": 1}))
    KillState(path, FEW).add(Counts("two", {}))
    path.write_bytes(path.read_bytes()[:-4])
    state = KillState(path, FEW)
    assert (state.get(Counts, "one"), state.get(Counts, "two")) == (Counts("one", {"order": 1}), None)
    state.add(Counts("two", {}))
    assert KillState(path, FEW).get(Counts, "two") == Counts("two", {})


def test_the_state_of_another_run_is_refused(tmp_path: Path) -> None:
    KillState(tmp_path / "other", CaseFilter())
    (tmp_path / "object").write_bytes(b"{}\n")
    (tmp_path / "text").write_bytes(b"mine")
    for name, message in (
        ("other", "other code or other cases"),
        ("object", "not the state"),
        ("text", "not the state"),
    ):
        with pytest.raises(InvalidRunState, match=message):
            KillState(tmp_path / name, FEW)
    result = CliRunner().invoke(main, ["check", "--resume", str(tmp_path / "state.jsonl")])
    assert (result.exit_code, "--resume needs --kill" in result.output) == (2, True)
