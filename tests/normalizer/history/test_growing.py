"""A writer that remembers what it wrote gives, whatever is asked of it, exactly what writing from scratch gives."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, note
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.normalizer.history.talks import PROVIDERS, WIRES, conversations
from tests.normalizer.recorded.rows import rows
from tests.support.thoroughness import examples, is_thorough, sampled
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
from toolparity.normalizer.model import (
    Choice,
    Reasoning,
    Response,
    ServerToolCall,
    ServerToolResult,
    Stop,
    Text,
    ToolCall,
)
from toolparity.normalizer.pairing import is_boundary, last_boundary, paired_segment
from toolparity.normalizer.requests import RequestWriter, read_request, write_request
from toolparity.normalizer.wires.registry import WIRES as PACKAGES

ALL_PROVIDERS = (None, "openai", "xai", "mistral", "deepseek", "groq", "openrouter", "anthropic", "bedrock")
TOOLS = [
    ToolDefinition("get_weather", "w", {"type": "object"}),
    ToolDefinition("a b"),
    ToolDefinition("sql", kind="custom"),
]


def told(encoded: Encoded) -> tuple[Any, ...]:
    """Everything that a writing gives, in its order and as bytes."""
    body = encoded.body if isinstance(encoded.body, dict) else encoded.body.SerializeToString()
    shown = encode(body) if isinstance(body, dict) else body
    return encoded.wire, shown, encode(encoded.losses), [*encoded.ids.items()], [*encoded.names.items()]


def same_as_afresh(writer: RequestWriter, request: Request, wire: str, provider: str | None) -> None:
    try:
        afresh = told(write_request(request, wire, provider=provider))
    except Exception as error:
        with pytest.raises(type(error)):
            writer.write(request)
        return
    assert told(writer.write(request)) == afresh


def said(*blocks: Any, wire: str = "anthropic.messages") -> Assistant:
    return Assistant(Response(wire, None, None, "m", [Choice(0, list(blocks), Stop("end_turn"))]))


def call(id: str, **more: Any) -> ToolCall:
    return ToolCall(id, "f", {"a": 1}, '{"a": 1}', **more)


def asked(text: str = "hi") -> User:
    return User([TextPart(text)])


def answered(id: str, *parts: Any, **more: Any) -> ToolResults:
    return ToolResults([ToolResult(id, list(parts) or [TextPart("ok")])], **more)


#: Turns that do not fit: answers without calls, calls without answers, torn pairs of a server, other wires' items.
ODD: list[Message] = [
    answered("call_1"),
    answered("call_1", MediaPart("image", "image/png", data="AAAA")),
    answered("call_2", JsonPart({"a": True})),
    ToolResults(
        [ToolResult("call_1", [TextPart("bad")], is_error=True), ToolResult("call_2", [TextPart("[tool_error] x")])]
    ),
    answered("call_1", extra={"behind": 2}),
    said(call("call_1"), call("call_2")),
    said(Text("t "), call("call_1", extra={"signature": "x"}), wire="openai.chat"),
    said(call("call_1", namespace="n"), wire="openai.responses"),
    said(ServerToolCall("srvtoolu_1", "web_search", "web_search", "{}"), call("call_2")),
    said(ServerToolCall("srvtoolu_1", "web_search", "web_search", "{}")),
    said(ServerToolResult("srvtoolu_1", "web_search", raw={"type": "web_search_tool_result"}), Text("found ")),
    said(Reasoning("r", encrypted="e", extra={"id": "rs_1", "summary": []}), Text("so"), wire="openai.responses"),
    said(Text(" ")),
    said(),
    Assistant(Response("xai.grpc", "xai", "resp_1", "m", [])),
    System([TextPart("in the middle")], role="developer"),
    System([TextPart("do")], extra={"instructions": True}),
    User([TextPart("marked", {"cache_control": {"type": "ephemeral"}})], plain=False),
    User([TextPart("")]),
    *(RawItem(wire, {"role": "user", "content": "raw"}) for wire in ("openai.chat", "openai.responses")),
    RawItem("openai.responses", {"type": "item_reference", "id": "x"}),
    RawItem("openai.chat", {"role": "assistant", "content": "raw"}),
]

#: What may change beside the turns.
BESIDE: list[dict[str, Any]] = [
    {},
    {"model": "deepseek-reasoner"},
    {"model": None},
    {"provider": "openai"},
    {"provider": None},
    {"wire": "openai.chat"},
    {"wire": "xai.grpc"},
    {"tools": TOOLS, "tool_choice": ToolChoice("named", "a b"), "parallel": False},
    {"tools": []},
    {"params": {"store": False}},
    {"params": {"store": 0, "max_tokens": 5}},
    {"params": {"thinking": {"type": "enabled", "budget_tokens": 1}}},
    {"params": {"conversation": "c"}},
    {"previous_response_id": "resp_1"},
]

Change = Callable[[Request], Request]


@st.composite
def torn(draw: st.DrawFn, *wires: str) -> list[Message]:
    """A conversation with turns that are missing, in another place, there twice, or do not fit."""
    turns = [turn for part in draw(conversations(*wires)) for turn in part]
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, len(turns)))
        doing = draw(st.sampled_from(["odd", "odd", "gone", "twice", "moved"]))
        if doing == "odd":
            turns.insert(place, draw(st.sampled_from(ODD)))
        elif place < len(turns):
            turn = turns[place] if doing == "twice" else turns.pop(place)
            if doing != "gone":
                turns.insert(draw(st.integers(0, len(turns))), turn)
    return turns


def anew(turn: Message) -> Message:
    """An equal turn that is not the same object."""
    return replace(turn)


@st.composite
def changes(draw: st.DrawFn) -> Change:
    """What may become of a request before it is written the next time."""
    kind = draw(st.sampled_from(["grown"] * 8 + ["turns", "turns", "beside"]))
    if kind == "grown":
        return lambda request: request
    if kind == "turns":
        place = draw(st.integers(0, 12))
        other = draw(st.sampled_from(ODD))
        what: Callable[[list[Message]], list[Message]] = draw(
            st.sampled_from(
                [
                    lambda turns: turns[:-1],
                    lambda turns: turns[:place],
                    lambda turns: [*turns[:place], other, *turns[place:]],
                    lambda turns: [*turns[:place], other, *turns[place + 1 :]],
                    lambda turns: [*turns[:place], *map(anew, turns[place:])],
                    lambda turns: turns[place:],
                ]
            )
        )
        return lambda request: replace(request, messages=what(request.messages))
    members = draw(st.sampled_from(BESIDE))
    return lambda request: replace(request, **members)


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("wire", WIRES)
@given(st.data())
@examples(150, plain=6)
def test_whatever_becomes_of_a_conversation_it_is_written_as_afresh(wire: str, data: st.DataObject) -> None:
    source = data.draw(st.sampled_from((wire, *WIRES)))
    turns = data.draw(torn(*((source,) if data.draw(st.booleans()) else WIRES)))
    provider = data.draw(st.sampled_from((PROVIDERS[wire], *ALL_PROVIDERS)))
    request = Request(source, "m", [], TOOLS[:1], provider=data.draw(st.sampled_from((provider, PROVIDERS[source]))))
    writer = RequestWriter(wire, provider=provider)
    while turns:
        more = data.draw(st.integers(1, 3))
        request = replace(request, messages=[*request.messages, *turns[:more]])
        turns = turns[more:]
        request = data.draw(changes())(request)
        same_as_afresh(writer, request, wire, provider)


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("provider", ["deepseek", "openai", None])
def test_whatever_changes_beside_the_turns_they_are_written_as_afresh(wire: str, provider: str | None) -> None:
    thought = Reasoning("r", extra={"id": "rs_1", "summary": []})
    turns: list[Message] = [asked(), said(thought, Text("so"), call("call_1"), wire=wire), answered("call_1")]
    turns += [said(call("call_2"), wire=wire), answered("call_2"), asked()]
    request = Request(wire, "m", turns, provider=provider)
    for before in BESIDE:
        for after in BESIDE:
            writer = RequestWriter(wire, provider=provider)
            writer.write(replace(request, **before))
            same_as_afresh(writer, replace(request, **after), wire, provider)


@pytest.mark.parametrize("wire", WIRES)
def test_answers_that_come_late_are_put_where_they_belong(wire: str) -> None:
    early: list[Message] = [
        asked(),
        said(call("call_1"), call("call_2"), wire=wire),
        answered("call_1"),
        asked("well?"),
    ]
    for late in (answered("call_2"), answered("call_1"), answered("call_3")):
        for between in ([], [asked()], [said(Text("so"), wire=wire)]):
            writer = RequestWriter(wire)
            same_as_afresh(writer, Request(wire, "m", early), wire, None)
            same_as_afresh(writer, Request(wire, "m", [*early, *between, late]), wire, None)


@given(conversations(), st.sampled_from(WIRES))
@examples(60)
def test_a_conversation_that_fits_is_written_as_afresh_turn_by_turn(talk: list[list[Message]], source: str) -> None:
    for wire in WIRES:
        note(wire)
        writer = RequestWriter(wire)
        turns: list[Message] = []
        for part in talk:
            for turn in part:
                turns.append(turn)  # the caller's own list: it is the turns that count
                same_as_afresh(writer, Request(source, "m", turns), wire, None)


@given(torn(), st.sampled_from(WIRES), st.sampled_from(ALL_PROVIDERS))
@examples(80)
def test_the_short_path_writes_what_the_long_one_writes(
    turns: list[Message], source: str, provider: str | None
) -> None:
    for wire in WIRES:
        note(wire)
        assert_short_is_long(Request(source, "m", turns, TOOLS, provider=PROVIDERS[source]), wire, provider)


@pytest.mark.thorough(keep=1, per="{wire}")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("source", WIRES)
def test_the_short_path_leaves_every_odd_turn_to_the_long_one(wire: str, source: str) -> None:
    before: list[Message] = [asked(), said(call("call_0"), wire=source), answered("call_0")]
    for odd in ODD:
        for turns in ([odd], [*before, odd], [odd, *before], [asked(), odd, answered("call_1"), asked()]):
            request = Request(source, "m", turns, provider=PROVIDERS[source])
            assert_short_is_long(request, wire, PROVIDERS[wire])


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("source", WIRES)
def test_the_short_path_knows_every_member_of_a_call_and_its_answer(wire: str, source: str) -> None:
    calls: list[dict[str, Any]] = [
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
        {"name": "a b"},
        {"name": "web_search"},
        *({"id": id} for id in ("", "x" * 100, "a b", "é", "call_0", "\ud800", "call-1")),
    ]
    if wire == "openai.responses":  # the only wire that writes these members
        calls += [{"wire_id": "fc_\ud800"}, {"wire_id": "fc_1", "extra": {"status": "\udfff"}}]
    results: list[dict[str, Any]] = [
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
    words = [[], [Text("a")], [Text("")], [Text(" ")], [Text("a"), Text("b")], [Text("a", [{"url": "u"}])]]
    words += [[Text("é")], [Text("a\ud83d")], [Text("a", [{"url": "\ud83d"}])]]
    words += [[Text("a", extra=extra)] for extra in ({"id": "msg_1"}, {"index": 0}, {"x": 1})]
    words += [[Reasoning("r", encrypted="e", extra={"id": "rs_1", "summary": []})]]
    first: list[Message] = [said(call("call_0"), wire=source), answered("call_0")]
    for spoken in sampled(words, 5):
        for of_call, of_result in [*((c, {}) for c in calls), *(({}, r) for r in results)]:
            made = replace(call("call_1"), **of_call)
            answer = ToolResults([replace(ToolResult(made.id, [TextPart("ok")]), **of_result)])
            turns = [*first, asked(), said(*spoken, made, wire=source), answer, said(*spoken, wire=source), asked()]
            assert_short_is_long(Request(source, "m", turns), wire, None)
            assert_short_is_long(Request(source, "m", turns, provider=PROVIDERS[source]), wire, PROVIDERS[wire])


def assert_short_is_long(request: Request, wire: str, provider: str | None) -> None:
    writer = import_module(f"toolparity.normalizer.wires.{PACKAGES[wire]}.write").Writer
    short = told(write_request(request, wire, provider=provider))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(writer, "_regular_writers", lambda self: None)
        assert told(write_request(request, wire, provider=provider)) == short


@given(torn())
@example([said(call("call_1")), answered("call_1"), asked(), answered("call_1"), said(call("call_2"))])
@examples(100)
def test_a_conversation_pairs_the_same_in_pieces_as_in_one(turns: list[Message]) -> None:
    end = len(turns)
    mended: list[Any] = []

    def report(*mend: Any) -> None:
        mended.append(mend)

    whole = paired_segment(turns, report, 0, end)
    seams = [place for place in range(end + 1) if is_boundary(turns, place)]
    assert last_boundary(turns) in (0, *seams)
    for seam in seams:
        once = len(mended)
        pieces = paired_segment(turns, report, 0, seam) + paired_segment(turns, report, seam, end)
        assert (pieces, mended[once:]) == (whole, mended[: len(mended) - once])
        del mended[once:]


@pytest.mark.thorough(keep=2)
@pytest.mark.parametrize("wire", WIRES)
def test_recorded_conversations_are_written_as_afresh_round_by_round(recordings: Path, wire: str) -> None:
    written = 0
    for source in WIRES:
        taken = 0
        for row in rows(recordings, source):
            if row.request is None or row.failed or taken == (400 if is_thorough() else 60):
                continue
            request = read_request(row.request, source, provider=row.provider)
            ends = [
                place for place, turn in enumerate(request.messages, 1) if not isinstance(turn, (Assistant, System))
            ]
            if len(ends) < 2:
                continue
            taken += 1
            provider = row.provider if wire == source else PROVIDERS[wire]
            writer = RequestWriter(wire, provider=provider)
            for end in [*ends[-4:], ends[-2]]:
                same_as_afresh(writer, replace(request, messages=request.messages[:end]), wire, provider)
                written += 1
    assert written > (1000 if is_thorough() else 500)


@pytest.mark.parametrize("wire", WIRES)
def test_what_was_written_once_is_not_written_again(wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty rounds, one by one: each turn is taken up a fixed number of times, not once a round."""
    module = import_module(f"toolparity.normalizer.wires.{PACKAGES[wire]}.write")
    taken: list[int] = []
    add = module.Writer.add
    monkeypatch.setattr(
        module.Writer,
        "add",
        lambda self, turns, start, stop: (taken.append(stop - start), add(self, turns, start, stop)),
    )
    writer = RequestWriter(wire)
    turns: list[Message] = []
    for number in range(50):
        turns = [*turns, asked(f"{number}")]
        writer.write(Request(wire, "m", turns))
        turns = [*turns, said(Text("so"), call(f"call_{number}"), wire=wire), answered(f"call_{number}")]
        writer.write(Request(wire, "m", turns))
    assert sum(taken) == len(turns) == 150


