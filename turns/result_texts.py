"""The texts that the program adds to results, and what a result says without them.

The model reads a result with all of them. The memory of a conversation names each tool that ran, and the answer that
the program writes for the user leaves out the texts of exceptions, which can hold addresses and secrets.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from msgspec.structs import replace

from toolparity.normalizer import json_codec
from toolparity.normalizer.conversation import JsonPart, MediaPart, Part, TextPart, ToolResult
from toolparity.normalizer.model import ToolCall

_RAN_INSTEAD = " was run in its place.]"
_FAILED_TOO = ", tried in its place, failed: "
_TRIED = re.compile(rf"\n\S+{_FAILED_TOO}")
_NOTE = re.compile(rf"\[[^\n]*{re.escape(_RAN_INSTEAD)}")
#: The beginning of the text of an exception (`execution.tool_results`, `execution.fallbacks`).
_EXCEPTION = re.compile(
    r"(?:Tool|The result of tool) (['\"]).+?\1 (?:failed|cannot be read|is not JSON-serializable): |no arguments: "
)


class Substitution(NamedTuple):
    """A call that ran in place of one that failed. ``result``: its result. ``why``: the failure."""

    name: str
    arguments_text: str
    why: str
    result: ToolResult


def substituted(result: ToolResult, failed: ToolCall, why: str, substitute: ToolCall) -> ToolResult:
    """Return the result of a call in place of a failed one, with a note for the model."""
    instead = f"{substitute.name}({substitute.arguments_text})"
    note = TextPart(f"[{failed.name} failed: {why}. {instead}{_RAN_INSTEAD}")
    return replace(result, parts=[note, *result.parts], plain=False)


def substitution_in(result: ToolResult, name: str) -> Substitution | None:
    """Return what the note in a result of the tool ``name`` says, None if it has none.

    Some wires write the parts of a result as one text, which then begins with the note.
    """
    note = result.parts[0] if result.parts else None
    head = f"[{name} failed: "
    if not isinstance(note, TextPart) or not note.text.startswith(head):
        return None
    alone = len(result.parts) > 1
    for found in re.finditer(r"\. ([^\s(]+)\(", note.text):  # also in the text of the failure
        try:
            _, end = json.JSONDecoder().raw_decode(note.text, found.end())
        except ValueError:
            continue
        after, is_end, rest = note.text[end:].partition(f"){_RAN_INSTEAD}")
        if is_end and not after and not (rest and alone):
            own: list[Part] = result.parts[1:] if alone else [TextPart(rest.lstrip("\n"))]
            why = note.text[len(head) : found.start()]
            return Substitution(found[1], note.text[found.end() : end], why, replace(result, parts=own))
    return None


def failure_too(name: str, why: str) -> str:
    """Return the line that says that the call of a tool in place of a failed one failed, too."""
    return f"{name}{_FAILED_TOO}{why}"


def failures_in(result: ToolResult) -> tuple[ToolResult, dict[str, str]]:
    """Return the failure of a tool without those of its fallbacks, and why each of them failed, by name."""
    last = result.parts[-1] if result.parts else None
    found = _TRIED.search(last.text) if isinstance(last, TextPart) else None
    if not isinstance(last, TextPart) or found is None:
        return result, {}
    lines = [line.partition(_FAILED_TOO) for line in last.text[found.start() + 1 :].split("\n")]
    own = [TextPart(last.text[: found.start()])] if found.start() else []
    return replace(result, parts=[*result.parts[:-1], *own]), {name: why for name, failed, why in lines if failed}


def result_text(result: ToolResult) -> str:
    """Return the content of a result as text: its texts, the JSON of its values, and the kinds of its media."""
    texts = [_text(part) for part in result.parts]
    return ("" if all(isinstance(part, TextPart) for part in result.parts) else "\n").join(texts)


def for_user(text: str, *, failed: bool) -> str:
    """Return the text of a result as the program shows it to the user, without its note and the text of exceptions."""
    text = _NOTE.sub("", text, count=1).lstrip("\n") if text.startswith("[") else text
    exception = _EXCEPTION.search(text) if failed else None
    return text if exception is None else text[: exception.start()].rstrip(" :\n")


def _text(part: Part) -> str:
    if isinstance(part, TextPart):
        return part.text
    if isinstance(part, MediaPart):
        return f"[{part.kind}]"
    value = part.value if isinstance(part, JsonPart) else part.raw
    return value if isinstance(value, str) else json_codec.text(value)
