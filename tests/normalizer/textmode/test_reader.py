"""Texts with calls on every wire, plain and streamed, and the other content of such streams."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from xai_sdk.proto import chat_pb2

from tests.normalizer.failures.test_textmode import ONE
from tests.support.decoding import codes, shapes
from tests.support.emit import emit_body, emit_stream, say
from tests.support.events import anthropic_body, chunk, cut, piece, sse
from tests.support.wires import WIRES
from toolparity import Response, StreamDecoder, Text, normalize, select
from toolparity.cassettes.scripts import Say
from toolparity.normalizer.errors import ToolLimitReached, UserCancelled
from toolparity.normalizer.events import BlockDelta, BlockReset, BlockStart, BlockStop, ChoiceStop, Event, UsageUpdate
from toolparity.normalizer.model import Choice, Error, Stop, Wire
from toolparity.normalizer.textmode import TextReader, aread_stream, read_response, read_stream

F = ("f", {"x": "a"}, "complete")
USAGE = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}


def emitted(wire: Wire, text: str) -> Any:
    """Return a whole body with the text, as its provider sends it."""
    sent = emit_body(wire, [Say(text)])
    return chat_pb2.GetChatCompletionResponse.FromString(sent) if wire == "xai.grpc" else json.loads(sent)


def parts(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("limit", [1, None])
def test_a_text_is_read_on_every_wire_plain_and_streamed(wire: Wire, limit: int | None) -> None:
    dialect = "hermes"  # which one it is does not depend on the wire
    text = f"Both: {ONE[dialect]}\nand {ONE[dialect]}"
    given = emitted(wire, text)
    plain = read_response(normalize(given if wire == "xai.grpc" else json.dumps(given).encode()), dialect, limit=limit)
    assert shapes(plain) == [F] * (2 if limit is None else 1)
    for size in (1, 7, len(text)):
        frames = emit_stream(wire, [say(*cut(text, size))])
        reader = TextReader(dialect, StreamDecoder(wire), limit=limit)
        response = read_stream(frames if wire == "xai.grpc" else parts(b"".join(frames), 40), reader)
        assert response.choices[0].blocks == plain.choices[0].blocks
        assert response.choices[0].stop.reason == plain.choices[0].stop.reason == "tool_calls"
        assert response.complete
        assert sorted(set(codes(response)) - {"output-empty"}) == sorted(set(codes(plain)))
        assert response.error is None
        assert [ref.name for ref in select(response, "first").kept] == ["f"]


def test_events_have_the_keys_of_the_blocks_in_the_response() -> None:
    shown: list[Event] = []
    data = sse(
        chunk(reasoning_content="Hm."),
        chunk(content=f"Then {ONE['hermes'][:20]}"),
        chunk(content=f"{ONE['hermes'][20:]} done"),
        chunk(finish="stop"),
        {"choices": [], "usage": USAGE},
        done=True,
    )
    reader = TextReader("hermes", StreamDecoder("openai.chat"), thinking=True)  # native thinking ends the prompt's
    response = read_stream([data], reader, on_event=shown.append)
    starts = [(event.key, event.block, event.name) for event in shown if isinstance(event, BlockStart)]
    assert starts == [(0, "reasoning", None), (1, "text", None), (2, "tool_call", "f"), (3, "text", None)]
    texts = ["".join(e.text for e in shown if isinstance(e, BlockDelta) and e.key == key) for key in range(4)]
    assert texts == ["Hm.", "Then ", '{"x": "a"}', " done"]
    assert any(isinstance(event, UsageUpdate) for event in shown)
    ends = [type(event) for event in shown if isinstance(event, (BlockStop, ChoiceStop))]
    assert ends[-2:] == [BlockStop, ChoiceStop]
    assert [type(block).__name__ for block in response.choices[0].blocks] == ["Reasoning", "Text", "ToolCall", "Text"]


def test_a_stream_with_native_calls_stays_unchanged() -> None:
    words, call = chunk(content=f"{ONE['hermes']} {ONE['hermes']}"), chunk(piece(0, "c", "g", '{"y": 1}'))
    data = sse(call, words, chunk(finish="tool_calls"), done=True)
    shown: list[Event] = []
    response = read_stream([data], TextReader("hermes", StreamDecoder("openai.chat")), on_event=shown.append)
    decoder = StreamDecoder("openai.chat")
    decoder.feed(data)
    assert response == decoder.finish()
    assert shapes(response) == [("g", {"y": 1}, "complete")]
    assert [event.name for event in shown if isinstance(event, BlockStart) and event.block == "tool_call"] == ["g"]


def test_a_stream_with_several_choices_is_not_closed_at_the_limit() -> None:
    text = f"{ONE['tool-xml']}\n{ONE['tool-xml']}"
    finishes = [chunk(finish="stop"), chunk(finish="stop", choice=1)]
    data = sse(chunk(content=text), chunk(content="Only words.", choice=1), *finishes, done=True)
    reader = TextReader("tool-xml", StreamDecoder("openai.chat", request={"n": 2}), limit=1)
    response = read_stream(parts(data, 9), reader)
    first, second = response.choices
    assert [(call.name, call.arguments, call.status) for call in first.calls] == [F]
    assert (second.calls, second.text) == ([], "Only words.")
    assert response.complete
    assert reader.reached is not None


def test_a_text_that_the_server_replaces_is_read_again() -> None:
    class Repeating:
        def feed(self, data: Any) -> list[Event]:
            begun: list[Event] = [BlockStart(0, 0, "text"), BlockDelta(0, 0, "<tool:f><param:x>")]
            return [*begun, BlockReset(0, 0, "Again: <tool:g>"), BlockDelta(0, 0, "</tool:g>"), BlockStop(0, 0)]

        def finish(self) -> Response:
            choice = Choice(0, [Text("Again: <tool:g></tool:g>")], Stop("end_turn", "stop"))
            return Response("openai.chat", None, "r", "m", [choice])

    shown: list[Event] = []
    response = read_stream([b""], TextReader("tool-xml", Repeating()), on_event=shown.append)
    assert shapes(response) == [("g", {}, "complete")]
    assert [event.name for event in shown if isinstance(event, BlockStart) and event.block == "tool_call"] == ["f", "g"]
    assert BlockReset(0, 0, "") in shown


def test_calls_of_a_failed_filtered_or_incomplete_response_are_not_selected() -> None:
    whole = sse(chunk(content=ONE["hermes"]))
    failed = whole + sse({"error": {"message": "Down."}})
    filtered = sse(chunk(content=ONE["hermes"]), chunk(finish="content_filter"), done=True)
    endings = [(whole, (False, False, None)), (failed, (False, True, None))]
    for data, ended in (*endings, (filtered, (True, False, "content_filter"))):
        response = read_stream([data], TextReader("hermes", StreamDecoder("openai.chat")))
        assert [call.name for call in response.calls] == ["f"]
        assert select(response).kept == []
        reason = response.choices[0].stop.reason if ended[2] else None
        assert (response.complete, isinstance(response.error, Error), reason) == ended


def test_the_limit_counts_the_calls_of_all_texts_of_a_response() -> None:
    blocks = [{"type": "text", "text": f"One: {ONE['invoke']}"}, {"type": "text", "text": f"Two: {ONE['invoke']}"}]
    given = anthropic_body(*blocks, stop="end_turn")
    plain = read_response(normalize(json.dumps(given).encode()), "invoke")
    data = b"".join(emit_stream("anthropic.messages", [Say(block["text"]) for block in blocks]))
    streamed = read_stream([data], TextReader("invoke", StreamDecoder("anthropic.messages")))
    for response in (plain, streamed):
        assert shapes(response) == [F]
        assert response.choices[0].blocks[-1] == Text("Two: ")
        assert "tool-limit" in codes(response)
        assert response.usage is not None
        assert response.usage.input_tokens, "usage that has arrived is kept"


def test_citations_of_a_text_with_calls_are_kept() -> None:
    text = {"type": "text", "text": ONE["invoke"], "citations": [{"type": "page_location", "cited_text": "x"}]}
    given = anthropic_body(text, stop="end_turn")
    response = read_response(normalize(json.dumps(given).encode()), "invoke")
    assert shapes(response) == [F]
    (source,) = response.choices[0].extra["text_mode"]["read"]
    assert source["text"]["annotations"] == [{"type": "page_location", "cited_text": "x"}]


def test_events_of_a_call_whose_closing_tag_was_cut_off_are_its_arguments() -> None:
    text = ONE["tool-xml"].removesuffix("</tool:f>")
    shown: list[Event] = []
    reader = TextReader("tool-xml", StreamDecoder("openai.chat"), stop_sequences=["</tool:f>"])
    data = sse(*(chunk(content=char) for char in text), chunk(finish="stop"), done=True)
    response = read_stream([data], reader, on_event=shown.append)
    assert shapes(response) == [F]
    assert "".join(event.text for event in shown if isinstance(event, BlockDelta)) == '{"x":"a"}'
    assert not any(isinstance(event, BlockReset) for event in shown)
    reader = TextReader("tool-xml", StreamDecoder("openai.chat"))
    response = read_stream([sse(chunk(content="<tool:f>words</tool:f>"))], reader, on_event=shown.append)
    assert BlockReset(0, 0, response.calls[0].arguments_text) in shown  # what it is not is taken back


# Asynchronous sources


class Source:
    """An asynchronous source that counts how often it is closed."""

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


def test_an_asynchronous_source_is_closed_at_the_limit() -> None:
    for closers in ("aclose", "close", ""):
        source = Source(f"{ONE['tool-xml']}\n{ONE['tool-xml']}", closers)
        response = asyncio.run(aread_stream(source, TextReader("tool-xml", StreamDecoder("openai.chat"))))
        assert (shapes(response), response.complete) == ([F], True)
        assert (source.closed, source.taken) == (bool(closers), len(ONE["tool-xml"]) + 1 + len("<tool:f>"))


class Bytes(list[bytes]):
    """A synchronous source that counts how often it is closed."""

    closed = 0

    def close(self) -> None:
        self.closed += 1


ERRORS = [UserCancelled("Escape"), ToolLimitReached("of another"), asyncio.CancelledError(), KeyboardInterrupt()]


@pytest.mark.parametrize("error", [*ERRORS, ZeroDivisionError()], ids=lambda error: type(error).__name__)
def test_an_error_of_the_callback_closes_the_source_and_is_raised(error: BaseException) -> None:
    def show(event: Event) -> None:
        raise error

    async def run() -> None:
        with pytest.raises(type(error)) as raised:
            await aread_stream(source, TextReader("tool-xml", StreamDecoder("openai.chat")), on_event=show)
        assert raised.value is error

    source, plain = Source(ONE["tool-xml"], "aclose"), Bytes([sse(chunk(content=ONE["tool-xml"]))])
    if not isinstance(error, KeyboardInterrupt):
        asyncio.run(run())
        assert source.closed == 1
    with pytest.raises(type(error)) as raised:
        read_stream(plain, TextReader("tool-xml", StreamDecoder("openai.chat")), on_event=show)
    assert (raised.value, plain.closed) == (error, 1)


@pytest.mark.parametrize("awaited", [True, False])
def test_an_error_of_close_is_only_logged(awaited: bool, caplog: pytest.LogCaptureFixture) -> None:
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
