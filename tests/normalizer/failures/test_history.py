"""Failures of class history: what was called and answered goes back wrong, so the next request is refused."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from xai_sdk.proto import chat_pb2

from tests.normalizer.failures.back import (
    ELSEWHERE,
    PROVIDERS,
    WIRES,
    call,
    codes,
    respond,
    results,
    said,
    tool_result,
    user,
    written,
)
from tests.normalizer.history.views import calls, of_kind
from tests.normalizer.history.views import results as answered
from tests.normalizer.history.views import statements as all_said
from tests.support.wires import OBJECT_WIRES
from toolparity import ServerToolCall, ServerToolResult, Text, normalize, select
from toolparity.normalizer.answers import answer
from toolparity.normalizer.conversation import MediaPart, Message, System, TextPart, ToolResult
from toolparity.normalizer.pairing import UNANSWERED
from toolparity.normalizer.requests import check_request, read_request, write_request

EVERY_WIRE = pytest.mark.parametrize("wire", WIRES)
_PAIRS = pytest.mark.parametrize(("source", "target"), list(itertools.product(WIRES, WIRES)))


def every_pair(test: Any) -> Any:
    """Run a test for every pair of wires, in the plain run for two sources of each target."""
    return pytest.mark.thorough(keep=2, per="{target}")(_PAIRS(test))


ROUND = [user(), said(call("a"), call("b")), results(tool_result("a", "1"), tool_result("b", "2"))]


def of(wire: str, turns: list[Message]) -> list[Message]:
    """The turns, their answers of this wire's making."""
    return [said(*t.response.choices[0].blocks, wire=wire) if hasattr(t, "response") else t for t in turns]


@every_pair
def test_LEG_02_a_message_of_only_calls_keeps_its_calls_and_its_position(source: str, target: str) -> None:
    encoded = written(of(source, ROUND), source, target)
    assert [(one.kind, one.id) for one in all_said(target, encoded.body) if one.text or one.kind != "assistant"] == [
        ("user", ""),
        ("call", "a"),
        ("call", "b"),
        ("result", "a"),
        ("result", "b"),
    ]


def test_LEG_02_calls_are_kept_beside_null_absent_or_empty_content() -> None:
    made = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    for content in ({}, {"content": None}, {"content": ""}):
        messages = [
            {"role": "user", "content": "hi"},
            {"role": "assistant", **content, "tool_calls": [made]},
            {"role": "tool", "tool_call_id": "a", "content": "ok"},
        ]
        body = {"model": "m", "messages": messages}
        back = write_request(read_request(body, "openai.chat", provider="openai")).body
        assert calls("openai.chat", back) == [("a", "f", {})]
        assert back["messages"][1].get("content") in (None, "")


@EVERY_WIRE
def test_INV_01_an_invalid_call_is_sent_back_with_an_error_result(wire: str) -> None:
    response = respond(call("a", "f", '{"x": '), wire=wire)
    turns = [user(), *answer(response, select(response), {})]
    encoded = written(turns, wire)
    (made,) = calls(wire, encoded.body)
    assert made[:2] == ("a", "f")
    assert made[2] in ('{"x": ', {"_raw": '{"x": '})
    ((id, text),) = answered(wire, encoded.body)
    assert (id, "This call was not executed: its arguments were truncated" in text) == ("a", True)


def test_HIST_04_results_in_two_messages_are_merged_in_call_order() -> None:
    turns = [
        user(),
        said(call("a"), call("b"), wire="anthropic.messages"),
        results(tool_result("b", "2")),
        results(tool_result("a", "1")),
    ]
    encoded = written(turns, "anthropic.messages")
    assert encoded.losses == []
    assert encoded.body["messages"][2] == {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "1"},
            {"type": "tool_result", "tool_use_id": "b", "content": "2"},
        ],
    }


