"""Entries of each format of logs: what is read, what holds no exchange, and what is a problem."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from toolparity.cassettes.sources import Exchange, Problem, read
from toolparity.cassettes.sources.decoding import response_of
from toolparity.cassettes.sources.logs import FORMATS, format_of
from toolparity.cli import main
from toolparity.normalizer.model import Response

ASKED = {"role": "user", "content": "Is it dry?"}
CHAT_CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
CHAT: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "tool_calls": [CHAT_CALL]}, "finish_reason": "stop"}],
}
MESSAGE: dict[str, Any] = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude"}
MESSAGE |= {"stop_reason": "tool_use", "usage": {"input_tokens": 1, "output_tokens": 1}}
MESSAGE["content"] = [{"type": "tool_use", "id": "call_1", "name": "f", "input": {"a": 1}}]
FLAT_CALLS = [{"id": "call_1", "name": "f", "args": {"a": 1}}]
FLAT_CALL = {"role": "assistant", "tool_calls": FLAT_CALLS}
SERIALIZED = {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "AIMessage"]}
SERIALIZED["kwargs"] = {"content": "", "tool_calls": FLAT_CALLS}
CHOICE = {"index": 0, "message": json.dumps({"role": "assistant", "tool_calls": [CHAT_CALL]})}
PARTS = [{"type": "tool_call", "id": "call_1", "name": "f", "arguments": {"a": 1}}]


def observation(**members: Any) -> dict[str, Any]:
    return {"id": "o", "type": "GENERATION", "traceId": "t", "model": "m", "input": [ASKED], **members}


def span(**attributes: Any) -> dict[str, Any]:
    return {"name": "chat", "context": {"trace_id": "0x1", "span_id": "0x2"}, "attributes": attributes, "events": []}


def write(path: Path, *entries: Any) -> Path:
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), "utf-8")
    return path


def read_responses(path: Path) -> list[Response]:
    items = list(read(path))
    assert [item for item in items if isinstance(item, Problem)] == []
    return [response_of(item, item.wire) for item in items if isinstance(item, Exchange)]  # type: ignore[arg-type]


#: Format -> entries that hold one response with the call ``f``.
ENTRIES: dict[str, list[dict[str, Any]]] = {
    "openai-batch": [
        {"id": "b", "custom_id": "r", "response": {"status_code": 200, "request_id": "q", "body": CHAT}, "error": None}
    ],
    "anthropic-batch": [{"custom_id": "r", "result": {"type": "succeeded", "message": MESSAGE}}],
    "litellm": [
        {"request_id": "r", "call_type": "acompletion", "model": "m", "messages": [ASKED], "response": CHAT},
        {"request_id": "r", "call_type": "acompletion", "messages": json.dumps([ASKED]), "response": json.dumps(CHAT)},
        {"id": "r", "call_type": "anthropic_messages", "messages": [ASKED], "response": MESSAGE},
    ],
    "langfuse": [
        observation(output=CHAT["choices"][0]["message"]),
        observation(output=json.dumps(FLAT_CALL)),
        observation(output=MESSAGE, input={"messages": [ASKED], "tools": []}),
        {"id": "t", "observations": [observation(type="SPAN"), observation(output=CHAT)]},
    ],
    "langsmith": [
        {"id": "r", "run_type": "llm", "inputs": {"messages": [ASKED]}, "outputs": CHAT},
        {"id": "r", "run_type": "llm", "inputs": {"messages": [[SERIALIZED]]}}
        | {"outputs": {"generations": [[{"text": "", "message": SERIALIZED}]]}},
    ],
    "helicone": [
        {"request_id": "r", "response_id": "s", "request_body": {"messages": [ASKED]}, "response_body": CHAT},
        {"request_id": "r", "response_id": "s", "request_body": {"messages": [ASKED]}, "response_body": MESSAGE},
    ],
    "sdk-spans": [
        {"span_id": "s", "span_attributes": {"type": "llm"}, "input": [ASKED], "output": MESSAGE},
        {"span_id": "s", "start_ns": 1, "meta": {"span": {"kind": "llm"}, "output": {"messages": [FLAT_CALL]}}},
    ],
    "inspect": [{"eval": {}, "samples": [{"events": [{"event": "model", "output": {"choices": CHAT["choices"]}}]}]}],
    "spans": [
        span(**{"gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": PARTS}])}),
        span(**{"gen_ai.output.messages": [{"role": "assistant", "parts": PARTS, "finish_reason": "tool_call"}]}),
        span(
            **{
                "gen_ai.prompt.0.role": "user",
                "gen_ai.prompt.0.content": "Is it dry?",
                "gen_ai.completion.0.role": "assistant",
                "gen_ai.completion.0.tool_calls.0.id": "call_1",
                "gen_ai.completion.0.tool_calls.0.name": "f",
                "gen_ai.completion.0.tool_calls.0.arguments": '{"a": 1}',
            }
        ),
        span(
            llm={
                "model_name": "m",
                "input_messages": [{"message": ASKED}],
                "output_messages": [{"message": {"role": "assistant", "tool_calls": [{"tool_call": CHAT_CALL}]}}],
            }
        ),
        {
            **span(**{"gen_ai.system": "openai"}),
            "events": [
                {"name": "gen_ai.user.message", "attributes": {"content": "Is it dry?"}},
                {"name": "gen_ai.choice", "attributes": CHOICE},
            ],
        },
    ],
}


def test_every_format_is_tested() -> None:
    assert set(FORMATS) == {*ENTRIES, "otlp", "claude-code", "codex", "gemini-cli"}


@pytest.mark.parametrize(("format", "entry"), [(name, entry) for name, entries in ENTRIES.items() for entry in entries])
def test_an_entry_is_one_response_with_its_call(format: str, entry: dict[str, Any], tmp_path: Path) -> None:
    assert format_of(entry) == format
    (response,) = read_responses(write(tmp_path / "log.jsonl", entry))
    (call,) = response.calls
    assert (call.id, call.name, call.arguments) == ("call_1", "f", {"a": 1})


def test_a_response_that_ended_for_calls_without_one_is_reported(tmp_path: Path) -> None:
    entry = span(**{"gen_ai.output.messages": [{"role": "assistant", "parts": [], "finish_reason": "tool_call"}]})
    assert CliRunner().invoke(main, ["audit", str(write(tmp_path / "log.jsonl", entry))]).exit_code == 4


@pytest.mark.parametrize(
    "entry",
    [
        observation(type="SPAN", output={"role": "assistant", "content": "no"}),
        observation(output=None),
        {"id": "r", "run_type": "chain", "inputs": {"messages": []}, "outputs": CHAT},
        {"id": "r", "call_type": "aembedding", "messages": [], "response": {"data": []}},
        span(**{"http.method": "GET"}),
        {"span_id": "s", "span_attributes": {"type": "tool"}, "input": {}, "output": "dry"},
        span(**{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "f"}),
    ],
)
def test_entries_that_hold_no_exchange_are_passed_over(entry: dict[str, Any], tmp_path: Path) -> None:
    assert format_of(entry) is not None
    assert read_responses(write(tmp_path / "log.jsonl", entry)) == []


@pytest.mark.parametrize(
    ("entry", "what"),
    [
        ({"custom_id": "r", "response": None, "error": {"code": "batch_expired"}}, "no response: batch_expired"),
        ({"custom_id": "r", "method": "POST", "url": "/v1/responses", "body": {}}, "a request of a batch"),
        ({"custom_id": "r", "result": {"type": "canceled"}}, "no response: canceled"),
        ({"request_id": "r", "call_type": "completion", "messages": {}, "response": {}}, "has no response"),
        (observation(output={"score": 1}), "no response of a model"),
        ({"request_id": "r", "response_id": "s", "request_body": {}, "response_body": {}}, "has no response body"),
    ],
)
def test_an_entry_without_its_response_is_a_problem(entry: dict[str, Any], what: str, tmp_path: Path) -> None:
    (problem,) = read(write(tmp_path / "log.jsonl", entry))
    assert isinstance(problem, Problem)
    assert what in problem.what


def test_one_line_names_all_entries_of_a_kind_that_cannot_be_read(tmp_path: Path) -> None:
    entry = {"custom_id": "r", "response": None, "error": {"code": "batch_expired"}}
    result = CliRunner().invoke(
        main, ["audit", str(write(tmp_path / "out.jsonl", *[entry] * 5, *ENTRIES["openai-batch"]))]
    )
    assert result.exit_code == 4
    assert result.stderr.count("\n") == 1
    assert "5 similar places" in result.stderr


def test_a_line_that_is_not_of_the_log_or_transcript_is_a_problem(tmp_path: Path) -> None:
    lines = [item(type="message", role="assistant", content="Yes."), {"type": "response_item", "payload": "none"}]
    problem, exchange = read(write(tmp_path / "rollout.jsonl", *lines))
    assert isinstance(problem, Problem)
    assert (problem.line, problem.what) == (2, "payload is not an object")
    assert isinstance(exchange, Exchange)
    line = {"traceId": "t", "timestamp": "t", "payload": {}, "input": 1, "outputs": 1}
    types: list[Any] = [{}, [], None, 1]
    lines = [{"type": type, **line} for type in types]
    found = read(write(tmp_path / "log.jsonl", ENTRIES["helicone"][0], *lines))
    assert [type(item) for item in found] == [Exchange, *[Problem] * 4]


def test_a_span_that_cannot_be_read_does_not_hide_the_others_of_its_document(tmp_path: Path) -> None:
    messages = json.dumps([{"role": "assistant", "parts": PARTS}])
    texts = (messages, "none", messages)
    attributes = [[{"key": "gen_ai.output.messages", "value": {"stringValue": text}}] for text in texts]
    attributes[0].append({"key": "gen_ai.usage.input_tokens", "value": {"intValue": "many"}})
    document = {"resourceSpans": [{"scopeSpans": [{"spans": [{"attributes": each} for each in attributes]}]}]}
    for indent in (None, 2):
        path = tmp_path / f"traces{indent}.json"
        path.write_text(json.dumps(document, indent=indent), "utf-8")
        assert [type(item) for item in read(path)] == [Exchange, Problem, Exchange]


def test_a_generation_that_cannot_be_read_does_not_hide_the_others_of_its_trace(tmp_path: Path) -> None:
    outputs = (CHAT, {"score": 1}, CHAT)
    trace = {"id": "t", "observations": [observation(output=output) for output in outputs]}
    items = list(read(write(tmp_path / "traces.jsonl", trace)))
    assert [type(item) for item in items] == [Exchange, Problem, Exchange]


def transcript(*lines: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"sessionId": "s", "timestamp": "2026-01-01T00:00:00Z", **line} for line in lines]


def block(uuid: str, parent: str | None, message: str, *content: dict[str, Any]) -> dict[str, Any]:
    body = {**MESSAGE, "id": message, "content": list(content)}
    return {"type": "assistant", "uuid": uuid, "parentUuid": parent, "message": body}


def use(id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "f", "input": {}}


def result(uuid: str, parent: str, call: str) -> dict[str, Any]:
    content = [{"type": "tool_result", "tool_use_id": call, "content": "dry"}]
    return {"type": "user", "uuid": uuid, "parentUuid": parent, "message": {"role": "user", "content": content}}


def test_calls_of_a_transcript_with_other_lines_between_them_are_one_response(tmp_path: Path) -> None:
    claude: list[dict[str, Any]] = [
        {"type": "summary", "summary": "Weather", "leafUuid": "a3"},
        {"type": "user", "uuid": "u1", "parentUuid": None, "message": ASKED},
        *(block("a1", "u1", "msg_1", use("call_1")), result("r1", "a1", "call_1")),
        *(block("a2", "a1", "msg_1", use("call_2")), result("r2", "a2", "call_2")),
        block("a3", "r1", "msg_2", {"type": "text", "text": "Yes."}),
    ]
    first, last = (item(type="function_call", call_id=f"call_{n}", name="f", arguments="{}") for n in (1, 2))
    codex = [
        *(rollout("session_meta", id="s"), rollout("turn_context", model="gpt-5")),
        item(type="message", role="user", content=[{"type": "input_text", "text": "Is it dry?"}]),
        item(type="reasoning", summary=[], encrypted_content="abc"),
        *(first, rollout("event_msg", type="token_count"), last),
        *(item(type="function_call_output", call_id=f"call_{n}", output="dry") for n in (1, 2)),
        item(type="message", role="assistant", content=[{"type": "output_text", "text": "Yes."}]),
    ]
    for wire, model, lines in (
        ("anthropic.messages", "claude", transcript(*claude)),
        ("openai.responses", "gpt-5", codex),
    ):
        path = write(tmp_path / "session.jsonl", *lines)
        both, answer = read_responses(path)
        assert [call.id for call in both.calls] == ["call_1", "call_2"]
        assert (answer.text, answer.model) == ("Yes.", model)
        conversations = json.loads(CliRunner().invoke(main, ["audit", str(path), "--json"]).stdout)["conversations"]
        assert (conversations["findings"], conversations["wires"][wire]["answered"]) == ([], 2)


def test_an_interrupted_call_of_a_transcript_is_not_judged(tmp_path: Path) -> None:
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "no"}
    lines = transcript(
        {"type": "user", "uuid": "u1", "parentUuid": None, "message": {"role": "user", "content": "Is it dry?"}},
        block("a1", "u1", "msg_1", use("toolu_1")),
        {"type": "user", "uuid": "r1", "parentUuid": "a1", "message": {"role": "user", "content": [result]}},
        block("a2", "r1", "msg_2", use("toolu_2")),
        {"type": "user", "uuid": "u2", "parentUuid": "a2", "message": {"role": "user", "content": "Stop."}},
        block("a3", "u2", "msg_3", {"type": "text", "text": "Stopped."}),
    )
    output = CliRunner().invoke(main, ["audit", str(write(tmp_path / "s.jsonl", *lines)), "--json"]).stdout
    figures = json.loads(output)["conversations"]["wires"]["anthropic.messages"]
    assert (figures["findings"], figures["unjudged"]) == ({}, {"turn-cancelled": 1})


def rollout(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": payload}


def item(**payload: Any) -> dict[str, Any]:
    return rollout("response_item", **payload)
