"""The response that a reproduction sends to a library, and the file that holds it."""

from __future__ import annotations

import re
from functools import cached_property
from typing import NamedTuple

import msgspec
from google.protobuf.json_format import MessageToDict
from msgspec.structs import replace
from xai_sdk.proto import chat_pb2

from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer import json_codec
from toolparity.reports.results import Result, Verdict

from ..cases.broken import CUTS
from ..cases.expected import Expected
from ..cases.offered import offered_tools
from ..cases.scenarios import scenarios
from ..cases.traffic import TrafficResponse, repieced, responses

#: The suffixes of files with streams, by content type.
_SUFFIXES = {
    "text/event-stream": "sse",
    "application/vnd.amazon.eventstream": "bin",
    "application/x-ndjson": "jsonl",
}
#: A name in a response, which a server call has, too.
_NAME = re.compile(r'"name": ?"([^"\\]+)"')


class ResponseKey(NamedTuple):
    """A round of a case: what identifies the response. ``cut``: a key of `CUTS`, or "" if the stream does not break."""

    scenario: str
    surface: str
    mode: str
    round: int = 0
    cut: str = ""


class CaseResponse:
    """One response of the suite's traffic, cut if the failure is about a broken stream."""

    def __init__(self, key: ResponseKey) -> None:
        self.key = key
        self.surface = SURFACES[key.surface]

    @cached_property
    def traffic(self) -> TrafficResponse:
        """The response with the pieces that arrive."""
        key = self.key
        whole = responses(key.scenario, key.surface, key.mode)[key.round]
        if not key.cut:
            return whole
        pieces = repieced(whole, key.cut, f"{key.scenario}/{key.surface}/{key.round}")
        return replace(whole, pieces=pieces or [])

    @property
    def provider(self) -> str:
        """The provider of the response."""
        return self.traffic.provider or self.surface.provider

    @property
    def by_messages(self) -> bool:
        """Whether the response consists of gRPC messages."""
        return self.surface.by_messages

    @property
    def expected(self) -> Expected:
        """The expected result of the whole response."""
        key = self.key
        return scenarios()[key.scenario].expected(key.surface, key.round, stream=self.traffic.stream)

    @property
    def tools(self) -> list[str]:
        """The names of the functions that the caller declares: those of the request, or else those that are called."""
        offered = [tool.name for tool in offered_tools(self.traffic.request, self.expected)]
        return offered or list(dict.fromkeys(_NAME.findall(self.data.decode("utf-8", "replace"))))

    @property
    def size(self) -> int:
        """The size in bytes on the wire."""
        return sum(map(len, self.traffic.pieces))

    @property
    def parts(self) -> list[bytes]:
        """The pieces as the file holds them: gRPC messages in protobuf's JSON, one per line."""
        if not self.by_messages:
            return self.traffic.pieces
        failed = self.traffic.status >= 400
        kind = chat_pb2.GetChatCompletionChunk if self.traffic.stream else chat_pb2.GetChatCompletionResponse
        messages = self.traffic.pieces[:-1] if failed else self.traffic.pieces
        lines = [MessageToDict(kind.FromString(piece), preserving_proto_field_name=True) for piece in messages]
        return [json_codec.encode(line) + b"\n" for line in lines]

    @property
    def status(self) -> dict[str, str]:
        """The gRPC status of a call that fails: code and details. Otherwise it is empty."""
        if not self.by_messages or self.traffic.status < 400:
            return {}
        return msgspec.json.decode(self.traffic.pieces[-1], type=dict[str, str])

    @property
    def stem(self) -> str:
        """The name of the file without its suffix."""
        key = self.key
        number = f".{key.round + 1}" if key.round else ""
        return f"{key.scenario}.{key.surface}.{key.mode}{number}" + f".{key.cut.replace(':', '-')}" * bool(key.cut)

    @property
    def file(self) -> str:
        """The name of the file."""
        if self.by_messages:
            return f"{self.stem}.jsonl"
        return f"{self.stem}.{_SUFFIXES[self.surface.spec.stream_type] if self.key.mode == 'stream' else 'json'}"

    @property
    def data(self) -> bytes:
        """The content of the file."""
        return b"".join(self.parts)


def key_of(result: Result, verdict: Verdict) -> ResponseKey:
    """Return the round that a failure is about."""
    cut = next((cut for cut, place in CUTS.items() if place in verdict.reason), "") * (verdict.check == "any-cut")
    return ResponseKey(result.scenario, result.surface, result.mode, verdict.round or 0, cut)
