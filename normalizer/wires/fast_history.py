"""Fast path of the request writers, for the messages that make up nearly every history.

Regular messages are a user's plain text, and an assistant message that the wire accepts as regular, with one plain
text as the result of each of its calls. The output is the same as that of the general path.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..conversation import Assistant, Message, TextPart, ToolResult, User
from ..pairing import answers_at


class RegularWriters(NamedTuple):
    """The functions of a wire.

    ``user(text)`` returns the message, and ``assistant(message, call_ids)`` the messages or items, after appending the
    ids of the calls to ``call_ids``; None if they are not regular. ``results(results, call_ids, items)`` appends the
    results of these calls to ``items``, and reports whether they are regular.
    """

    user: Callable[[str], Any | None]
    assistant: Callable[[Assistant, list[str]], list[Any] | None]
    results: Callable[[list[ToolResult], list[str], list[Any]], bool]


def write_regular(writers: RegularWriters, messages: list[Message], start: int, stop: int, out: list[Any]) -> int:
    """Append regular messages to ``out``, and return the index of the first one that is not regular, or ``stop``."""
    user, assistant, results = writers
    index = start
    while index < stop:
        message = messages[index]
        kind = type(message)
        if kind is User:
            parts = message.parts  # type: ignore[union-attr]
            if message.extra or not message.plain or len(parts) != 1 or type(part := parts[0]) is not TextPart:  # type: ignore[union-attr]
                return index
            if part.extra or (written := user(part.text)) is None:
                return index
            out.append(written)
        elif kind is Assistant:
            call_ids: list[str] = []
            items = assistant(message, call_ids)  # type: ignore[arg-type]
            if items is None:
                return index
            if call_ids:
                answers = answers_at(index + 1, messages, stop, call_ids)
                if answers is None or answers.extra or not results(answers.results, call_ids, items):
                    return index
                index += 1
            out += items
        else:
            return index
        index += 1
    return index
