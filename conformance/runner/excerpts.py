"""Wire excerpts for reports: the beginning of each response as text, and its canonical blocks."""

from __future__ import annotations

from collections.abc import Sequence

from toolparity.normalizer import json_codec
from toolparity.normalizer.errors import ToolparityError
from toolparity.reports.results import Traffic, WireExcerpt, brief

from ..cases.case import Case, CaseRound
from ..subjects import SubjectExchange
from ..subjects.reference import read_answer
from .provenance import source_path

#: The maximum length of an excerpt, in characters.
EXCERPT = 600
#: The maximum length of the canonical blocks, in characters.
BLOCKS = 1200


def seen(case: Case, rounds: Sequence[CaseRound]) -> Traffic:
    """Return the wire excerpts of a case, with the file that holds the traffic."""
    told = [WireExcerpt(excerpt(one.ask), sum(map(len, one.ask.pieces)), _blocks(one.ask)) for one in rounds]
    return Traffic(case.scenario, case.surface, case.mode, told, source_path(case))


def excerpt(ask: SubjectExchange) -> str:
    """Return the beginning of a response. gRPC messages are shown in protobuf's JSON form, one per line."""
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


def _blocks(ask: SubjectExchange) -> str:
    """Return the blocks as this project's normalizer reads them, whichever subject is tested."""
    try:
        response = read_answer(ask)
    except ToolparityError as error:
        return brief(str(error), BLOCKS)
    return brief([block for choice in response.choices for block in choice.blocks], BLOCKS)
