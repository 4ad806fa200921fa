"""Fast path of the writer, for the messages that make up nearly every history."""

from __future__ import annotations

from typing import Any

from ...conversation import Assistant, TextPart, ToolResults
from ...model import Text, ToolCall
from ..write_context import WriteContext


def usual_answer(turn: Assistant, used: set[str], context: WriteContext, asked: list[str]) -> dict[str, Any] | None:
    """Return the message for a turn of only text and regular function calls, or None for any other turn.

    ``used``: the call ids of earlier messages; a turn that repeats one is not regular. The function appends the ids of
    the turn's calls to ``asked``, even if it returns None.
    """
    response = turn.response
    choices = response.choices
    if turn.extra or response.extra or not choices:
        return None
    takes, names = context.takes_id, context.named
    blocks: list[dict[str, Any]] = []
    silent = True
    for block in choices[0].blocks:
        if type(block) is ToolCall:
            given = block.arguments
            if block.extra or given is None or block.kind != "function" or block.caller or block.namespace:
                return None
            id = block.id
            if id in used or id in asked or not takes(id):
                return None
            name = names.get(block.name)
            if name is None:
                name = context.name(block.name)
            asked.append(id)
            blocks.append({"type": "tool_use", "id": id, "name": name, "input": given})
        elif type(block) is Text:
            text = block.text
            if not text or block.extra or block.annotations:
                return None
            silent = silent and text.isspace()
            blocks.append({"type": "text", "text": text})
        else:
            return None
    return None if silent and not asked else {"role": "assistant", "content": blocks}


def usual_results(turn: ToolResults) -> dict[str, Any] | None:
    """Return the message for tool results that are one plain text each, or None for any other turn."""
    if turn.extra:
        return None
    blocks = []
    for result in turn.results:
        parts = result.parts
        if result.extra or result.is_error or not result.plain or len(parts) != 1:
            return None
        part = parts[0]
        if type(part) is not TextPart or part.extra or not part.text:
            return None
        blocks.append({"type": "tool_result", "tool_use_id": result.call_id, "content": part.text})
    return {"role": "user", "content": blocks}
