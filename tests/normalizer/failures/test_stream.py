"""The events of a stream: each block once and completely, repeated or missing ends, and the cost of a long one."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.support import events as traffic
from tests.support.counting import function_calls
from tests.support.decoding import assert_not_executed, codes, decoded, feed, ran
from tests.support.emit import LOOKUP, emit_stream, scripted_call
from tests.support.events import DONE, block_start, block_stop, delta_chunk, fragment, grpc_event, sse, tool_call
from tests.support.wires import WIRES
from toolparity import StreamDecoder
from toolparity.cassettes.scripts import Part, Say, Think
from toolparity.normalizer.errors import DecoderFinished, TooManyCalls
from toolparity.normalizer.events import BlockDelta, BlockReset, BlockStart, BlockStop, ChoiceStop

all_wires = pytest.mark.parametrize("wire", WIRES)
CHAT, CLAUDE = "openai.chat", "anthropic.messages"
FRAMES = emit_stream(CHAT, [LOOKUP])


def test_an_empty_delta_of_cohere_adds_nothing() -> None:
    frames = emit_stream("cohere.chat", [Say("Hi."), LOOKUP])
    at = next(at for at, frame in enumerate(frames) if b"Hi." in frame)
    assert decoded("cohere.chat", [*frames[:at], frames[at].replace(b"Hi.", b""), *frames[at:]]).text == "Hi."


@pytest.mark.parametrize("stop", ["tool_calls", "max_tokens", None])
@all_wires
def test_RSP_05_canonical_events_open_each_block_once_and_show_all_of_it(wire: str, stop: str | None) -> None:
    second = scripted_call(('{"city": "Bari"}',), "call_b", "other", closed=stop == "tool_calls")
    response, events = feed(wire, emit_stream(wire, [Think("Hm."), Say("I look."), LOOKUP, second], stop))
    shown: dict[int, str] = {}
    closed: set[int] = set()
    calls = []
    for event in events:
        if isinstance(event, BlockStart):
            assert event.key not in shown
            shown[event.key] = ""
            calls += [event] if event.block == "tool_call" else []
        elif isinstance(event, (BlockDelta, BlockReset, BlockStop)):
            assert event.key in shown.keys() - closed
            if isinstance(event, BlockStop):
                closed.add(event.key)
            else:
                shown[event.key] = (shown[event.key] if isinstance(event, BlockDelta) else "") + event.text
    assert len(shown) >= 3  # some providers hide their reasoning
    if stop == "tool_calls":  # else, the last call comes with the response
        assert [(call.id, call.name) for call in calls] == [("call_a", "lookup"), ("call_b", "other")]
        assert [shown[call.key] for call in calls] == [call.arguments_text for call in response.calls]


def test_a_call_begins_once_and_a_snapshot_of_its_arguments_resets_it() -> None:
    deltas = [{"tool_calls": [{"index": 0}]}, fragment("", 0, "a", "f"), fragment('{"a"', 0), fragment('{"a":1}', 0)]
    texts = '{"a"', '{"a":1}'
    frames = {
        CHAT: [sse(delta_chunk(delta)) for delta in deltas],
        "xai.grpc": [grpc_event(tool_calls=[tool_call(text, "a", "f")]) for text in texts],
    }
    start = BlockStart(0, 0, "tool_call", "a", "f")
    for wire, sent in frames.items():
        decoder = StreamDecoder(wire)
        assert [event for frame in sent for event in decoder.feed(frame)] == [
            start,
            BlockDelta(0, 0, texts[0]),
            BlockReset(0, 0, texts[1]),
        ]
        assert [call.arguments_text for call in decoder.finish().calls] == [texts[1]]


@pytest.mark.parametrize(
    "parts", [["{}", " "], ['{"query":"t"}', " "], ['{"a":1', ',"b":2}'], ['{"a":"1', '2"}'], ['{"a":{}', ',"b":{}}']]
)
def test_a_call_whose_text_parses_early_stops_only_when_the_wire_ends_it(parts: list[str]) -> None:
    for wire, mark in (
        (CHAT, b'finish_reason":"tool_calls'),
        ("openai.responses", b"arguments.done"),
        (CLAUDE, b"content_block_stop"),
    ):
        frames = emit_stream(wire, [scripted_call(tuple(parts))])
        at = next(at for at, frame in enumerate(frames) if mark in frame.replace(b": ", b":"))
        decoder = StreamDecoder(wire)
        assert [event for frame in frames[:at] for event in decoder.feed(frame) if isinstance(event, BlockStop)] == []
        decoder.feed(b"".join(frames[at:]))
        assert [call.status for call in decoder.finish().calls] == ["complete"]


@all_wires
def test_DUP_03_a_retry_is_another_response_and_a_finished_decoder_rejects_it(wire: str) -> None:
    frames = emit_stream(wire, [LOOKUP])
    first, second = decoded(wire, frames[: len(frames) // 2]), decoded(wire, frames)
    assert first.complete is False
    assert_not_executed(first)
    assert [(call.id, call.arguments) for call in second.calls] == [("call_a", {"city": "Turin"})]
    assert ran(second) == ["call_a"]
    decoder = StreamDecoder(wire)
    decoder.feed(frames[0])
    decoder.finish()
    with pytest.raises(DecoderFinished, match="new StreamDecoder"):
        decoder.feed(frames[0])


#: Wire -> the positions of events in a stream of a text and a call: the start and end of the call and the ends of the
#: response; the start and end of the text and, at 0, the start of the response; the ends of the two blocks.
ENDS: dict[str, tuple[set[int], set[int], set[int]]] = {
    "openai.chat": ({2, 5}, set(), set()),
    "openai.responses": ({7, 11, 12}, {0, 1, 6}, {6, 11}),
    "anthropic.messages": ({4, 8, 9, 10}, {0, 1, 3}, {3, 8}),
    "xai.grpc": ({2}, set(), set()),
    "google.gemini": ({2}, set(), set()),
    "bedrock.converse": ({3, 6, 7}, {0, 2}, {2, 6}),
    "cohere.chat": ({4, 7, 8}, {0, 1, 3}, {3, 7}),
    "ollama.chat": ({2}, set(), set()),
    "google.interactions": ({4, 7, 8}, {0, 1, 3}, {3, 7}),
}


def text_and_call(wire: str) -> list[bytes]:
    """The frames of a text and a call, without those that say nothing about either."""
    fillers = (b"response.in_progress", b"interaction.status_update", b'"ping"')
    frames = emit_stream(wire, [Say("Hi."), LOOKUP])
    return [frame for frame in frames if not any(filler in frame for filler in fillers)]


@all_wires
def test_END_31_a_start_or_end_that_comes_twice_or_never_is_reported_and_counts_once(wire: str) -> None:
    frames = text_and_call(wire)
    if wire == "google.gemini":  # an end with a part is another response
        frames[-1] = sse({"candidates": [{"index": 0, "finishReason": "STOP"}]})
    of_call, of_text, ends = ENDS[wire]
    for number in sorted(of_call | of_text):
        response, events = feed(wire, [*frames[: number + 1], *frames[number:]])
        assert response == decoded(wire, frames)
        assert ran(response) == ["call_a"]
        severity = "error" if number in of_call else "warning"
        found = [(finding.code, finding.severity) for finding in response.findings if finding.code != "id-missing"]
        assert found == [("event-repeated", severity)], number
        for kind in (BlockStart, BlockStop):
            keys = [event.key for event in events if isinstance(event, kind)]
            assert len(keys) == len(set(keys)), number
        assert sum(isinstance(event, ChoiceStop) for event in events) <= 1
    for number in ends and {0, *ends}:
        response = decoded(wire, frames[:number] + frames[number + 1 :])
        assert (codes(response), ran(response)) == (["event-missing"], ["call_a"]), number


def test_a_repeated_end_is_reported_however_its_chunks_are_read() -> None:
    """A chunk with unusual members is read by another type, and after several of them each chunk alone."""
    unusual = sse({"choices": [{"index": 0, "delta": {"content": None, "foo": 1}, "finish_reason": None}]})
    end = FRAMES[-3]
    pieces = [*FRAMES[:-3], *[unusual] * 7, end, unusual, end, *FRAMES[-2:]]
    for fed in (pieces, [b"".join(pieces)]):
        assert codes(feed(CHAT, fed)[0]).count("event-repeated") == 1


def test_of_a_repeated_start_the_arguments_count_and_other_results_remain() -> None:
    begun, *ending = emit_stream(CLAUDE, [])
    use = {"type": "tool_use", "id": "call_a", "name": "lookup"}
    whole, empty = (sse(block_start(0, **{**use, "input": given})) for given in ({"city": "Turin"}, {}))
    for starts in ([empty, whole], [whole, empty], [whole, whole]):
        response = decoded(CLAUDE, [begun, *starts, sse(block_stop(0)), *ending])
        assert [call.arguments for call in response.calls] == [{"city": "Turin"}]
        assert "event-repeated" in codes(response)
    results = [{"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"url": url}]} for url in "ab"]
    response = decoded(CLAUDE, [begun, *(sse(block_start(0, **result)) for result in results), *ending])
    assert len(response.choices[0].blocks) == 2


def test_deltas_of_interactions_that_contradict_or_lack_their_step_are_reported() -> None:
    search = {"type": "google_search_call", "id": "s", "arguments": {"a": 2}}
    made = {"type": "function_call", "id": "a", "name": "f", "arguments": {"x": 2}}
    sent = [traffic.INTERACTION_CREATED, traffic.step_delta(0, "novel", x=1)]
    for place, step, text in ((1, search, '{"a":1}'), (2, made, '{"x":1}')):
        delta = traffic.step_delta(place, "arguments_delta", arguments=text)
        sent += [traffic.step_start(place, step), delta, traffic.step_stop(place)]
    ended = sse(*sent, traffic.interaction_completed("requires_action")) + traffic.INTERACTION_DONE
    response = decoded("google.interactions", ended)
    assert {"unknown-event", "arguments-disagree"} <= set(codes(response))
    assert [getattr(block, "arguments_text", "") for block in response.choices[0].blocks] == ['{"a":1}', '{"x":1}']


@pytest.mark.parametrize("wire", ["anthropic.messages", "cohere.chat", "google.interactions"])
def test_an_end_without_a_start_is_reported(wire: str) -> None:
    frames = text_and_call(wire)
    last = max(ENDS[wire][2])
    stray = re.sub(rb'"index": ?\d', b'"index": 5', frames[last])
    response = decoded(wire, [*frames[: last + 1], stray, *frames[last + 1 :]])
    assert (codes(response), ran(response)) == (["event-missing"], ["call_a"])


def assert_linear(wire: str, frames: Callable[[int], list[bytes]], size: int) -> None:
    """Twice as many deltas cost about twice as much."""
    once, twice = frames(size), frames(2 * size)
    feed(wire, once)  # imports and caches
    assert function_calls(lambda: feed(wire, twice)) < 2.1 * function_calls(lambda: feed(wire, once))


@pytest.mark.parametrize("named", [False, True])
def test_DOS_01_twenty_thousand_calls_are_a_typed_error(named: bool) -> None:
    frames = [
        sse(delta_chunk(fragment("{}", n, f"call_{n}", "f") if named else fragment("", n))) for n in range(20_000)
    ]
    with pytest.raises(TooManyCalls, match="4096"):
        feed("openai.chat", frames)


@all_wires
def test_DOS_01_twice_as_many_deltas_cost_twice_as_much(wire: str) -> None:
    def call(deltas: int) -> list[bytes]:
        return emit_stream(wire, [scripted_call(('{"text": "', *["word "] * deltas, '"}'))])

    def thoughts(deltas: int) -> list[bytes]:
        steps: list[Part] = [Think("word ")] * deltas
        return emit_stream(wire, steps)

    assert_linear(wire, call, 1000)
    assert_linear(wire, thoughts, 200)


@pytest.mark.parametrize("server", ["without index", "index reused", "snapshots"])
def test_DOS_01_servers_that_need_the_slow_rules_cost_no_more_than_twice_as_much_either(server: str) -> None:
    def frames(deltas: int) -> list[bytes]:
        made = []
        for number in range(deltas):
            delta = fragment("word ", 0) if number else fragment('{"text": "', 0, "call_a", "lookup")
            if server == "without index":
                del delta["tool_calls"][0]["index"]
            elif server == "index reused":
                delta["tool_calls"][0]["id"] = "call_a"
            else:
                delta["tool_calls"][0]["function"]["arguments"] = '{"text": "' + "w" * (number % 50)
            made.append(sse(delta_chunk(delta)))
        return [*made, DONE]

    assert_linear("openai.chat", frames, 1000)
