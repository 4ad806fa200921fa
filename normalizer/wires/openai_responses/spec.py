"""Spec of the wire `openai.responses`: the Responses API of OpenAI, xAI and other providers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..limits import Boundary
from ..registry import History, Output, Shape, WireSpec
from ..sdk_objects import model_json

if TYPE_CHECKING:
    from ...conversation import Loss, Request

#: Members that the SDK's parsing helpers add; they hold objects of the caller's classes.
_PARSED = {"__all__": {"parsed_arguments": True, "content": {"__all__": {"parsed"}}}}
_ADDED = {"output": _PARSED, "response": {"output": _PARSED}}
_ENDS = frozenset(("response.completed", "response.done", "response.incomplete", "response.failed", "error"))

_EVENT = Shape(event=True, marked=True)
_WITHIN, _END = Boundary(), Boundary(ends=True)


def shape(body: dict[str, Any]) -> Shape | None:
    """See `Shape`. Events have a ``type``, whole responses the object type "response" or at least an ``output``."""
    kind = body.get("type")
    if isinstance(kind, str) and (kind.startswith("response.") or (kind == "error" and "sequence_number" in body)):
        return _EVENT
    if body.get("object") == "response":
        return Shape(body=True, whole=True, marked=True)
    if isinstance(body.get("output"), list):
        return Shape(body=True, whole="type" not in body and "object" not in body and "choices" not in body)
    return None


def boundary(event: dict[str, Any]) -> Boundary:
    """See `Boundary`."""
    kind = event.get("type")
    if kind != "response.created":
        return _END if kind in _ENDS else _WITHIN
    response = event.get("response")
    id = response.get("id") if isinstance(response, dict) else None
    return Boundary(id if isinstance(id, str) and id else None, begins=True)


def sdk_bytes(source: Any, event: bool) -> bytes:
    """Return the JSON of an object of the `openai` SDK, for its stream helper's events that of the raw event."""
    if event and ".lib" in type(source).__module__:
        return model_json(source, {**_ADDED, "snapshot": True, "parsed": True})
    return model_json(source, _ADDED)


def flatten(request: Request) -> tuple[Request, dict[str, tuple[str, str]], list[Loss]]:
    """See `namespaces.flatten`."""
    from . import namespaces  # not needed to decode responses

    return namespaces.flatten(request)


SPEC = WireSpec(
    name="openai.responses",
    package=__package__,
    owner="openai",
    history=History("input", ("assistant", "reasoning"), ("model", "tools"), "messages"),
    output=Output(lenient=True),
    models=r"gpt-|chatgpt-|codex-|o[1-9](-|$)",
    reasoning_items=True,
    sealed_anew=True,
    base_path="/v1",
    path="/responses",
    models_path="/models",
    hosts=("api.openai.com",),
    addresses=(r"/responses(/resp_[^/]+)?$",),
    sdk="openai",
    sdk_modules=("openai.types.responses", "openai.lib.streaming.responses"),
    sdk_bytes=sdk_bytes,
    shape=shape,
    boundary=boundary,
    flatten=flatten,
)
