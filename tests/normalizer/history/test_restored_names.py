"""A response that uses the names and ids of the request is returned with those that the caller knows."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.normalizer.history.conversations import PROVIDERS, call, response, user
from tests.normalizer.history.views import calls
from toolparity.normalizer.conversation import Assistant, Encoded, Request, ToolDefinition
from toolparity.normalizer.digests import digest
from toolparity.normalizer.findings import finding
from toolparity.normalizer.model import ServerToolCall, Text, Wire
from toolparity.normalizer.policies import select
from toolparity.normalizer.requests import RequestWriter, check_request, read_request, write_request
from toolparity.normalizer.wires.declared_tools import declared_by
from toolparity.normalizer.wires.registry import spec

Names = dict[str, tuple[str | None, str]]
NAME = "mcp/search" + " and more" * 40  # Ollama accepts any name up to a length
TOOLS = [ToolDefinition(NAME, parameters={"type": "object", "properties": {}})]


@pytest.mark.parametrize("wire", PROVIDERS)
def test_a_tool_called_by_its_alias_is_found_by_its_name_and_goes_back_by_its_alias(wire: Wire) -> None:
    request = Request("other", "m", [user()], TOOLS, params={"max_tokens": 99})
    encoded = write_request(request, wire, provider=PROVIDERS[wire])
    (alias,) = encoded.names
    assert alias.startswith("mcp_search_and_more")
    assert alias.endswith(digest(NAME, 8))
    restored = encoded.restored(response(Text("so"), call("call_1", alias), wire=wire))
    assert [call.name for call in restored.calls] == [NAME]
    again = replace(request, messages=[*request.messages, Assistant(restored)])
    written = write_request(again, wire, provider=PROVIDERS[wire])
    assert [name for _, name, _ in calls(wire, written.body)] == [alias]


def test_ids_and_names_of_calls_are_restored_and_nothing_else() -> None:
    encoded = Encoded("openai.chat", {}, ids={"call_x": "a b"}, names={"alias": "f"})
    others = Text("t"), ServerToolCall("call_x", "web_search", "alias", "{}")
    given = response(*others, call("call_x", "g"), call("c", "alias"))
    given.with_findings([finding("id-missing", "x", 0, 2)])
    restored = encoded.restored(given)
    assert restored.choices[0].blocks == [*others, call("a b", "g"), call("c", "f")]
    assert restored.findings == given.findings
    assert [ref.name for ref in select(restored).kept] == ["g", "f"]


def function(name: str) -> dict[str, Any]:
    return {"type": "function", "name": name, "parameters": {"type": "object", "properties": {}}}


def in_namespace(space: str, *names: str) -> dict[str, Any]:
    return {"type": "namespace", "name": space, "tools": [function(name) for name in names]}


def additional(tools: list[Any]) -> dict[str, Any]:
    return {"type": "additional_tools", "role": "developer", "tools": tools}


#: A provider of each wire that has no namespaces. OpenAI's own Responses keep them.
FLAT = {**PROVIDERS, "openai.responses": "xai"}


def test_NS_31_tools_in_namespaces_and_in_the_history_are_handed_over_and_their_calls_restored() -> None:
    """As Codex declares them; a response of the target calls a member, and the next request hands the call over."""
    asked = {"type": "function_call", "call_id": "call_1", "name": "list", "namespace": "mcp__cal", "arguments": "{}"}
    body = {
        "model": "m",
        "input": [
            additional([function("later"), in_namespace("mcp__cal", "list", "move")]),
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "Let me look."},
            {"role": "user", "content": "go"},
            asked,
            {"type": "function_call_output", "call_id": "call_1", "output": "none"},
        ],
        "tools": [in_namespace("crm__", "list"), function("f")],
        "tool_choice": {"type": "function", "name": "move"},
        "max_output_tokens": 99,
    }
    request = read_request(body, "openai.responses", provider="openai")
    assert write_request(request).body == body
    for wire, provider in [*FLAT.items(), ("openai.responses", "azure")]:
        encoded = write_request(request, wire, provider=provider)
        assert RequestWriter(wire, provider=provider).write(request) == encoded
        assert check_request(encoded.body, wire, provider=provider) == []
        assert {loss.code for loss in encoded.losses} <= {"tool-choice"}, wire
        declared = set(declared_by(encoded.body, spec(wire)).names or ())
        assert declared == {"later", "f", "crm__list", "mcp__cal__list", "mcp__cal__move"}, wire
        assert [name for _, name, _ in calls(wire, encoded.body)] == ["mcp__cal__list"]
        restored = encoded.restored(response(call("call_1", "mcp__cal__list"), wire=wire))
        assert [(call.namespace, call.name) for call in restored.calls] == [("mcp__cal", "list")]
        again = write_request(replace(request, messages=[*request.messages, Assistant(restored)])).body["input"]
        assert again[-1] == {**again[-1], **asked, "call_id": again[-1]["call_id"]}


COLLIDING = [in_namespace("a", "b__c"), in_namespace("a__b", "c"), function("a__b__c")]
COLLIDING += [in_namespace("a__", "b__c", "d"), function("d"), in_namespace("", "d"), function("a__b__c_")]
#: The namespaces and names of these tools.
COLLIDING_NAMES: list[Any] = [("a", "b__c"), ("a__b", "c"), (None, "a__b__c"), ("a__", "b__c"), ("a__", "d")]
COLLIDING_NAMES += [(None, "d"), (None, "a__b__c_")]


@pytest.mark.parametrize("wire", PROVIDERS)
def test_a_flat_name_of_a_tool_does_not_depend_on_later_tools_and_leads_back_to_it(wire: Wire) -> None:
    def names(tools: list[Any], added: list[Any]) -> Names:
        body = {"model": "m", "input": [{"role": "user", "content": "hi"}, additional(added)], "tools": tools}
        request = read_request(body, "openai.responses", provider="openai")
        encoded = write_request(request, wire, provider=FLAT[wire])
        found: Names = {}
        for name in declared_by(encoded.body, spec(wire)).names or ():
            (restored,) = encoded.restored(response(call("c", name), wire=wire)).calls
            found[name] = (restored.namespace, restored.name)
        return found

    before: Names = {}
    for size in range(1, len(COLLIDING) + 1):
        flat = names(COLLIDING[:size], [])
        assert before.items() <= flat.items()
        for split in range(1, size):
            assert names(COLLIDING[:split], COLLIDING[split:size]) == flat
        before = flat
    assert sorted(before.values(), key=str) == sorted(COLLIDING_NAMES, key=str)


def test_a_choice_by_name_means_the_tool_without_a_namespace_or_the_only_one() -> None:
    calendar, customers = in_namespace("cal", "list", "move"), in_namespace("crm", "list")
    for name, tools, chosen, losses in (
        ("move", [calendar, customers], "cal__move", []),
        ("list", [calendar, customers, function("list")], "list", []),
        ("list", [calendar, customers], None, ["tool-choice"]),
        ("cal__list", [calendar, customers], "cal__list", []),
    ):
        body = {"model": "m", "input": "hi", "tools": tools, "tool_choice": {"type": "function", "name": name}}
        written = write_request(read_request(body, "openai.responses"), "openai.chat")
        expected = {"type": "function", "function": {"name": chosen}} if chosen else "auto"
        assert written.body["tool_choice"] == expected
        assert [loss.code for loss in written.losses] == losses
