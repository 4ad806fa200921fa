"""Damaged traffic gives a Response (that can be written, and selected from) or a ToolparityError, and no invented call.

The examples are the same in every run (derandomized), so that every user can reproduce a failure.
"""

from __future__ import annotations

import copy
import json
import sys
import tracemalloc
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import eventstream, thoroughness
from tests.support.damage import garbled, grown, hurt, places, strings, subtrees, written
from tests.support.decoding import feed
from tests.support.emit import ANSWERS, EVENT_TYPE, emit_body, emit_stream, payload, scripted_call
from tests.support.events import sse, step_delta, step_start
from tests.support.wires import BYTE_WIRES, EVENT_STREAM_WIRES, LINE_WIRES, SSE_WIRES
from toolparity import Response, StreamDecoder, ToolCall, ToolparityError, normalize, select
from toolparity.cassettes.scripts import Say
from toolparity.normalizer.errors import MalformedBody
from toolparity.normalizer.events import BlockDelta
from toolparity.normalizer.json_codec import decode as json_decode
from toolparity.normalizer.json_codec import encode as json_encode
from toolparity.normalizer.model import ApprovalRequest, ServerToolCall

#: Names that the canonical form gives to built-in tools whose items carry none.
BUILT_IN = {"shell", "local_shell", "apply_patch", "computer", "tool_search"}
WIRES = BYTE_WIRES
BODIES = {wire: [json.loads(emit_body(wire, parts)) for parts in ANSWERS.values()] for wire in WIRES}


def examples(count: int) -> settings:
    return thoroughness.examples(
        count, plain=count // 25, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
    )


def survived(decode: Callable[[], Response]) -> Response | None:
    """The response, looked at from all sides; None where the input was refused with a typed error."""
    try:
        response = decode()
    except ToolparityError:
        return None
    assert json_decode(json_encode(response)) is not None
    for choice in {c.index for c in response.choices}:
        for policy in ("first", "all", "batch"):
            selection = select(response, policy, choice=choice)
            refs = [*selection.kept, *selection.dropped, *selection.rejected]
            assert len(refs) == sum(len(c.calls) for c in response.choices)
    for call in (block for _, _, block in response.walk() if isinstance(block, ToolCall)):
        assert call.id
        assert (call.arguments is not None) <= (call.status == "complete")
    return response


def streamed(wire: str, pieces: Iterable[bytes]) -> Response:
    return feed(wire, list(pieces))[0]


def possible(response: Response) -> int:
    """The calls of an undamaged answer, no matter who runs them: damage can hide who does."""
    return sum(isinstance(block, ToolCall | ServerToolCall | ApprovalRequest) for _, _, block in response.walk())


def nothing_invented(response: Response | None, source: Any, at_most: int) -> None:
    """Each call that can run stems from the source: its id, its name and its arguments are there."""
    if response is None:
        return
    runnable = [b for _, _, b in response.walk() if isinstance(b, ToolCall) and b.status == "complete"]
    assert len(runnable) <= at_most
    sent = {text for text in strings(source) if text}
    invented_ids = any(finding.code in ("id-missing", "id-duplicate") for finding in response.findings)
    for call in runnable:
        assert call.name in BUILT_IN or made_of(call.name, sent), f"the name {call.name!r} was never sent"
        assert made_of(call.id, sent) or invented_ids, f"the id {call.id!r} was never sent"
        text = call.arguments_text
        assert text == "" or made_of(text, sent) or contains(source, text), f"the arguments {text} were never sent"


def made_of(text: str, pieces: set[str]) -> bool:
    """Whether a text is some of the pieces one after the other (as deltas are)."""
    reached = {0}
    for at in range(len(text)):
        if at in reached:
            reached |= {at + len(piece) for piece in pieces if text.startswith(piece, at)}
    return len(text) in reached


def contains(source: Any, text: str) -> bool:
    """Whether a text is the JSON of a value in the source (or of one member of it)."""
    value = json.loads(text)
    values = [value, *(value.values() if isinstance(value, dict) and len(value) == 1 else ())]
    return any(found in values for found in subtrees(source))