@pytest.mark.parametrize("wire", WIRES)
def test_bodies_given_out_are_the_callers_to_add_to(wire: str) -> None:
    writer = RequestWriter(wire)
    turns: list[Message] = [asked(), said(call("call_1"), wire=wire), answered("call_1")]
    first = writer.write(Request(wire, "m", turns))
    kept = told(first)
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
    assert told(writer.write(Request(wire, "m", turns))) == kept
    same_as_afresh(writer, Request(wire, "m", [*turns, asked("go on")]), wire, None)


def test_an_equal_turn_that_is_another_object_is_read_again() -> None:
    """True equals 1, and members in another order are equal: only the same object is sure to be the same bytes."""
    writer = RequestWriter("openai.chat")
    for value in ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {"b": 2, "a": True}):
        turns = [asked(), said(call("call_1")), answered("call_1", JsonPart(value)), asked()]
        same_as_afresh(writer, Request("openai.chat", "m", turns), "openai.chat", None)


def test_a_writer_goes_on_after_a_request_that_could_not_be_written() -> None:
    writer = RequestWriter("xai.grpc")
    turns = [asked(), said(Text("a")), asked("b")]
    writer.write(Request("xai.grpc", "m", turns))
    with pytest.raises(MalformedBody):
        writer.write(Request("xai.grpc", "m", [*turns, RawItem("xai.grpc", {"role": ["x"]})]))
    same_as_afresh(writer, Request("xai.grpc", "m", turns), "xai.grpc", None)
