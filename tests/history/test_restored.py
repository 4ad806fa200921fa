"""What a provider says under the names and ids that it was given is read under those that the caller knows."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.history.talks import PROVIDERS
from tests.history.views import calls
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


def test_NS_31_tools_in_namespaces_and_in_the_history_are_handed_over_and_their_calls_restored() -> None:
    """As Codex declares them; an answer of the target calls a member, and the next request hands the call over."""

    def function(name: str) -> dict[str, Any]:
        return {"type": "function", "name": name, "parameters": {"type": "object", "properties": {}}}

    space = {"type": "namespace", "name": "mcp__cal", "tools": [function("list"), function("move")]}
    asked = {"type": "function_call", "call_id": "call_1", "name": "list", "namespace": "mcp__cal", "arguments": "{}"}
    body = {
        "model": "m",
        "input": [
            {"type": "additional_tools", "role": "developer", "tools": [function("later"), space]},
            {"role": "user", "content": "hi"},
            asked,
            {"type": "function_call_output", "call_id": "call_1", "output": "none"},
        ],
        "tools": [{**space, "name": "crm__", "tools": [function("list")]}, function("f")],
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
