"""Recorded requests of Chat Completions, read and written back, say what they said."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from pydantic import TypeAdapter

from tests.normalizer.history.openai_chat_meaning import erased, meaning
from tests.normalizer.recorded.rows import Row, decode, rows
from toolparity import normalize
from toolparity.normalizer.answers import answer
from toolparity.normalizer.conversation import Assistant, Request, TextPart, ToolResult, ToolResults
from toolparity.normalizer.policies import select
from toolparity.normalizer.requests import check_request, read_request, write_request

WIRE = "openai.chat"
MISSES: dict[str, str] = tomllib.loads((Path(__file__).parent / "openai_chat_misses.toml").read_text())["misses"]


def histories(recordings: Path) -> Iterator[Row]:
    """The recorded exchanges whose request holds what an assistant or a tool said."""
    for row in rows(recordings, WIRE):
        messages = row.request.get("messages") if isinstance(row.request, dict) else None
        if isinstance(messages, list) and any(m.get("role") in ("assistant", "tool", "function") for m in messages):
            yield row


def read(row: Row) -> Request:
    return read_request(row.request, WIRE, provider=row.provider)


def test_every_recorded_history_comes_back_equal_in_meaning_or_its_miss_is_listed(
    recordings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    total, missed = 0, set()
    for row in histories(recordings):
        total += 1
        if meaning(write_request(read(row)).body) != meaning(row.request):
            missed.add(row.id)
    with capsys.disabled():
        print(f"\n{WIRE}: {total - len(missed)} of {total} histories equal in meaning")
    assert missed == set(MISSES)
    assert len(missed) <= total / 100


def test_the_canonical_fields_alone_carry_nearly_every_history(
    recordings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    total, missed = 0, set()
    for row in histories(recordings):
        total += 1
        body = write_request(erased(read(row))).body
        if meaning(body, erased=True) != meaning(row.request, erased=True):
            missed.add(row.id)
    with capsys.disabled():
        print(f"\n{WIRE}, raw and extra erased: {total - len(missed)} of {total} histories equal in meaning")
    assert missed <= set(MISSES)


def test_what_is_written_back_keeps_the_rules_that_the_recorded_request_kept(recordings: Path) -> None:
    broken = {}
    for row in histories(recordings):
        if row.failed:
            continue
        before = {violation.rule for violation in check_request(row.request, WIRE, provider=row.provider)}
        after = check_request(write_request(read(row)).body, WIRE, provider=row.provider)
        if new := [violation for violation in after if violation.rule not in before]:
            broken[row.id] = new
    assert broken == {}


def test_what_is_written_back_fits_the_types_of_the_sdk(recordings: Path) -> None:
    """The SDK's types know no provider's additions, so they are only asked where the recorded request fits them."""
    types = TypeAdapter[Any](CompletionCreateParamsNonStreaming)

    def fits(body: dict[str, Any]) -> bool:
        body = {key: value for key, value in body.items() if key not in ("stream", "stream_options")}
        try:
            told = types.validate_python(body)
            for message in told["messages"]:
                for value in message.values():  # lists of the SDK's types are validated while they are walked
                    list(value) if not isinstance(value, (str, dict, type(None))) else None
        except ValueError:
            return False
        return True

    fitting = [row for row in histories(recordings) if fits(row.request)]
    assert len(fitting) > 600
    assert [row.id for row in fitting if not fits(write_request(read(row)).body)] == []


def ids_of(messages: list[Any]) -> Iterator[tuple[int, list[str]]]:
    for place, message in enumerate(messages):
        if message.get("role") == "assistant" and message.get("tool_calls"):
            yield place, [call.get("id") for call in message["tool_calls"]]


def test_an_answer_that_is_replayed_says_what_the_next_recorded_request_said(
    recordings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Response and next request are matched by their calls' ids.

    Clients left out reasoning, spelled arguments anew and added their own name: reasoning is compared where the
    client kept it, arguments by value (the figure says how many are the same to the byte), and what they added is not:
    a name, and the same reasoning under a second member's name.
    """
    said: dict[tuple[Any, ...], Row] = {}
    for row in rows(recordings, WIRE):
        if not row.failed and row.body and '"tool_calls"' in row.body:
            calls = decode(row).calls
            if calls and all(call.id for call in calls):
                said.setdefault((row.provider, row.id.split(".")[0], *(call.id for call in calls)), row)
    pairs, exact, different = 0, 0, []
    for row in histories(recordings):
        for place, ids in ids_of(row.request["messages"]):
            source = said.get((row.provider, row.id.split(".")[0], *ids))
            if source is None:
                continue
            pairs += 1
            request = Request(WIRE, None, [Assistant(decode(source))], provider=row.provider)
            (ours,) = meaning(write_request(request).body)["messages"]
            (theirs,) = meaning({"messages": [row.request["messages"][place]]})["messages"]
            if "reasoning" in theirs and theirs["reasoning"] == theirs.get("reasoning_content"):
                del theirs["reasoning" if "reasoning_content" in ours else "reasoning_content"]
            exact += ours["tool_calls"] == theirs["tool_calls"]
            kept = {member: ours.get(member) for member in theirs if member not in ADDED}
            if by_value(kept) != by_value({m: v for m, v in theirs.items() if m not in ADDED}):
                different.append(row.id)
    with capsys.disabled():
        print(f"\n{WIRE}: {pairs - len(different)} of {pairs} replayed answers equal, {exact} with the same bytes")
    assert pairs > 500
    assert different == list(REWRITTEN)


