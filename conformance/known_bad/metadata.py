"""Defects in stop reasons, token counts, findings and unknown content."""

from __future__ import annotations

from typing import Any

from ..subjects import SubjectExchange
from .mutate import CanonicalForm, blocks, by_messages, calls, defect, remove


@defect("stop")
def stop_reason_of_the_wire(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Returns the provider's stop word instead of the canonical stop reason."""
    for choice in form["response"]["choices"]:
        choice["stop"]["reason"] = choice["stop"]["raw"] or "unknown"


@defect("stop")
def length_is_success(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Reports a response that the token limit cut as end_turn."""
    for choice in form["response"]["choices"]:
        if choice["stop"]["reason"] == "max_tokens":
            choice["stop"]["reason"] = "end_turn"


@defect("stop")
def refusal_is_an_answer(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Reports a refusal as end_turn."""
    for choice in form["response"]["choices"]:
        if choice["stop"]["reason"] == "refusal":
            choice["stop"]["reason"] = "end_turn"


@defect("stop")
def disagreement_not_reported(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Corrects or infers the stop reason without a finding."""
    form["findings"] = [code for code in form["findings"] if not code.startswith("stop-")]


@defect("stop")
def every_error_is_final(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Reports every error as not retryable."""
    if form["response"]["error"] is not None:
        form["response"]["error"]["retryable"] = False


@defect("incomplete")
def breaks_not_reported(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Reports no finding if a response broke off."""
    form["findings"] = [code for code in form["findings"] if not code.startswith(("stream-", "undecodable-"))]


@defect("unknown")
def unknown_not_reported(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Keeps unknown content without a finding."""
    form["findings"] = [code for code in form["findings"] if not code.startswith("unknown-")]


@defect("arguments")
def oddities_not_reported(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Marks broken arguments as invalid without a finding that says why."""
    form["findings"] = [code for code in form["findings"] if not code.startswith("arguments-")]


@defect("server-side")
def approvals_forgotten(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Does not return requests for approval of a call on the provider's server."""
    if form["response"]["choices"]:
        remove(form, "approval_request")


@defect("usage")
def usage_forgotten(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Returns no token counts."""
    form["response"]["usage"] = None


@defect("usage")
def usage_of_streams_forgotten(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Returns no token counts from streams, where they arrive late."""
    if exchange.stream:
        form["response"]["usage"] = None


@defect("usage")
def reasoning_counted_twice(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Adds the reasoning tokens to an output count that includes them."""
    usage = form["response"]["usage"]
    if usage and usage["output_tokens"]:
        usage["output_tokens"] += usage["reasoning_tokens"] or 1


@defect("usage")
def cache_left_out(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Does not count input tokens that were read from the cache."""
    usage = form["response"]["usage"]
    if usage and usage["input_tokens"]:
        usage["input_tokens"] -= usage["cached_input_tokens"] or 1


@defect("unknown")
def unknown_blocks_dropped(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Does not return unknown blocks."""
    remove(form, "opaque")


@defect("unknown")
def unknown_blocks_emptied(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Keeps only the name of an unknown block."""
    for block in blocks(form):
        if block["type"] == "opaque":
            block["raw"] = {}


@defect("conservation")
def unknown_is_fatal(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Raises an exception on unknown blocks."""
    if any(block["type"] == "opaque" for block in blocks(form)):
        raise KeyError("type")


@defect("conservation")
def words_cut(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Cuts the text of every response to eight characters."""
    for block in blocks(form):
        if block["type"] == "text":
            block["text"] = block["text"][:8]


@defect("conservation")
def reasoning_among_the_words(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Returns reasoning as text."""
    for block in blocks(form):
        if block["type"] == "reasoning" and block["text"]:
            block.update(type="text", annotations=[])


@defect("conservation")
def dies_without_calls(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Raises an exception on a response without calls."""
    if not calls(form):
        raise KeyError("tool_calls")


@defect("arguments")
def every_call_is_a_function(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Reports free-text calls and calls of built-in tools as function calls."""
    for call in calls(form):
        call["kind"] = "function"


@defect("usage")
def usage_of_grpc_forgotten(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Does not read token counts from gRPC messages."""
    if by_messages(exchange.wire):
        form["response"]["usage"] = None


@defect("alike")
def words_of_anthropic_lost(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Loses the text beside calls, with one provider only."""
    if exchange.wire == "anthropic.messages" and calls(form):
        remove(form, "text")


@defect("alike")
def numbers_of_gemini_are_floats(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Returns the numbers in arguments as floats, on one wire only, as protobuf's Struct does."""
    if exchange.wire == "google.gemini":
        for call in calls(form):
            call["arguments"] = _with_floats(call["arguments"])


def _with_floats(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_floats(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_with_floats(element) for element in value]
    return float(value) if type(value) is int else value


@defect("usage")
def usage_of_a_batch_forgotten(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Returns no token counts under the policy batch."""
    if exchange.policy == "batch":
        form["response"]["usage"] = None


@defect("content")
def thoughts_of_a_batch_forgotten(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Returns no reasoning under the policy batch."""
    if exchange.policy == "batch":
        remove(form, "reasoning")


@defect("conservation")
def words_of_a_batch_lost(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Returns the calls of a batch without the text beside them."""
    if exchange.policy == "batch" and len(calls(form)) > 1:
        remove(form, "text")


@defect("content")
def citations_forgotten(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Returns text without its citations."""
    for block in blocks(form):
        if block["type"] == "text":
            block["annotations"] = []


@defect("content")
def server_results_emptied(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Returns the results of server calls without their content."""
    for block in blocks(form):
        if block["type"] == "server_tool_result":
            block["raw"] = {}
