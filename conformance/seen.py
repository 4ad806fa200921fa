"""What stood on the wire, for people: the beginning of each answer as text, and its canonical blocks beside it."""

from __future__ import annotations

from collections.abc import Sequence

from toolparity.normalizer import json_codec
from toolparity.normalizer.errors import ToolparityError
from toolparity.reports.results import Seen, Traffic, brief

from .evidence import Case, Round
from .provenance import source_path
from .subjects import Ask
from .subjects.reference import read_answer

#: Characters of an answer that a report shows.
EXCERPT = 600
#: Characters of its canonical blocks.
BLOCKS = 1200


def seen(case: Case, rounds: Sequence[Round]) -> Traffic:
    """The traffic of a case, and which file holds it."""
    told = [Seen(excerpt(one.ask), sum(map(len, one.ask.pieces)), _blocks(one.ask)) for one in rounds]
    return Traffic(case.scenario, case.surface, case.mode, told, source_path(case))


def excerpt(ask: Ask) -> str:
    """The beginning of an answer; messages of gRPC in protobuf's JSON, one a line."""
    if ask.wire != "xai.grpc":
        return b"".join(ask.pieces)[:EXCERPT].decode("utf-8", "replace")
    lines: list[str] = []
    for piece in ask.pieces:
        lines.append(_message(piece, ask.stream))
        if sum(map(len, lines)) > EXCERPT:
            break
    return "\n".join(lines)[:EXCERPT]


def _message(piece: bytes, stream: bool) -> str:
    from google.protobuf.json_format import MessageToDict
    from google.protobuf.message import DecodeError
    from xai_sdk.proto import chat_pb2

    made = chat_pb2.GetChatCompletionChunk() if stream else chat_pb2.GetChatCompletionResponse()
    try:
        made.ParseFromString(piece)
    except DecodeError:
        return piece.decode("utf-8", "replace")
    return json_codec.text(MessageToDict(made, preserving_proto_field_name=True))


def _blocks(ask: Ask) -> str:
    """As this project reads them, whoever is tested."""
    try:
        response = read_answer(ask)
    except ToolparityError as error:
        return brief(str(error), BLOCKS)
    return brief([block for choice in response.choices for block in choice.blocks], BLOCKS)
