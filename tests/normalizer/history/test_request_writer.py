"""The same conversation is the same bytes, written at once, round by round, and in every process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, note
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.normalizer.history.conversations import (
    CONTINUED,
    IMAGE,
    PROVIDERS,
    TARGETS,
    answer,
    call,
    conversations,
    result,
    results,
    user,
)
from tests.support.thoroughness import examples, is_thorough, sampled
from tests.support.wires import WIRES
from toolparity.normalizer.conversation import (
    Assistant,
    Encoded,
    JsonPart,
    MediaPart,
    Message,
    RawItem,
    Request,
    System,
    TextPart,
    ToolChoice,
    ToolDefinition,
    ToolResult,
    ToolResults,
    User,
)
from toolparity.normalizer.errors import MalformedBody
from toolparity.normalizer.json_codec import encode
from toolparity.normalizer.model import Reasoning, Response, ServerToolCall, ServerToolResult, Text, ToolCall, Wire
from toolparity.normalizer.pairing import is_boundary, last_boundary, paired_segment
from toolparity.normalizer.requests import RequestWriter, read_request, write_request
from toolparity.normalizer.wires.registry import WIRES as PACKAGES

ALL_PROVIDERS = (None, "openai", "xai", "mistral", "deepseek", "groq", "openrouter", "anthropic", "bedrock")
TOOLS = [ToolDefinition("get_weather", "w", {"type": "object"}), ToolDefinition("a b")]
TOOLS += [ToolDefinition("sql", kind="custom")]
THOUGHT = Reasoning("r", encrypted="e", extra={"id": "rs_1", "summary": []})
SEARCH = ServerToolCall("srvtoolu_1", "web_search", "web_search", "{}")
FOUND = ServerToolResult("srvtoolu_1", "web_search", raw={"type": "web_search_tool_result"})
#: Messages that do not fit: results without calls, calls without results, parts of pairs, items of other wires.
UNUSUAL: list[Message] = [
    results("call_1"),
    results(ToolResult("call_1", [IMAGE])),
    results(ToolResult("call_2", [JsonPart({"a": True})])),
    results(result("call_1", "bad", is_error=True), result("call_2", "[tool_error] x")),
    results("call_1", extra={"behind": 2}),
    answer(call("call_1"), call("call_2"), wire="anthropic.messages"),
    answer(Text("t "), call("call_1", extra={"signature": "x"})),
    answer(call("call_1", namespace="n"), wire="openai.responses"),
    answer(SEARCH, call("call_2"), wire="anthropic.messages"),
    answer(SEARCH, wire="anthropic.messages"),
    answer(FOUND, Text("found "), wire="anthropic.messages"),
    answer(THOUGHT, Text("so"), wire="openai.responses"),
    answer(Text(" "), wire="anthropic.messages"),
    answer(wire="anthropic.messages"),
    Assistant(Response("xai.grpc", "xai", "resp_1", "m", [])),
    System([TextPart("in the middle")], role="developer"),
    System([TextPart("do")], extra={"instructions": True}),
    User([TextPart("marked", {"cache_control": {"type": "ephemeral"}})], plain=False),
    user(""),
    *(RawItem(wire, {"role": "user", "content": "raw"}) for wire in ("openai.chat", "openai.responses")),
    RawItem("openai.responses", {"type": "item_reference", "id": "x"}),
    RawItem("openai.chat", {"role": "assistant", "content": "raw"}),
]
#: What may change beside the messages.
SETTINGS: list[dict[str, Any]] = [
    {},
    *({"model": model} for model in ("deepseek-reasoner", None)),
    *({"provider": provider} for provider in ("openai", None)),
    *({"wire": wire} for wire in ("openai.chat", "xai.grpc")),
    {"tools": TOOLS, "tool_choice": ToolChoice("named", "a b"), "parallel": False},
    {"tools": []},
    *({"params": params} for params in ({"store": False}, {"store": 0, "max_tokens": 5}, {"conversation": "c"})),
    {"params": {"thinking": {"type": "enabled", "budget_tokens": 1}}},
    {"previous_response_id": "resp_1"},
]


def everything(encoded: Encoded) -> tuple[Any, ...]:
    """Return all that was written, in its order and as bytes."""
    is_json = isinstance(encoded.body, dict)
    body = encode(encoded.body) if is_json else encoded.body.SerializeToString(deterministic=True)
    return encoded.wire, body, encode(encoded.losses), [*encoded.ids.items()], [*encoded.names.items()]


def assert_same_as_from_scratch(writer: RequestWriter, request: Request, wire: Wire, provider: str | None) -> None:
    try:
        from_scratch = everything(write_request(request, wire, provider=provider))
    except Exception as error:
        with pytest.raises(type(error)):
            writer.write(request)
        return
    assert everything(writer.write(request)) == from_scratch


@st.composite
def torn_conversations(draw: st.DrawFn, *wires: str) -> list[Message]:
    """A conversation with messages that are missing, in another place, repeated, or do not fit."""
    turns = [turn for part in draw(conversations(*wires)) for turn in part]
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, len(turns)))
        action = draw(st.sampled_from(["unusual", "unusual", "removed", "repeated", "moved"]))
        if action == "unusual":
            turns.insert(place, draw(st.sampled_from(UNUSUAL)))
        elif place < len(turns):
            turn = turns[place] if action == "repeated" else turns.pop(place)
            if action != "removed":
                turns.insert(draw(st.integers(0, len(turns))), turn)
    return turns


@st.composite
def changes(draw: st.DrawFn) -> Callable[[Request], Request]:
    """What may change in a request before it is written the next time."""
    kind = draw(st.sampled_from(["none"] * 8 + ["messages", "messages", "settings"]))
    if kind == "none":
        return lambda request: request
    if kind == "settings":
        members = draw(st.sampled_from(SETTINGS))
        return lambda request: replace(request, **members)
    place, other = draw(st.integers(0, 12)), draw(st.sampled_from(UNUSUAL))
    forms: list[Callable[[list[Message]], list[Message]]] = [
        lambda turns: turns[:-1],
        lambda turns: turns[:place],
        lambda turns: [*turns[:place], other, *turns[place:]],
        lambda turns: [*turns[:place], other, *turns[place + 1 :]],
        lambda turns: [*turns[:place], *(replace(turn) for turn in turns[place:])],  # equal, but not the same object
        lambda turns: turns[place:],
    ]
    change = draw(st.sampled_from(forms))
    return lambda request: replace(request, messages=change(request.messages))


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("wire", WIRES)
@given(st.data())
@examples(150, plain=6)
def test_a_conversation_that_changes_in_any_way_is_written_as_from_scratch(wire: Wire, data: st.DataObject) -> None:
    source = data.draw(st.sampled_from((wire, *WIRES)))
    turns = data.draw(torn_conversations(*((source,) if data.draw(st.booleans()) else WIRES)))
    provider = data.draw(st.sampled_from((PROVIDERS[wire], *ALL_PROVIDERS)))
    request = Request(source, "m", [], TOOLS[:1], provider=data.draw(st.sampled_from((provider, PROVIDERS[source]))))
    writer = RequestWriter(wire, provider=provider)
    while turns:
        more = data.draw(st.integers(1, 3))
        request = replace(request, messages=[*request.messages, *turns[:more]])
        turns = turns[more:]
        request = data.draw(changes())(request)
        assert_same_as_from_scratch(writer, request, wire, provider)


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("provider", ["deepseek", "openai", None])
def test_messages_are_written_as_from_scratch_after_a_change_of_settings(wire: Wire, provider: str | None) -> None:
    thought = Reasoning("r", extra={"id": "rs_1", "summary": []})
    turns: list[Message] = [user(), answer(thought, Text("so"), call("call_1"), wire=wire), results("call_1")]
    turns += [answer(call("call_2"), wire=wire), results("call_2"), user()]
    request = Request(wire, "m", turns, provider=provider)
    for before in SETTINGS:
        for after in SETTINGS:
            writer = RequestWriter(wire, provider=provider)
            writer.write(replace(request, **before))
            assert_same_as_from_scratch(writer, replace(request, **after), wire, provider)


@pytest.mark.parametrize("wire", WIRES)
def test_a_late_result_is_moved_to_its_call(wire: Wire) -> None:
    early: list[Message] = [user(), answer(call("call_1"), call("call_2"), wire=wire), results("call_1"), user("well?")]
    for late in ("call_2", "call_1", "call_3"):
        for between in ([], [user()], [answer(Text("so"), wire=wire)]):
            writer = RequestWriter(wire)
            turns = [*early]
            assert_same_as_from_scratch(writer, Request(wire, "m", turns), wire, None)
            turns += [*between, results(late)]  # the list is the caller's, who may append to it
            assert_same_as_from_scratch(writer, Request(wire, "m", turns), wire, None)


@given(torn_conversations(), st.sampled_from(WIRES), st.sampled_from(ALL_PROVIDERS))
@examples(80)
def test_the_fast_path_writes_what_the_slow_path_writes(
    turns: list[Message], source: Wire, provider: str | None
) -> None:
    for wire in WIRES:
        note(wire)
        assert_fast_path_equals_slow_path(
            Request(source, "m", turns, TOOLS, provider=PROVIDERS[source]), wire, provider
        )


#: Members of a call, of its result, and the blocks before the call, which the fast path must support or leave.
CALLS: list[dict[str, Any]] = [
    {},
    {"arguments": None, "status": "invalid", "arguments_text": "[1]"},
    {"status": "truncated"},
    {"arguments_text": ""},
    *({"arguments": {"a": text}, "arguments_text": f'{{"a":"{text}"}}'} for text in ("é", "\ud800", "日本")),
    *({"kind": kind} for kind in ("custom", "legacy_function", "shell", "unresolved")),
    *({"wire_id": id} for id in ("fc_1", "other")),
    {"namespace": "n"},
    {"caller": {"type": "direct"}, "wire_id": "fc_1"},
    *({"extra": {key: 0}} for key in ("id", "index", "status", "signature")),
    {"wire_id": "fc_1", "extra": {"status": "completed"}},
    *({"name": name} for name in ("a b", "web_search")),
    *({"id": id} for id in ("", "x" * 100, "a b", "é", "call_0", "\ud800", "call-1")),
]
#: Only openai.responses writes these members.
OF_RESPONSES: list[dict[str, Any]] = [{"wire_id": "fc_\ud800"}, {"wire_id": "fc_1", "extra": {"status": "\udfff"}}]
RESULTS: list[dict[str, Any]] = [
    {},
    {"is_error": True},
    {"plain": False},
    {"name": "f"},
    {"kind": "legacy_function"},
    {"wire_id": "fco_1"},
    {"extra": {"cache_control": {"type": "ephemeral"}}},
    {"parts": []},
    *({"parts": [part]} for part in (TextPart(""), TextPart("[tool_error] x"), TextPart("a", {"x": 1}))),
    *({"parts": [TextPart(text)]} for text in ("é", "x \udc00", "[tool_error] é", "日本" * 50, "x" * 20_000)),
    *({"parts": [part]} for part in (JsonPart([1]), MediaPart("image", url="https://example.invalid/a.png"))),
]
BLOCKS: list[list[Any]] = [
    *([Text(text) for text in texts] for texts in ([], ["a"], [""], [" "], ["a", "b"], ["é"], ["a\ud83d"])),
    *([Text("a", [{"url": url}])] for url in ("u", "\ud83d")),
    *([Text("a", extra=extra)] for extra in ({"id": "msg_1"}, {"index": 0}, {"x": 1})),
    [THOUGHT],
]


@pytest.mark.thorough(keep=1, per="{wire}")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("source", WIRES)
def test_the_fast_path_supports_or_leaves_each_member_and_each_unusual_message(wire: Wire, source: Wire) -> None:
    first: list[Message] = [user(), answer(call("call_0"), wire=source), results("call_0"), user()]
    cases = [
        turns
        for one in UNUSUAL
        for turns in ([one], [*first[:3], one], [one, *first[:3]], [user(), one, results("call_1"), user()])
    ]
    calls = CALLS + OF_RESPONSES if wire == "openai.responses" else CALLS
    for blocks in sampled(BLOCKS, 5):
        for of_call, of_result in [*((members, {}) for members in calls), *(({}, members) for members in RESULTS)]:
            made = replace(call("call_1"), **of_call)
            returned = ToolResults([replace(result(made.id), **of_result)])
            last: list[Message] = [answer(*blocks, made, wire=source), returned, answer(*blocks, wire=source), user()]
            cases.append([*first[1:], *last])
    for turns in cases:
        assert_fast_path_equals_slow_path(Request(source, "m", turns), wire, None)
        request = Request(source, "m", turns, provider=PROVIDERS[source])
        assert_fast_path_equals_slow_path(request, wire, PROVIDERS[wire])


def assert_fast_path_equals_slow_path(request: Request, wire: Wire, provider: str | None) -> None:
    writer = import_module(f"toolparity.normalizer.wires.{PACKAGES[wire]}.write").Writer
    fast = everything(write_request(request, wire, provider=provider))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(writer, "_regular_writers", lambda self: None)
        assert everything(write_request(request, wire, provider=provider)) == fast


@given(torn_conversations())
@example([answer(call("call_1")), results("call_1"), user(), results("call_1"), answer(call("call_2"))])
@examples(100)
def test_a_conversation_is_paired_the_same_in_segments_as_in_one(turns: list[Message]) -> None:
    def pair(*segments: tuple[int, int]) -> tuple[list[Any], list[Any]]:
        repairs: list[Any] = []
        reported = [paired_segment(turns, lambda *repair: repairs.extend([repair]), *segment) for segment in segments]
        return [turn for segment in reported for turn in segment], repairs

    end = len(turns)
    boundaries = [place for place in range(end + 1) if is_boundary(turns, place)]
    assert last_boundary(turns) in (0, *boundaries)
    for boundary in boundaries:
        assert pair((0, boundary), (boundary, end)) == pair((0, end))


@pytest.mark.parametrize("wire", WIRES)
def test_a_message_is_written_once_and_not_in_every_round(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    writer_class = import_module(f"toolparity.normalizer.wires.{PACKAGES[wire]}.write").Writer
    counts: list[int] = []
    add = writer_class.add

    def counted(self: Any, turns: Any, start: int, stop: int) -> None:
        counts.append(stop - start)
        add(self, turns, start, stop)

    monkeypatch.setattr(writer_class, "add", counted)
    writer = RequestWriter(wire)
    turns: list[Message] = []
    for number in range(50):
        turns = [*turns, user(f"{number}")]
        writer.write(Request(wire, "m", turns))
        turns = [*turns, answer(Text("so"), call(f"call_{number}"), wire=wire), results(f"call_{number}")]
        writer.write(Request(wire, "m", turns))
    assert sum(counts) == len(turns) == 150


@pytest.mark.parametrize("wire", WIRES)
def test_a_caller_may_change_a_body_that_it_got(wire: Wire) -> None:
    writer = RequestWriter(wire)
    turns: list[Message] = [user(), answer(call("call_1"), wire=wire), results("call_1")]
    first = writer.write(Request(wire, "m", turns))
    kept = everything(first)
    if isinstance(first.body, dict):
        history = first.body[next(name for name in ("input", "messages", "contents") if name in first.body)]
        history.append({"role": "user", "content": "more"})
        history[0] = {}
        first.body["model"] = "other"
    else:
        first.body.messages.add()
        first.body.messages[0].role = 3
    first.ids["x"] = first.names["y"] = "z"
    first.losses.clear()
    assert everything(writer.write(Request(wire, "m", turns))) == kept
    assert_same_as_from_scratch(writer, Request(wire, "m", [*turns, user("more")]), wire, None)


def test_an_equal_message_that_is_another_object_is_written_again() -> None:
    """True equals 1, and members in another order are equal: only the same object certainly has the same bytes."""
    writer = RequestWriter("openai.chat")
    for value in ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {"b": 2, "a": True}):
        returned = results(ToolResult("call_1", [JsonPart(value)]))
        turns: list[Message] = [user(), answer(call("call_1")), returned, user()]
        assert_same_as_from_scratch(writer, Request("openai.chat", "m", turns), "openai.chat", None)


def test_a_writer_can_be_used_after_a_request_that_could_not_be_written() -> None:
    writer = RequestWriter("xai.grpc")
    turns: list[Message] = [user(), answer(Text("a")), user("b")]
    writer.write(Request("xai.grpc", "m", turns))
    a_body: Any = {"model": "m"}
    with pytest.raises(MalformedBody, match="with read_request"):
        writer.write(a_body)
    with pytest.raises(MalformedBody):
        writer.write(Request("xai.grpc", "m", [*turns, RawItem("xai.grpc", {"role": ["x"]})]))
    assert_same_as_from_scratch(writer, Request("xai.grpc", "m", turns), "xai.grpc", None)


def items(body: Any) -> list[bytes]:
    """Return each message of a body as bytes."""
    if not isinstance(body, dict):
        return [message.SerializeToString(deterministic=True) for message in body.messages]
    return [encode(item) for item in body[next(name for name in ("input", "contents", "messages") if name in body)]]


def closed(turns: list[Message], source: Wire, wire: Wire, provider: str | None) -> list[bytes]:
    """Return the messages that the user's next message follows, as bytes."""
    request = Request(source, "m", [*turns, CONTINUED], provider=PROVIDERS[source], params={"max_tokens": 9})
    return items(write_request(request, wire, provider=provider).body)[:-1]