#: Exchanges whose client changed the value of the arguments, and how.
REWRITTEN = {
    "langchaingo-vx.openai.chat.testdata-testexecutorwithopenaifunctionagent-httprr.2.86b6c29b": "the value of the "
    "only argument in the place of the object",
}
#: What clients say of an assistant's message that no answer holds.
ADDED = ("name", "prefix")


def by_value(message: dict[str, Any]) -> dict[str, Any]:
    calls = [
        {**call, "function": {**call["function"], "arguments": value_of(call["function"]["arguments"] or "{}")}}
        for call in message["tool_calls"]
    ]
    return {**message, "tool_calls": calls}


def value_of(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


# What reading and writing do, case by case


def write(body: dict[str, Any], provider: str | None = None, target: str | None = None) -> dict[str, Any]:
    request = read_request(body, WIRE, provider=provider)
    written: dict[str, Any] = write_request(request, WIRE, provider=target or provider).body
    return written


def call(id: str, name: str = "f", arguments: str = "{}") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


ODD: dict[str, list[Any]] = {
    "a repeated id": [
        {"role": "assistant", "content": None, "tool_calls": [call("x", arguments='{"a":1}'), call("x", "g")]},
        {"role": "tool", "tool_call_id": "x", "content": "one"},
        {"role": "tool", "tool_call_id": "x", "content": "two"},
    ],
    "an empty id": [
        {"role": "assistant", "content": None, "tool_calls": [{"type": "function", "function": call("")["function"]}]},
        {"role": "tool", "content": "one"},
    ],
    "ids that begin anew in each round": [
        {"role": "assistant", "content": None, "tool_calls": [call("f:0"), call("f:1")]},
        {"role": "tool", "tool_call_id": "f:0", "content": "a"},
        {"role": "tool", "tool_call_id": "f:1", "content": "b"},
        {"role": "assistant", "content": None, "tool_calls": [call("f:0"), call("f:1")]},
        {"role": "tool", "tool_call_id": "f:0", "content": "c"},
        {"role": "tool", "tool_call_id": "f:1", "content": "d"},
    ],
    "an old function call": [
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": '{"a": 1}'}},
        {"role": "function", "name": "f", "content": "one"},
    ],
    "one call in both members": [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [call("c", arguments='{"a":1}')],
            "function_call": {"name": "f", "arguments": '{"a":1}'},
        },
        {"role": "tool", "tool_call_id": "c", "content": "one"},
    ],
    "an empty function call": [
        {"role": "assistant", "content": "so", "function_call": {"name": "", "arguments": ""}},
        {"role": "user", "content": "and?"},
    ],
    "a custom call": [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "f", "input": "SELECT 1"}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "one"},
    ],
    "arguments that are no JSON": [
        {"role": "assistant", "content": "", "tool_calls": [call("c", arguments='{"a":1}{"b":2}')]},
        {"role": "tool", "tool_call_id": "c", "content": "[tool_error] no"},
    ],
    "arguments as an object": [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": None},
    ],
    "a signature of another model": [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{**call("c"), "extra_content": {"google": {"thought_signature": "c2ln"}}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": ""},
    ],
    "reasoning with details": [
        {
            "role": "assistant",
            "content": "so",
            "reasoning": "hm",
            "reasoning_details": [
                {"type": "reasoning.text", "text": "hm", "signature": "s", "format": "x", "index": 0}
            ],
        }
    ],
    "reasoning under two names": [
        {"role": "assistant", "content": "so", "reasoning": "hm", "reasoning_content": "hm"},
    ],
    "indexes left over from a stream": [
        {"role": "assistant", "content": "", "tool_calls": [{**call("c"), "index": 0}]},
        {
            "role": "tool",
            "tool_call_id": "c",
            "name": "f",
            "content": [{"type": "image_url", "image_url": {"url": "x"}}],
        },
    ],
    "a result with an empty id": [
        {"role": "assistant", "content": "", "tool_calls": [call("c")]},
        {"role": "tool", "tool_call_id": "", "content": "one"},
    ],
    "thoughts in several parts": [
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
                {"type": "text", "text": "so"},
            ],
        }
    ],
    "sound": [{"role": "assistant", "audio": {"id": "audio_1"}}],
    "a refusal": [{"role": "assistant", "content": None, "refusal": "no"}],
    "parts of all kinds": [
        {
            "role": "user",
            "name": "ann",
            "content": [
                {"type": "text", "text": "see", "cache_control": {"type": "ephemeral"}},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}},
                {"type": "image_url", "image_url": "https://example.org/a.png"},
                {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
                {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}},
                {"type": "file", "file": {"file_id": "file-1"}},
                {"type": "video_url", "video_url": {"url": "https://example.org/a.mp4"}},
                {"type": "hologram", "hologram": 1},
            ],
        }
    ],
    "a role that nobody knows": [{"role": "narrator", "content": "once"}],
}


