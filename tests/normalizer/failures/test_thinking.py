"""Failures of class thinking: what the provider signed or sealed comes back changed, moved, or not at all."""

from __future__ import annotations

from typing import Any

import pytest

from tests.normalizer.failures.back import WIRES, call, codes, request, results, said, tool_result, user, written
from tests.normalizer.history.views import calls, of_kind
from tests.support.decoding import decode_stream
from tests.support.events import anthropic_body, anthropic_stream, block_start, block_stop, json_delta, tool_start
from toolparity import Reasoning, Text, normalize, select
from toolparity.normalizer.answers import answer, strip
from toolparity.normalizer.conversation import Assistant, Message
from toolparity.normalizer.errors import StripIllegal
from toolparity.normalizer.requests import check_request, read_request, write_request
from toolparity.normalizer.wires.google_gemini.write_assistant import UNVALIDATED

CLAUDE = "anthropic.messages"
THOUGHT = {"type": "thinking", "thinking": "let me see", "signature": "EqQBsig=="}
SEALED = {"type": "redacted_thinking", "data": "EmwKdata=="}
USE = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"x": 1}}


def thought_delta(index: int, **delta: str) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def streamed() -> bytes:
    """A thought, a sealed thought and a call, as the provider streams them."""
    return anthropic_stream(
        block_start(0, type="thinking", thinking="", signature=""),
        thought_delta(0, type="thinking_delta", thinking="let me "),
        thought_delta(0, type="thinking_delta", thinking="see"),
        thought_delta(0, type="signature_delta", signature="EqQBsig=="),
        block_stop(0),
        block_start(1, **SEALED),
        block_stop(1),
        tool_start(2, "toolu_1", "f"),
        json_delta(2, '{"x":'),
        json_delta(2, "1}"),
        block_stop(2),
    )


def next_request(response: Any, policy: str = "all") -> dict[str, Any]:
    """The body that answers a response of Claude's."""
    turns = [user(), *answer(response, select(response, policy), {response.calls[0].id: "ok"})]
    return written(turns, CLAUDE).body  # type: ignore[no-any-return]


def test_THINK_01_signed_reasoning_is_sent_back_first_and_unchanged() -> None:
    from_stream = decode_stream(CLAUDE, streamed(), provider="anthropic")
    from_body = normalize(anthropic_body(THOUGHT, SEALED, USE), CLAUDE, provider="anthropic")
    for response in (from_stream, from_body):
        assert next_request(response)["messages"][1] == {"role": "assistant", "content": [THOUGHT, SEALED, USE]}


def test_THINK_01_misplaced_or_unsigned_reasoning_violates_a_request_rule() -> None:
    body = next_request(normalize(anthropic_body(THOUGHT, USE), CLAUDE, provider="anthropic"))
    body["thinking"] = {"type": "enabled", "budget_tokens": 1024}
    body["max_tokens"] = 2048
    assert check_request(body, CLAUDE, provider="anthropic") == []
    message = body["messages"][1]
    message["content"] = [USE, THOUGHT]
    assert {v.rule for v in check_request(body, CLAUDE, provider="anthropic")} & {"thinking-first", "thinking-last"}
    message["content"] = [{**THOUGHT, "signature": ""}, USE]
    assert "signed" in {v.rule for v in check_request(body, CLAUDE, provider="anthropic")}


def test_THINK_02_redacted_reasoning_round_trips() -> None:
    response = normalize(anthropic_body(SEALED, USE), CLAUDE, provider="anthropic")
    (sealed, _) = response.choices[0].blocks
    assert sealed == Reasoning("", None, "EmwKdata==", redacted=True)
    body = next_request(response)
    assert body["messages"][1]["content"] == [SEALED, USE]
    read = read_request(body, CLAUDE, provider="anthropic")
    assert read.messages[1].response.choices[0].blocks[0] == sealed  # type: ignore[union-attr]
    assert write_request(read).body["messages"] == body["messages"]


@pytest.mark.parametrize("thought", [Reasoning(""), Reasoning("hm"), Reasoning("hm", signature="")])
def test_THINK_03_unsigned_reasoning_is_left_out_and_reported(thought: Reasoning) -> None:
    turns = [user(), said(thought, call("toolu_1"), wire=CLAUDE), results(tool_result("toolu_1"))]
    encoded = written(turns, CLAUDE)
    assert encoded.body["messages"][1]["content"] == [USE]
    assert codes(encoded) == ["unsigned-reasoning"]


