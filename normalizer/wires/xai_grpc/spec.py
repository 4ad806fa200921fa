"""Spec of the wire `xai.grpc`: the messages of xAI's `xai_api.Chat` service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..grammar import Grammar, Unit
from ..registry import History, WireSpec

if TYPE_CHECKING:
    from ..decode_context import Declared


def sdk_bytes(source: Any, event: bool) -> bytes:
    """Return the serialized message that is, or is held by, an object of `xai-sdk`."""
    message = source if hasattr(source, "SerializeToString") else source.proto
    return bytes(message.SerializeToString())


def declared(request: Any) -> Declared:
    """Return the tools that a request declares, a message or its JSON, and the number of choices that it requests."""
    from ..declared_tools import declared_by_json
    from ..decode_context import Declared

    if isinstance(request, dict):
        return declared_by_json(request)
    functions = [tool.function for tool in request.tools if tool.HasField("function")]
    schemas = {function.name: function.parameters for function in functions}
    hosted = frozenset(tool.WhichOneof("tool") or "" for tool in request.tools) - {"function"}
    return Declared(frozenset(schemas), frozenset(), max(1, getattr(request, "n", 1) or 1), schemas, hosted)


GRAMMAR = Grammar(
    "https://github.com/xai-org/xai-proto/blob/main/proto/xai/api/v1/chat.proto (GetChatCompletionChunk)",
    (Unit("output", end="finish_reason", at="outputs", keys="index"),),
)

SPEC = WireSpec(
    name="xai.grpc",
    package=__package__,
    owner="xai",
    framing="messages",
    history=History("messages", ("ROLE_ASSISTANT",), counted="messages"),
    models=r"grok",
    hosts=("api.x.ai",),
    addresses=(r"/xai_api\.Chat/Get(Completion|CompletionChunk|StoredCompletion)$",),
    sdk="xai-sdk",
    sdk_modules=("xai_sdk", "xai_api."),
    sdk_bytes=sdk_bytes,
    declared=declared,
    grammar=GRAMMAR,
)