@given(conversations(), st.sampled_from(WIRES), st.sampled_from(TARGETS))
@example([[user("a"), answer(Text("b "))], [user("c")]], "openai.chat", ("anthropic.messages", "anthropic"))
@examples(300)
def test_a_growing_conversation_keeps_its_closed_messages(
    talk: list[list[Message]], source: Wire, target: tuple[Wire, str]
) -> None:
    before: list[bytes] = []
    turns: list[Message] = []
    for more in talk:
        turns = [*turns, *more]
        now = closed(turns, source, *target)
        if isinstance(turns[-1], User):  # merged with the user's next message, on some wires
            continue
        assert now[: len(before)] == before
        assert closed(turns, source, *target) == now
        before = now


@given(st.data(), st.sampled_from(TARGETS))
@examples(300)
def test_a_written_request_is_written_the_same_after_reading(data: st.DataObject, target: tuple[Wire, str]) -> None:
    wire, provider = target
    turns = [turn for part in data.draw(conversations(wire)) for turn in part]
    once = write_request(Request(wire, "m", turns, provider=provider), wire, provider=provider).body
    given = json.dumps(once) if isinstance(once, dict) else once.SerializeToString(deterministic=True)
    again = write_request(read_request(given, wire, provider=provider)).body
    assert again == once
    if wire in ("anthropic.messages", "openai.responses"):  # the members of the others may change their order
        assert items(again) == items(once)


