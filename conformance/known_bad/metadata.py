"""Defects in stop reasons, token counts, findings and unknown content."""

from __future__ import annotations

from ..subjects import Ask
from .mutate import Told, bad, blocks, calls, rebuild


@bad("stop")
def stop_reason_of_the_wire(given: Told, ask: Ask) -> None:
    """Tells the provider's own word."""
    for choice in given["response"]["choices"]:
        choice["stop"]["reason"] = choice["stop"]["raw"] or "unknown"


@bad("stop")
def length_is_success(given: Told, ask: Ask) -> None:
    """An answer that was cut by the limit ended its turn."""
    for choice in given["response"]["choices"]:
        if choice["stop"]["reason"] == "max_tokens":
            choice["stop"]["reason"] = "end_turn"


@bad("stop")
def refusal_is_an_answer(given: Told, ask: Ask) -> None:
    """A refusal ended its turn as any answer does."""
    for choice in given["response"]["choices"]:
        if choice["stop"]["reason"] == "refusal":
            choice["stop"]["reason"] = "end_turn"


@bad("stop")
def disagreement_not_told(given: Told, ask: Ask) -> None:
    """Corrects the stop reason, or fills it in, without a word."""
    given["findings"] = [code for code in given["findings"] if not code.startswith("stop-")]


@bad("stop")
def every_error_is_final(given: Told, ask: Ask) -> None:
    """Never asks again, also where the provider was merely busy."""
    if given["response"]["error"] is not None:
        given["response"]["error"]["retryable"] = False


@bad("incomplete")
def breaks_not_told(given: Told, ask: Ask) -> None:
    """Knows that the answer broke off, and keeps it to itself."""
    given["findings"] = [code for code in given["findings"] if not code.startswith(("stream-", "undecodable-"))]


@bad("unknown")
def unknown_not_told(given: Told, ask: Ask) -> None:
    """Keeps what it does not know, and tells nobody."""
    given["findings"] = [code for code in given["findings"] if not code.startswith("unknown-")]


@bad("arguments")
def oddities_not_told(given: Told, ask: Ask) -> None:
    """Calls broken arguments broken, and does not say how."""
    given["findings"] = [code for code in given["findings"] if not code.startswith("arguments-")]


@bad("server-side")
def approvals_forgotten(given: Told, ask: Ask) -> None:
    """Nobody hears that a call on the provider's own server waits for approval."""
    if given["response"]["choices"]:
        rebuild(given, [block for block in blocks(given) if block["type"] != "approval_request"])


@bad("usage")
def usage_forgotten(given: Told, ask: Ask) -> None:
    """No figures."""
    given["response"]["usage"] = None


@bad("usage")
def usage_of_streams_forgotten(given: Told, ask: Ask) -> None:
    """Figures that come late are not waited for."""
    if ask.stream:
        given["response"]["usage"] = None


@bad("usage")
def reasoning_counted_twice(given: Told, ask: Ask) -> None:
    """Adds the reasoning to the output that already holds it."""
    usage = given["response"]["usage"]
    if usage and usage["output_tokens"]:
        usage["output_tokens"] += usage["reasoning_tokens"] or 1


@bad("usage")
def cache_left_out(given: Told, ask: Ask) -> None:
    """Input without what was read from the cache."""
    usage = given["response"]["usage"]
    if usage and usage["input_tokens"]:
        usage["input_tokens"] -= usage["cached_input_tokens"] or 1


@bad("unknown")
def unknown_blocks_dropped(given: Told, ask: Ask) -> None:
    """What it does not know, it does not tell."""
    rebuild(given, [block for block in blocks(given) if block["type"] != "opaque"])


@bad("unknown")
def unknown_blocks_emptied(given: Told, ask: Ask) -> None:
    """Of what it does not know it keeps the name."""
    for block in blocks(given):
        if block["type"] == "opaque":
            block["raw"] = {}


@bad("unknown")
def unknown_is_fatal(given: Told, ask: Ask) -> None:
    """What it does not know, it dies of."""
    if any(block["type"] == "opaque" for block in blocks(given)):
        raise KeyError("type")


@bad("conservation")
def words_cut(given: Told, ask: Ask) -> None:
    """Gives the beginning of the words, of every provider, plain and streamed."""
    for block in blocks(given):
        if block["type"] == "text":
            block["text"] = block["text"][:8]


@bad("conservation")
def reasoning_among_the_words(given: Told, ask: Ask) -> None:
    """What the model thought is told as what it said."""
    for block in blocks(given):
        if block["type"] == "reasoning" and block["text"]:
            block.update(type="text", annotations=[])


@bad("conservation")
def dies_without_calls(given: Told, ask: Ask) -> None:
    """Takes it for granted that there is a call."""
    if not calls(given):
        raise KeyError("tool_calls")


@bad("arguments")
def every_call_is_a_function(given: Told, ask: Ask) -> None:
    """Tells calls with free text, and those of built-in tools, as calls of functions."""
    for call in calls(given):
        call["kind"] = "function"


@bad("usage")
def usage_of_grpc_forgotten(given: Told, ask: Ask) -> None:
    """Figures that are members of a message are not read."""
    if ask.wire == "xai.grpc":
        given["response"]["usage"] = None


@bad("alike")
def words_of_anthropic_lost(given: Told, ask: Ask) -> None:
    """Of one provider, the words beside calls are lost, plain and streamed."""
    if ask.wire == "anthropic.messages" and calls(given):
        rebuild(given, [block for block in blocks(given) if block["type"] != "text"])
