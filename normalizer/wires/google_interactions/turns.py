"""Turns: an input whose items have the contents of one role, `{"role": "user", "content": [...]}`.

They are an earlier form of steps, which the API accepted in 2026-04 (recorded). Calls and results are contents there.
"""

from __future__ import annotations

from typing import Any

from ...conversation import Message, RawItem
from ..traverse import member
from ..write_context import AS_WRITTEN
from .parts import CONTENTS, is_plain

#: Spellings of a message in its ``extra``: contents, a text, and contents after those of the message before.
TURN, TEXT, MORE = "turn", "turn text", "turn more"


def is_turn(item: Any) -> bool:
    """Return whether an item of the input is a turn that has contents."""
    if not isinstance(item, dict) or item.keys() != {"role", "content"} or item["role"] not in ("user", "model"):
        return False
    content = item["content"]
    return isinstance(content, str) or (isinstance(content, list) and all(isinstance(each, dict) for each in content))


def spelling(content: Any) -> dict[str, Any]:
    """Return the ``extra`` of the message for the content of a turn."""
    return {AS_WRITTEN: TEXT if isinstance(content, str) else TURN}


def has_turns(messages: list[Message]) -> bool:
    """Return whether any message was read from a turn."""
    for message in messages:  # a loop, since every request runs this; `isinstance` takes longer
        extra = {} if type(message) is RawItem else message.extra  # type: ignore[union-attr]
        if extra and extra.get(AS_WRITTEN) in (TURN, TEXT, MORE):
            return True
    return False


def steps_of(content: str | list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the steps for the content of a model's turn."""
    steps: list[dict[str, Any]] = []
    for each in [{"type": "text", "text": content}] if isinstance(content, str) else content:
        kind = member(each, "type")
        if not isinstance(kind, str) or kind not in CONTENTS:
            steps.append(each)
        elif steps and steps[-1]["type"] == "model_output":
            steps[-1]["content"].append(each)
        else:
            steps.append({"type": "model_output", "content": [each]})
    return steps


def turn_of(role: str, steps: list[dict[str, Any]], written_as: Any) -> dict[str, Any]:
    """Return the turn for steps. ``written_as``: the spelling of the message."""
    content: list[Any] = []
    for step in steps:
        content += step["content"] if step["type"] in ("user_input", "model_output") else [step]
    return {"role": role, "content": content[0]["text"] if written_as == TEXT and is_plain(content) else content}