@EVERY_WIRE
def test_ORD_01_the_order_in_which_tools_finish_does_not_change_the_request(wire: str) -> None:
    response = respond(call("a"), call("b"), call("c"), wire=wire)
    bodies = []
    for order in itertools.permutations("abc"):
        turns = [user(), *answer(response, select(response), {id: f"of {id}" for id in order})]
        body = written(turns, wire).body
        bodies.append(body.SerializeToString(deterministic=True) if wire == "xai.grpc" else json.dumps(body))
        assert answered(wire, body) == [("a", "of a"), ("b", "of b"), ("c", "of c")]
        assert written([*turns[:2], results(*reversed(turns[2].results))], wire).body == body  # type: ignore[union-attr]
    assert len(set(bodies)) == 1


def test_XAI_02_calls_are_sent_back_with_id_type_name_and_arguments() -> None:
    encoded = written(of("xai.grpc", ROUND), "xai.grpc")
    message = encoded.body.messages[1]
    assert message == chat_pb2.Message(
        role=chat_pb2.ROLE_ASSISTANT,
        content=[chat_pb2.Content(text="")],
        tool_calls=[
            chat_pb2.ToolCall(
                id=id,
                type=chat_pb2.TOOL_CALL_TYPE_CLIENT_SIDE_TOOL,
                status=chat_pb2.TOOL_CALL_STATUS_COMPLETED,
                function=chat_pb2.FunctionCall(name="f", arguments='{"x":1}'),
            )
            for id in "ab"
        ],
    )


@pytest.mark.parametrize("wire", ["openai.responses", "xai.grpc"])
def test_XAI_05_only_messages_that_the_provider_does_not_store_are_sent(wire: str) -> None:
    turns = [
        System([TextPart("be brief")]),
        user(),
        said(call("a"), wire=wire, id="resp_1"),
        results(tool_result("a")),
        user("and?"),
    ]
    encoded = written(turns, wire, previous_response_id="resp_1")
    assert [(one.kind, one.id, one.text) for one in all_said(wire, encoded.body)] == [
        ("result", "a", "ok"),
        ("user", "", "and?"),
    ]
    anchor = encoded.body.previous_response_id if wire == "xai.grpc" else encoded.body["previous_response_id"]
    assert anchor == "resp_1"
    whole = written(turns, wire)
    assert [one.kind for one in all_said(wire, whole.body) if one.text] == ["system", "user", "call", "result", "user"]


@every_pair
def test_HIST_30_each_result_follows_the_message_of_its_call(source: str, target: str) -> None:
    encoded = written(of(source, [*ROUND, said(Text("done"))]), source, target)
    told_of = [one for one in all_said(target, encoded.body) if one.text]
    assert [(one.kind, one.id) for one in told_of] == [
        ("user", ""),
        ("call", "a"),
        ("call", "b"),
        ("result", "a"),
        ("result", "b"),
        ("assistant", ""),
    ]


@pytest.mark.parametrize("source", WIRES)
def test_BED_03_the_tools_of_a_history_are_declared_where_the_request_declares_none(source: str) -> None:
    turns = [user(), said(call("a", "f"), call("b", "g"), wire=source), results(tool_result("a"), tool_result("b"))]
    encoded = written(turns, source, "bedrock.converse", names=())
    assert [tool["toolSpec"]["name"] for tool in encoded.body["toolConfig"]["tools"]] == ["f", "g"]
    assert codes(encoded) == ["default"]
    broken = {key: value for key, value in encoded.body.items() if key != "toolConfig"}
    assert [violation.rule for violation in check_request(broken, "bedrock.converse")] == ["tool-config"]


@EVERY_WIRE
def test_HIST_01_concatenated_arguments_in_the_history_can_be_sent_back(wire: str) -> None:
    concatenated = '{"x":1}{"y":2}'
    turns = [
        user(),
        said(call("a", "f", concatenated), wire=wire),
        results(tool_result("a", "no JSON", is_error=True)),
        user("again"),
    ]
    encoded = written(turns, wire)
    assert calls(wire, encoded.body) == [("a", "f", {"_raw": concatenated} if wire in OBJECT_WIRES else concatenated)]


