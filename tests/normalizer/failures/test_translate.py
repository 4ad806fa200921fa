"""Failures of classes translate and thinking: something is lost, moved or changed between one form and another."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from tests.normalizer.failures.conversations import (
    WIRES,
    assistant,
    call,
    codes,
    every_pair,
    results,
    tool_result,
    user,
    written,
)
from tests.normalizer.history.views import calls, of_kind
from tests.support.decoding import anthropic, decode_stream, only, triples
from tests.support.events import (
    anthropic_body,
    anthropic_stream,
    block_start,
    block_stop,
    chat_body,
    chat_call,
    function_call,
    json_delta,
    responses_body,
    text_delta,
    tool_start,
)
from tests.support.wires import OBJECT_WIRES
from toolparity import Reasoning, Response, Text, ToolCall, normalize, select
from toolparity.normalizer.answers import answer, strip
from toolparity.normalizer.errors import StripIllegal
from toolparity.normalizer.model import ServerToolCall, ServerToolResult
from toolparity.normalizer.requests import read_request, write_request
from toolparity.normalizer.wires.google_gemini.write_assistant import UNVALIDATED

CLAUDE, RESPONSES = "anthropic.messages", "openai.responses"


@pytest.mark.parametrize("deltas", [[], ['{"a": 1}'], ['{"a"', ": 1}"]], ids=["none", "whole", "pieces"])
def test_XLAT_03_an_input_in_the_start_event_counts_once(deltas: list[str]) -> None:
    pieces = [json_delta(0, text) for text in deltas]
    assert triples(anthropic(tool_start(0, "a", "f", {"a": 1}), *pieces, block_stop(0))) == [("a", "f", {"a": 1})]


def test_XLAT_04_arguments_without_their_beginning_are_invalid_and_kept() -> None:
    made = only(anthropic(tool_start(0, "a", "f"), json_delta(0, 'code": 1}'), block_stop(0)))
    assert (made.status, made.arguments, made.arguments_text) == ("invalid", None, 'code": 1}')
    turns = [user(), assistant(made, wire=CLAUDE), results(tool_result("a"))]
    for target in WIRES:
        ((_, _, given),) = calls(target, written(turns, CLAUDE, target).body)
        assert given == ({"_raw": 'code": 1}'} if target in OBJECT_WIRES else 'code": 1}')


def test_XLAT_05_text_and_calls_of_alternating_blocks_are_all_kept() -> None:
    blocks = [Text("one two"), call("a"), Text("three"), call("b")]
    turns = [user(), assistant(*blocks, wire=CLAUDE), results(tool_result("a"), tool_result("b"))]
    for target in WIRES:
        body = written(turns, CLAUDE, target).body
        assert "".join(part.text for part in of_kind(target, body, "assistant")) == "one twothree"
        assert [id for id, *_ in calls(target, body)] == ["a", "b"]


CONTENTS: dict[str, list[dict[str, Any]]] = {
    "thinking": [
        {"type": "thinking", "thinking": "", "signature": "s"},
        {"type": "text", "text": " so ", "citations": [{"a": 1}]},
    ],
    "server": [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"b": 1, "a": 2}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"encrypted_content": "e"}]},
        {"type": "text", "text": "found"},
    ],
    "unknown": [{"type": "something_new", "z": 1, "a": [None]}, {"type": "text", "text": "so"}],
}


@pytest.mark.parametrize("name", CONTENTS)
def test_ORD_03_PASS_01_content_is_sent_back_unchanged_to_its_provider(name: str) -> None:
    content = CONTENTS[name]
    response = normalize(anthropic_body(*content, stop="end_turn"), CLAUDE, provider="anthropic")
    body = written([user(), assistant(*response.choices[0].blocks, wire=CLAUDE), user("so?")], CLAUDE).body
    assert json.dumps(body["messages"][1]["content"]) == json.dumps(content)
    back = write_request(read_request(body, CLAUDE, provider="anthropic")).body
    assert json.dumps(back["messages"]) == json.dumps(body["messages"])


@pytest.mark.thorough(keep=2, per="{target}")
@pytest.mark.parametrize(("source", "target"), list(itertools.permutations(WIRES, 2)))
def test_PASS_02_server_calls_are_reported_where_they_cannot_be_represented(source: str, target: str) -> None:
    served = ServerToolCall("s1", "web_search", "web_search", "{}", "completed")
    found = ServerToolResult("s1", "web_search", False, {"content": "x"})
    encoded = written([user(), assistant(served, found, Text("so"), wire=source)], source, target)
    assert [part.text for part in of_kind(target, encoded.body, "assistant")] == ["so"]
    assert set(codes(encoded)) == {"server-tool"}


THOUGHT = {"type": "thinking", "thinking": "let me see", "signature": "EqQBsig=="}
SEALED = {"type": "redacted_thinking", "data": "EmwKdata=="}
USE = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"x": 1}}


def claude(*blocks: dict[str, Any]) -> Response:
    """A response of Claude's with these blocks."""
    return normalize(anthropic_body(*blocks), CLAUDE, provider="anthropic")


def next_request(response: Response, policy: str = "all") -> dict[str, Any]:
    """The body that answers a response of Claude's."""
    turns = [user(), *answer(response, select(response, policy), {response.calls[0].id: "ok"})]
    return written(turns, CLAUDE).body  # type: ignore[no-any-return]


