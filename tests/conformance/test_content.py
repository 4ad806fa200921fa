"""The law `content`: an oracle of the wire reads every member of the canonical form again."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.thoroughness import sampled
from toolparity.conformance.cases.case import Case
from toolparity.conformance.cases.scenarios import scenarios
from toolparity.conformance.laws import LAWS
from toolparity.conformance.oracle import responses
from toolparity.conformance.runner.judge import CaseFilter, Judge
from toolparity.conformance.subjects import SubjectExchange
from toolparity.conformance.subjects.reference import Reference

CONTENT = LAWS["content"]
Change = Callable[[Any], None]


class Changed(Reference):
    """The reference, whose answer a function changes."""

    name = "changed"

    def __init__(self, change: Change) -> None:
        self._change = change

    def read(self, exchange: SubjectExchange) -> dict[str, Any]:
        form = copy.deepcopy(super().read(exchange))
        self._change(form)
        return form


def verdict(change: Change, scenario: str, surface: str, mode: str = "plain") -> Any:
    case = Case(scenario, surface, mode, "all")
    return Judge(Changed(change), twice=False).result(case, [CONTENT]).verdicts[0]


def block(kind: str, member: str, value: Any) -> Change:
    """Change a member of the first block of a type."""

    def change(form: Any) -> None:
        found = next(b for b in form["response"]["choices"][0]["blocks"] if b["type"] == kind)
        assert found[member] != value
        found[member] = value

    return change


def response(member: str, value: Any, owner: str = "") -> Change:
    def change(form: Any) -> None:
        holder = form["response"][owner] if owner else form["response"]
        assert holder[member] != value
        holder[member] = value

    return change


def stop(form: Any) -> None:
    form["response"]["choices"][0]["stop"]["raw"] = "other"


def finding(form: Any) -> None:
    form["findings"].append("unknown-tool")


def reference_of_another(form: Any) -> None:
    kept = form["selection"]["kept"]
    kept[0]["id"], kept[1]["id"] = kept[1]["id"], kept[0]["id"]


CHANGES = {
    "reasoning text": (block("reasoning", "text", "other"), "signed-thinking", "anthropic.messages", "altered"),
    "signature": (block("reasoning", "signature", None), "signed-thinking", "anthropic.messages", "lost"),
    "redacted": (block("reasoning", "redacted", False), "redacted-thinking", "anthropic.messages", "lost"),
    "encrypted": (block("reasoning", "encrypted", "x"), "unstored-reasoning", "openai.responses", "altered"),
    "refusal as text": (block("refusal", "type", "text"), "refusal", "openai.chat", "altered"),
    "citations": (block("text", "annotations", []), "cited-search-and-call", "anthropic.messages", "lost"),
    "server arguments": (
        block("server_tool_call", "arguments_text", ""),
        "server-search",
        "anthropic.messages",
        "lost",
    ),
    "server result": (block("server_tool_result", "raw", None), "server-search", "anthropic.messages", "lost"),
    "call kind": (block("tool_call", "kind", "function"), "free-text-tool", "openai.responses", "altered"),
    "item id": (block("tool_call", "wire_id", None), "single-call", "openai.responses", "lost"),
    "model": (response("model", "gpt"), "text-only", "openai.chat", "misreported"),
    "response id": (response("id", None), "text-only", "xai.grpc", "misreported"),
    "provider": (response("provider", "openai"), "text-only", "xai.chat", "misreported"),
    "created": (response("extra", {}), "text-only", "openai.chat", "lost"),
    "invented": (response("extra", {"mood": "x"}), "text-only", "anthropic.messages", "duplicated"),
    "null against 0": (response("cache_write_tokens", 0, "usage"), "text-only", "openai.chat", "misreported"),
    "error type": (response("type", "other", "error"), "error-rate-limit", "openai.chat", "misreported"),
    "stop word": (stop, "single-call", "anthropic.messages", "misreported"),
    "false finding": (finding, "single-call", "openai.chat", "misreported"),
    "reference": (reference_of_another, "parallel-three", "openai.chat", "misreported"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_member_is_a_failure(change: str) -> None:
    changed, scenario, surface, effect = CHANGES[change]
    found = verdict(changed, scenario, surface)
    assert (found.outcome, found.effect) == ("fail", effect), found


def test_a_form_without_members_is_a_failure_and_no_error() -> None:
    found = verdict(lambda form: form["response"].pop("extra"), "text-only", "openai.chat")
    assert (found.outcome, found.effect) == ("fail", "misreported")
    assert "canonical form" in found.reason


def test_a_lost_error_is_shown_without_the_members_that_the_wire_does_not_decide() -> None:
    """Ollama's error is a text alone, so that its type is free."""
    found = verdict(lambda form: form["response"].update(error=None), "error-rate-limit", "ollama.chat")
    assert (found.outcome, found.reason) == ("fail", "error is missing")
    assert '"message":' in found.expected
    assert '"type":' not in found.expected


@pytest.mark.thorough(keep=9)
@pytest.mark.parametrize("scenario", sampled(list(scenarios()), 24))
def test_the_reference_keeps_the_law(scenario: str) -> None:
    judge = Judge(Reference(), twice=False)
    cases = CaseFilter(scenarios=(scenario,)).cases()
    failed = [(case, found) for case in cases for found in judge.result(case, [CONTENT]).verdicts]
    assert [entry for entry in failed if entry[1].outcome in ("fail", "error")] == []


def test_most_responses_have_a_reading() -> None:
    """The law is about regular traffic; an oracle that refuses everything would judge nothing."""
    judge, readings = Judge(Reference(), twice=False), 0
    cases = list(CaseFilter(scenarios=("single-call", "*-thinking", "server-*"), policies=("all",)).cases())
    for case in cases:
        readings += all(responses.read(round.exchange) for round in judge.rounds(case))
    assert readings == len(cases) > 40


def test_the_oracle_calls_no_reader_of_the_normalizer() -> None:
    allowed = {"toolparity.normalizer", "toolparity.normalizer.wires.registry"}
    for path in Path(responses.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("toolparity.normalizer"):
                assert node.module in allowed, path
                assert {alias.name for alias in node.names} <= {"json_codec", "spec"}, path