def test_HIST_01_concatenated_arguments_are_read_from_a_body_unchanged() -> None:
    concatenated = '{"x":1}{"y":2}'
    made = {"id": "a", "type": "function", "function": {"name": "f", "arguments": concatenated}}
    messages = [
        {"role": "assistant", "content": None, "tool_calls": [made]},
        {"role": "tool", "tool_call_id": "a", "content": "no"},
    ]
    read = read_request({"model": "m", "messages": messages}, "openai.chat", provider="openai")
    (only,) = read.messages[0].response.calls  # type: ignore[union-attr]
    assert (only.arguments, only.arguments_text, only.status) == (None, concatenated, "invalid")
    assert write_request(read).body["messages"] == messages


def three(wire: str) -> list[Message]:
    """A round of three calls of which policy `first` ran one."""
    response = respond(call("a"), call("b"), call("c"), wire=wire)
    return [user(), *answer(response, select(response, "first"), {"a": "done"})]


def test_HIST_02_dropped_calls_have_results_in_the_next_message() -> None:
    encoded = written(three("anthropic.messages"), "anthropic.messages")
    assert [message["role"] for message in encoded.body["messages"]] == ["user", "assistant", "user"]
    answers = encoded.body["messages"][2]["content"]
    assert [(block["type"], block["tool_use_id"], block.get("is_error", False)) for block in answers] == [
        ("tool_result", "a", False),
        ("tool_result", "b", True),
        ("tool_result", "c", True),
    ]
    assert answers[0]["content"] == "done"
    assert answers[1]["content"] == "This call was not executed: policy first keeps one call."


@EVERY_WIRE
def test_HIST_02_a_call_without_a_result_gets_one_and_is_reported(wire: str) -> None:
    turns = [user(), said(call("a"), call("b"), wire=wire), results(tool_result("b")), user("go on")]
    encoded = written(turns, wire)
    first, second = answered(wire, encoded.body)
    assert (first[0], UNANSWERED in first[1], second) == ("a", True, ("b", "ok"))
    assert codes(encoded) == ["answered"]


@every_pair
def test_HIST_05_an_image_in_a_result_does_not_separate_it_from_the_next(source: str, target: str) -> None:
    image = MediaPart("image", "image/png", data="AAAA")
    shown = ToolResult("a", [TextPart("see"), image], plain=False)
    encoded = written(
        of(source, [user(), said(call("a"), call("b")), results(shown, tool_result("b"))]), source, target
    )
    kinds = [one.kind for one in of_kind(target, encoded.body, "result", "media")]
    assert kinds.count("result") == 2
    assert kinds.count("media") == 1
    if target == "anthropic.messages":
        contents = encoded.body["messages"][2]["content"]
        assert [block["type"] for block in contents[:2]] == ["tool_result", "tool_result"]
    elif target in ("openai.chat", "xai.grpc"):
        assert kinds == ["result", "result", "media"]


def test_HIST_06_each_call_has_a_tool_message_directly_after_it() -> None:
    encoded = written(three("openai.chat"), "openai.chat")
    assert [(m["role"], m.get("tool_call_id")) for m in encoded.body["messages"]] == [
        ("user", None),
        ("assistant", None),
        ("tool", "a"),
        ("tool", "b"),
        ("tool", "c"),
    ]


@EVERY_WIRE
def test_HIST_07_a_result_without_its_call_is_left_out_and_reported(wire: str) -> None:
    whole = of(wire, [*ROUND, user("next")])
    encoded = written(whole[2:], wire)
    assert [one.text for one in all_said(wire, encoded.body)] == ["next"]
    assert codes(encoded) == ["orphan", "orphan"]
    assert all(name in loss.message for name, loss in zip("ab", encoded.losses, strict=True))


