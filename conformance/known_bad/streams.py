"""Defects that depend on the pieces of a stream, or that change arguments."""

from __future__ import annotations

import json

import msgspec

from ..subjects import SubjectExchange
from .mutate import CanonicalForm, blocks, by_messages, calls, defect, keep_only, rebuild, remove


@defect("any-split", "exchange")
def a_piece_is_an_event(exchange: SubjectExchange) -> SubjectExchange:
    """Takes each piece from the network for a whole event and loses events that were cut."""
    if not exchange.stream or by_messages(exchange.wire):
        return exchange
    whole = [piece for piece in exchange.pieces if piece.endswith(b"\n\n")]
    return msgspec.structs.replace(exchange, pieces=whole)


@defect("any-split", "exchange")
def characters_cut_in_two(exchange: SubjectExchange) -> SubjectExchange:
    """Decodes each piece separately, so that a character that was cut becomes two replacement characters."""
    if not exchange.stream or by_messages(exchange.wire):
        return exchange
    pieces = [piece.decode("utf-8", "replace").encode() for piece in exchange.pieces]
    return msgspec.structs.replace(exchange, pieces=pieces)


@defect("any-split", "exchange")
def first_piece_decides(exchange: SubjectExchange) -> SubjectExchange:
    """Stops reading after a hundred pieces."""
    return msgspec.structs.replace(exchange, pieces=exchange.pieces[:100]) if len(exchange.pieces) > 400 else exchange


@defect("conservation", "exchange")
def first_finish_reason_ends(exchange: SubjectExchange) -> SubjectExchange:
    """Stops reading a stream of Gemini at the first chunk with a finish reason."""
    if exchange.wire != "google.gemini":
        return exchange
    ends = (number for number, piece in enumerate(exchange.pieces, 1) if b'"finishReason"' in piece)
    return msgspec.structs.replace(exchange, pieces=exchange.pieces[: next(ends, None)])


@defect("any-cut")
def early_break_is_an_empty_answer(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Takes a stream that broke before any content for a complete, empty response."""
    if exchange.stream and form["response"]["error"] is None and not blocks(form):
        form["response"]["complete"] = True


@defect("any-split")
def first_reads_one_call_a_piece(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Loses, under the policy first, all calls but one if the whole stream arrives in one piece."""
    if exchange.stream and exchange.policy == "first" and len(exchange.pieces) == 1:
        keep_only(form, [0])


@defect("any-cut")
def first_does_not_wait_for_the_end(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Runs, under the policy first, the first call of a stream that broke behind it."""
    selection = form["selection"]
    if exchange.policy == "first" and not form["response"]["complete"] and len(selection["rejected"]) > 1:
        selection["kept"] = [selection["rejected"].pop(0) | {"reason": None}]


@defect("any-cut")
def break_loses_the_finished(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Reports that a stream broke, but returns nothing of what it sent before."""
    if not form["response"]["complete"] and form["response"]["error"] is None and blocks(form):
        rebuild(form, [])


@defect("stream-parity")
def streamed_text_lost(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Loses the text beside calls in streams."""
    if exchange.stream and calls(form):
        remove(form, "text")


@defect("stream-parity")
def streamed_stop_differs(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Reports end_turn at the end of every stream."""
    if exchange.stream and form["response"]["choices"]:
        form["response"]["choices"][0]["stop"]["reason"] = "end_turn"


@defect("stream-parity")
def streamed_server_calls_lost(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Returns server calls only from plain responses."""
    if exchange.stream:
        remove(form, "server_tool_call", "server_tool_result")


@defect("stream-parity")
def streamed_reasoning_lost(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Returns streamed reasoning without its text."""
    for block in blocks(form):
        if exchange.stream and block["type"] == "reasoning":
            block["text"] = ""


@defect("arguments")
def truncated_arguments_repaired(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Completes truncated arguments and runs the call."""
    for call in calls(form):
        if call["status"] != "complete":
            call["arguments"] = {"repaired": call["arguments_text"]}
            call["status"] = "complete"


@defect("arguments")
def doubly_encoded(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Encodes the arguments twice."""
    for call in calls(form):
        if call["arguments"] is not None:
            call["arguments"] = {"input": json.dumps(call["arguments"])}


@defect("arguments")
def empty_is_invalid(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Marks calls without arguments as invalid."""
    for call in calls(form):
        if call["arguments"] == {}:
            call["status"] = "invalid"


@defect("arguments")
def numbers_become_text(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Converts every argument value to a string."""
    for call in calls(form):
        if call["arguments"]:
            call["arguments"] = {key: str(value) for key, value in call["arguments"].items()}


@defect("arguments")
def arguments_forgotten(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Replaces all arguments by an empty object."""
    for call in calls(form):
        call["arguments"] = {}
        call["arguments_text"] = "{}"


@defect("arguments")
def broken_is_complete(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Marks calls with broken arguments as complete."""
    for call in calls(form):
        call["status"] = "complete"


@defect("conservation")
def nothing_from_streams(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Reads the text of a stream and none of its calls."""
    if exchange.stream:
        keep_only(form, [])
