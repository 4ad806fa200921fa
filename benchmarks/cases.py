"""The cases: one body and one stream of each wire, with all that reads them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from typing import NamedTuple

import msgspec

from . import readers, traffic
from .measure import Job

#: Sizes in which the network hands on a stream: small writes, an Ethernet frame, a page, a TLS record.
SIZES = (512, 1460, 4096, 16384)
JSON = "json.loads"
SDK = "official SDK"
#: What the others are measured by: parsing alone.
MSGSPEC = "msgspec.json.decode"
PROTOBUF = "protobuf FromString"


class Case(NamedTuple):
    """Something to read and, by name, all that reads it; ``base`` is the one that the others are measured by."""

    wire: str
    what: str
    base: str
    jobs: dict[str, Job]

    @property
    def ours(self) -> list[str]:
        """The names under which the normalizer reads it."""
        return [name for name in self.jobs if name.startswith("ours")]


def cases() -> Iterator[Case]:
    """All of them; those of xai.grpc only where its SDK is installed."""
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
    jobs[SDK] = partial(readers.sdk_streamed(wire), traffic.pieces(stream, 4096))
    return Case(wire, "stream", MSGSPEC, jobs)


def _grpc() -> Iterator[Case]:
    """The wire that is no JSON is measured by protobuf's own parsing, and has no goal."""
    from xai_sdk.proto import chat_pb2

    wire = "xai.grpc"
    body, chunks = traffic.grpc_body(), traffic.grpc_stream()
    parse_chunk = chat_pb2.GetChatCompletionChunk.FromString
    body_jobs: dict[str, Job] = {
        PROTOBUF: partial(chat_pb2.GetChatCompletionResponse.FromString, body),
        "ours": partial(readers.ours(wire), body),
        SDK: partial(readers.sdk(wire), body),
    }
    yield Case(wire, "body", PROTOBUF, body_jobs)
    stream_jobs: dict[str, Job] = {
        PROTOBUF: lambda: [parse_chunk(chunk) for chunk in chunks],
        "ours, one message a piece": partial(readers.ours_streamed(wire), chunks),
        SDK: partial(readers.sdk_streamed(wire), chunks),
    }
    yield Case(wire, "stream", PROTOBUF, stream_jobs)
