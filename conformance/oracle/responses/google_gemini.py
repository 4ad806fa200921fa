"""Reading of a response of `google.gemini`: a body, or the events of a stream, each of which has the next parts."""

from __future__ import annotations

import copy
import re
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
    reasoning,
    response_texts,
    response_values,
    server_call,
    server_result,
    text_block,
    wire_error,
    without,
)

_TOOLS = {"GOOGLE_SEARCH_WEB": "web_search", "URL_CONTEXT": "web_fetch", "FILE_SEARCH": "file_search"}
_MADE = {"image": "image_generation", "audio": "audio_generation", "video": "video_generation"}
_DATA = {"fileData", "functionResponse", "audioTranscription", "text"}
_CANONICAL = ("candidates", "usageMetadata", "modelVersion", "responseId", "error")


class _FunctionCall(msgspec.Struct):
    args: msgspec.Raw = msgspec.Raw(b"")


class _Part(msgspec.Struct, rename="camel"):
    function_call: _FunctionCall | None = None


class _Content(msgspec.Struct):
    parts: list[_Part] = []


class _Candidate(msgspec.Struct):
    index: int | None = None
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
    body, candidates = assembled(answers)
    texts = _argument_texts(exchange)
    choices = [_choice(index, candidate, texts.get(index, [])) for index, candidate in sorted(candidates.items())]
    if reason := (body.get("promptFeedback") or {}).get("blockReason"):
        choices = [WireChoice(choice.index, choice.blocks, reason, choice.source) for choice in choices]
        choices = choices or [WireChoice(0, [], reason)]
    error = None if failure is None else _error(failure, None)
    kept = without(body, *_CANONICAL)
    figures = _usage(body.get("usageMetadata"))
    return WireResponse(body.get("responseId"), body.get("modelVersion"), choices, figures, error, kept, values)


def _choice(index: int, candidate: Json, texts: list[str]) -> WireChoice:
    """Return the choice of a candidate. ``texts``: the argument texts of its calls."""
    stop = candidate.get("finishReason")
    blocks = _blocks(candidate["parts"], texts, cut=stop in ("MAX_TOKENS", 2))
    grounding, cited = candidate.get("groundingMetadata") or {}, candidate.get("citationMetadata") or {}
    placed = _cite(blocks, [*(cited.get("citations") or []), *(grounding.get("groundingSupports") or [])])
    rest = [
        without(candidate, "index", "parts", "finishReason", "groundingMetadata", "citationMetadata"),
        without(grounding, "groundingSupports") if placed else grounding,
        without(cited, "citations") if placed else cited,
    ]
    return WireChoice(index, blocks, ANYTHING if isinstance(stop, int) else stop, rest)


def reply(exchange: SubjectExchange) -> list[Json]:
    """Return what the model said, as it must go back. Raises Irregular."""
    values = response_values(exchange)
    if any("error" in value for value in values):
        raise Irregular("the response failed")
    candidates = assembled(values)[1]
    if not candidates:
        raise Irregular("no candidate")
    parts = [_whole(part) for part in candidates[min(candidates)]["parts"]]
    ids = [id for part in parts if (id := (part.get("functionCall") or {}).get("id"))]
    if len(ids) != len(set(ids)):
        raise Irregular("two calls with one id")
    return [{"role": "model", "parts": parts}]


def assembled(answers: list[Json]) -> tuple[Json, dict[int, Json]]:
    """Return the members of the answers, of which the last value counts, and each candidate with all its ``parts``.

    Texts that follow each other are one part, and its signature comes with the last one. A call that is to be continued
    takes the partial arguments of the next parts.
    """
    body: Json = {}
    candidates: dict[int, Json] = {}
    for answer in answers:
        body.update(without(answer, "candidates"))
        for number, came in enumerate(answer.get("candidates") or []):
            candidate = candidates.setdefault(came.get("index", number), {"parts": []})
            if "finishReason" in candidate:
                raise Irregular("an event after the last one")
            candidate.update(without(came, "content"))
            for part in copy.deepcopy((came.get("content") or {}).get("parts") or []):
                _add(candidate["parts"], part)
    return body, candidates


def _add(parts: list[Json], part: Json) -> None:
    held = parts[-1] if parts else {}
    call, more = held.get("functionCall") or {}, part.get("functionCall")
    if _continues(held, part):
        held.update(part, text=held["text"] + part["text"])
    elif call.get("willContinue") and more is not None:
        if more.keys() - {"partialArgs", "willContinue"}:
            raise Irregular("a call inside the streamed arguments of another one")
        call["partialArgs"] = [*call.get("partialArgs", []), *more.get("partialArgs", [])]
        call["willContinue"] = more.get("willContinue", False)
    elif part != {"text": ""}:
        parts.append(part)


