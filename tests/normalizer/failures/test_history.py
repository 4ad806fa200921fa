"""Failures of classes history and results: calls or results go back wrong, or not at all."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from xai_sdk.proto import chat_pb2

from tests.normalizer.failures.conversations import (
    EVERY_WIRE,
    FLAGGED,
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
from toolparity.normalizer.requests import check_request, read_request

CLAUDE, CHAT = "anthropic.messages", "openai.chat"
ROUND: list[Message] = [user(), assistant(call("a"), call("b")), results(tool_result("a", "1"), tool_result("b", "2"))]


def of(wire: str, turns: list[Message]) -> list[Message]:
    """The turns with the answers of this wire."""
    return [assistant(*t.response.choices[0].blocks, wire=wire) if hasattr(t, "response") else t for t in turns]


@every_pair
def test_LEG_02_HIST_09_HIST_30_text_and_calls_and_then_their_results_are_in_order(source: str, target: str) -> None:
    made = assistant(Text("I look."), call("a"), call("b"))
    encoded = written(of(source, [user(), made, ROUND[2], assistant(Text("done"))]), source, target)
    assert encoded.losses == []
    assert [(part.kind, part.id or part.text) for part in parts(target, encoded.body)] == [
        *(("user", "hi"), ("assistant", "I look."), ("call", "a"), ("call", "b")),
        *(("result", "a"), ("result", "b"), ("assistant", "done")),
    ]


@EVERY_WIRE
def test_INV_01_an_invalid_call_is_sent_back_with_an_error_result(wire: str) -> None:
    response = respond(call("a", "f", '{"x": '), wire=wire)
    body = written([user(), *answer(response, select(response), {})], wire).body
    assert calls(wire, body) == [("a", "f", {"_raw": '{"x": '} if wire in OBJECT_WIRES else '{"x": ')]
    ((id, text),) = answered(wire, body)
    assert (id, "This call was not executed: its arguments were truncated" in text) == ("a", True)


@EVERY_WIRE
def test_HIST_04_ORD_01_results_are_sent_in_call_order_whatever_order_they_have(wire: str) -> None:
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


def test_XAI_02_EMPTY_01_calls_are_sent_back_to_xai_with_all_their_members_and_a_content() -> None:
    function = chat_pb2.FunctionCall(name="f", arguments='{"x":1}')
    kind, status = chat_pb2.TOOL_CALL_TYPE_CLIENT_SIDE_TOOL, chat_pb2.TOOL_CALL_STATUS_COMPLETED
    made = [chat_pb2.ToolCall(id=id, type=kind, status=status, function=function) for id in "ab"]
    content = [chat_pb2.Content(text="")]
    assert written(of("xai.grpc", ROUND), "xai.grpc").body.messages[1] == chat_pb2.Message(
        role=chat_pb2.ROLE_ASSISTANT, content=content, tool_calls=made
    )
    assert written(of(CHAT, ROUND), CHAT, provider="xai").body["messages"][1]["content"] == ""


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


@every_pair
def test_HIST_05_an_image_in_a_result_does_not_separate_it_from_the_next(source: str, target: str) -> None:
    shown = ToolResult("a", [TextPart("see"), MediaPart("image", "image/png", data="AAAA")], plain=False)
    turns = [user(), assistant(call("a"), call("b")), results(shown, tool_result("b"))]
    body = written(of(source, turns), source, target).body
    kinds = [part.kind for part in of_kind(target, body, "result", "media")]
    assert sorted(kinds) == ["media", "result", "result"]
    if target in (CHAT, "xai.grpc"):
        assert kinds == ["result", "result", "media"]
    elif target == CLAUDE:
        assert [block["type"] for block in body["messages"][2]["content"][:2]] == ["tool_result", "tool_result"]


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
def test_ARG_08_INV_02_HIST_01_arguments_that_are_not_an_object_are_wrapped_where_one_is_required(wire: str) -> None:
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
def test_ORD_02_BED_07_text_between_calls_and_results_is_moved_after_the_results(source: str) -> None:
    made = assistant(call("a"), call("b"), wire=source)
    together = [user(), made, user("hurry"), results(tool_result("a"), tool_result("b"))]
    apart = [user(), made, results(tool_result("a")), user("hurry"), results(tool_result("b"))]
    for target in WIRES:
        for turns in (together, apart):
            encoded = written(turns, source, target)
            kinds = [part.kind for part in parts(target, encoded.body)]
            assert kinds == ["user", "call", "call", "result", "result", "user"]
            assert codes(encoded) == ["order"]


def test_ORD_03_a_server_call_apart_from_its_result_violates_a_request_rule() -> None:
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    sent = [("user", "hi"), ("assistant", [search]), ("user", "wait"), ("assistant", [found]), ("user", "more")]
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": role, "content": content} for role, content in sent]}
    assert {violation.rule for violation in check_request(body, CLAUDE)} & {"server-pair", "server-result"}


def test_HIST_31_a_history_that_begins_with_a_call_is_legal_everywhere() -> None:
    bridged = {
        target
        for source, target in itertools.product(WIRES, WIRES)
        if "bridge" in codes(written(of(source, ROUND[1:]), source, target))
    }
    assert bridged == {"bedrock.converse", "google.gemini"}


@pytest.mark.parametrize("source", WIRES)
def test_ORD_04_for_mistral_an_assistant_message_separates_results_from_user_text(source: str) -> None:
    turns = of(source, [*ROUND, user("and?")])
    for provider, bridge in (("mistral", ["assistant"]), ("openai", [])):
        encoded = written(turns, source, CHAT, provider=provider)
        roles = [message["role"] for message in encoded.body["messages"]]
        assert roles == ["user", "assistant", "tool", "tool", *bridge, "user"]
        assert ("bridge" in codes(encoded)) is bool(bridge)


PICTURE = "iVBORw0KGgo="
SHOWN = ToolResult("a", [TextPart("see"), MediaPart("image", "image/png", data=PICTURE)], plain=False)


def round_with(wire: str, result: ToolResult) -> list[Message]:
    """A round whose one call has this result."""
    return [user(), assistant(call("a"), wire=wire), results(result)]


@every_pair
def test_RES_03_images_and_values_in_a_result_arrive_as_such(source: str, target: str) -> None:
    encoded = written(round_with(source, SHOWN), source, target)
    ((id, text),) = answered(target, encoded.body)
    assert (id, text.startswith("see"), PICTURE in text) == ("a", True, False)
    (media,) = of_kind(target, encoded.body, "media")
    assert PICTURE in media.text
    if target == "ollama.chat":
        assert codes(encoded) == ["order"]  # a message has its images apart from its text
    elif target in (*OBJECT_WIRES, "openai.responses"):
        assert codes(encoded) == []
    elif source != target or target == "xai.grpc":
        assert codes(encoded) in (["media"], ["order"])
    given = {"b": [1, None], "a": "ü"}
    body = written(round_with(source, ToolResult("a", [JsonPart(given)])), source, target).body
    assert answered(target, body) == [("a", json.dumps(given, separators=(",", ":"), ensure_ascii=False))]


@every_pair
def test_RES_01_a_failed_result_is_marked_as_failed_on_every_wire(source: str, target: str) -> None:
    body = written(round_with(source, tool_result("a", "boom", is_error=True)), source, target).body
    (result,) = of_kind(target, body, "result")
    assert ("boom" in result.text, result.failed) == (True, target in FLAGGED)
    if target in ("openai.chat", "xai.grpc"):
        assert result.text == "[tool_error] boom"


@pytest.mark.parametrize("wire", ["openai.chat", "anthropic.messages", "xai.grpc", "bedrock.converse"])
@pytest.mark.parametrize("failed", [True, False])
def test_RES_01_the_error_flag_and_the_text_of_a_result_round_trip(wire: str, failed: bool) -> None:
    for text in ("boom", "", "[tool_error] boom", "[tool_ok] [tool_error] boom"):
        body = written(round_with(wire, ToolResult("a", [TextPart(text)], is_error=failed)), wire).body
        back = read_request(body, wire, provider=PROVIDERS[wire]).messages[2].results[0]  # type: ignore[union-attr]
        assert back.is_error is failed
        placeholder = "The tool failed and said nothing." if wire in OBJECT_WIRES and failed else ""
        assert "".join(part.text for part in back.parts) == (text or placeholder)  # type: ignore[union-attr]


def test_XAI_01_tool_messages_of_xai_are_in_call_order_and_paired_by_position_without_ids() -> None:
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


@every_pair
def test_BED_02_RES_05_an_empty_result_is_sent_and_legal(source: str, target: str) -> None:
    response = respond(call("a"), wire=source)
    outcomes: list[Any] = ["", None, ToolResult("a", [], is_error=True)]
    for outcome in outcomes:
        turns = [user(), *answer(response, select(response), {"a": outcome})]
        body = written(turns, source, target).body
        ((id, text),) = answered(target, body)
        # On google.gemini, a member of the result marks an error.
        assert (id, bool(text)) == ("a", bool(outcome) and target != "google.gemini")
        if target == "openai.responses" and not outcome:
            assert body["input"][-1] == {"type": "function_call_output", "call_id": "a", "output": ""}
