"""Cases to measure: one body and one stream of each wire, with every reader."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from typing import NamedTuple

import msgspec

from . import readers, traffic
from .measure import Job

#: Sizes of the pieces of a stream in bytes: small writes, an Ethernet frame, a memory page, a TLS record.
SIZES = (512, 1460, 4096, 16384)
JSON = "json.loads"
SDK = "official SDK"
MEMBERS = "each member through the official SDK"
#: Readers that only parse. The others are measured against them.
MSGSPEC = "msgspec.json.decode"
PROTOBUF = "protobuf FromString"
#: The largest ratio of a stream to the base: in pieces of 4,096 bytes, and in one event a piece.
STREAM_GOALS = {
    "openai.chat": (2.0, 3.5),
    "openai.responses": (2.6, 6.0),
    "anthropic.messages": (2.3, 7.0),
    "cohere.chat": (2.3, 7.0),
    "google.gemini": (2.3, 7.0),
    "google.interactions": (2.3, 7.0),
    "ollama.chat": (2.3, 7.0),
    "bedrock.converse": (2.3, 7.0),
}


class Case(NamedTuple):
    """An input with its readers by name. ``base`` is the reader that the others are measured against."""

    wire: str
    what: str
    base: str
    jobs: dict[str, Job]

    @property
    def ours(self) -> list[str]:
        """The names of the readers that use the normalizer."""
        return [name for name in self.jobs if name.startswith("ours")]


def cases() -> Iterator[Case]:
    """Return the cases of all wires. Those of xai.grpc need its SDK and are left out without it."""
    for wire, (body, stream) in traffic.JSON_WIRES.items():
        yield _body(wire, body())
        yield _stream(wire, stream())
    if find_spec("xai_sdk") is not None:
        yield from _grpc()


def _body(wire: str, body: bytes) -> Case:
    jobs: dict[str, Job] = {
        MSGSPEC: partial(msgspec.json.decode, body),
        JSON: partial(json.loads, body),
        "ours": partial(readers.ours(wire), body),
        SDK: partial(readers.sdk(wire), body),
    }
    return Case(wire, "body", MSGSPEC, jobs)


def _stream(wire: str, stream: bytes) -> Case:
    payloads = traffic.payloads(stream)
    jobs: dict[str, Job] = {
        MSGSPEC: partial(readers.msgspec_each, payloads),
        JSON: partial(readers.json_each, payloads),
    }
    for size in SIZES:
        jobs[f"ours, {size:,}-byte pieces"] = partial(readers.ours_streamed(wire), traffic.pieces(stream, size))
    jobs["ours, one event a piece"] = partial(readers.ours_streamed(wire), traffic.events(stream))
    jobs["ours without events, 4,096-byte pieces"] = partial(
        readers.ours_streamed(wire, events=False), traffic.pieces(stream, 4096)
    )
    jobs[SDK] = partial(readers.sdk_streamed(wire), traffic.pieces(stream, 4096))
    return Case(wire, "stream", MSGSPEC, jobs)


def _grpc() -> Iterator[Case]:
    """Return the cases of xai.grpc. The bases are the SDK's reading of a body, and protobuf's parsing of a stream."""
    from xai_sdk.proto import chat_pb2

    wire = "xai.grpc"
    body, chunks = traffic.grpc_body(), traffic.grpc_stream()
    parse_chunk = chat_pb2.GetChatCompletionChunk.FromString
    body_jobs: dict[str, Job] = {
        PROTOBUF: partial(chat_pb2.GetChatCompletionResponse.FromString, body),
        "ours": partial(readers.ours(wire), body),
        SDK: partial(readers.sdk(wire), body),
        MEMBERS: partial(readers.xai_members, body),
    }
    yield Case(wire, "body", MEMBERS, body_jobs)
    stream_jobs: dict[str, Job] = {
        PROTOBUF: lambda: [parse_chunk(chunk) for chunk in chunks],
        "ours, one message a piece": partial(readers.ours_streamed(wire), chunks),
        SDK: partial(readers.sdk_streamed(wire), chunks),
    }
    yield Case(wire, "stream", PROTOBUF, stream_jobs)
