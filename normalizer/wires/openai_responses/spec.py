"""Spec of the wire `openai.responses`: the Responses API of OpenAI, xAI and other providers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..grammar import Grammar, Unit
from ..limits import Boundary
from ..registry import History, Output, Shape, WireSpec
from ..sdk_objects import model_json

if TYPE_CHECKING:
    from ...conversation import Loss, Request


def _part(name: str, word: str, index: str, parent: str, start: str = "", **more: Any) -> Unit:
    """Return a part of an item, whose events are named ``response.WORD.delta`` and ``….done``."""
    ends = f"response.{word}.done"
    return Unit(
        name, start, "" if start else f"response.{word}.delta", ends, "", f"output_index{index}", parent, **more
    )


GRAMMAR = Grammar(
    "https://platform.openai.com/docs/api-reference/responses-streaming",
    (
        Unit(
            "the response",
            start="response.created",
            within="response.queued response.in_progress",
            end="response.completed response.incomplete response.failed",
        ),
        Unit(
            "output item",
            start="response.output_item.added",
            end="response.output_item.done",
            keys="output_index",
            parent="the response",
            numbered=True,
            endless=("item.type", "mcp_list_tools"),  # OpenAI leaves out the end of some
        ),
        _part("content part", "content_part", " content_index", "output item", "response.content_part.added"),
        _part("text", "output_text", " content_index", "content part"),
        _part("refusal", "refusal", " content_index", "content part"),
        _part("reasoning text", "reasoning_text", " content_index", "output item"),
        _part(
            "summary part",
            "reasoning_summary_part",
            " summary_index",
            "output item",
            "response.reasoning_summary_part.added",
        ),
        _part("summary text", "reasoning_summary_text", " summary_index", "summary part"),
        _part("arguments", "function_call_arguments", "", "output item"),
        _part("input", "custom_tool_call_input", "", "output item"),
        _part("arguments for MCP", "mcp_call_arguments", "", "output item"),
        _part("code", "code_interpreter_call_code", "", "output item"),
    ),
    type="type",
    named="names",
    counter="sequence_number",
    stop="response.status",
)
#: Members that the SDK's parsing helpers add; they hold objects of the caller's classes.
_PARSED = {"__all__": {"parsed_arguments": True, "content": {"__all__": {"parsed"}}}}
_ADDED = {"output": _PARSED, "response": {"output": _PARSED}}
_ENDS = {*GRAMMAR.units[0].end.split(), "response.done", "error"}

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
    grammar=GRAMMAR,
)
