"""Reading of a response of `google.interactions`."""

from __future__ import annotations

import copy
from typing import Any

import msgspec

from toolparity.normalizer import json_codec

from ...subjects import SubjectExchange
from . import (
    ANYTHING,
    Irregular,
    Json,
    WireBlock,
    WireChoice,
    WireResponse,
    call,
    count,
    opaque,
    parsed_arguments,
    reasoning,
    response_values,
    server_call,
    server_result,
    text_block,
    wire_error,
    without,
)

#: Beginning of the types of a call and a result of the provider -> canonical tool, if the names differ.
_TOOLS = {"google_search": "web_search", "url_context": "web_fetch", "mcp_server_tool": "mcp"}
_NAMED = ("code_execution", "file_search", "google_maps", "processing", "retrieval", "tool_search", *_TOOLS)
_MEDIA = ("image", "audio", "video", "document")
_BEGUN = ("in_progress", "queued")
#: Type of an event until June 2026 -> its type since then.
_RENAMED = {
    "interaction.start": "interaction.created",
    "interaction.complete": "interaction.completed",
    "content.start": "step.start",
    "content.delta": "step.delta",
    "content.stop": "step.stop",
}


def response(exchange: SubjectExchange) -> WireResponse:
    """Read the response. Raises Irregular."""
    values = response_values(exchange)
    failure: Json | None = None
    if exchange.stream and exchange.status < 400:
        body, steps, failure, ended = assembled(values)
        texts = [step.pop("streamed_arguments", None) for step in steps]
    else:
        body, steps, ended = values[0], values[0].get("steps") or values[0].get("outputs") or [], True
        failure = body if "error" in body else None
        texts = _argument_texts(exchange.body) if failure is None else []
    if failure is not None and not steps and body.get("status") is None:
        return WireResponse(None, None, [], None, wire_error(failure, exchange.status), {}, failure)
    status = body.get("status")
    cut = not ended or status in ("incomplete", "budget_exceeded", *_BEGUN)
    answered = [step.get("call_id") for step in steps if step.get("type") == "function_result"]
    blocks = [
        block
        for index, step in enumerate(steps)
        for block in _blocks(step, texts[index], answered, cut=cut and index == len(steps) - 1)
    ]
    failures = [failure, *(body.get("errors") or []), *(step.get("error") for step in steps)]
    failure = next((each for each in failures if each), None)
    error = None if failure is None else wire_error(failure, None)
    kept = without(body, "id", "object", "model", "status", "steps", "outputs", "usage", "error")
    kept["steps"] = [step for step in steps if step.get("type") == "user_input"]
    stop = ANYTHING if status in _BEGUN or status is None else status
    return WireResponse(
        body.get("id"), body.get("model"), [WireChoice(0, blocks, stop)], _usage(body.get("usage")), error, kept, values
    )


def reply(exchange: SubjectExchange) -> list[Json]:
    """Return what the model said, as it must go back. Raises Irregular."""
    values, stream = response_values(exchange), exchange.stream
    if not stream:
        if "outputs" in values[0] or any(step.get("type") == "user_input" for step in values[0].get("steps") or []):
            raise Irregular("steps of the input, or the form before June 2026")
        return values[0].get("steps") or []
    if any(value.get("event_type") in _RENAMED for value in values):
        raise Irregular("the form before June 2026")
    _, steps, failure, _ = assembled(values)
    if failure is not None:
        raise Irregular("the response failed")
    for step in steps:
        if text := step.pop("streamed_arguments", None):
            step["arguments"], status = parsed_arguments(text)
            if status != "complete":
                raise Irregular("arguments that are not an object")
    return steps


def assembled(events: list[Json]) -> tuple[Json, list[Json], Json | None, bool]:
    """Return the interaction of a stream, its steps, the event that reports an error, and whether the last step ended.

    The argument text of a step that came in fragments is in its member ``streamed_arguments``.
    """
    body: Json = {}
    steps: list[Json] = []
    failure: Json | None = None
    open_steps: dict[Any, Json] = {}
    for event in events:
        kind = _RENAMED.get(event.get("event_type", ""), event.get("event_type"))
        if kind in ("interaction.created", "interaction.completed"):
            body.update(without(event["interaction"], "steps"))
            if event["interaction"].get("steps"):
                raise Irregular("an event with the steps of the interaction")
        elif kind == "interaction.status_update":
            body["status"] = event["status"]
        elif kind == "step.start":
            if event.get("index") != len(steps):
                raise Irregular("a step has an unusual index")
            open_steps[event["index"]] = step = copy.deepcopy(event.get("step") or event["content"])
            steps.append(step)
        elif kind == "step.delta":
            if event.get("index") not in open_steps:
                raise Irregular("a delta without its step")
            _grow(open_steps[event["index"]], event["delta"])
        elif kind == "step.stop":
            open_steps.pop(event.get("index"), None)
        elif kind == "error":
            failure = event
        else:
            raise Irregular(f"an event of type {kind}")
        metadata = event.get("metadata") or {}
        if figures := event.get("usage") or metadata.get("total_usage") or metadata.get("usage"):
            body["usage"] = figures
    return body, steps, failure, not open_steps


