"""Requests of Ollama's chat API, read and written back, say what they said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.normalizer.history.ollama_chat_meaning import meaning
from tests.normalizer.recorded.rows import rows
from toolparity import normalize
from toolparity.normalizer.answers import answer
from toolparity.normalizer.conversation import (
    Assistant,
    MediaPart,
    Request,
    System,
    TextPart,
    ToolDefinition,
    ToolResult,
    ToolResults,
    User,
)
from toolparity.normalizer.policies import select
from toolparity.normalizer.requests import check_request, read_request, write_request

WIRE = "ollama.chat"
PNG = "iVBORw0KGgo="


def call(name: str = "f", id: str | None = None, index: int | None = None, **arguments: Any) -> dict[str, Any]:
    function: dict[str, Any] = {"name": name, "arguments": arguments}
    if index is not None:
        function["index"] = index
    return {"function": function} if id is None else {"id": id, "function": function}


def written(messages: list[Any], **more: Any) -> list[Any]:
    """The messages of a request, read and written back."""
    body = write_request(read_request(json.dumps({"model": "m", "messages": messages, **more}), WIRE)).body
    found: list[Any] = body["messages"]
    return found


def test_every_recorded_request_comes_back_equal_in_meaning(
    recordings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [row for row in rows(recordings, WIRE) if row.request]
    for row in found:
        encoded = write_request(read_request(row.request, WIRE, provider=row.provider))
        assert meaning(encoded.body) == meaning(row.request), row.id
        assert encoded.losses == [], row.id
    assert len(found) >= 16
    with capsys.disabled():
        print(f"\n{WIRE}: {len(found)} of {len(found)} requests equal in meaning")


ODD: dict[str, list[Any]] = {
    "calls without ids, as older servers make them": [
        {"role": "assistant", "content": "", "tool_calls": [call(x=1), call("g")]},
        {"role": "tool", "content": "one"},
        {"role": "tool", "content": "two"},
    ],
    "results that the tool's name places": [
        {"role": "assistant", "content": "", "tool_calls": [call(), call("g")]},
        {"role": "tool", "content": "one", "tool_name": "f"},
        {"role": "tool", "content": "two", "tool_name": "g"},
    ],
    "ids and positions, as newer servers make them": [
        {"role": "assistant", "content": "", "tool_calls": [call("f", "a", 0), call("g", "b", 1)]},
        {"role": "tool", "content": "one", "tool_name": "f", "tool_call_id": "a"},
        {"role": "tool", "content": "two", "tool_name": "g", "tool_call_id": "b"},
    ],
    "a name that is not the tool's": [
        {"role": "assistant", "content": "", "tool_calls": [call("f", "a")]},
        {"role": "tool", "content": "one", "tool_name": "other", "tool_call_id": "a"},
    ],
    "no content, as the SDK sends it": [
        {"role": "user", "images": [PNG]},
        {"role": "assistant", "tool_calls": [call()]},
        {"role": "tool", "content": "one", "tool_name": "f"},
    ],
    "thinking and an image": [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "look", "images": [PNG, "/9j/AAAA"]},
        {"role": "assistant", "content": "so", "thinking": "hm"},
        {"role": "user", "content": "and?", "vendor": {"a": 1}},
    ],
    "an image as a result": [
        {"role": "assistant", "content": "", "tool_calls": [call()]},
        {"role": "tool", "content": "seen", "images": [PNG], "tool_name": "f"},
    ],
    "a message that the server refuses": [{"role": "user", "content": [{"type": "text", "text": "x"}]}],
}


@pytest.mark.parametrize("messages", ODD.values(), ids=ODD)
def test_a_history_comes_back_as_it_was(messages: list[Any]) -> None:
    assert written(messages) == messages


def test_results_in_another_order_answer_the_calls_that_their_names_say() -> None:
    messages = [
        {"role": "assistant", "content": "", "tool_calls": [call("f"), call("g")]},
        {"role": "tool", "content": "of g", "tool_name": "g"},
        {"role": "tool", "content": "of f", "tool_name": "f"},
    ]
    assert [message["content"] for message in written(messages)[1:]] == ["of f", "of g"]


def test_ids_that_are_derived_differ_from_round_to_round() -> None:
    turn = [{"role": "assistant", "content": "", "tool_calls": [call()]}, {"role": "tool", "content": "x"}]
    messages = read_request({"model": "m", "messages": turn * 3}, WIRE).messages
    ids = [c.id for message in messages if isinstance(message, Assistant) for c in message.response.calls]
    assert len(set(ids)) == 3


def test_the_exact_argument_text_is_kept() -> None:
    body = b'{"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": { "a" :1}}}]}]}'
    (message,) = read_request(body, WIRE).messages
    assert isinstance(message, Assistant)
    assert message.response.calls[0].arguments_text == '{ "a" :1}'


def test_members_that_are_empty_are_not_a_loss_elsewhere() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}], "tools": [], "options": {}, "format": ""}
    assert write_request(read_request(body, WIRE), "openai.chat").losses == []


def test_an_answer_is_sent_back_with_its_ids_names_and_thinking() -> None:
    message = {"role": "assistant", "content": "", "thinking": "hm", "tool_calls": [call("f", "a", 0, x=1)]}
    response = normalize({"model": "m", "message": message, "done": True, "done_reason": "stop"}, WIRE)
    turns = answer(response, select(response), {"a": ToolResult("a", [TextPart("no")], is_error=True)})
    body = write_request(Request(WIRE, "m", turns)).body
    assert body["messages"] == [
        {"role": "assistant", "content": "", "thinking": "hm", "tool_calls": [call("f", "a", x=1)]},
        {"role": "tool", "content": "[tool_error] no", "tool_name": "f", "tool_call_id": "a"},
    ]
    read = read_request(body, WIRE).messages[-1]
    assert isinstance(read, ToolResults)
    assert (read.results[0].is_error, read.results[0].parts) == (True, [TextPart("no")])


def test_what_the_wire_lacks_is_converted_and_reported() -> None:
    parts = [TextPart("a"), MediaPart("image", "image/png", PNG), MediaPart("image", url="https://x.test/a.png")]
    tools = [ToolDefinition("f", strict=True), ToolDefinition("sql", kind="custom")]
    params = {"max_tokens": 9, "temperature": 0.5, "stop": "END", "user": "u", "n": 1}
    messages: list[Any] = [System([TextPart("s")], "developer"), User(parts, plain=False)]
    request = Request("openai.chat", "m", messages, tools, parallel=False, provider="openai", params=params)
    encoded = write_request(request, WIRE)
    assert encoded.body == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": "a\n\n[image: https://x.test/a.png]", "images": [PNG]},
        ],
        "tools": [
            {
                "type": "function",
                "function": {"name": "f", "parameters": {"type": "object", "properties": {}}},
            },
            {
                "type": "function",
                "function": {
                    "name": "sql",
                    "parameters": {
                        "type": "object",
                        "properties": {"input": {"type": "string"}},
                        "required": ["input"],
                    },
                },
            },
        ],
        "stream": False,
        "options": {"num_predict": 9, "temperature": 0.5, "stop": ["END"]},
    }
    assert sorted(loss.code for loss in encoded.losses) == ["kind", "media", "order", "parallel", "param", "param"]
    assert check_request(encoded.body, WIRE) == []


def test_a_structured_output_is_asked_for_by_its_schema() -> None:
    def asked(response_format: Any) -> tuple[Any, list[str]]:
        request = Request("openai.chat", "m", [], params={"response_format": response_format})
        encoded = write_request(request, WIRE)
        return encoded.body.get("format"), [loss.code for loss in encoded.losses]

    schema = {"type": "object", "properties": {}}
    assert asked({"type": "json_object"}) == ("json", [])
    assert asked({"type": "text"}) == (None, [])
    assert asked({"type": "json_schema", "json_schema": {"schema": schema}}) == (schema, [])
    assert asked({"type": "json_schema", "json_schema": {"schema": schema, "strict": True}}) == (schema, ["param"])
    assert asked({"type": "grammar"}) == (None, ["param"])