def test_THINK_01_XLAT_02_signed_reasoning_before_text_and_a_call_is_decoded_and_sent_back_unchanged() -> None:
    deltas = [
        {"type": "thinking_delta", "thinking": "let me "},
        {"type": "thinking_delta", "thinking": "see"},
        {"type": "signature_delta", "signature": "EqQBsig=="},
    ]
    events = [
        block_start(0, type="thinking", thinking="", signature=""),
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        *(block_stop(0), block_start(1, **SEALED), block_stop(1)),
        *(block_start(2, type="text", text=""), text_delta(2, "so"), block_stop(2)),
        *(tool_start(3, "toolu_1", "f"), json_delta(3, '{"x":'), json_delta(3, "1}"), block_stop(3)),
    ]
    content = [THOUGHT, SEALED, {"type": "text", "text": "so"}, USE]
    streamed = decode_stream(CLAUDE, anthropic_stream(*events), provider="anthropic")
    for response in (streamed, claude(*content)):
        assert [type(block) for block in response.choices[0].blocks] == [Reasoning, Reasoning, Text, ToolCall]
        assert (triples(response), response.choices[0].stop.reason) == ([("toolu_1", "f", {"x": 1})], "tool_calls")
        assert next_request(response)["messages"][1] == {"role": "assistant", "content": content}


def test_THINK_02_redacted_reasoning_round_trips() -> None:
    response = claude(SEALED, USE)
    sealed = response.choices[0].blocks[0]
    assert sealed == Reasoning("", None, "EmwKdata==", redacted=True)
    body = next_request(response)
    read = read_request(body, CLAUDE, provider="anthropic")
    assert read.messages[1].response.choices[0].blocks[0] == sealed  # type: ignore[union-attr]
    assert write_request(read).body["messages"] == body["messages"]
    assert body["messages"][1]["content"] == [SEALED, USE]


@pytest.mark.parametrize("thought", [Reasoning(""), Reasoning("hm"), Reasoning("hm", signature="")])
def test_THINK_03_unsigned_reasoning_is_left_out_and_reported(thought: Reasoning) -> None:
    turns = [user(), assistant(thought, call("toolu_1"), wire=CLAUDE), results(tool_result("toolu_1"))]
    encoded = written(turns, CLAUDE)
    assert encoded.body["messages"][1]["content"] == [USE]
    assert codes(encoded) == ["unsigned-reasoning"]


def test_THINK_04_under_first_the_whole_message_is_sent_back_with_a_result_for_every_call() -> None:
    second = {**USE, "id": "toolu_2"}
    response = claude(THOUGHT, USE, second)
    messages = next_request(response, "first")["messages"]
    assert messages[1]["content"] == [THOUGHT, USE, second]
    assert [(block["tool_use_id"], block.get("is_error", False)) for block in messages[2]["content"]] == [
        ("toolu_1", False),
        ("toolu_2", True),
    ]
    with pytest.raises(StripIllegal):
        strip(response, select(response, "first"))


def test_THINK_05_a_signature_stays_on_its_call() -> None:
    """Gemini's endpoint for Chat Completions signs the first call of a batch only."""
    signature = {"google": {"thought_signature": "sig=="}}
    body = chat_body(chat_call("a", "f", "{}") | {"extra_content": signature}, chat_call("b", "f", "{}"))
    response = normalize(body, "openai.chat", provider="google")
    turns = [user(), *answer(response, select(response), {"a": "1", "b": "2"})]
    back = written(turns, "openai.chat", provider="google").body["messages"]
    assert [message["role"] for message in back] == ["user", "assistant", "tool", "tool"]
    assert [one.get("extra_content") for one in back[1]["tool_calls"]] == [signature, None]


@pytest.mark.parametrize("encrypted", [True, False])
def test_THINK_07_THINK_08_items_are_sent_back_in_order_but_without_storage_only_encrypted_reasoning(
    encrypted: bool,
) -> None:
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": []} | (
        {"encrypted_content": "gAAA"} if encrypted else {}
    )
    made = function_call("call_1", "f", '{"x": 1}', id="fc_1")
    content = [{"type": "output_text", "text": "so", "annotations": []}]
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}
    response = normalize(responses_body(reasoning, made, message), RESPONSES, provider="openai")
    turns = [user(), *answer(response, select(response), {"call_1": "ok"})]
    stored, stateless = written(turns, RESPONSES), written(turns, RESPONSES, params={"store": False})
    for encoded, thoughts in ((stored, [reasoning]), (stateless, [reasoning] * encrypted)):
        items = encoded.body["input"][1:]
        assert items[:-3] == thoughts
        assert items[-3] == {member: value for member, value in made.items() if thoughts or member != "id"}
        assert (items[-2].get("id"), items[-2]["content"][0]["text"]) == ("msg_1" if thoughts else None, "so")
        assert items[-1] == {"type": "function_call_output", "call_id": "call_1", "output": "ok"}
        assert codes(encoded) == ([] if thoughts else ["reasoning"])


@every_pair
def test_THINK_01_another_provider_receives_every_call_but_no_foreign_signature(source: str, target: str) -> None:
    thought = Reasoning("hm", signature="sig") if source == CLAUDE else Reasoning("hm", encrypted="enc")
    turns = [user(), assistant(thought, Text("so"), call("a"), wire=source), results(tool_result("a"))]
    encoded = written(turns, source, target)
    assert calls(target, encoded.body) == [("a", "f", {"x": 1})]
    assert [part.text for part in of_kind(target, encoded.body, "assistant") if part.text] == ["so"]
    if source != target:
        assert "sig" not in str(encoded.body).replace("signature", "")
        assert "reasoning" in codes(encoded)


@pytest.mark.parametrize("source", [wire for wire in WIRES if wire != "google.gemini"])
def test_THINK_06_calls_of_other_models_reach_gemini_with_the_signature_that_it_accepts(source: str) -> None:
    turns = [user(), assistant(call("a"), call("b"), wire=source), results(tool_result("a"), tool_result("b"))]
    content = written(turns, source, "google.gemini").body["contents"][1]
    assert [part.get("thoughtSignature") for part in content["parts"]] == [UNVALIDATED, None]
