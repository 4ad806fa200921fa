"""Cases to measure: one body and one stream of each wire, and a body of `xai.grpc`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from typing import NamedTuple

import msgspec

from . import readers, traffic
from .measure import Job

#: The size of the pieces of a stream in bytes: a memory page.
SIZE = 4096
JSON = "json.loads"
#: The readers against which the normalizer is measured.
MSGSPEC = "msgspec.json.decode"
MEMBERS = "each member through the official SDK"
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
    """Return the cases of all wires. That of xai.grpc needs its SDK and is left out without it."""
    for wire, (body, stream) in traffic.JSON_WIRES.items():
        yield _body(wire, body())
        yield _stream(wire, stream())
    if find_spec("xai_sdk") is not None:
        yield _grpc()


def _body(wire: str, body: bytes) -> Case:
    jobs: dict[str, Job] = {
        MSGSPEC: partial(msgspec.json.decode, body),
        JSON: partial(json.loads, body),
        "ours": partial(readers.ours(wire), body),
    }
    return Case(wire, "body", MSGSPEC, jobs)


def _stream(wire: str, stream: bytes) -> Case:
    pieces, read = traffic.pieces(stream, SIZE), readers.ours_streamed(wire)
    jobs: dict[str, Job] = {
        MSGSPEC: partial(readers.msgspec_each, traffic.payloads(stream)),
        f"ours, {SIZE:,}-byte pieces": partial(read, pieces),
        "ours, one event a piece": partial(read, traffic.events(stream)),
        f"ours without events, {SIZE:,}-byte pieces": partial(readers.ours_streamed(wire, events=False), pieces),
    }
    return Case(wire, "stream", MSGSPEC, jobs)


def _grpc() -> Case:
    body = traffic.body("xai.grpc")
    jobs: dict[str, Job] = {
        MEMBERS: partial(readers.xai_members, body),
        "ours": partial(readers.ours("xai.grpc"), body),
    }
    return Case("xai.grpc", "body", MEMBERS, jobs)
