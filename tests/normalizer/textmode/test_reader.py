"""Texts with calls on every wire, plain and streamed; and what else may come in such a stream."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from random import Random
from typing import Any

import pytest
from xai_sdk.proto import chat_pb2, sample_pb2

from tests.normalizer.failures.test_textmode import ONE
from tests.support.decoding import codes, shapes
from tests.support.events import chat_body, chunk, piece, sse
from tests.support.streaming import AS_STREAM, grpc
from tests.support.wires import WIRES
from toolparity import Response, StreamDecoder, Text, ToolCall, normalize, select
from toolparity.normalizer.errors import ToolLimitReached, UserCancelled
from toolparity.normalizer.events import BlockDelta, BlockReset, BlockStart, BlockStop, ChoiceStop, Event, UsageUpdate
from toolparity.normalizer.model import Choice, Error, Stop
from toolparity.normalizer.textmode import TextReader, aread_stream, read_response, read_stream

F = ("f", {"x": "a"}, "complete")
USAGE = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}


def body(wire: str, text: str) -> Any:
    """A whole body that says the text."""
    if wire == "openai.chat":
        return chat_body(content=text, finish="stop") | {"usage": USAGE}
    if wire == "openai.responses":
        part = {"type": "output_text", "text": text, "annotations": []}
        message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
        return {"id": "resp_1", "object": "response", "model": "m", "status": "completed", "output": [message]}
    if wire == "anthropic.messages":
        head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn"}
        return {**head, "content": [{"type": "text", "text": text}], "usage": {"input_tokens": 1, "output_tokens": 2}}
    if wire == "google.gemini":
        candidate = {"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP"}
        return {"candidates": [candidate], "modelVersion": "m", "usageMetadata": {"promptTokenCount": 3}}
    if wire == "google.interactions":
        step = {"type": "model_output", "content": [{"type": "text", "text": text}]}
        return {"id": "v1_1", "object": "interaction", "model": "m", "status": "completed", "steps": [step]}
    if wire == "bedrock.converse":
        said = {"role": "assistant", "content": [{"text": text}]}
        return {"output": {"message": said}, "stopReason": "end_turn", "usage": {"inputTokens": 1, "outputTokens": 2}}
    if wire == "cohere.chat":
        said = {"role": "assistant", "content": [{"type": "text", "text": text}]}
        return {"id": "c1", "message": said, "finish_reason": "COMPLETE"}
    if wire == "ollama.chat":
        said = {"role": "assistant", "content": text}
        return {"model": "m", "created_at": "t", "message": said, "done": True, "done_reason": "stop"}
    message = chat_pb2.CompletionMessage(content=text, role=2)
    output = chat_pb2.CompletionOutput(index=0, message=message, finish_reason=sample_pb2.REASON_STOP)
    return chat_pb2.GetChatCompletionResponse(id="x1", model="m", outputs=[output])


def events(wire: str, text: str, seed: int) -> list[bytes]:
    """What the provider streams for it, in pieces."""
    if wire == "xai.grpc":
        return grpc(body(wire, text), Random(seed))
    data = AS_STREAM[wire](body(wire, text), Random(seed))
    return [data[at : at + 40] for at in range(0, len(data), 40)]


@pytest.mark.thorough(keep=44)
@pytest.mark.parametrize("dialect", ONE)
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("limit", [1, None])
def test_every_dialect_is_read_on_every_wire_plain_and_streamed(wire: str, dialect: str, limit: int | None) -> None:
    text = f"Both: {ONE[dialect]}\nand {ONE[dialect]}"
    given = body(wire, text)
    plain = read_response(normalize(given if wire == "xai.grpc" else json.dumps(given).encode()), dialect, limit=limit)
    assert shapes(plain) == [F] * (2 if limit is None else 1)
    for seed in range(4):
        reader = TextReader(dialect, StreamDecoder(wire), limit=limit)
        response = read_stream(events(wire, text, seed), reader)
        assert response.choices[0].blocks == plain.choices[0].blocks
        assert response.choices[0].stop.reason == plain.choices[0].stop.reason == "tool_calls"
        assert response.complete
        assert sorted(set(codes(response)) - {"output-empty"}) == sorted(set(codes(plain)))
        assert response.error is None
        assert [ref.name for ref in select(response, "first").kept] == ["f"]


def test_events_of_other_blocks_pass_and_keys_are_those_of_blocks() -> None:
    shown: list[Event] = []
    data = sse(
        chunk(reasoning_content="Hm."),
        chunk(content=f"Then {ONE['hermes'][:20]}"),
        chunk(content=f"{ONE['hermes'][20:]} done"),
        chunk(finish="stop"),
        {"choices": [], "usage": USAGE},
        done=True,
    )
    response = read_stream([data], TextReader("hermes", StreamDecoder("openai.chat")), on_event=shown.append)
    starts = [(event.key, event.block, event.name) for event in shown if isinstance(event, BlockStart)]
    assert starts == [(0, "reasoning", None), (1, "text", None), (2, "tool_call", "f"), (3, "text", None)]
    told = {key: "".join(e.text for e in shown if isinstance(e, BlockDelta) and e.key == key) for key in range(4)}
    assert told == {0: "Hm.", 1: "Then ", 2: '{"x": "a"}', 3: " done"}
    assert any(isinstance(event, UsageUpdate) for event in shown)
    assert [type(event) for event in shown if isinstance(event, (BlockStop, ChoiceStop))][-2:] == [
        BlockStop,
        ChoiceStop,
    ]
    assert [type(block).__name__ for block in response.choices[0].blocks] == ["Reasoning", "Text", "ToolCall", "Text"]


def test_a_text_behind_native_thinking_does_not_begin_inside_thinking() -> None:
    data = sse(chunk(reasoning_content="Hm."), chunk(content=ONE["hermes"]), chunk(finish="stop"), done=True)
    shown: list[Event] = []
    reader = TextReader("hermes", StreamDecoder("openai.chat"), thinking=True)
    response = read_stream([data], reader, on_event=shown.append)
    assert shapes(response) == [F]
    assert [event.block for event in shown if isinstance(event, BlockStart)] == ["reasoning", "tool_call"]


@pytest.mark.parametrize("before", [True, False])
def test_a_stream_with_native_calls_is_left_alone(before: bool) -> None:
    words = [chunk(content=f"{ONE['hermes']} {ONE['hermes']}")] if before else []
    call = chunk(piece(0, "c", "g", '{"y": 1}'))
    more = [] if before else [chunk(content=f"{ONE['hermes']} {ONE['hermes']}")]
    data = sse(*([call, *more] if not before else [call, *words]), chunk(finish="tool_calls"), done=True)
    shown: list[Event] = []
    response = read_stream([data], TextReader("hermes", StreamDecoder("openai.chat")), on_event=shown.append)
    decoder = StreamDecoder("openai.chat")
    decoder.feed(data)
    assert response == decoder.finish()
    assert shapes(response) == [("g", {"y": 1}, "complete")]
    assert [event.name for event in shown if isinstance(event, BlockStart) and event.block == "tool_call"] == ["g"]


def test_several_answers_of_one_request_are_read_to_their_ends() -> None:
    """Closing the stream would cut the other answers off."""
    text = f"{ONE['tool-xml']}\n{ONE['tool-xml']}"
    data = sse(
        chunk(content=text),
        chunk(content="Only words.", choice=1),
        chunk(finish="stop"),
        chunk(finish="stop", choice=1),
        done=True,
    )
    reader = TextReader("tool-xml", StreamDecoder("openai.chat", request={"n": 2}), limit=1)
    response = read_stream([data[at : at + 9] for at in range(0, len(data), 9)], reader)
    assert [shapes_of(choice) for choice in response.choices] == [[F], []]
    assert response.choices[1].text == "Only words."
    assert response.complete
    assert reader.reached is not None


def shapes_of(choice: Choice) -> list[Any]:
    return [(call.name, call.arguments, call.status) for call in choice.calls]


def test_a_text_that_the_server_repeats_is_read_anew() -> None:
    class Repeating:
        def feed(self, data: Any) -> list[Event]:
            return [
                BlockStart(0, 0, "text"),
                BlockDelta(0, 0, "<tool:f><param:x>"),
                BlockReset(0, 0, "Again: <tool:g>"),
                BlockDelta(0, 0, "</tool:g>"),
                BlockStop(0, 0),
            ]

        def finish(self) -> Response:
            choice = Choice(0, [Text("Again: <tool:g></tool:g>")], Stop("end_turn", "stop"))
            return Response("openai.chat", None, "r", "m", [choice])

    shown: list[Event] = []
    response = read_stream([b""], TextReader("tool-xml", Repeating()), on_event=shown.append)
    assert shapes(response) == [("g", {}, "complete")]
    assert [event.name for event in shown if isinstance(event, BlockStart) and event.block == "tool_call"] == ["f", "g"]
    assert BlockReset(0, 0, "") in shown


def test_an_answer_that_failed_or_broke_off_executes_nothing() -> None:
    whole = sse(chunk(content=ONE["hermes"]))
    broken = read_stream([whole], TextReader("hermes", StreamDecoder("openai.chat")))
    assert not broken.complete
    assert [call.name for call in broken.calls] == ["f"]
    assert select(broken).kept == []
    failed = read_stream(
        [whole + sse({"error": {"message": "Down."}})], TextReader("hermes", StreamDecoder("openai.chat"))
    )
    assert isinstance(failed.error, Error)
    assert select(failed).kept == []
    filtered = sse(chunk(content=ONE["hermes"]), chunk(finish="content_filter"), done=True)
    response = read_stream([filtered], TextReader("hermes", StreamDecoder("openai.chat")))
    assert response.choices[0].stop.reason == "content_filter"
    assert select(response).kept == []


def test_the_second_choice_of_blocks_counts_on() -> None:
    """A limit holds for the whole answer, not for each of its texts."""
    blocks = [{"type": "text", "text": f"One: {ONE['invoke']}"}, {"type": "text", "text": f"Two: {ONE['invoke']}"}]
    given = body("anthropic.messages", "") | {"content": blocks}
    plain = read_response(normalize(json.dumps(given).encode()), "invoke")
    data = AS_STREAM["anthropic.messages"](given, Random(1))
    streamed = read_stream([data], TextReader("invoke", StreamDecoder("anthropic.messages")))
    for response in (plain, streamed):
        assert shapes(response) == [F]
        assert response.choices[0].blocks[-1] == Text("Two: ")
        assert "tool-limit" in codes(response)


def test_citations_of_a_text_with_calls_are_not_lost() -> None:
    text = {"type": "text", "text": ONE["invoke"], "citations": [{"type": "page_location", "cited_text": "x"}]}
    given = body("anthropic.messages", "") | {"content": [text]}
    response = read_response(normalize(json.dumps(given).encode()), "invoke")
    assert shapes(response) == [F]
    (source,) = response.choices[0].extra["text_mode"]["read"]
    assert source["text"]["annotations"] == [{"type": "page_location", "cited_text": "x"}]


def test_what_is_shown_of_a_call_whose_closing_tag_was_cut_off_adds_up() -> None:
    cut = ONE["tool-xml"].removesuffix("</tool:f>")
    shown: list[Event] = []
    reader = TextReader("tool-xml", StreamDecoder("openai.chat"), stop_sequences=["</tool:f>"])
    data = sse(*(chunk(content=char) for char in cut), chunk(finish="stop"), done=True)
    response = read_stream([data], reader, on_event=shown.append)
    assert shapes(response) == [F]
    assert "".join(event.text for event in shown if isinstance(event, BlockDelta)) == '{"x":"a"}'
    assert not any(isinstance(event, BlockReset) for event in shown)


# Sources that are awaited


class Source:
    """An awaited source; ``aclose`` counts."""

    def __init__(self, text: str, closers: str) -> None:
        self.taken = 0
        self.closed = 0
        self._text = text
        if closers:
            setattr(self, closers, self._aclose if closers == "aclose" else self._close)

    async def _pieces(self) -> AsyncIterator[bytes]:
        for char in self._text:
            self.taken += 1
            yield sse(chunk(content=char))
        yield sse(chunk(finish="stop"), done=True)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._pieces()

    async def _aclose(self) -> None:
        self.closed += 1

    def _close(self) -> None:
        self.closed += 1


@pytest.mark.parametrize("closers", ["aclose", "close", ""])
def test_an_awaited_source_is_closed_at_the_limit(closers: str) -> None:
    source = Source(f"{ONE['tool-xml']}\n{ONE['tool-xml']}", closers)
    response = asyncio.run(aread_stream(source, TextReader("tool-xml", StreamDecoder("openai.chat"))))
    assert shapes(response) == [F]
    assert response.complete
    assert source.closed == (1 if closers else 0)
    assert source.taken == len(ONE["tool-xml"]) + 1 + len("<tool:f>")


@pytest.mark.parametrize("error", [UserCancelled("Escape"), ToolLimitReached("of another"), asyncio.CancelledError()])
def test_an_awaited_source_is_closed_where_the_reading_breaks_off(error: BaseException) -> None:
    source = Source(ONE["tool-xml"], "aclose")

    def show(event: Event) -> None:
        raise error

    async def run() -> None:
        with pytest.raises(type(error)):
            await aread_stream(source, TextReader("tool-xml", StreamDecoder("openai.chat")), on_event=show)

    asyncio.run(run())
    assert source.closed == 1


@pytest.mark.parametrize("awaited", [True, False])
def test_a_source_that_cannot_be_closed_takes_nothing_away(awaited: bool, caplog: pytest.LogCaptureFixture) -> None:
    """The response is whole; and what broke the reading off is what is raised."""

    def close() -> None:
        raise ConnectionResetError("gone already")

    def read(on_event: Any = None) -> Response:
        text = f"{ONE['tool-xml']}\n{ONE['tool-xml']}"
        reader = TextReader("tool-xml", StreamDecoder("openai.chat"))
        if awaited:
            return asyncio.run(aread_stream(Source(text, ""), reader, close=close, on_event=on_event))
        return read_stream([sse(chunk(content=text))], reader, close=close, on_event=on_event)

    def cancel(event: Event) -> None:
        raise UserCancelled("Escape")

    assert shapes(read()) == [F]
    assert "gone already" in caplog.text
    with pytest.raises(UserCancelled):
        read(cancel)


def test_a_source_without_close_is_read_too() -> None:
    data = [sse(chunk(content=char)) for char in f"{ONE['tool-xml']}<tool:f>"]
    response = read_stream(iter(data), TextReader("tool-xml", StreamDecoder("openai.chat")))
    assert response.complete
    assert [type(block) for block in response.choices[0].blocks] == [ToolCall]