def print_requests() -> None:
    """Print a request with aliases and many extra members as it is written for each target."""
    called = (("call 0" * 20, "web_search"), ("call:0" * 20, "a b"))
    calls = [ToolCall(id, name, {"b": 1, "a": 2}, '{"b":1,"a":2}', extra={"y": 1, "x": 2}) for id, name in called]
    served = [ServerToolCall(f"srvtoolu_{n}", "web_search", "web_search") for n in (1, 2, 3)]
    found = ServerToolResult("srvtoolu_2", "web_search", raw={"type": "web_search_tool_result"})
    ended = answer(*served, found, Text("a"), wire="anthropic.messages")
    asked = User([TextPart("hi", {"cache": 1, "mark": 2})])
    turns: list[Message] = [asked, answer(*calls), results(*(call.id for call in calls)), ended, user("bye")]
    tools = [ToolDefinition(name, parameters={"type": "object"}) for name in ("web_search", "a b")]
    request = Request("third", "m", turns, tools, params={"user": "u", "seed": 2, "n": 1, "top_k": 1, "x": 2})
    for wire, provider in TARGETS:
        print(everything(write_request(request, wire, provider=provider)))


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("optimized", [[], ["-O"]], ids=["", "-O"])
def test_every_process_writes_the_same_bytes_whatever_its_hash_seed(optimized: list[str]) -> None:
    printed = {
        subprocess.run(
            [sys.executable, *optimized, "-c", f"from {__name__} import print_requests; print_requests()"],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[3],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in (("0", "1", "4242") if is_thorough() else ("0", "4242"))
    }
    assert len(printed) == 1
    assert printed.pop().count("web_search") > len(TARGETS)
