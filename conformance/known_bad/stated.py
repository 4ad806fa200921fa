"""Defects in requests that lose one of the settings, or the media, that the earlier request states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from toolparity.cassettes.stated import MEDIA, OWNED, PLACES, without, without_parts

from ..subjects import FollowUp
from .mutate import defect

_CHOICES = ("tool_choice", "toolChoice", "functionCallingConfig")


def _losing(name: str) -> Callable[[Any, FollowUp], Any]:
    def change(body: Any, follow_up: FollowUp) -> Any:
        return without_parts(body, name) if name in MEDIA | {"cache"} else without(body, follow_up.to, [name])

    change.__name__ = f"{name}_lost"
    change.__doc__ = f"Loses the setting {name.replace('_', ' ')}."
    return change


for _name in sorted({name for places in PLACES.values() for name in places}):
    defect("replay" if _name in OWNED else "handoff", "request", shown_by="states-*")(_losing(_name))


@defect("handoff", "request", shown_by="states-*")
def tool_choice_lost(body: Any, follow_up: FollowUp) -> Any:
    """Lets the model choose whether it calls a tool."""
    for holder in (body, body.get("toolConfig") or {}, body.get("generation_config") or {}):
        for name in _CHOICES:
            holder.pop(name, None)
    return body
