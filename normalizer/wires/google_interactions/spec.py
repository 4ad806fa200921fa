"""Spec of the wire `google.interactions`: Gemini's Interactions API, for models and agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..grammar import Grammar, Unit
from ..limits import Boundary
from ..registry import History, Shape, WireSpec
from ..sdk_objects import model_json
from ..traverse import text

if TYPE_CHECKING:
    from ..decode_context import Declared

GRAMMAR = Grammar(
    "https://ai.google.dev/gemini-api/docs/interactions#streaming",
    (
        Unit(
            "the interaction",
            start="interaction.created interaction.start",
            end="interaction.completed interaction.complete",
        ),
        Unit(
            "step",
            start="step.start content.start",
            within="step.delta content.delta",
            end="step.stop content.stop",
            keys="index",
            parent="the interaction",
            numbered=True,
        ),
    ),
    type="event_type",
    named="names",
    stop="interaction.status",
)
#: Beginnings of the types of stream events; `content.` is that of the API until June 2026.
_EVENTS = ("interaction.", "step.", "content.")
_BEGINS = frozenset(GRAMMAR.units[0].start.split())
_ENDS = {*GRAMMAR.units[0].end.split(), "error"}
#: Members that the SDK adds (`google.genai._interactions_continuation` and the type `Interaction`).
_DERIVED: dict[str, Any] = {
    **dict.fromkeys(("continuation_ids", "output_text", "output_image", "output_audio", "output_video"), True),
    "usage": {"initial_input_tokens": True},
}

_EVENT = Shape(event=True, marked=True)
_WITHIN, _END = Boundary(), Boundary(ends=True)


def shape(body: dict[str, Any]) -> Shape | None:
    """See `Shape`. Events have an ``event_type``, whole responses the object type "interaction" or at least steps."""
    kind = body.get("event_type")
    if isinstance(kind, str) and (kind.startswith(_EVENTS) or kind == "error"):
        return _EVENT
    if body.get("object") == "interaction":
        return Shape(body=True, whole=True, marked=True)
    if isinstance(body.get("steps"), list) and "status" in body:
        return Shape(body=True, whole="object" not in body)
    return None


def boundary(event: dict[str, Any]) -> Boundary:
    """See `Boundary`."""
    kind = text(event.get("event_type"))
    if kind not in _BEGINS:
        return _END if kind in _ENDS else _WITHIN
    interaction = event.get("interaction")
    id = interaction.get("id") if isinstance(interaction, dict) else None
    return Boundary(id if isinstance(id, str) and id else None, begins=True)


def sdk_bytes(source: Any, event: bool) -> bytes:
    """Return the JSON of an object of the `google-genai` SDK without the members that the SDK adds."""
    return model_json(source, {**_DERIVED, "interaction": _DERIVED})


def declared(request: Any) -> Declared:
    """Return the tools that a request declares. Computer use adds functions that only the provider knows."""
    from msgspec.structs import replace  # only requests need these imports

    from ..declared_tools import declared_by_json
    from ..traverse import objects

    collected = declared_by_json(request)
    unknown = any(tool.get("type") == "computer_use" for _, tool in objects(request, "tools"))
    return replace(collected, names=None) if unknown else collected


SPEC = WireSpec(
    name="google.interactions",
    package=__package__,
    owner="google",
    history=History("input", ("model_output", "thought"), counted="messages"),
    models=r"gemini|gemma-|deep-research|antigravity",
    parsed_arguments=True,
    reasoning_items=True,
    path="/v1/interactions",
    version="/v1beta",  # https://ai.google.dev/api
    key_header="x-goog-api-key",
    members={"store": False},  # the whole history is sent
    models_path="/v1/models",
    hosts=("generativelanguage.googleapis.com",),
    addresses=(r"/interactions(/[^/:]+)?$",),
    sdk="google-genai",
    sdk_modules=("google.genai._gaos.types.interactions", "google.genai.interactions"),
    sdk_bytes=sdk_bytes,
    shape=shape,
    boundary=boundary,
    end_of_stream=b"[DONE]",
    declared=declared,
    grammar=GRAMMAR,
)
