"""Reading of a response of `openai.chat`."""

from __future__ import annotations

from typing import Any

from ...subjects import SubjectExchange
from . import (
    ANYTHING,
    Irregular,
    Json,
    WireBlock,
    WireChoice,
    WireResponse,
    call,
    openai_usage,
    reasoning,
    refusal,
    response_values,
    text_block,
    wire_error,
    without,
)

#: Members of a message that have a canonical member; a message holds each as one text.
_TEXTS = ("content", "reasoning_content", "reasoning", "refusal")
_CANONICAL = (*_TEXTS, "role", "tool_calls", "function_call", "annotations", "reasoning_details")
#: The words for a response that a limit ended: OpenAI's, and Mistral's for the context window.
_CUT = ("length", "model_length")


def response(exchange: SubjectExchange) -> WireResponse:
    """Read the response. Raises Irregular."""
    values = response_values(exchange)
    failure = next((value for value in values if value.get("error") is not None), None)
    if failure is not None and not any(value.get("choices") for value in values):
        return WireResponse(None, None, [], None, wire_error(failure, exchange.status), {}, failure)
    if exchange.stream:
        choices, body, ended = assembled(values)
        ended = ended or b"[DONE]" in exchange.body
    else:
        choices, body = [dict(choice) for choice in values[0]["choices"]], values[0]
        ended = True
    reported = failure or next((choice for choice in choices if choice.get("error")), None)
    error = None if reported is None else {**wire_error(reported["error"], None), "raw": ANYTHING}
    figures = body.get("usage") or (body.get("x_groq") or {}).get("usage")
    figures = figures or next((choice["usage"] for choice in choices if choice.get("usage")), None)
    kept = without(body, "id", "object", "model", "choices", "usage", "error", "obfuscation", "x_groq")
    usage = openai_usage(figures, input="prompt_tokens", output="completion_tokens")
    read = [_choice(choice, ended=ended) for choice in sorted(choices, key=lambda choice: choice["index"])]
    return WireResponse(body.get("id"), body.get("model"), read, usage, error, kept, values)


def reply(exchange: SubjectExchange) -> list[Json]:
    """Return what the model said, as it must go back. Raises Irregular."""
    values, stream = response_values(exchange), exchange.stream
    choices = assembled(values)[0] if stream else values[0].get("choices") or []
    if not choices:
        raise Irregular("the response has no choice")
    message = dict(choices[0].get("message") or {})
    if calls := message.get("tool_calls"):  # Mistral's messages have the index of each call, which is its position
        message["tool_calls"] = [{key: value for key, value in call.items() if key != "index"} for call in calls]
    return [message]


def assembled(chunks: list[Json]) -> tuple[list[Json], Json, bool]:
    """Return the choices and the other members of a stream, and whether every choice has a finish reason."""
    choices: dict[int, Json] = {}
    body: Json = {}
    for chunk in chunks:
        if not isinstance(chunk.get("choices"), list):
            raise Irregular("a chunk without choices")
        for key, value in without(chunk, "choices").items():
            body[key] = body[key] if key in ("id", "model") and body.get(key) else value
        for delta in chunk["choices"]:
            choice = choices.setdefault(delta["index"], {"index": delta["index"], "message": {}})
            choice.update(without(delta, "delta", "index", "finish_reason"))
            choice["finish_reason"] = delta.get("finish_reason") or choice.get("finish_reason")
            _grow(choice["message"], delta.get("delta") or {})
    return list(choices.values()), body, all(choice["finish_reason"] for choice in choices.values())


def _grow(message: Json, delta: Json) -> None:
    for key, value in without(delta).items():
        if key in _TEXTS:
            if not isinstance(value, str):
                raise Irregular("content that is not text")
            message[key] = (message.get(key) or "") + value
        elif key == "tool_calls":
            for entry in value:
                _grow_call(message.setdefault("tool_calls", []), entry)
        elif key == "function_call":
            raise Irregular("a call of the form before tool_calls")
        elif key == "annotations":
            message[key] = [*(message.get(key) or []), *value]
        else:
            message[key] = value


def _grow_call(calls: list[Json], entry: Json) -> None:
    index = entry.get("index")
    if not isinstance(index, int) or index not in (len(calls), len(calls) - 1):
        raise Irregular("calls that are interleaved or have an unusual index")
    if index == len(calls):
        calls.append({})
    known = calls[index]
    if known and (entry.get("id") or (entry.get("function") or {}).get("name")):
        raise Irregular("two entries of a call have an id or a name")
    for key, value in without(entry, "index", "function", "custom").items():
        known[key] = value
    for kind, text in (("function", "arguments"), ("custom", "input")):
        part = entry.get(kind)
        if part is not None:
            inner = known.setdefault(kind, {})
            inner.update(without(part, text))
            if len(inner.get(text) or "") > 1 and str(part.get(text)).startswith(inner[text]):
                raise Irregular("a fragment that repeats the arguments so far")
            inner[text] = (inner.get(text) or "") + (part.get(text) or "")


def _choice(choice: Json, *, ended: bool) -> WireChoice:
    message, stop = choice.get("message"), choice.get("finish_reason") or None
    if not isinstance(message, dict):
        raise Irregular("a choice without a message")
    rest = without(choice, "message", "index", "finish_reason", "error")
    blocks = _blocks(message, cut=stop in _CUT or not ended)
    return WireChoice(choice["index"], blocks, stop, [rest, without(message, *_CANONICAL)])


def _blocks(message: Json, *, cut: bool) -> list[WireBlock]:
    """Return the blocks of a message in the canonical order: reasoning, text, refusal, calls."""
    details = message.get("reasoning_details") or []
    if message.get("function_call") or message.get("executed_tools") or len(details) > 1:
        raise Irregular("a message in a dialect")
    blocks: list[WireBlock] = []
    if thoughts := message.get("reasoning_content") or message.get("reasoning"):
        # The extra member says which of the two members the provider uses.
        rest = {} if message.get("reasoning_content") else {"member": "reasoning"}
        signature = details[0].get("signature") if details else None
        blocks.append(
            reasoning(thoughts, {**rest, **({"reasoning_details": details} if details else {})}, signature=signature)
        )
    content = message.get("content")
    if content and not isinstance(content, str):
        raise Irregular("content that is not text")
    if content:
        blocks.append(text_block(content, message.get("annotations") or [], {}))
    if message.get("refusal"):
        blocks.append(refusal(message["refusal"], {}))
    calls = message.get("tool_calls") or []
    blocks += [_call(entry, cut=cut and entry is calls[-1]) for entry in calls]
    return blocks


def _call(entry: Json, *, cut: bool) -> WireBlock:
    kind: Any = entry.get("type") or "function"
    inner = entry.get("custom" if kind == "custom" else "function")
    if not isinstance(inner, dict):
        raise Irregular("an entry of tool_calls that is not a call")
    if not inner.get("name"):
        raise Irregular("a call without a name")
    text = inner.get("input" if kind == "custom" else "arguments")
    if text is not None and not isinstance(text, str):
        raise Irregular("arguments that are not text")
    rest = [without(entry, "id", "type", "index", "function", "custom"), without(inner, "name", "arguments", "input")]
    return call(entry.get("id"), inner.get("name") or "", text or "", rest, kind=kind, cut=cut)
