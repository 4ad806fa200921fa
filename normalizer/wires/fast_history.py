"""Fast path of the request writers, for the messages that make up nearly every history.

Regular messages are a user's plain text, and an assistant message that the wire accepts as regular, with one plain
text as the result of each of its calls. The output is the same as that of the general path.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..conversation import Assistant, Message, TextPart, ToolResult, ToolResults, User


class RegularWriters(NamedTuple):
    """The functions of a wire.

    ``user(text)`` returns the message, None if it is not regular. ``assistant(message, call_ids, out)`` appends the
    messages or items to ``out`` and the ids of the calls to ``call_ids``. ``results(results, call_ids, out)`` appends
    the results of these calls. Both report whether everything is regular, and the results answer the calls one by one,
    in order; if not, the caller removes what they appended to ``out``.
    """

    user: Callable[[str], Any | None]
    assistant: Callable[[Assistant, list[str], list[Any]], bool]
    results: Callable[[list[ToolResult], list[str], list[Any]], bool]


def write_regular(writers: RegularWriters, messages: list[Message], start: int, stop: int, out: list[Any]) -> int:
    """Append regular messages to ``out``, and return the index of the first one that is not regular, or ``stop``."""
    user, assistant, results = writers
    index = start
    while index < stop:
        message = messages[index]
        if type(message) is User:
            try:
                [part] = message.parts  # takes less time than `len`
            except ValueError:
                return index
            if message.extra or not message.plain or type(part) is not TextPart:
                return index
            if part.extra or (written := user(part.text)) is None:
                return index
            out.append(written)
        elif type(message) is Assistant:
            begun = len(out)
            call_ids: list[str] = []
            if not assistant(message, call_ids, out):
                del out[begun:]
                return index
            if call_ids:
                index += 1
                answers = messages[index] if index < stop else None
                if (
                    type(answers) is not ToolResults
                    or answers.extra
                    or (index + 1 < stop and type(messages[index + 1]) is ToolResults)
                    or not results(answers.results, call_ids, out)
                ):
                    del out[begun:]
                    return index - 1
        else:
            return index
        index += 1
    return index