@pytest.mark.parametrize("case", ODD)
def test_a_history_goes_back_to_its_own_provider_as_it_was(case: str) -> None:
    body = {"messages": [{"role": "user", "content": "go"}, *ODD[case]]}
    assert write(body, "openrouter") == body


def test_members_beside_the_history_go_back_as_they_were() -> None:
    body = {
        "model": "m",
        "messages": [{"role": "developer", "content": "be brief"}, {"role": "user", "content": "go"}],
        "tools": [
            {
                "type": "function",
                "cache_control": {"type": "ephemeral"},
                "function": {"name": "f", "description": "d", "parameters": {"type": "object"}, "strict": True, "x": 1},
            },
            {"type": "custom", "custom": {"name": "g", "format": {"type": "text"}}},
            {"type": "browser_search"},
            {"function": {"name": "h"}},
        ],
        "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}},
        "parallel_tool_calls": False,
        "temperature": 0.5,
        "stream": True,
        "vendor": {"a": 1},
    }
    assert write(body, "openai") == body


def test_the_old_functions_go_back_as_functions() -> None:
    body = {
        "messages": [{"role": "user", "content": "go"}],
        "functions": [{"name": "f", "parameters": {"type": "object"}}],
        "function_call": {"name": "f"},
    }
    assert write(body, "openai") == body
    assert write(body, "openai", "groq") == {
        "messages": body["messages"],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}],
        "tool_choice": {"type": "function", "function": {"name": "f"}},
    }


def answered(*results: ToolResult) -> list[dict[str, Any]]:
    """The messages of a turn with one call for each result, and of the results."""
    calls = [call(result.call_id) for result in results]
    body = {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": calls}}]}
    response = normalize(body, WIRE)
    messages: list[dict[str, Any]] = write_request(
        Request(WIRE, "m", [Assistant(response), ToolResults(list(results))])
    ).body["messages"]
    return messages


def test_a_failed_result_says_so_in_its_text_and_is_read_as_failed_again() -> None:
    given = [
        ToolResult("a", [TextPart("no such file")], is_error=True),
        ToolResult("b", [TextPart("[tool_error] is a marker")]),
    ]
    messages = answered(*given)
    assert messages[1:] == [
        {"role": "tool", "tool_call_id": "a", "content": "[tool_error] no such file"},
        {"role": "tool", "tool_call_id": "b", "content": "[tool_ok] [tool_error] is a marker"},
    ]
    assert read_request({"messages": messages}, WIRE).messages[-1] == ToolResults(given)


def test_a_dropped_call_is_answered_too_and_directly_after_its_turn() -> None:
    calls = [call("a"), call("b", "g"), call("c", "h")]
    body = {"choices": [{"message": {"role": "assistant", "content": "wait", "tool_calls": calls}}]}
    response = normalize(body, WIRE)
    turns = answer(response, select(response, policy="first"), {"a": {"n": 1}})
    messages = write_request(Request(WIRE, "m", turns)).body["messages"]
    assert messages[0] == {"role": "assistant", "content": "wait", "tool_calls": calls}
    assert messages[1] == {"role": "tool", "tool_call_id": "a", "content": '{"n":1}'}
    assert [(m["tool_call_id"], m["content"][:13]) for m in messages[2:]] == [
        ("b", "[tool_error] "),
        ("c", "[tool_error] "),
    ]
    assert check_request({"messages": messages}, WIRE, provider="openai") == []


def test_an_empty_result_still_has_its_content() -> None:
    assert answered(ToolResult("a", []))[1] == {"role": "tool", "tool_call_id": "a", "content": ""}