def test_HIST_07_the_request_rules_report_a_result_without_a_call() -> None:
    orphans: dict[str, tuple[Any, str]] = {
        "openai.chat": (
            {
                "model": "m",
                "messages": [{"role": "tool", "tool_call_id": "a", "content": "x"}, {"role": "user", "content": "x"}],
            },
            "result-asked-for",
        ),
        "openai.responses": (
            {"model": "m", "input": [{"type": "function_call_output", "call_id": "a", "output": "x"}]},
            "result-asked-for",
        ),
        "anthropic.messages": (
            {
                "model": "m",
                "max_tokens": 9,
                "messages": [
                    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}]}
                ],
            },
            "result-asked-for",
        ),
        "xai.grpc": (
            {
                "model": "m",
                "messages": [
                    {"role": "ROLE_TOOL", "tool_call_id": "a", "content": [{"text": "x"}]},
                    {"role": "ROLE_USER", "content": [{"text": "x"}]},
                ],
            },
            "result-asked-for",
        ),
        "google.interactions": (
            {"model": "m", "input": [{"type": "function_result", "call_id": "a", "name": "f", "result": "x"}]},
            "result-asked-for",
        ),
    }
    for wire, (body, rule) in orphans.items():
        assert rule in [violation.rule for violation in check_request(body, wire, provider=PROVIDERS[wire])], wire


@every_pair
def test_HIST_08_assistant_text_between_a_call_and_its_result_does_not_separate_them(source: str, target: str) -> None:
    turns = of(
        source, [user(), said(call("a")), said(Text("one moment")), results(tool_result("a")), said(Text("done"))]
    )
    encoded = written(turns, source, target)
    assert answered(target, encoded.body) == [("a", "ok")]
    assert calls(target, encoded.body) == [("a", "f", {"x": 1})]
    words = [one.text for one in of_kind(target, encoded.body, "assistant") if one.text]
    assert words == ["one moment", "done"]


@pytest.mark.thorough(keep=11)
@pytest.mark.parametrize("text", ['{"x": ', "[1]", '"{}"', "nonsense", "null"])
@pytest.mark.parametrize("source", WIRES)
def test_INV_02_invalid_arguments_are_wrapped_in_an_object_if_the_wire_needs_one(source: str, text: str) -> None:
    encoded = written(
        [user(), said(call("a", "f", text), wire=source), results(tool_result("a"))], source, "anthropic.messages"
    )
    assert calls("anthropic.messages", encoded.body) == [("a", "f", {} if text == "null" else {"_raw": text})]
    assert ("arguments" in codes(encoded)) is (text != "null")


@pytest.mark.parametrize(("text", "given"), [("", {}), ("  ", {}), ("{}", {}), ("oops", {"_raw": "oops"})])
def test_ARG_08_the_input_of_a_call_is_always_an_object(text: str, given: Any) -> None:
    for source in WIRES:
        encoded = written(
            [user(), said(call("a", "f", text), wire=source), results(tool_result("a"))], source, "anthropic.messages"
        )
        block = encoded.body["messages"][1]["content"][0]
        assert (block["type"], block["input"]) == ("tool_use", given)
        assert answered("anthropic.messages", encoded.body) == [("a", "ok")]


def test_EMPTY_01_a_message_of_only_calls_has_content_for_xai() -> None:
    over_grpc = written(of("xai.grpc", ROUND), "xai.grpc").body
    assert [[part.text for part in message.content] for message in over_grpc.messages] == [["hi"], [""], ["1"], ["2"]]
    over_rest = written(of("openai.chat", ROUND), "openai.chat", provider="xai").body
    assert over_rest["messages"][1]["content"] == ""


@pytest.mark.parametrize("source", WIRES)
def test_ORD_02_text_between_calls_and_results_is_moved_after_the_results(source: str) -> None:
    turns = [
        user(),
        said(call("a"), call("b"), wire=source),
        user("hurry"),
        results(tool_result("a"), tool_result("b")),
    ]
    for target in WIRES:
        encoded = written(turns, source, target)
        kinds = [one.kind for one in all_said(target, encoded.body) if one.text]
        assert kinds == ["user", "call", "call", "result", "result", "user"]
        assert codes(encoded) == ["order"]


def test_ORD_02_the_request_rules_report_text_before_the_results() -> None:
    blocks = [{"type": "text", "text": "hurry"}, {"type": "tool_result", "tool_use_id": "a", "content": "x"}]
    made = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    messages = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [made]},
        {"role": "user", "content": blocks},
    ]
    body = {
        "model": "m",
        "max_tokens": 9,
        "messages": messages,
        "tools": [{"name": "f", "input_schema": {"type": "object"}}],
    }
    assert "results-first" in [violation.rule for violation in check_request(body, "anthropic.messages")]