def test_THINK_04_under_first_the_whole_message_is_sent_back_with_a_result_for_every_call() -> None:
    second = {**USE, "id": "toolu_2"}
    response = normalize(anthropic_body(THOUGHT, USE, second), CLAUDE, provider="anthropic")
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
    signed = {"extra_content": {"google": {"thought_signature": "sig=="}}}
    made = [{"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}} for id in "ab"]
    made[0] |= signed
    message = {"role": "assistant", "content": None, "tool_calls": made}
    body = {
        "id": "c",
        "object": "chat.completion",
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
    }
    response = normalize(body, "openai.chat", provider="google")
    turns = [user(), *answer(response, select(response), {"a": "1", "b": "2"})]
    back = write_request(request(turns, "openai.chat"), "openai.chat", provider="google").body["messages"]
    assert [message["role"] for message in back] == ["user", "assistant", "tool", "tool"]
    assert [one.get("extra_content") for one in back[1]["tool_calls"]] == [signed["extra_content"], None]


REASONED = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
CALLED = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "f",
    "arguments": '{"x": 1}',
    "status": "completed",
}
SAID = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "so", "annotations": []}],
}


def stored(*items: dict[str, Any]) -> Any:
    body = {"id": "resp_1", "object": "response", "model": "m", "status": "completed", "output": list(items)}
    return normalize(body, "openai.responses", provider="openai")


def test_THINK_07_items_are_sent_back_in_order_with_all_their_members() -> None:
    response = stored(REASONED, CALLED, SAID)
    turns = [user(), *answer(response, select(response), {"call_1": "ok"})]
    items = written(turns, "openai.responses", params={"store": False}).body["input"]
    assert items[1:3] == [REASONED, CALLED]
    assert (items[3]["id"], items[3]["content"][0]["text"]) == ("msg_1", "so")
    assert items[4] == {"type": "function_call_output", "call_id": "call_1", "output": "ok"}


def test_THINK_08_without_storage_reasoning_without_encrypted_content_is_left_out_and_reported() -> None:
    bare = {name: value for name, value in REASONED.items() if name != "encrypted_content"}
    response = stored(bare, CALLED)
    turns = [user(), *answer(response, select(response), {"call_1": "ok"})]
    stateless = written(turns, "openai.responses", params={"store": False})
    assert [item.get("type") for item in stateless.body["input"]] == [None, "function_call", "function_call_output"]
    assert codes(stateless) == ["reasoning"]
    kept = written(turns, "openai.responses")
    assert kept.body["input"][1] == bare
    assert kept.losses == []


@pytest.mark.thorough(keep=2, per="{target}")
@pytest.mark.parametrize("target", WIRES)
@pytest.mark.parametrize("source", WIRES)
def test_THINK_01_another_provider_receives_every_call_but_no_foreign_signature(source: str, target: str) -> None:
    thought = Reasoning(
        "hm", signature="sig" if source == CLAUDE else None, encrypted=None if source == CLAUDE else "enc"
    )
    turns: list[Message] = [user(), said(thought, Text("so"), call("a"), wire=source), results(tool_result("a"))]
    encoded = written(turns, source, target)
    assert isinstance(turns[1], Assistant)
    assert calls(target, encoded.body) == [("a", "f", {"x": 1})]
    assert [one.text for one in of_kind(target, encoded.body, "assistant") if one.text] == ["so"]
    if source != target:
        assert "sig" not in str(encoded.body).replace("signature", "")
        assert "reasoning" in codes(encoded)


@pytest.mark.parametrize("source", [wire for wire in WIRES if wire != "google.gemini"])
def test_THINK_06_calls_of_other_models_reach_gemini_with_the_signature_that_it_accepts(source: str) -> None:
    turns: list[Message] = [
        user(),
        said(call("a"), call("b"), wire=source),
        results(tool_result("a"), tool_result("b")),
    ]
    parts = written(turns, source, "google.gemini").body["contents"][1]["parts"]
    assert [part.get("thoughtSignature") for part in parts] == [UNVALIDATED, None]