def _grow(step: Json, delta: Json) -> None:
    kind = delta.get("type")
    if kind == "text":
        _text_of(step)["text"] += delta["text"]
    elif kind in _MEDIA:
        step.setdefault("content", []).append(without(delta))
    elif kind == "text_annotation_delta":
        content = _text_of(step)
        content["annotations"] = [*(content.get("annotations") or []), *delta["annotations"]]
    elif kind == "thought_summary":
        if delta["content"].get("type") != "text":
            raise Irregular("a summary that is not text")
        step.setdefault("summary", [{"type": "text", "text": ""}])[0]["text"] += delta["content"]["text"]
    elif kind == "thought_signature":
        step["signature"] = (step.get("signature") or "") + delta["signature"]
    elif kind == "arguments_delta":
        step["streamed_arguments"] = (step.get("streamed_arguments") or "") + delta["arguments"]
        step.update(without(delta, "type", "arguments"))
    elif kind == step.get("type"):
        step.update(without(delta, "type"))
    else:
        raise Irregular(f"a delta of type {kind}")


def _text_of(step: Json) -> Json:
    """Return the content to which the next text belongs: until June 2026, the step itself."""
    if step.get("type") == "text":
        step.setdefault("text", "")
        return step
    contents = step.setdefault("content", [])
    if not contents or contents[-1].get("type") != "text":
        contents.append({"type": "text", "text": ""})
    last: Json = contents[-1]
    return last


class _ArgumentsOf(msgspec.Struct):
    arguments: msgspec.Raw = msgspec.Raw(b"")


class _Steps(msgspec.Struct):
    steps: list[_ArgumentsOf] = []
    outputs: list[_ArgumentsOf] = []


def _argument_texts(body: bytes) -> list[Any]:
    """Return the exact text of the arguments of each step of a plain body."""
    try:
        read = json_codec.decoder(_Steps)(body)
        return [bytes(step.arguments).decode() for step in read.steps or read.outputs]
    except (msgspec.DecodeError, UnicodeError) as error:
        raise Irregular(str(error)) from None


def _blocks(step: Json, streamed: str | None, answered: list[Any], *, cut: bool) -> list[WireBlock]:
    """Return the blocks of a step.

    ``streamed``: the exact text of its arguments, if it has one beside the step. ``answered``: the ids of the calls
    whose results are in the interaction.
    """
    kind = str(step.get("type", ""))
    source = without(step, "type")
    text = streamed or (json_codec.text(step["arguments"]) if "arguments" in step else "")
    if kind == "model_output":
        contents = step.get("content") or [{"type": "text", "text": ""}]
        rest = without(source, "content")
        return [_content(content, rest if number == 0 else {}) for number, content in enumerate(contents)]
    if kind == "thought":
        summary = step.get("summary") or []
        if any(part.get("type") != "text" for part in summary):
            raise Irregular("a summary that is not text")
        text = "".join(part["text"] for part in summary)
        rest = without(source, "signature", *(("summary",) if len(summary) == 1 else ()))
        return [reasoning(text, rest, signature=step.get("signature"), redacted=False)]
    if kind == "user_input":
        return []
    if kind in ("text", *_MEDIA):
        return [_content(step, {})]
    if kind == "function_call" and step.get("id") in answered:
        ran = {**step, "arguments": parsed_arguments(text)[0]}
        return [server_call(step["id"], "function", step.get("name") or "", text, None, ran)]
    if kind == "function_call":
        rest = without(source, "id", "name", "arguments")
        return [call(step.get("id"), step.get("name") or "", text, rest, cut=cut)]
    name = kind.removesuffix("_call").removesuffix("_result")
    if name not in _NAMED and kind.endswith("_call"):
        return [server_call(step.get("id") or "", name, step.get("name") or "", text, None, step)]
    if name not in _NAMED and kind != "function_result":
        return [opaque(kind, step, {})]
    tool = _TOOLS.get(name, name)
    if kind.endswith("_call"):
        rest = without(source, "id", "name", "arguments")
        return [server_call(step.get("id") or "", tool, step.get("name") or "", text, None, rest)]
    raw = {key: value for key, value in step.items() if value is not None}
    return [server_result(step.get("call_id") or "", tool, raw, {}, failed=step.get("is_error") is True)]


def _content(content: Json, rest: Json) -> WireBlock:
    kind = content.get("type")
    if kind == "text":
        members = {**without(content, "type", "text", "annotations"), **rest}
        return text_block(content.get("text") or "", content.get("annotations") or [], members)
    if kind in _MEDIA:
        return server_result("", f"{kind}_generation", content, rest, failed=False)
    return opaque(str(kind), content, rest)


def _usage(figures: Json | None) -> Json | None:
    """Return the usage. The wire counts thoughts, and the results of the provider's tools, apart from the totals."""
    if not figures:
        return None
    input, output = count(figures, "total_input_tokens"), count(figures, "total_output_tokens")
    thought, used = count(figures, "total_thought_tokens"), count(figures, "total_tool_use_tokens")
    return {
        "input_tokens": None if input is None else input + (used or 0),
        "output_tokens": None if output is None else output + (thought or 0),
        "reasoning_tokens": thought,
        "cached_input_tokens": count(figures, "total_cached_tokens"),
        "cache_write_tokens": None,
        "raw": figures,
    }