EVERY_WIRE = pytest.mark.parametrize("wire", WIRES)


def seeds(wire: str) -> st.SearchStrategy[Any]:
    """One of the undamaged bodies of a wire."""
    return st.sampled_from(BODIES[wire])


def seed_streams(wire: str) -> st.SearchStrategy[tuple[Any, list[bytes]]]:
    """An undamaged body and the frames of its stream."""
    frames = [emit_stream(wire, parts) for parts in ANSWERS.values()]
    return st.sampled_from(list(zip(BODIES[wire], frames, strict=True)))


@pytest.mark.thorough(keep=4)
@EVERY_WIRE
def test_a_damaged_body_gives_a_response_or_a_typed_error(wire: str) -> None:
    @examples(500)
    @given(st.data(), st.booleans())
    def holds(data: st.DataObject, doubled: bool) -> None:
        body = data.draw(seeds(wire))
        fewer, more, other = (data.draw(damage) for damage in (hurt(body), grown(body), garbled(written(body))))
        nothing_invented(survived(lambda: normalize(written(fewer), wire)), fewer, possible(normalize(body, wire)))
        nothing_invented(survived(lambda: normalize(written(more, doubled=doubled), wire)), more, sys.maxsize)
        # the same, parsed by the caller, and by a caller that does not know the wire
        survived(lambda: normalize(more, wire))
        survived(lambda: normalize(written(more)))
        survived(lambda: normalize(other, wire))
        survived(lambda: normalize(other, wire, status=500))
        survived(lambda: streamed(wire, [other]))

    holds()


def framed(wire: str, event: Any) -> bytes:
    """The bytes of one event, which may be any JSON value."""
    if wire in LINE_WIRES:
        return written(event) + b"\n"
    if wire not in EVENT_STREAM_WIRES:
        return b"data: " + written(event) + b"\n\n"
    kind = event.get(EVENT_TYPE) if isinstance(event, dict) else None
    data = {key: value for key, value in event.items() if key != EVENT_TYPE} if isinstance(event, dict) else event
    return eventstream.event(str(kind or "messageStart").encode("utf-8", "replace").decode(), data)


@pytest.mark.thorough(keep=4)
@EVERY_WIRE
def test_a_damaged_stream_gives_a_response_or_a_typed_error_at_any_cut(wire: str) -> None:
    @examples(450)
    @given(st.data())
    def holds(data: st.DataObject) -> None:
        body, frames = data.draw(seed_streams(wire))
        sent = b"".join(frames)
        events = data.draw(hurt([payload(wire, frame) for frame in frames]))
        end = b"data: [DONE]\n\n" if wire in SSE_WIRES else b""
        resent = b"".join(framed(wire, event) for event in events) + end
        # The Responses wire repeats everything up to three times: as deltas, as items, as the terminal output.
        at_most = possible(normalize(body, wire)) * (3 if wire == "openai.responses" else 1)
        nothing_invented(survived(lambda: streamed(wire, [resent])), events, at_most)
        damaged = data.draw(garbled(sent))
        at = data.draw(st.integers(0, len(damaged)))
        whole = survived(lambda: streamed(wire, [damaged]))
        assert survived(lambda: streamed(wire, [damaged[:at], damaged[at:]])) == whole
        survived(lambda: normalize(damaged, wire))

    holds()


@pytest.mark.parametrize("name", ANSWERS)
def test_messages_of_xai_with_bytes_flipped_lost_repeated_or_cut_off(name: str) -> None:
    @examples(250)
    @given(st.data())
    def holds(data: st.DataObject) -> None:
        damaged = data.draw(garbled(emit_body("xai.grpc", ANSWERS[name])))
        survived(lambda: normalize(damaged, "xai.grpc"))
        chunks = emit_stream("xai.grpc", ANSWERS[name])
        at = data.draw(st.integers(0, len(chunks) - 1))
        chunks[at] = data.draw(garbled(chunks[at]))
        survived(lambda: streamed("xai.grpc", chunks))

    holds()


