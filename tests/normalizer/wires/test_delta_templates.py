"""Chunks with the form of the chunk before them are read as any other chunk: same response, findings and events."""

from __future__ import annotations

import pytest

from tests.support.events import block_start, block_stop, sse
from tests.support.merging import merged
from toolparity import Reasoning, Response, StreamDecoder, Wire
from toolparity.normalizer.events import Event
from toolparity.normalizer.wires.delta_template import DeltaTemplate
from toolparity.normalizer.wires.openai_chat.stream import Stream
from toolparity.normalizer.wires.stream_base import StreamBase


def chunk(delta: str, *, created: int = 1, tail: str = "") -> bytes:
    choice = f'{{"index":0,"delta":{{{delta}}},"finish_reason":null}}'
    return f'data: {{"id":"c1","created":{created},"choices":[{choice}]{tail}}}\n\n'.encode("utf-8", "surrogatepass")


def text(token: str, **members: object) -> bytes:
    return chunk(f'"content":{token}', **members)  # type: ignore[arg-type]


def padded(padding: str) -> bytes:
    return text('"x"', tail=f',"obfuscation":"{padding}"')


def arguments(token: str) -> bytes:
    return chunk(f'"tool_calls":[{{"index":0,"function":{{"arguments":{token}}}}}]')


def details(*tokens: str, beside: str = "", **members: object) -> bytes:
    """Return a chunk of OpenRouter, with a text in `reasoning` and the same, or another one, in `reasoning_details`."""
    first, second = tokens[0], tokens[-1]
    detail = f'{{"type":"reasoning.text","text":{second},"format":"unknown","index":0{beside}}}'
    return chunk(f'"content":"","reasoning":{first},"reasoning_details":[{detail}]', **members)  # type: ignore[arg-type]


THOUGHTS = [details('"one"'), details('"two"'), details('"three"')]
HEAD = [text('"one"'), text('"two"'), text('"three"')]
CALL = chunk('"tool_calls":[{"index":0,"id":"k","type":"function","function":{"name":"f","arguments":""}}]')
CASES = {
    "escapes": [*HEAD, text(r'"a\n\"b\" \u00e9 \\"'), text('"é"')],
    "an empty text": [*HEAD, text('""'), text('"four"')],
    "null": [*HEAD, text("null"), text('"four"')],
    "space around the text": [*HEAD, text(' "four" ')],
    "half a surrogate pair": [*HEAD, text(r'"\ud83d"'), text(r'"\ude00"')],
    "bytes that are not UTF-8": [*HEAD, text('"four"').replace(b"four", b"\xff"), text('"five"')],
    "another member in the text's place": [*HEAD, text('"four","refusal":"no"'), text('"five"')],
    "a carriage return in the text": [*HEAD, text('"fo\rur"'), text('"five"')],
    "members that change and change back": [*HEAD, text('"4"', created=2), text('"5"'), text('"6"', created=3)],
    "a chunk without text in between": [*HEAD, chunk('"role":"assistant"', created=2), text('"4"')],
    "padding": [padded(pad) for pad in ("aB3", "c", "", 'q","system_fingerprint":"fp', "d")],
    "padding that does not end": [*map(padded, ("aB3", "c")), padded("aB3").replace(b'"}\n', b"xx\n")],
    "padding inside of another member": [text('"x"', tail=f',"service_tier":{{"p":"{pad}"}}') for pad in ("aB3", "c")],
    "a member twice": [text('"x","content":"y"'), text('"x","content":"y"'), text('"z","content":"y"')],
    "reasoning, then text": [chunk('"reasoning_content":"r"')] * 3 + HEAD + [chunk('"reasoning_content":"s"')],
    "arguments": [CALL, arguments(r'"{\"a\""'), arguments('":"'), arguments('"1"'), arguments('"2}"')],
    "arguments that begin again": [CALL, *map(arguments, (r'"{\"a"', r'"\":"', '"1"', r'"{\"a\":12}"'))],
    "an error in between": [*HEAD, b'data: {"error":{"message":"over"}}\n\n', text('"four"')],
    "the end": [
        *HEAD,
        b'data: {"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n',
        b"data: [DONE]\n\n",
    ],
    "a comment": [*HEAD, b": waiting\n\n", text('"four"')],
    "a text twice": [*THOUGHTS, details('"four"'), details('""'), details('"five"')],
    "a text twice, then other texts": [*THOUGHTS, details('"four"', '"fo"'), details('"five"'), details('"six"')],
    "a text twice, with escapes": [*THOUGHTS, details(r'"\u00e9\n"'), details(r'"\u00e9"', '"é"'), details('"six"')],
    "a text twice, with members between them": [*THOUGHTS, details('"a","reasoning_details":[],"x":"a"', '"a"')],
    "a text twice, and a signature": [*THOUGHTS, details('"four"', beside=',"signature":"s"'), details('"five"')],
    "a text twice, and the second member again": [*THOUGHTS, details('"a"', beside=',"text":"b"'), details('"c"')],
    "a text twice, then text": [*THOUGHTS, *HEAD, *THOUGHTS, *HEAD],
    "a text twice, then another detail": [*THOUGHTS, chunk('"reasoning_details":[{"type":"t","index":1}]'), *THOUGHTS],
    "a text twice that is part of the bytes between": [*THOUGHTS, details('"text"'), details('"reasoning"')],
}