def test_ORD_03_a_server_call_and_its_result_stay_in_one_message() -> None:
    content = [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
        {"type": "text", "text": "found"},
    ]
    message = {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": content,
        "stop_reason": "end_turn",
    }
    response = normalize(message, "anthropic.messages", provider="anthropic")
    assert [type(block) for block in response.choices[0].blocks] == [ServerToolCall, ServerToolResult, Text]
    turns = [user(), said(*response.choices[0].blocks, wire="anthropic.messages"), user("more")]
    assert written(turns, "anthropic.messages").body["messages"][1]["content"] == content
    body = {
        "model": "m",
        "max_tokens": 9,
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": content[:1]},
            {"role": "user", "content": "wait"},
            {"role": "assistant", "content": content[1:]},
        ],
    }
    broken = [violation.rule for violation in check_request(body, "anthropic.messages", provider="anthropic")]
    assert set(broken) & {"server-pair", "server-result"}


def test_HIST_31_a_history_that_begins_with_a_call_is_legal_everywhere() -> None:
    bridged = set()
    for source, target in itertools.product(WIRES, WIRES):
        encoded = written(of(source, ROUND[1:]), source, target)
        if "bridge" in codes(encoded):
            bridged.add(target)
    assert bridged == {"bedrock.converse", "google.gemini"}


@pytest.mark.parametrize("source", WIRES)
def test_ORD_04_for_mistral_an_assistant_message_separates_results_from_user_text(source: str) -> None:
    turns = of(source, [*ROUND, user("and?")])
    encoded = written(turns, source, "openai.chat", provider="mistral")
    assert [message["role"] for message in encoded.body["messages"]] == [
        *("user", "assistant", "tool", "tool", "assistant", "user"),
    ]
    assert "bridge" in codes(encoded)
    assert [m["role"] for m in written(turns, source, "openai.chat").body["messages"]] == [
        *("user", "assistant", "tool", "tool", "user"),
    ]


def test_ORD_02_a_growing_conversation_does_not_change_its_earlier_messages() -> None:
    for wire in WIRES:
        turns = of(wire, [*ROUND, user("and?"), said(call("c")), results(tool_result("c")), said(Text("done"))])
        before: list[Any] = []
        for end in (1, 3, 4, 6, 7):
            body = written(turns[:end], wire, ELSEWHERE[wire]).body
            now = list(body.messages) if ELSEWHERE[wire] == "xai.grpc" else body["messages"]
            assert now[: len(before)] == before
            before = now


def test_BED_07_user_text_between_results_is_moved_out_of_their_message() -> None:
    turns = [
        user(),
        said(call("a"), call("b"), wire="anthropic.messages"),
        results(tool_result("a")),
        user("hm"),
        results(tool_result("b")),
    ]
    encoded = written(turns, "anthropic.messages")
    (mine,) = [
        m
        for m in encoded.body["messages"]
        if any(b["type"] == "tool_result" for b in m["content"] if isinstance(b, dict))
    ]
    assert [block["type"] for block in mine["content"]] == ["tool_result", "tool_result"]


def test_GEM_01_all_results_of_a_turn_are_in_one_content_even_if_the_policy_dropped_a_call() -> None:
    parts = [{"functionCall": {"name": "look", "args": {"at": at}}} for at in (1, 2)]
    body = {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}], "modelVersion": "m"}
    response = normalize(body, "google.gemini")
    selection = select(response, policy="first")
    turns = [user(), *answer(response, selection, {selection.kept[0].id: "a duck"})]
    contents = written(turns, "google.gemini").body["contents"]
    assert [content["role"] for content in contents] == ["user", "model", "user"]
    assert contents[1]["parts"] == parts
    assert [part["functionResponse"]["name"] for part in contents[2]["parts"]] == ["look", "look"]
    assert "a duck" in str(contents[2]["parts"][0])