# numbers and nesting beyond every limit

DEEP = 100_000
MONSTERS = {
    "nested lists": "[" * DEEP + "]" * DEEP,
    "nested objects": '{"a":' * DEEP + "1" + "}" * DEEP,
    "brackets that never close": "[" * DEEP,
    "objects that never close": '{"a":' * DEEP,
    "10^5000": "1" + "0" * 5000,
    "-10^5000": "-1" + "0" * 5000,
    "1e999999": "1e999999",
    "a number of 5,000 decimals": "0." + "1" * 5000,
    "NaN": "NaN",
    "minus infinity": "-Infinity",
    "2^64": str(2**64),
}


@pytest.mark.thorough(keep=4)
@pytest.mark.parametrize("monster", MONSTERS)
@EVERY_WIRE
def test_a_number_or_a_nesting_beyond_every_limit_in_a_body(wire: str, monster: str) -> None:
    for seed in BODIES[wire]:
        paths = list(places(seed))
        for path in paths[:: len(paths) // (12 if thoroughness.is_thorough() else 4) + 1]:
            body = with_value(seed, path, MONSTERS[monster])
            survived(lambda: normalize(body, wire))  # noqa: B023 - run at once
            survived(lambda: normalize(body))  # noqa: B023
            survived(lambda: streamed(wire, [b"data: " + body + b"\n\n"]))  # noqa: B023
            if wire in EVENT_STREAM_WIRES:
                message = eventstream.message(body, event_type="contentBlockDelta", message_type="event")
                survived(lambda: streamed(wire, [message]))  # noqa: B023


def with_value(body: Any, path: tuple[Any, ...], text: str) -> bytes:
    """The JSON of a body in which the member with this path has the value with this JSON."""
    tree = place = copy.deepcopy(body)
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = "HOLE"
    return json.dumps(tree).replace('"HOLE"', text).encode()


# linear work, counted and not timed


def long_stream(wire: str, words: int, word: str = "word ") -> list[bytes]:
    """One call whose arguments come in so many pieces, as the bytes of each event; a text where calls come whole."""
    texts = ['{"a":"', *[word for _ in range(words)], '"}']
    if wire in LINE_WIRES:
        return emit_stream(wire, [Say(text) for text in texts], None)
    if wire != "google.gemini":
        return emit_stream(wire, [scripted_call(texts, "a", "f", closed=False)], None)
    partial = ({"jsonPath": "$.a", "stringValue": text, "willContinue": True} for text in texts[1:-1])
    calls: list[dict[str, Any]] = [{"name": "f", "id": "a", "willContinue": True}]
    calls += ({"partialArgs": [one], "willContinue": True} for one in partial)
    parts = ({"content": {"parts": [{"functionCall": call}]}} for call in (*calls, {}))
    return [framed(wire, {"candidates": [part], "responseId": "r"}) for part in parts]


@pytest.mark.parametrize("wire", [wire for wire in WIRES if wire not in LINE_WIRES])
def test_the_events_of_growing_arguments_are_as_long_as_the_arguments(wire: str) -> None:
    """No event repeats what an earlier one reported: a caller that shows them does linear work, too."""
    response, events = feed(wire, long_stream(wire, 1000))
    text = '{"a":"' + "word " * 1000 + '"}'
    assert "".join(event.text for event in events if isinstance(event, BlockDelta)) == text
    assert [call.arguments_text for call in response.calls] == [text]


def allocated(pieces: Iterable[bytes], wire: str) -> int:
    """How many bytes are taken from memory while feeding, also those that are given back at once."""
    decoder = StreamDecoder(wire)
    total = 0
    tracemalloc.start()
    try:
        for piece in pieces:
            before, _ = tracemalloc.get_traced_memory()
            tracemalloc.reset_peak()
            decoder.feed(piece)
            total += tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    return total


def in_bytes(data: bytes) -> list[bytes]:
    return [data[i : i + 1] for i in range(len(data))]


GROWING: dict[str, Callable[[str, int], list[bytes]]] = {
    "arguments in pieces": long_stream,
    "an event byte by byte": lambda wire, size: in_bytes(long_stream(wire, 1, "x" * size)[-2]),
    "an event of many lines": lambda wire, size: [b"data: {\n", *[b"data:  \n"] * size, b"data: }\n\n"],
    "comments": lambda wire, size: [b": keep-alive\n"] * size,
}
#: What only server-sent events have.
OF_SSE = ("an event of many lines", "comments")


@pytest.mark.thorough(keep=1, per="{what}")
@pytest.mark.parametrize(
    ("what", "wire"), [(what, wire) for what in GROWING for wire in WIRES if what not in OF_SSE or wire in SSE_WIRES]
)
def test_twice_as_much_copies_twice_as_much(wire: str, what: str) -> None:
    """What waits for its end is put together once: no piece copies all that came before it."""
    before = [] if what == "arguments in pieces" else long_stream(wire, 1)[:-2]
    once, twice = (allocated([*before, *GROWING[what](wire, size)], wire) for size in (1500, 3000))
    assert twice < 2.6 * once


@pytest.mark.parametrize("piece", ["word " * 20, [{"line": "word " * 20}]], ids=["text", "list"])
@pytest.mark.parametrize("kind", ["code_execution_result", "result_of_a_later_version"])
def test_the_result_of_a_server_call_in_pieces_is_put_together_once(kind: str, piece: Any) -> None:
    def pieces(number: int) -> list[bytes]:
        deltas = [step_delta(0, kind, result=piece)] * number
        return [sse(event) for event in (step_start(0, {"type": kind, "call_id": "a"}), *deltas)]

    (block,) = streamed("google.interactions", pieces(3)).choices[0].blocks
    assert block.raw["result"] == piece * 3  # type: ignore[union-attr]
    once, twice = (allocated(pieces(size), "google.interactions") for size in (1500, 3000))
    assert twice < 2.6 * once


def test_the_checks_see_an_invented_call() -> None:
    body = json.loads(emit_body("openai.chat", ANSWERS["three calls"]))
    response = normalize(body, "openai.chat")
    nothing_invented(response, body, 3)
    with pytest.raises(AssertionError):
        nothing_invented(response, body, 2)
    for sent, other in (("weather", "name 'weather'"), ("call_b", "id 'call_b'"), ("Oslo", "arguments")):
        with pytest.raises(AssertionError, match=f"the {other}.* never sent"):
            nothing_invented(response, json.loads(json.dumps(body).replace(sent, "other")), 3)
    assert not made_of("aba", {"ab"})


# what the damage above found


@pytest.mark.parametrize("value", ['"\\ud800"', '"\\udc00 and words"'])
def test_half_a_surrogate_in_the_place_of_an_object_is_kept_in_extra(value: str) -> None:
    body = '{"choices":[{"index":0,"delta":' + value + ',"message":{"content":"hi"},"finish_reason":"stop"}]}'
    response = normalize(body, "openai.chat")
    assert response.text == "hi"
    assert [(f.code, f.message) for f in response.findings] == [("wrong-type", "wrong-type: $.choices[].delta")]
    assert response.choices[0].extra == {"delta": json.loads(value)}


def test_a_number_that_nothing_parses_is_kept_as_its_digits() -> None:
    digits = "1" + "0" * 5000
    item = '{"type":"computer_call","id":"i","call_id":"c","actions":[],"action":{"x":' + digits + "}}"
    body = '{"object":"response","status":"completed","output":[' + item + "]}"
    (call,) = normalize(body, "openai.responses").calls
    assert call.arguments_text == '{"x":' + digits + "}"
    assert (call.arguments, call.status) == (None, "invalid")


@pytest.mark.parametrize(
    "text", ["no json", "[", b"\xff", '{"n":' + "9" * 5000 + "}", '{"tools":' + MONSTERS["nested lists"]]
)
def test_a_request_that_is_not_json_is_a_typed_error(text: str | bytes) -> None:
    with pytest.raises(MalformedBody, match="the request is not JSON"):
        normalize(BODIES["openai.chat"][0], "openai.chat", request=text)
