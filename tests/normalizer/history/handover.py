"""What must hold when a conversation is handed over to another wire: nothing is missing, and every loss is true."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.normalizer.history.views import Statement, statements, value
from toolparity import Opaque, Reasoning, Refusal, ServerToolCall, ServerToolResult, Text, ToolCall
from toolparity.normalizer.conversation import (
    Assistant,
    Encoded,
    Loss,
    MediaPart,
    OpaquePart,
    RawItem,
    Request,
    System,
    ToolResults,
    User,
)
from toolparity.normalizer.model import ApprovalRequest
from toolparity.normalizer.pairing import paired
from toolparity.normalizer.wires.write_context import LOSSES

_BY_NAME = frozenset(("function", "custom", "legacy_function"))
_TEXTS = frozenset(("system", "user", "assistant", "result"))


def missing(request: Request, source: list[Statement], encoded: Encoded) -> list[str]:
    """Return what the source states, the target does not, and no loss reports; a line each."""
    target = statements(encoded.wire, encoded.body)
    lost = Counter(loss.code for loss in encoded.losses)
    found = _missing_calls(request, encoded, target, lost) + _missing_results(request, encoded, target)
    texts = "\n".join(one.text for one in target if one.kind in _TEXTS)
    thoughts = "\n".join(one.text for one in target if one.kind == "reasoning")
    excused = {"orphan", "duplicate-answer", "opaque", "server-tool", "param"} & set(lost)
    for one in source:
        # A note may replace an image between the texts of a result.
        lines = one.text.strip().splitlines() if one.kind == "result" else [one.text.strip()]
        if one.kind in _TEXTS and not all(line in texts for line in lines) and not excused:
            found.append(f"{one.kind}: {one.text[:60]!r}")
        if one.kind == "reasoning" and one.text not in thoughts and not {"reasoning", "unsigned-reasoning"} & set(lost):
            found.append(f"reasoning: {one.text[:60]!r}")
    media = [sum(one.kind == "media" for one in side) for side in (source, target)]
    if media[0] > media[1] and not {"media", "opaque", "order"} & set(lost):
        found.append(f"{media[0] - media[1]} images or files")
    return found


def _missing_calls(request: Request, encoded: Encoded, target: list[Statement], lost: Counter[str]) -> list[str]:
    """Return the calls whose id, name or arguments are not in the target, in their order."""
    wanted = [call for turn in request.messages if isinstance(turn, Assistant) for call in turn.response.calls]
    written = [one for one in target if one.kind == "call"]
    if len(wanted) != len(written):
        return [f"{len(wanted)} calls, {len(written)} written"]
    found = []
    for call, one in zip(wanted, written, strict=True):
        id, name = encoded.ids.get(one.id, one.id), encoded.names.get(one.name, one.name)
        id = id or call.id  # a call that had no id on its wire is known by its position
        if not one.name and call.kind not in _BY_NAME:
            name = call.name  # an item of another type names nothing else
        if (id, name) != (call.id, call.name):
            found.append(f"call {call.name} ({call.id}) is {name} ({id})")
        allowed = [call.arguments_text, value(call.arguments_text)]
        allowed += [call.arguments] * (call.arguments is not None)
        allowed += [{"_raw": call.arguments_text}] * bool(lost["arguments"] or lost["kind"])
        allowed += [{"input": call.arguments_text}] * bool(lost["kind"])
        if one.name and value(one.text) not in allowed:
            found.append(f"call {call.name}: {call.arguments_text[:60]!r} is {one.text[:60]!r}")
    return found


def _missing_results(request: Request, encoded: Encoded, target: list[Statement]) -> list[str]:
    turns = paired(request.messages, lambda code, message, turn: None)
    wanted = [result.call_id for turn in turns if isinstance(turn, ToolResults) for result in turn.results]
    written = [encoded.ids.get(one.id, one.id) for one in target if one.kind == "result"]
    if len(wanted) == len(written):
        written = [id or known for id, known in zip(written, wanted, strict=True)]
    return [] if wanted == written else [f"results of {wanted}, written {written}"]


def untrue(request: Request, encoded: Encoded) -> list[Loss]:
    """Return the losses that name nothing of the request."""
    return [loss for loss in encoded.losses if loss.code not in LOSSES or not _is_true(request, loss)]


def _is_true(request: Request, loss: Loss) -> bool:
    index = loss.message_index
    messages = request.messages if index is None else request.messages[index : index + 1]
    blocks = [block for turn in messages if isinstance(turn, Assistant) for block in turn.response.choices[0].blocks]
    if loss.block is not None and loss.block < len(blocks):
        blocks = [blocks[loss.block]]
    parts = [part for turn in messages for part in _parts(turn)]
    tools, params = request.tools, request.params
    match loss.code:
        case "reasoning" | "unsigned-reasoning":
            return _any(blocks, Reasoning)
        case "server-tool":
            return _any(blocks, ServerToolCall, ServerToolResult)
        case "refusal":
            return _any(blocks, Refusal)
        case "annotations":
            return any(block.annotations for block in blocks if isinstance(block, Text))
        case "namespace":
            return any(block.namespace or block.caller for block in blocks if isinstance(block, ToolCall))
        case "arguments":
            return any(block.arguments is None for block in blocks if isinstance(block, ToolCall))
        case "kind":
            calls = [block for block in blocks if isinstance(block, ToolCall)]
            kinds = [tool.kind for tool in tools] + [call.kind for call in calls]
            return any(kind not in ("function", "hosted") for kind in kinds)
        case "media":
            return _any(parts, MediaPart)
        case "opaque":
            return _any([*blocks, *parts, *request.messages], Opaque, ApprovalRequest, OpaquePart, RawItem)
        case "default" if "tools" in loss.message:  # for the calls of the history
            return all(tool.kind == "hosted" for tool in tools)
        case "default":
            return not any("max" in name and isinstance(size, int) and size > 0 for name, size in params.items())
        case "hosted-tool":
            return any(tool.kind == "hosted" for tool in tools)
        case "model" | "tool-choice":
            return getattr(request, loss.code.replace("-", "_")) is not None
        case "parallel":
            return request.parallel is False
        case "param":
            name = loss.message.split(":")[0].split(" ")[0].split(".")[0]
            is_strict = name == "strict" and any(tool.strict for tool in tools)
            return name in params or is_strict or bool(request.previous_response_id)
        case "answered" | "orphan" | "duplicate-answer":
            reported: list[str] = []
            paired(request.messages, lambda code, message, turn: reported.append(code))
            return loss.code in reported
    return True  # extra, order, empty, bridge: other tests compare their messages


def _any(values: list[Any], *types: type) -> bool:
    return any(isinstance(value, types) for value in values)


def _parts(turn: Any) -> list[Any]:
    if isinstance(turn, (User, System)):
        return turn.parts
    return [part for result in turn.results for part in result.parts] if isinstance(turn, ToolResults) else []
