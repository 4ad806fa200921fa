"""Match the calls of a `message` after deltas with the streamed calls, which the server may repeat or extend."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from .routing import CallState


class Said(Struct):
    """One call of a `message`."""

    id: str | None
    name: str | None
    text: str
    kind: str
    extra: dict[str, Any] | None


def matched(slots: list[CallState], calls: list[Said]) -> list[CallState | None]:
    """Return for each call the streamed call that it repeats, None if there is none.

    A match has the same id and name, or else the same name and arguments. Failing both, it has the same name, its
    arguments are a prefix of the call's, and one of the two has no id.
    """
    found: list[CallState | None] = [None] * len(calls)
    left = slots
    for key in (_identity, _value, _name):
        waiting = [place for place, slot in enumerate(found) if slot is None]
        if not waiting or not left:
            break
        under: dict[Any, list[CallState]] = {}
        for slot in reversed(left):
            if (named := key(slot)) is not None:
                under.setdefault(named, []).append(slot)
        for place in waiting:
            call = calls[place]
            same = under.get(key(call))
            if same and (key is not _name or _may_become(same[-1], call)):
                found[place] = same.pop()
        taken = {slot.order for slot in found if slot is not None}
        left = [slot for slot in left if slot.order not in taken]
    return found


def says_other(slot: CallState, text: str) -> bool:
    """Whether ``text`` differs from the streamed arguments; a prefix of them and an equal JSON value do not."""
    return not slot.text.startswith(text) and _by_value(slot.text) != _by_value(text)


def _identity(call: CallState | Said) -> Any:
    return (call.id, call.name) if call.id else None


def _value(call: CallState | Said) -> Any:
    return (call.name, _by_value(call.text)) if call.text.strip() else None


def _name(call: CallState | Said) -> Any:
    return call.name


def _may_become(slot: CallState, call: Said) -> bool:
    return not (slot.id and call.id) and (not slot.said or call.text.startswith(slot.text))


def _by_value(text: str) -> str:
    from ...arguments import by_value  # imported lazily

    return by_value(text)