def _whole(part: Json) -> Json:
    """Return a part with the arguments of its call, if they were streamed one value at a time."""
    call = part.get("functionCall") or {}
    if not call.keys() & {"partialArgs", "willContinue"}:
        return part
    if call.get("willContinue"):
        raise Irregular("streamed arguments that do not end")
    arguments: Json = {}
    begun: dict[str, str] = {}
    for partial in call.get("partialArgs", []):
        path = partial["jsonPath"]
        value = next((partial[name] for name in ("stringValue", "numberValue", "boolValue") if name in partial), None)
        if isinstance(value, str):
            value = begun[path] = begun.get(path, "") + value
        steps = [name if number == "" else int(number) for name, number in _STEP.findall(path)]
        holder: Any = {"$": arguments}
        for step, following in zip(["$", *steps], steps, strict=False):
            holder = _inner(holder, step, [] if isinstance(following, int) else {})
        _inner(holder, steps[-1], value)
        holder[steps[-1]] = value
    return {**part, "functionCall": {**without(call, "partialArgs", "willContinue"), "args": arguments}}


#: A step of the path of a partial argument: a name, or the index of an element.
_STEP = re.compile(r"""(?:\.|\[['"])([^.\[\]'"]+)(?:['"]\])?|\[(\d+)\]""")


def _inner(holder: Any, step: Any, new: Any) -> Any:
    """Return a member of a holder, or add ``new`` as this member."""
    if isinstance(holder, list):
        holder += [new] * (step + 1 - len(holder))
        return holder[step]
    return holder.setdefault(step, new)


def _continues(held: Json, part: Json) -> bool:
    return (
        _is_text(held)
        and _is_text(part)
        and held.get("thought") == part.get("thought")
        and "thoughtSignature" not in held
    )


def _is_text(part: Json) -> bool:
    return part.keys() <= {"text", "thought", "thoughtSignature"} and "text" in part


def _argument_texts(exchange: SubjectExchange) -> dict[int, list[str]]:
    """Return the exact text of the arguments of each call of each candidate."""
    texts: dict[int, list[str]] = {}
    try:
        for event in response_texts(exchange):
            for number, candidate in enumerate(json_codec.decoder(_Answer)(event).candidates):
                calls = (part.function_call for part in candidate.content.parts if part.function_call is not None)
                found = texts.setdefault(number if candidate.index is None else candidate.index, [])
                found += [bytes(call.args).decode() for call in calls]
    except (msgspec.DecodeError, UnicodeError) as error:
        raise Irregular(str(error)) from None
    return texts


def _blocks(parts: list[Json], texts: list[str], *, cut: bool) -> list[WireBlock]:
    """Return the blocks of the parts. ``texts``: the argument texts of the calls."""
    if any("willContinue" in (part.get("functionCall") or {}) for part in parts):
        texts = ["" for part in parts if "functionCall" in part]
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
        source, text = [rest, without(made, "id", "name", "args", "partialArgs", "willContinue")], next(texts)
        if made.get("willContinue"):
            raise Irregular("streamed arguments that do not end")
        if "willContinue" in made:
            text = json_codec.text(_whole(part)["functionCall"]["args"])
        return call(made.get("id"), made["name"], text, source, cut=cut)
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
    if isinstance(shown := part.get("inlineData"), dict):
        raw = {"inlineData": shown}
        return server_result("", _MADE[shown["mimeType"].split("/")[0]], raw, without(rest, *raw), failed=False)
    if part.keys() <= {"thoughtSignature", "thought"} or part.keys() & _DATA:
        raise Irregular(f"a part with {', '.join(part)}")
    return opaque(next(iter(part)), part, {})


def _cite(blocks: list[WireBlock], citations: list[Json]) -> bool:
    """Add the citations to the text that they support, and return whether there is one. Only the last text is clear."""
    if any("partIndex" in (support.get("segment") or {}) for support in citations):
        raise Irregular("a citation of one of several parts")
    texts = [index for index, block in enumerate(blocks) if block.members["type"] == "text"]
    if citations and texts:
        block = blocks[texts[-1]]
        blocks[texts[-1]] = WireBlock({**block.members, "annotations": citations}, block.source)
    return bool(texts)


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
