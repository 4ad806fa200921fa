"""Reading of a response of `google.gemini`: a body, or the events of a stream, each of which has the next parts."""

from __future__ import annotations

import copy
from typing import Any

import msgspec

from toolparity.normalizer import json_codec

from ...subjects import SubjectExchange
from . import (
    Irregular,
    Json,
    WireBlock,
    WireChoice,
    WireResponse,
    call,
    count,
    reasoning,
    response_values,
    server_call,
    server_result,
    text_block,
    wire_error,
    without,
)

_TOOLS = {"GOOGLE_SEARCH_WEB": "web_search", "URL_CONTEXT": "web_fetch", "FILE_SEARCH": "file_search"}
_CANONICAL = ("candidates", "usageMetadata", "modelVersion", "responseId", "error")


class _FunctionCall(msgspec.Struct):
    args: msgspec.Raw = msgspec.Raw(b"")


class _Part(msgspec.Struct, rename="camel"):
    function_call: _FunctionCall | None = None


class _Content(msgspec.Struct):
    parts: list[_Part] = []


class _Candidate(msgspec.Struct):
    content: _Content = msgspec.field(default_factory=_Content)


class _Answer(msgspec.Struct):
    candidates: list[_Candidate] = []


def response(exchange: SubjectExchange) -> WireResponse:
    """Read the response. Raises Irregular."""
    values = response_values(exchange)
    failure = next((value for value in values if "error" in value), None)
    answers = [value for value in values if value is not failure]
    if failure is not None and not answers:
        return WireResponse(None, None, [], None, _error(failure, exchange.status), {}, failure)
    if any(len(answer.get("candidates") or []) != 1 or answer["candidates"][0].get("index") for answer in answers):
        raise Irregular("no candidate, or several ones")
    body, candidate = assembled(answers)
    stop = candidate.get("finishReason")
    blocks = _blocks(candidate["parts"], _argument_texts(exchange), cut=stop == "MAX_TOKENS")
    grounding = candidate.get("groundingMetadata") or {}
    _cite(blocks, grounding.get("groundingSupports") or [])
    rest = [
        without(candidate, "index", "parts", "finishReason", "groundingMetadata"),
        without(grounding, "groundingSupports"),
    ]
    choice = WireChoice(0, blocks, stop, rest)
    error = None if failure is None else _error(failure, None)
    kept = without(body, *_CANONICAL)
    return WireResponse(
        body.get("responseId"),
        body.get("modelVersion"),
        [choice],
        _usage(body.get("usageMetadata")),
        error,
        kept,
        values,
    )


def reply(exchange: SubjectExchange) -> list[Json]:
    """Return what the model said, as it must go back. Raises Irregular."""
    values = response_values(exchange)
    if any("error" in value for value in values):
        raise Irregular("the response failed")
    return [{"role": "model", "parts": assembled(values)[1]["parts"]}]


def assembled(answers: list[Json]) -> tuple[Json, Json]:
    """Return the members of the answers, of which the last value counts, and the candidate with all its ``parts``.

    Texts that follow each other are one part, and its signature comes with the last one.
    """
    body: Json = {}
    candidate: Json = {}
    parts: list[Json] = []
    for answer in answers:
        if "finishReason" in candidate:
            raise Irregular("an event after the last one")
        body.update(without(answer, "candidates"))
        candidate.update(without(answer["candidates"][0], "content"))
        content = answer["candidates"][0].get("content") or {}
        for part in copy.deepcopy(content.get("parts") or []):
            if parts and _continues(parts[-1], part):
                parts[-1].update(part, text=parts[-1]["text"] + part["text"])
            elif part != {"text": ""}:
                parts.append(part)
    return body, {**candidate, "parts": parts}


def _continues(held: Json, part: Json) -> bool:
    return (
        _is_text(held)
        and _is_text(part)
        and held.get("thought") == part.get("thought")
        and "thoughtSignature" not in held
    )


def _is_text(part: Json) -> bool:
    return part.keys() <= {"text", "thought", "thoughtSignature"} and "text" in part


