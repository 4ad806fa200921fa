"""What a provider says under the names and ids that it was given is read under those that the caller knows."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.normalizer.history.conversations import PROVIDERS
from tests.normalizer.history.views import calls
from toolparity.normalizer.conversation import Assistant, Encoded, Request, TextPart, ToolDefinition, User
from toolparity.normalizer.findings import finding
from toolparity.normalizer.model import Choice, Response, ServerToolCall, Stop, Text, ToolCall
from toolparity.normalizer.policies import select
from toolparity.normalizer.requests import RequestWriter, check_request, read_request, write_request
from toolparity.normalizer.wires.declared_tools import declared_by
from toolparity.normalizer.wires.registry import spec
from toolparity.normalizer.wires.write_context import digest

NAME = "mcp/search" + " and more" * 40  # Ollama takes any name up to a length
TOOLS = [ToolDefinition(NAME, parameters={"type": "object", "properties": {}})]


def said(wire: str, *blocks: Any) -> Response:
    return Response(wire, PROVIDERS[wire], None, "m", [Choice(0, list(blocks), Stop("tool_calls"))])


@pytest.mark.parametrize("wire", PROVIDERS)
def test_a_tool_called_by_its_alias_is_found_by_its_name_and_goes_back_by_its_alias(wire: str) -> None:
    request = Request("other", "m", [User([TextPart("hi")])], TOOLS, params={"max_tokens": 99})
    encoded = write_request(request, wire, provider=PROVIDERS[wire])
    (alias,) = encoded.names
    assert alias.startswith("mcp_search_and_more")
    assert alias.endswith(digest(NAME, 8))
    restored = encoded.restored(said(wire, Text("so"), ToolCall("call_1", alias, {}, "{}")))
    assert [call.name for call in restored.calls] == [NAME]
    again = Request("other", "m", [*request.messages, Assistant(restored)], TOOLS, params={"max_tokens": 99})
    written = write_request(again, wire, provider=PROVIDERS[wire])
    assert [name for _, name, _ in calls(wire, written.body)] == [alias]


def test_ids_are_restored_and_everything_else_stays_as_it_is() -> None:
    encoded = Encoded("openai.chat", {}, ids={"call_x": "a b"}, names={"alias": "f"})
    served = ServerToolCall("call_x", "web_search", "alias", "{}")
    given = said("openai.chat", Text("t"), served, ToolCall("call_x", "g", {}, "{}"), ToolCall("c", "alias", {}, "{}"))
    given.with_findings([finding("id-missing", "x", 0, 2)])
    restored = encoded.restored(given)
    text, server, first, second = restored.choices[0].blocks
    assert (text, server) == tuple(given.choices[0].blocks[:2])
    assert isinstance(first, ToolCall)
    assert isinstance(second, ToolCall)
    assert [(first.id, first.name), (second.id, second.name)] == [("a b", "g"), ("c", "f")]
    assert restored.findings == given.findings
    assert [ref.name for ref in select(restored).kept] == ["g", "f"]


def test_a_response_in_which_nothing_differs_is_the_very_same() -> None:
    given = said("openai.chat", ToolCall("c", "f", {}, "{}"))
    assert Encoded("openai.chat", {}).restored(given) is given
    assert Encoded("openai.chat", {}, names={"alias": "g"}).restored(given) is given


def function(name: str) -> dict[str, Any]:
    return {"type": "function", "name": name, "parameters": {"type": "object", "properties": {}}}


def in_namespace(space: str, *names: str) -> dict[str, Any]:
    return {"type": "namespace", "name": space, "tools": [function(name) for name in names]}


def test_NS_31_tools_in_namespaces_and_in_the_history_are_handed_over_and_their_calls_restored() -> None:
    """As Codex declares them; an answer of the target calls a member, and the next request hands the call over."""
    space = in_namespace("mcp__cal", "list", "move")
    asked = {"type": "function_call", "call_id": "call_1", "name": "list", "namespace": "mcp__cal", "arguments": "{}"}
    body = {
        "model": "m",
        "input": [
            {"type": "additional_tools", "role": "developer", "tools": [function("later"), space]},
            {"role": "user", "content": "hi"},
            asked,
            {"type": "function_call_output", "call_id": "call_1", "output": "none"},
        ],
        "tools": [in_namespace("crm__", "list"), function("f")],
        "tool_choice": {"type": "function", "name": "move"},
        "max_output_tokens": 99,
    }
    request = read_request(body, "openai.responses", provider="openai")
    assert write_request(request).body == body
    targets = {**PROVIDERS, "openai.responses": "xai"}
    for wire, provider in [*targets.items(), ("openai.responses", "azure")]:
        encoded = write_request(request, wire, provider=provider)
        assert RequestWriter(wire, provider=provider).write(request) == encoded
        assert check_request(encoded.body, wire, provider=provider) == []
        assert {loss.code for loss in encoded.losses} <= {"tool-choice"}, wire
        declared = declared_by(encoded.body, spec(wire)).names
        assert declared == {"later", "f", "crm__list", "mcp__cal__list", "mcp__cal__move"}, wire
        assert [name for _, name, _ in calls(wire, encoded.body)] == ["mcp__cal__list"]
        restored = encoded.restored(said(wire, ToolCall("call_1", "mcp__cal__list", {}, "{}")))
        assert [(call.namespace, call.name) for call in restored.calls] == [("mcp__cal", "list")]
        again = write_request(replace(request, messages=[*request.messages, Assistant(restored)])).body["input"]
        assert again[-1] == {**again[-1], **asked, "call_id": again[-1]["call_id"]}


COLLIDING = [
    in_namespace("a", "b__c"),
    in_namespace("a__b", "c"),
    function("a__b__c"),
    in_namespace("a__", "b__c", "d"),
    function("d"),
    in_namespace("", "d"),
    function("a__b__c_"),
]


@pytest.mark.parametrize("wire", PROVIDERS)
def test_a_flat_name_of_a_tool_does_not_depend_on_later_tools_and_leads_back_to_it(wire: str) -> None:
    def written(tools: list[Any], added: list[Any]) -> Encoded:
        items = [{"role": "user", "content": "hi"}, {"type": "additional_tools", "role": "developer", "tools": added}]
        body = {"model": "m", "input": items, "tools": tools}
        request = read_request(body, "openai.responses", provider="openai")
        # OpenAI's own Responses keep the namespaces.
        return write_request(request, wire, provider="xai" if wire == "openai.responses" else PROVIDERS[wire])

    def called(encoded: Encoded) -> dict[str, tuple[str | None, str]]:
        names = declared_by(encoded.body, spec(wire)).names
        calls = [encoded.restored(said(wire, ToolCall("c", name, {}, "{}"))).calls[0] for name in names]
        return {name: (call.namespace, call.name) for name, call in zip(names, calls, strict=True)}

    before = called(written(COLLIDING[:1], []))
    for size in range(2, len(COLLIDING) + 1):
        names = called(written(COLLIDING[:size], []))
        assert before.items() <= names.items()
        for split in range(1, size):
            assert called(written(COLLIDING[:split], COLLIDING[split:size])) == names
        before = names
    spaces: list[Any] = [("a", "b__c"), ("a__b", "c"), (None, "a__b__c"), ("a__", "b__c"), ("a__", "d"), (None, "d")]
    assert sorted(before.values(), key=str) == sorted([*spaces, (None, "a__b__c_")], key=str)


def test_a_choice_by_name_means_the_tool_without_a_namespace_or_the_only_one() -> None:
    cal, crm = in_namespace("cal", "list", "move"), in_namespace("crm", "list")

    def choice(name: str, *tools: Any) -> tuple[Any, list[str]]:
        body = {"model": "m", "input": "hi", "tools": [*tools], "tool_choice": {"type": "function", "name": name}}
        written = write_request(read_request(body, "openai.responses"), "openai.chat")
        chosen = written.body["tool_choice"]
        return chosen if isinstance(chosen, str) else chosen["function"]["name"], [loss.code for loss in written.losses]

    assert choice("move", cal, crm) == ("cal__move", [])
    assert choice("list", cal, crm, function("list")) == ("list", [])
    assert choice("list", cal, crm) == ("auto", ["tool-choice"])
    assert choice("cal__list", cal, crm) == ("cal__list", [])
