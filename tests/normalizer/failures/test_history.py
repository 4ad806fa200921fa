"""Failures of classes history and results that no scenario has: what calls, results and texts between them become."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from tests.normalizer.failures.conversations import (
    EVERY_WIRE,
    PROVIDERS,
    WIRES,
    assistant,
    call,
    codes,
    every_pair,
    parts,
    respond,
    results,
    tool_result,
    user,
    written,
)
from tests.normalizer.history.views import calls, of_kind
from tests.normalizer.history.views import results as answered
from tests.support.wires import OBJECT_WIRES
from toolparity import Text, select
from toolparity.normalizer.answers import answer
from toolparity.normalizer.conversation import JsonPart, MediaPart, Message, System, TextPart, ToolResult
from toolparity.normalizer.requests import read_request

CLAUDE, CHAT = "anthropic.messages", "openai.chat"
ROUND: list[Message] = [user(), assistant(call("a"), call("b")), results(tool_result("a", "1"), tool_result("b", "2"))]


def of(wire: str, turns: list[Message]) -> list[Message]:
    """The turns with the answers of this wire."""
    return [assistant(*t.response.choices[0].blocks, wire=wire) if hasattr(t, "response") else t for t in turns]


@EVERY_WIRE
def test_results_are_sent_in_call_order_whatever_order_they_have(wire: str) -> None:
    response = respond(call("a"), call("b"), call("c"), wire=wire)
    bodies = set()
    for order in itertools.permutations("abc"):
        turns = [user(), *answer(response, select(response), {id: f"of {id}" for id in order})]
        apart = [*turns[:2], *(results(tool_result(id, f"of {id}")) for id in order)]
        for given in (turns, apart):
            encoded = written(given, wire)
            body = encoded.body
            assert answered(wire, body) == [("a", "of a"), ("b", "of b"), ("c", "of c")]
            bodies.add(body.SerializeToString(deterministic=True) if wire == "xai.grpc" else json.dumps(body))
    assert len(bodies) == 1


@pytest.mark.parametrize("wire", ["openai.responses", "xai.grpc"])
def test_XAI_05_only_messages_that_the_provider_does_not_store_are_sent(wire: str) -> None:
    made = assistant(call("a"), wire=wire, id="resp_1")
    turns = [System([TextPart("be brief")]), user(), made, results(tool_result("a")), user("and?")]
    body = written(turns, wire, previous_response_id="resp_1").body
    sent = [(part.kind, part.id, part.text) for part in parts(wire, body)]
    assert sent == [("result", "a", "ok"), ("user", "", "and?")]
    assert (body.previous_response_id if wire == "xai.grpc" else body["previous_response_id"]) == "resp_1"
    whole = written(turns, wire).body
    assert [part.kind for part in parts(wire, whole)] == ["system", "user", "call", "result", "user"]


@pytest.mark.parametrize("source", WIRES)
def test_BED_03_the_tools_of_a_history_are_declared_where_the_request_declares_none(source: str) -> None:
    made = assistant(call("a", "f"), call("b", "g"), wire=source)
    turns = [user(), made, results(tool_result("a"), tool_result("b"))]
    encoded = written(turns, source, "bedrock.converse", names=())
    assert [tool["toolSpec"]["name"] for tool in encoded.body["toolConfig"]["tools"]] == ["f", "g"]
    assert codes(encoded) == ["default"]


@EVERY_WIRE
def test_HIST_07_a_result_without_its_call_is_left_out_and_reported(wire: str) -> None:
    encoded = written([*ROUND[2:], user("next")], wire)
    assert [part.text for part in parts(wire, encoded.body)] == ["next"]
    assert codes(encoded) == ["orphan", "orphan"]
    assert all(id in loss.message for id, loss in zip("ab", encoded.losses, strict=True))


@every_pair
def test_HIST_08_assistant_text_between_a_call_and_its_result_does_not_separate_them(source: str, target: str) -> None:
    between = assistant(Text("one moment"))
    turns = [user(), assistant(call("a")), between, results(tool_result("a")), assistant(Text("done"))]
    body = written(of(source, turns), source, target).body
    assert answered(target, body) == [("a", "ok")]
    assert calls(target, body) == [("a", "f", {"x": 1})]
    assert [part.text for part in of_kind(target, body, "assistant") if part.text] == ["one moment", "done"]


@EVERY_WIRE
def test_arguments_that_are_not_an_object_are_wrapped_where_one_is_required(wire: str) -> None:
    for text in ("", "  ", "null", "{}", '{"x": ', "[1]", '"{}"', "nonsense", '{"x":1}{"y":2}'):
        turns = [user(), assistant(call("a", "f", text), wire=wire), results(tool_result("a"))]
        is_empty = text.strip() in ("", "null", "{}")
        encoded = written(turns, wire, CLAUDE)
        assert calls(CLAUDE, encoded.body) == [("a", "f", {} if is_empty else {"_raw": text})]
        assert ("arguments" in codes(encoded)) is not is_empty
        assert answered(CLAUDE, encoded.body) == [("a", "ok")]
        if wire not in OBJECT_WIRES and not is_empty:
            assert [part.text for part in of_kind(wire, written(turns, wire).body, "call")] == [text]


@pytest.mark.parametrize("source", WIRES)
def test_BED_07_text_between_calls_and_results_is_moved_after_the_results(source: str) -> None:
    made = assistant(call("a"), call("b"), wire=source)
    together = [user(), made, user("hurry"), results(tool_result("a"), tool_result("b"))]
    apart = [user(), made, results(tool_result("a")), user("hurry"), results(tool_result("b"))]
    for target in WIRES:
        for turns in (together, apart):
            encoded = written(turns, source, target)
            kinds = [part.kind for part in parts(target, encoded.body)]
            assert kinds == ["user", "call", "call", "result", "result", "user"]
            assert codes(encoded) == ["order"]


def test_HIST_31_a_history_that_begins_with_a_call_is_legal_everywhere() -> None:
    bridged = {
        target
        for source, target in itertools.product(WIRES, WIRES)
        if "bridge" in codes(written(of(source, ROUND[1:]), source, target))
    }
    assert bridged == {"bedrock.converse", "google.gemini"}


PICTURE = "iVBORw0KGgo="
SHOWN = ToolResult("a", [TextPart("see"), MediaPart("image", "image/png", data=PICTURE)], plain=False)


def round_with(wire: str, result: ToolResult) -> list[Message]:
    """A round whose one call has this result."""
    return [user(), assistant(call("a"), wire=wire), results(result)]


@every_pair
def test_HIST_05_RES_03_images_and_values_in_a_result_arrive_as_such_and_in_order(source: str, target: str) -> None:
    given = {"b": [1, None], "a": "ü"}
    made = [user(), assistant(call("a"), call("b"), wire=source)]
    encoded = written([*made, results(SHOWN, ToolResult("b", [JsonPart(given)]))], source, target)
    body = encoded.body
    (id, text), other = answered(target, body)
    assert (id, text.startswith("see"), PICTURE in text) == ("a", True, False)
    assert other == ("b", json.dumps(given, separators=(",", ":"), ensure_ascii=False))
    kinds = [part.kind for part in of_kind(target, body, "result", "media")]
    assert sorted(kinds) == ["media", "result", "result"]
    (media,) = of_kind(target, body, "media")
    assert PICTURE in media.text
    if target in (CHAT, "xai.grpc"):
        assert kinds == ["result", "result", "media"]
    elif target == CLAUDE:
        assert [block["type"] for block in body["messages"][2]["content"][:2]] == ["tool_result", "tool_result"]
    if target == "ollama.chat":
        assert codes(encoded) == ["order"]  # a message has its images apart from its text
    elif target in (*OBJECT_WIRES, "openai.responses"):
        assert codes(encoded) == []
    elif source != target or target == "xai.grpc":
        assert codes(encoded) in (["media"], ["order"])


@pytest.mark.parametrize("wire", ["openai.chat", "anthropic.messages", "xai.grpc", "bedrock.converse"])
@pytest.mark.parametrize("failed", [True, False])
def test_the_error_flag_and_the_text_of_a_result_round_trip(wire: str, failed: bool) -> None:
    for text in ("boom", "", "[tool_error] boom", "[tool_ok] [tool_error] boom"):
        body = written(round_with(wire, ToolResult("a", [TextPart(text)], is_error=failed)), wire).body
        back = read_request(body, wire, provider=PROVIDERS[wire]).messages[2].results[0]  # type: ignore[union-attr]
        assert back.is_error is failed
        placeholder = "The tool failed and said nothing." if wire in OBJECT_WIRES and failed else ""
        assert "".join(part.text for part in back.parts) == (text or placeholder)  # type: ignore[union-attr]


def test_tool_messages_of_xai_are_in_call_order_and_paired_by_position_without_ids() -> None:
    kind, function = "TOOL_CALL_TYPE_CLIENT_SIDE_TOOL", {"name": "f", "arguments": "{}"}
    made = [{"id": id, "type": kind, "function": function} for id in "ab"]
    messages = [
        {"role": "ROLE_USER", "content": [{"text": "hi"}]},
        {"role": "ROLE_ASSISTANT", "content": [{"text": ""}], "tool_calls": made},
        *({"role": "ROLE_TOOL", "content": [{"text": text}]} for text in "12"),
    ]
    turns = read_request({"model": "m", "messages": messages}, "xai.grpc").messages
    assert turns[2] == results(tool_result("a", "1"), tool_result("b", "2"))
    for given in (turns, [*turns[:2], results(tool_result("b", "2"), tool_result("a", "1"))]):
        body = written(given, "xai.grpc").body
        assert [(m.tool_call_id, m.content[0].text) for m in body.messages[2:]] == [("a", "1"), ("b", "2")]


@pytest.mark.parametrize("provider", ["openai", "groq", "fireworks", "mistral"])
def test_RES_02_a_tool_message_has_only_members_that_strict_servers_accept(provider: str) -> None:
    for source in WIRES:
        more: dict[str, Any] = {} if source == "openai.chat" else {"extra": {"cache_control": {"type": "ephemeral"}}}
        result = tool_result("a", "boom", is_error=True, name="f", wire_id="fc_1", **more)
        messages = written(round_with(source, result), source, "openai.chat", provider=provider).body["messages"]
        id = messages[1]["tool_calls"][0]["id"]
        assert messages[2] == {"role": "tool", "tool_call_id": id, "content": "[tool_error] boom"}