def _argument_texts(exchange: SubjectExchange) -> list[str]:
    """Return the exact text of the arguments of each call."""
    texts = [exchange.body]
    if exchange.stream:
        texts = [line.removeprefix(b"data:") for line in exchange.body.splitlines() if line.startswith(b"data:")]
    try:
        answers = [json_codec.decoder(_Answer)(text) for text in texts]
        parts = [part for answer in answers for each in answer.candidates for part in each.content.parts]
        return [bytes(part.function_call.args).decode() for part in parts if part.function_call is not None]
    except (msgspec.DecodeError, UnicodeError) as error:
        raise Irregular(str(error)) from None


def _blocks(parts: list[Json], texts: list[str], *, cut: bool) -> list[WireBlock]:
    """Return the blocks of the parts. ``texts``: the argument texts of the calls."""
    remaining = iter(texts)
    return [_block(part, remaining, cut=cut and part is parts[-1]) for part in parts]


def _block(part: Json, texts: Any, *, cut: bool) -> WireBlock:
    rest = without(part, "text", "thought", "functionCall")
    if _is_text(part) and part.get("thought"):
        return reasoning(part["text"], {}, signature=part.get("thoughtSignature"))
    if _is_text(part):
        return text_block(part["text"], [], rest)
    made = part.get("functionCall")
    if isinstance(made, dict):
        if made.keys() & {"partialArgs", "willContinue"}:
            raise Irregular("arguments that are streamed one by one")
        return call(made.get("id"), made["name"], next(texts), [rest, without(made, "id", "name", "args")], cut=cut)
    if isinstance(code := part.get("executableCode"), dict):
        arguments = json_codec.text(without(code, "id"))
        beside = without(rest, "executableCode")
        return server_call(code.get("id") or "", "code_execution", "executableCode", arguments, None, beside)
    if isinstance(ran := part.get("codeExecutionResult"), dict):
        raw, failed = {"codeExecutionResult": ran}, ran.get("outcome") != "OUTCOME_OK"
        return server_result(ran.get("id") or "", "code_execution", raw, without(rest, *raw), failed=failed)
    if isinstance(hosted := part.get("toolCall"), dict):
        kind, given = hosted["toolType"], hosted.get("args")
        text = "" if given is None else json_codec.text(given)
        return server_call(hosted.get("id") or "", _TOOLS[kind], kind, text, None, without(rest, "toolCall"))
    if isinstance(found := part.get("toolResponse"), dict):
        raw, failed = {"toolResponse": found}, "error" in (found.get("response") or {})
        tool = _TOOLS[found["toolType"]]
        return server_result(found.get("id") or "", tool, raw, without(rest, *raw), failed=failed)
    raise Irregular(f"a part with {', '.join(part)}")


def _cite(blocks: list[WireBlock], supports: list[Json]) -> None:
    """Add the citations to the text that they support: here, only the last one is clear."""
    if any("partIndex" in (support.get("segment") or {}) for support in supports):
        raise Irregular("a citation of one of several parts")
    texts = [index for index, block in enumerate(blocks) if block.members["type"] == "text"]
    if supports and texts:
        block = blocks[texts[-1]]
        blocks[texts[-1]] = WireBlock({**block.members, "annotations": supports}, block.source)


def _usage(figures: Json | None) -> Json | None:
    """Return the usage. The wire counts thoughts, and the results of the service's tools, apart."""
    if not figures:
        return None
    prompt, used = count(figures, "promptTokenCount"), count(figures, "toolUsePromptTokenCount")
    answer, thoughts = count(figures, "candidatesTokenCount"), count(figures, "thoughtsTokenCount")
    return {
        "input_tokens": prompt if used is None else (prompt or 0) + used,
        "output_tokens": answer if thoughts is None else (answer or 0) + thoughts,
        "reasoning_tokens": thoughts,
        "cached_input_tokens": count(figures, "cachedContentTokenCount"),
        "cache_write_tokens": None,
        "raw": figures,
    }


def _error(failure: Json, status: int | None) -> Json:
    """Return the canonical error. Its type is the name of the status; in a stream, its code is the HTTP status."""
    error = failure["error"]
    return {**wire_error(failure, status), "type": error["status"]}