def read(pieces: list[bytes], wire: Wire = "openai.chat") -> tuple[Response, list[Event]]:
    decoder = StreamDecoder(wire)
    events = [event for piece in pieces for event in decoder.feed(piece)]
    return decoder.finish(), merged(events)


@pytest.mark.parametrize("name", CASES)
def test_a_chunk_like_its_predecessor_is_read_as_the_general_reader_reads_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces = CASES[name]
    one_by_one, together = read(pieces), read([b"".join(pieces)])
    with monkeypatch.context() as patch:
        patch.setattr(Stream, "run", StreamBase.run)
        response, events = read(pieces)
    for found, found_events in (one_by_one, together):
        assert found == response
        assert found.findings == response.findings
        assert found_events == events


def test_a_chunk_like_its_predecessor_is_not_parsed_and_chunks_that_all_differ_are_not_compared_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    #: The texts that the template finds in the chunks which it is compared with; None for a chunk of another form, as a
    #: whole and as an event.
    matched: list[str | None] = []
    match = DeltaTemplate.text
    monkeypatch.setattr(DeltaTemplate, "text", lambda self, data: matched.append(match(self, data)) or matched[-1])
    read([text('"x"', created=number) for number in range(20)])
    assert len(matched) == 8
    read([*HEAD, text('"four"', created=2), text('"five"', created=2), b": waiting\n\n", text('"six"', created=2)])
    assert matched[8:] == ["two", "three", None, None, "five", None, "six"]  # the last None is the comment
    response, _ = read([*THOUGHTS, details('"four"'), details('"five"', '"six"')])
    assert matched[15:] == ["three", "four", None, None]
    (thoughts,) = response.choices[0].blocks
    assert isinstance(thoughts, Reasoning)
    assert thoughts.text == "onetwothreefourfive"
    assert thoughts.extra["reasoning_details"][0]["text"] == "onetwothreefoursix"


@pytest.mark.parametrize("last", ['"four"}  }', '"four"}} }', '"four"}}\n', ' "four"} }', r'"\u00e9"}  }'])
def test_the_spaces_after_a_fragment_may_differ_and_nothing_else(last: str) -> None:
    def delta(end: str) -> bytes:
        data = f'{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":{end}'
        return f"event: content_block_delta\ndata: {data}\n\n".encode()

    many = [delta(f'"{number} "}}{" " * (number % 4)}}}') for number in range(30)]
    pieces = [sse(block_start(0, type="text", text="")), *many, delta(last), sse(block_stop(0))]
    found, together = (read(given, "anthropic.messages") for given in (pieces, [b"".join(pieces)]))
    assert found == together
    assert found[0].findings == together[0].findings


def test_equal_events_in_one_piece_are_all_read() -> None:
    for size in (1, 2, 3):
        assert read([text('"="') * size] * 6)[0].text == "=" * size * 6
