"""Next turns of a conversation, built from a response and the outcomes of its calls.

``answer`` keeps the assistant turn unchanged and adds exactly one result per call; dropped and rejected calls get an
error that states the reason. ``strip`` removes those calls from the response instead. A provider refuses that for a
turn with signed reasoning (failure THINK-04).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from .arguments import overflows
from .conversation import Assistant, JsonPart, Message, Part, TextPart, ToolResult, ToolResults
from .errors import DuplicateAnswer, PolicyError, StripIllegal, UnserializableResult
from .model import Reasoning, Response, ToolCall
from .pairing import unanswered
from .policies import Selection, checked_response

#: Anything that a tool may return: text, a JSON-serializable value, a list of parts, or a ToolResult.
Outcome = Any


def answer(
    response: Response, selection: Selection, outcomes: Mapping[str, Outcome] | Iterable[ToolResult]
) -> list[Message]:
    """Return the assistant message and the message with the results of its calls, in call order.

    ``outcomes``: a mapping from call id to outcome, or tool results. A kept call without an outcome gets an error
    result that says it was not executed; dropped and rejected calls get the selection's reason. Without calls there is
    no second message. Raises DuplicateAnswer if two results have the same call id or an outcome matches no call, and
    UnserializableResult for an outcome that is not JSON-serializable, or neither in a mapping nor a ToolResult.
    Raises PolicyError for an argument that is not a Response or not a Selection.
    """
    _check(response, selection)
    remaining = _by_id(outcomes)
    reasons = {ref.id: ref.reason for ref in (*selection.dropped, *selection.rejected)}
    choice = next((c for c in response.choices if c.index == selection.choice), None)
    calls = choice.calls if choice is not None else []
    results = []
    for call in calls:
        outcome = remaining.pop(call.id, msgspec.UNSET)
        if outcome is not msgspec.UNSET:
            results.append(result_of(call, outcome))
        elif call.id in reasons:
            results.append(unanswered(call, f"This call was not executed: {reasons[call.id]}."))
        else:
            results.append(unanswered(call))
    if remaining:
        raise DuplicateAnswer(f"outcomes for unknown calls: {', '.join(map(str, remaining))}")
    if choice is not None and len(response.choices) > 1:
        response = replace(response, choices=[choice])
    messages: list[Message] = [Assistant(response)]
    if results:
        messages.append(ToolResults(results))
    return messages


def strip(response: Response, selection: Selection) -> Response:
    """Return the response without its dropped and rejected calls.

    Raises StripIllegal if their choice also contains signed or encrypted reasoning: a provider refuses such a turn once
    it was changed. Raises PolicyError for an argument that is not a Response or not a Selection.
    """
    _check(response, selection)
    cut = {(ref.choice, ref.block) for ref in (*selection.dropped, *selection.rejected)}
    choices = []
    for choice in response.choices:
        removed = {block for index, block in cut if index == choice.index}
        if removed and any(isinstance(b, Reasoning) and (b.signature or b.encrypted) for b in choice.blocks):
            names = ", ".join(b.name for i, b in enumerate(choice.blocks) if i in removed and isinstance(b, ToolCall))
            raise StripIllegal(f"{names}: the same turn contains signed reasoning", where=f"choice {choice.index}")
        choices.append(replace(choice, blocks=[b for i, b in enumerate(choice.blocks) if i not in removed]))
    return replace(response, choices=choices)


def _check(response: Response, selection: Selection) -> None:
    checked_response(response)
    if not isinstance(selection, Selection):
        found = type(selection).__name__
        raise PolicyError(f"selection must be a Selection, got {found}", hint="pass the result of select()")


def result_of(call: ToolCall, outcome: Outcome) -> ToolResult:
    """Return the result of a call from the outcome of its tool. An exception becomes an error result.

    Raises UnserializableResult if the outcome is not JSON-serializable.
    """
    if isinstance(outcome, ToolResult):
        return replace(outcome, call_id=call.id, name=outcome.name or call.name, kind=call.kind)
    if isinstance(outcome, BaseException):
        text = f"{type(outcome).__name__}: {outcome}" if str(outcome) else type(outcome).__name__
        return ToolResult(call.id, [TextPart(text)], is_error=True, name=call.name, kind=call.kind)
    try:
        parts = parts_of(outcome)
    except UnserializableResult as error:
        raise UnserializableResult(error.what, where=f"{call.name} ({call.id})", hint=error.hint) from error.__cause__
    return ToolResult(call.id, parts, name=call.name, kind=call.kind, plain=not _is_parts(outcome))


def parts_of(outcome: Outcome) -> list[Part]:
    """Return the parts of an outcome: none for None or "", a text part for a string, else a JSON part.

    A list of parts is returned as it is. Raises UnserializableResult for a value that is not JSON-serializable.
    """
    if outcome is None or outcome == "":
        return []
    if isinstance(outcome, str):
        return [TextPart(outcome)]
    if _is_parts(outcome):
        return list(outcome)
    hint = "return text, a JSON-serializable value, content parts, or a ToolResult"
    try:
        value = msgspec.to_builtins(outcome, str_keys=True, enc_hook=_model_value)
    except (TypeError, ValueError, RecursionError) as error:
        raise UnserializableResult(
            f"a {type(outcome).__name__} is not JSON-serializable: {error}", hint=hint
        ) from error
    if overflows(value):
        raise UnserializableResult("NaN and infinity are not JSON", hint=hint)
    return [JsonPart(value)]


def _model_value(value: Any) -> Any:
    """Return the JSON value of a pydantic model. Raises TypeError for any other value that msgspec cannot encode."""
    pydantic = sys.modules.get("pydantic")  # without it there are no models
    if pydantic is None or not isinstance(value, pydantic.BaseModel):
        raise TypeError(f"Encoding objects of type {type(value).__name__} is unsupported")
    return value.model_dump(mode="json", by_alias=True)


def _is_parts(outcome: Outcome) -> bool:
    return isinstance(outcome, (list, tuple)) and bool(outcome) and all(isinstance(part, Part) for part in outcome)


def _by_id(outcomes: Mapping[str, Outcome] | Iterable[ToolResult]) -> dict[str, Outcome]:
    if isinstance(outcomes, Mapping):
        return dict(outcomes)
    by_id: dict[str, Outcome] = {}
    hint = "pass a mapping from call id to outcome, or tool results"
    if not isinstance(outcomes, Iterable):
        raise UnserializableResult(f"outcomes without calls: {type(outcomes).__name__}", hint=hint)
    for result in outcomes:
        if not isinstance(result, ToolResult):
            raise UnserializableResult(f"an outcome without a call: {type(result).__name__}", hint=hint)
        if result.call_id in by_id:
            raise DuplicateAnswer(f"two results for {result.call_id}")
        by_id[result.call_id] = result
    return by_id
