"""Spec of the wire `openai.chat`: the Chat Completions API, which many providers serve."""

from __future__ import annotations

from typing import Any

from ..grammar import Grammar, Unit
from ..limits import Boundary
from ..registry import History, Output, Shape, WireSpec
from ..sdk_objects import model_json

#: Members that the SDK's parsing helpers add; they hold objects of the caller's classes.
_ADDED = {
    "choices": {"__all__": {"message": {"parsed": True, "tool_calls": {"__all__": {"function": {"parsed_arguments"}}}}}}
}
_WHOLE = Shape(body=True, whole=True, event=True, marked=True)
_CHUNK = Shape(body=True, event=True, marked=True)


def shape(body: dict[str, Any]) -> Shape | None:
    """See `Shape`. Whole responses occur as stream events too: some servers send one as the only event."""
    kind = body.get("object")
    if isinstance(kind, str) and kind.startswith("chat.completion"):
        return _WHOLE if kind == "chat.completion" else _CHUNK
    choices = body.get("choices")
    if not isinstance(choices, list):
        return None
    with_message = any(isinstance(choice, dict) and "message" in choice for choice in choices)
    return Shape(body=True, whole=with_message and "type" not in body and "object" not in body, event=True)


def boundary(event: dict[str, Any]) -> Boundary:
    """See `Boundary`. No event marks the end: a response ends with a finish reason in each of its choices."""
    listed, id = event.get("choices"), event.get("id")
    choices = [choice for choice in listed if isinstance(choice, dict)] if isinstance(listed, list) else []
    deltas = [delta for choice in choices if isinstance(delta := choice.get("delta"), dict)]
    return Boundary(
        id if isinstance(id, str) and id else None,
        greets=any(delta.get("role") for delta in deltas),
        continued=frozenset(map(_index, choices)),
        finished=frozenset(_index(choice) for choice in choices if choice.get("finish_reason")),
        empty=not any(map(_says, choices)),
    )


def _says(choice: dict[str, Any]) -> bool:
    delta = choice.get("delta") or choice.get("message")
    return any(delta.values()) if isinstance(delta, dict) else False


def _index(choice: dict[str, Any]) -> int:
    index = choice.get("index")
    return index if isinstance(index, int) else 0


def sdk_bytes(source: Any, event: bool) -> bytes:
    """Return the JSON of an object of the `openai` SDK. The events of its stream helper hold the chunk, or derive."""
    if event and ".lib" in type(source).__module__:
        chunk = getattr(source, "chunk", None)
        return b"" if chunk is None else model_json(chunk, _ADDED)
    return model_json(source, _ADDED)


GRAMMAR = Grammar(
    "https://platform.openai.com/docs/api-reference/chat-streaming",
    (
        Unit(
            "choice",
            within="delta.content delta.tool_calls delta.refusal",
            end="finish_reason",
            at="choices",
            keys="index",
        ),
        Unit(
            "call",
            start="id",
            within="function.name function.arguments custom.name custom.input",
            at="choices.delta.tool_calls",
            keys="index",
            parent="choice",
            numbered=True,
            implied="function.name custom.name",
        ),
    ),
    marker=("object", "chat.completion.chunk", ""),  # Azure's is empty in events about its filters
)

SPEC = WireSpec(
    name="openai.chat",
    package=__package__,
    owner="openai",
    history=History("messages", ("assistant",)),
    output=Output(lenient=True),
    many_providers=True,
    results="adjacent",
    models=r"gpt-|chatgpt-|codex-|o[1-9](-|$)",
    base_path="/v1",
    path="/chat/completions",
    stream_members={"stream_options": {"include_usage": True}},
    models_path="/models",
    hosts=("api.openai.com",),
    addresses=(r"/chat/completions$", r"/model/.*openai\..*/invoke(-with-response-stream)?$"),
    sdk="openai",
    sdk_modules=("openai.types.chat", "openai.lib.streaming.chat"),
    sdk_bytes=sdk_bytes,
    shape=shape,
    boundary=boundary,
    end_of_stream=b"[DONE]",
    grammar=GRAMMAR,
)
