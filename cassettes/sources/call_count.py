"""An independent count of the calls in the response of a log, in whatever notation and however deep.

Importers and the normalizer look for calls where the notation has them. This only knows how a call looks, so that a
difference shows that something was not read. It is a lower bound: a log can have a call in two notations, and texts and
arguments can contain what looks like one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from .json_text import parsed

#: The types of blocks and items that are calls, and the members that hold a call.
_TYPES = frozenset(("tool_use", "function_call", "tool_call", "custom_tool_call"))
_HOLDERS = ("functionCall", "function_call", "toolUse", "tool_use")
_IDS = ("call_id", "id", "toolUseId")
#: Members with the messages before the response.
_BEFORE = frozenset(("automaticFunctionCallingHistory", "automatic_function_calling_history", "input", "messages"))
#: Members with a list, which some logs hold as JSON text.
_LISTS = frozenset(("choices", "tool_calls", "candidates", "output"))
_DEEPEST = 64


class _Seen(NamedTuple):
    """A call: its notation, and its id if it has one."""

    notation: str
    id: str | None


def calls_in(response: Any, *, texts: bool = False) -> int:
    """Return how many calls a response has at least. JSON text counts as its value, texts in the response do not.

    ``texts``: they do, as in what is not known to be a response.
    """
    if texts:
        response = _with_texts(response, _DEEPEST)
    elif isinstance(response, list):
        response = [parsed(one) for one in response]
    seen = [*_calls(parsed(response), _DEEPEST)]
    notations = {call.notation for call in seen}
    ids = {call.id for call in seen if call.id}
    counts = [
        len({call.id for call in seen if call.id and call.notation == notation})
        + sum(call.notation == notation and not call.id for call in seen)
        for notation in notations
    ]
    return max([len(ids), *counts])


def _calls(value: Any, deepest: int) -> Iterator[_Seen]:
    if deepest == 0:
        return
    if isinstance(value, list):
        for element in value:
            yield from _calls(parsed(element), deepest - 1)
    if not isinstance(value, dict):
        return
    function, kind = value.get("function"), value.get("type")
    if isinstance(kind, str) and kind in _TYPES and _is_named(value):
        yield _Seen("type", _id(value))
    elif isinstance(function, dict) and _is_named(function) and "arguments" in function:  # a definition has parameters
        yield _Seen("function", _id(value))
    else:
        for name, member in value.items():
            if name in _HOLDERS and _is_named(member):
                yield _Seen(name, _id(member))
            elif name == "tool_calls" and isinstance(member, list):
                for call in map(parsed, member):
                    plain = _is_named(call) and call.get("type") not in _TYPES
                    yield from (_Seen("function", _id(call)),) if plain else _calls(call, deepest - 1)
            elif name not in _BEFORE:
                yield from _calls(parsed(member) if name in _LISTS else member, deepest - 1)


def _with_texts(value: Any, deepest: int) -> Any:
    if isinstance(value, str) and value.startswith("data: "):  # events
        value = [line[6:] for line in value.splitlines() if line.startswith("data: ")]
    value = parsed(value)
    if isinstance(value, dict) and deepest:
        return {name: _with_texts(member, deepest - 1) for name, member in value.items()}
    return [_with_texts(one, deepest - 1) for one in value] if isinstance(value, list) and deepest else value


def _is_named(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("name"), str) and bool(value["name"])


def _id(call: dict[str, Any]) -> str | None:
    return next((id for name in _IDS if isinstance(id := call.get(name), str) and id), None)
