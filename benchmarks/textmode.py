"""Text mode: a stream whose text contains one call with a long parameter, in each dialect.

The base is the stream decoder alone, which treats all of it as text. There are two lengths. If the time is linear, both
have the same ratio.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial

from toolparity import Response, StreamDecoder
from toolparity.normalizer import json_codec
from toolparity.normalizer.textmode import DIALECTS, TextReader, read_stream
from toolparity.normalizer.textmode.dialect import WrittenCall

from .cases import Case

BASE = "StreamDecoder alone"
LENGTHS = (16_000, 64_000)
#: Characters of text per event, about one token.
TOKEN = 4
#: Bytes per piece of the stream.
SIZE = 4096
LINE = 'if a < b: print("x", {1: [2]})  # a line of code\n'


def cases() -> Iterator[Case]:
    for name in DIALECTS:
        for length in LENGTHS:
            pieces = stream(name, length)
            jobs = {BASE: partial(_words, pieces), "ours": partial(read, name, pieces)}
            yield Case("text", f"{name}, a parameter of {length // 1000} KB", BASE, jobs)


def stream(name: str, length: int) -> list[bytes]:
    """Return a Chat Completions stream whose text contains a call, in pieces of `SIZE` bytes."""
    given = {"content": (LINE * (length // len(LINE) + 1))[:length]}
    text = DIALECTS[name].write_calls([WrittenCall("functions.f:0", "f", given, json_codec.text(given))])
    deltas = [{"content": text[at : at + TOKEN]} for at in range(0, len(text), TOKEN)]
    chunks = [{"id": "c", "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    chunks.append({"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    data = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks).encode() + b"data: [DONE]\n\n"
    return [data[at : at + SIZE] for at in range(0, len(data), SIZE)]


def read(name: str, pieces: list[bytes]) -> Response:
    """Read the stream in text mode."""
    return read_stream(pieces, TextReader(name, StreamDecoder("openai.chat")))


def _words(pieces: list[bytes]) -> Response:
    decoder = StreamDecoder("openai.chat")
    for piece in pieces:
        decoder.feed(piece)
    return decoder.finish()
