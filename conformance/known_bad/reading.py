"""Defects that depend on the pieces of a stream, or that change arguments."""

from __future__ import annotations

import json

import msgspec

from ..subjects import SubjectExchange
from .mutate import CanonicalForm, blocks, calls, defect, keep_only, rebuild


@defect("any-split", "ask")
def a_piece_is_an_event(ask: SubjectExchange) -> SubjectExchange:
    """Takes each piece from the network for a whole event: what arrives cut is lost."""
    if not ask.stream or ask.wire == "xai.grpc":
        return ask
    whole = [piece for piece in ask.pieces if piece.endswith(b"\n\n")]
    return msgspec.structs.replace(ask, pieces=whole)


@defect("any-split", "ask")
def characters_cut_in_two(ask: SubjectExchange) -> SubjectExchange:
    """Decodes each piece by itself: a character that is cut becomes two marks."""
    if not ask.stream or ask.wire == "xai.grpc":
        return ask
    pieces = [piece.decode("utf-8", "replace").encode() for piece in ask.pieces]
    return msgspec.structs.replace(ask, pieces=pieces)


@defect("any-split", "ask")
def first_piece_decides(ask: SubjectExchange) -> SubjectExchange:
    """Stops to read after a hundred pieces."""
    return msgspec.structs.replace(ask, pieces=ask.pieces[:100]) if len(ask.pieces) > 400 else ask


@defect("stream-parity")
def streamed_text_lost(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Words beside calls get lost in streams."""
    if ask.stream and calls(given):
        rebuild(given, [block for block in blocks(given) if block["type"] != "text"])


@defect("stream-parity")
def streamed_stop_differs(given: CanonicalForm, ask: SubjectExchange) -> None:
    """A stream's end is always the end of the turn."""
    if ask.stream and given["response"]["choices"]:
        given["response"]["choices"][0]["stop"]["reason"] = "end_turn"


@defect("stream-parity")
def streamed_server_calls_lost(given: CanonicalForm, ask: SubjectExchange) -> None:
    """What the provider ran is told of plain answers only."""
    if ask.stream:
        rebuild(given, [b for b in blocks(given) if b["type"] not in ("server_tool_call", "server_tool_result")])


@defect("stream-parity")
def streamed_reasoning_lost(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Of reasoning that is streamed it tells that there was some, and none of its words."""
    for block in blocks(given):
        if ask.stream and block["type"] == "reasoning":
            block["text"] = ""


@defect("arguments")
def truncated_arguments_repaired(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Closes what was left open, and runs it."""
    for call in calls(given):
        if call["status"] != "complete":
            call["arguments"] = {"repaired": call["arguments_text"]}
            call["status"] = "complete"


@defect("arguments")
def doubly_encoded(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Hands on the arguments as a text in a text."""
    for call in calls(given):
        if call["arguments"] is not None:
            call["arguments"] = {"input": json.dumps(call["arguments"])}


@defect("arguments")
def empty_is_invalid(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Calls without arguments are called invalid."""
    for call in calls(given):
        if call["arguments"] == {}:
            call["status"] = "invalid"


@defect("arguments")
def numbers_become_text(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Every value is a text."""
    for call in calls(given):
        if call["arguments"]:
            call["arguments"] = {key: str(value) for key, value in call["arguments"].items()}


@defect("arguments")
def arguments_forgotten(given: CanonicalForm, ask: SubjectExchange) -> None:
    """A parse that fails, or is never made, is an empty object."""
    for call in calls(given):
        call["arguments"] = {}
        call["arguments_text"] = "{}"


@defect("arguments")
def broken_is_complete(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Does not tell that arguments are broken."""
    for call in calls(given):
        call["status"] = "complete"


@defect("conservation")
def nothing_from_streams(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Reads the words of a stream and none of its calls."""
    if ask.stream:
        keep_only(given, [])
