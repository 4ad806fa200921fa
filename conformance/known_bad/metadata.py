"""Defects in stop reasons, token counts, findings and unknown content."""

from __future__ import annotations

from ..subjects import SubjectExchange
from .mutate import CanonicalForm, blocks, calls, defect, rebuild


@defect("stop")
def stop_reason_of_the_wire(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Tells the provider's own word."""
    for choice in given["response"]["choices"]:
        choice["stop"]["reason"] = choice["stop"]["raw"] or "unknown"


@defect("stop")
def length_is_success(given: CanonicalForm, ask: SubjectExchange) -> None:
    """An answer that was cut by the limit ended its turn."""
    for choice in given["response"]["choices"]:
        if choice["stop"]["reason"] == "max_tokens":
            choice["stop"]["reason"] = "end_turn"


@defect("stop")
def refusal_is_an_answer(given: CanonicalForm, ask: SubjectExchange) -> None:
    """A refusal ended its turn as any answer does."""
    for choice in given["response"]["choices"]:
        if choice["stop"]["reason"] == "refusal":
            choice["stop"]["reason"] = "end_turn"


@defect("stop")
def disagreement_not_told(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Corrects the stop reason, or fills it in, without a word."""
    given["findings"] = [code for code in given["findings"] if not code.startswith("stop-")]


@defect("stop")
def every_error_is_final(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Never asks again, also where the provider was merely busy."""
    if given["response"]["error"] is not None:
        given["response"]["error"]["retryable"] = False


@defect("incomplete")
def breaks_not_told(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Knows that the answer broke off, and keeps it to itself."""
    given["findings"] = [code for code in given["findings"] if not code.startswith(("stream-", "undecodable-"))]


@defect("unknown")
def unknown_not_told(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Keeps what it does not know, and tells nobody."""
    given["findings"] = [code for code in given["findings"] if not code.startswith("unknown-")]


@defect("arguments")
def oddities_not_told(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Calls broken arguments broken, and does not say how."""
    given["findings"] = [code for code in given["findings"] if not code.startswith("arguments-")]


@defect("server-side")
def approvals_forgotten(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Nobody hears that a call on the provider's own server waits for approval."""
    if given["response"]["choices"]:
        rebuild(given, [block for block in blocks(given) if block["type"] != "approval_request"])


@defect("usage")
def usage_forgotten(given: CanonicalForm, ask: SubjectExchange) -> None:
    """No figures."""
    given["response"]["usage"] = None


@defect("usage")
def usage_of_streams_forgotten(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Figures that come late are not waited for."""
    if ask.stream:
        given["response"]["usage"] = None


@defect("usage")
def reasoning_counted_twice(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Adds the reasoning to the output that already holds it."""
    usage = given["response"]["usage"]
    if usage and usage["output_tokens"]:
        usage["output_tokens"] += usage["reasoning_tokens"] or 1


@defect("usage")
def cache_left_out(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Input without what was read from the cache."""
    usage = given["response"]["usage"]
    if usage and usage["input_tokens"]:
        usage["input_tokens"] -= usage["cached_input_tokens"] or 1


@defect("unknown")
def unknown_blocks_dropped(given: CanonicalForm, ask: SubjectExchange) -> None:
    """What it does not know, it does not tell."""
    rebuild(given, [block for block in blocks(given) if block["type"] != "opaque"])


@defect("unknown")
def unknown_blocks_emptied(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Of what it does not know it keeps the name."""
    for block in blocks(given):
        if block["type"] == "opaque":
            block["raw"] = {}


@defect("unknown")
def unknown_is_fatal(given: CanonicalForm, ask: SubjectExchange) -> None:
    """What it does not know, it dies of."""
    if any(block["type"] == "opaque" for block in blocks(given)):
        raise KeyError("type")


@defect("conservation")
def words_cut(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Gives the beginning of the words, of every provider, plain and streamed."""
    for block in blocks(given):
        if block["type"] == "text":
            block["text"] = block["text"][:8]


@defect("conservation")
def reasoning_among_the_words(given: CanonicalForm, ask: SubjectExchange) -> None:
    """What the model thought is told as what it said."""
    for block in blocks(given):
        if block["type"] == "reasoning" and block["text"]:
            block.update(type="text", annotations=[])


@defect("conservation")
def dies_without_calls(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Takes it for granted that there is a call."""
    if not calls(given):
        raise KeyError("tool_calls")


@defect("arguments")
def every_call_is_a_function(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Tells calls with free text, and those of built-in tools, as calls of functions."""
    for call in calls(given):
        call["kind"] = "function"


@defect("usage")
def usage_of_grpc_forgotten(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Figures that are members of a message are not read."""
    if ask.wire == "xai.grpc":
        given["response"]["usage"] = None


@defect("alike")
def words_of_anthropic_lost(given: CanonicalForm, ask: SubjectExchange) -> None:
    """Of one provider, the words beside calls are lost, plain and streamed."""
    if ask.wire == "anthropic.messages" and calls(given):
        rebuild(given, [block for block in blocks(given) if block["type"] != "text"])
