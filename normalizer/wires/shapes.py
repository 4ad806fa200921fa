"""Recognition of JSON objects by the shapes that each wire's spec knows: whole responses, and stream events."""

from __future__ import annotations

from typing import Any

from .registry import Shape, WireSpec, spec, specs


def shapes_of(body: dict[str, Any]) -> list[tuple[WireSpec, Shape]]:
    """Return the wires that a JSON object fits, and what it is on each."""
    return [(wire, shape) for wire in specs() if (shape := wire.shape(body)) is not None]


def whole_wire(body: dict[str, Any]) -> str | None:
    """Return the wire whose whole response a JSON object is, by its type marker or its members; else None."""
    return next((wire.name for wire, shape in shapes_of(body) if shape.whole), None)


def event_wire(event: dict[str, Any], likely: str | None = None) -> str | None:
    """Return the wire of one stream event; None if it fits no wire or several.

    ``likely``: the wire of the events before. If a type marker shows that the event belongs to it, no other is tried.
    """
    if likely is not None:
        shape = spec(likely).shape(event)
        if shape is not None and shape.marked and shape.event:
            return likely
    shapes = shapes_of(event)
    marked = [wire.name for wire, shape in shapes if shape.marked and shape.event]
    if marked:
        return marked[0]
    return shapes[0][0].name if len(shapes) == 1 and shapes[0][1].event else None
