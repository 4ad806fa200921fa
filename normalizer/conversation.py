"""Canonical conversation: the types of a history and of the request that sends it.

A conversation is an ordered list of messages. An assistant message holds a canonical `Response`, of which the first
choice counts, so that it keeps all data that the provider expects back. `ToolResults` hold the results of its calls. A
`Request` adds the other members of a request body: tools, tool choice and the provider's parameters.

``extra`` holds the wire's members that no field represents. ``plain`` is true if the wire held one string instead of a
list of parts.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from .model import Block, Response, ToolCall, Wire


class TextPart(Struct, tag="text", tag_field="type", frozen=True, gc=False):
    """Text. ``extra``: the wire's other members, such as cache marks and citations."""

    text: str
    extra: dict[str, Any] = {}


class JsonPart(Struct, tag="json", tag_field="type", frozen=True, gc=False):
    """A value that a tool returned; written as compact JSON on wires that accept only text."""

    value: Any
    extra: dict[str, Any] = {}


class MediaPart(Struct, tag="media", tag_field="type", frozen=True, gc=False):
    """An image, file, audio or video. Exactly one of ``data`` (base64), ``url`` and ``file_id`` is set.

    ``kind``: "image", "file", "audio" or "video". ``media_type``: its MIME type, if known.
    """

    kind: str
    media_type: str | None = None
    data: str | None = None
    url: str | None = None
    file_id: str | None = None
    name: str | None = None
    extra: dict[str, Any] = {}


class OpaquePart(Struct, tag="opaque", tag_field="type", frozen=True, gc=False):
    """A part without a canonical type: kept unchanged for the wire it came from."""

    wire_type: str
    raw: Any = None


Part = TextPart | JsonPart | MediaPart | OpaquePart


class System(Struct, tag="system", tag_field="type", frozen=True, gc=False):
    """A system message. ``role``: the wire's name for it, "system" or "developer"."""

    parts: list[Part]
    role: str = "system"
    plain: bool = True
    extra: dict[str, Any] = {}


class User(Struct, tag="user", tag_field="type", frozen=True, gc=False):
    """A user message."""

    parts: list[Part]
    plain: bool = True
    extra: dict[str, Any] = {}


class Assistant(Struct, tag="assistant", tag_field="type", frozen=True, gc=False):
    """An assistant message: the first choice of ``response``. ``extra``: members of the message in the history."""

    response: Response
    extra: dict[str, Any] = {}


class ToolResult(Struct, frozen=True, gc=False):
    """The result of one call. ``call_id``: the canonical id of the call. ``kind``: the kind of the call.

    ``wire_id``: the id of the result's item, on wires that have one.
    """

    call_id: str
    parts: list[Part]
    is_error: bool = False
    name: str | None = None
    kind: str = "function"
    plain: bool = True
    wire_id: str | None = None
    extra: dict[str, Any] = {}


class ToolResults(Struct, tag="results", tag_field="type", frozen=True, gc=False):
    """The results of the calls in the preceding assistant turn, in call order.

    ``extra``: members of the message that held them, on wires that use one message for all results.
    """

    results: list[ToolResult]
    extra: dict[str, Any] = {}


class RawItem(Struct, tag="other", tag_field="type", frozen=True, gc=False):
    """An item of the history without a canonical type: kept unchanged for the wire it came from."""

    wire: str
    raw: Any


Message = System | User | Assistant | ToolResults | RawItem


class ToolDefinition(Struct, frozen=True, gc=False):
    """One tool definition. ``parameters``: its JSON schema. ``strict``: None if unspecified.

    ``kind``: "function", "custom" (the input is free text), or "hosted" (the provider runs the tool). ``raw``: the
    wire's definition of a hosted tool, which is written only to the wire it came from. ``waiting_hint``: text to show
    the user while the tool runs; it is never sent to the provider.
    """

    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None
    kind: str = "function"
    waiting_hint: str | None = None
    wire: str | None = None
    raw: Any = None
    extra: dict[str, Any] = {}


class ToolChoice(Struct, frozen=True, gc=False):
    """How the model may choose tools.

    ``mode``: "auto", "none", "required", "named" (only the tool ``name``), or "raw" (``raw`` is a mode that only its
    wire has).
    """

    mode: Literal["auto", "none", "required", "named", "raw"]
    name: str | None = None
    raw: Any = None


class Request(Struct, frozen=True, gc=False):
    """A request: the conversation and the other members of its body.

    ``parallel``: whether the model may make several calls in one response; None if unspecified.
    ``previous_response_id``: the provider stores the history up to this response (`openai.responses`, `xai.grpc`).
    ``params``: every other member of the body (temperature, max_tokens, stream, …), as the wire represents it.
    """

    wire: str
    model: str | None
    messages: list[Message]
    tools: list[ToolDefinition] = []
    tool_choice: ToolChoice | None = None
    parallel: bool | None = None
    previous_response_id: str | None = None
    provider: str | None = None
    params: dict[str, Any] = {}


class Loss(Struct, frozen=True, gc=False):
    """Content that the target cannot represent, or only changed. ``code``: a key of `wires.write_context.LOSSES`.

    ``message``: the text for the user. ``message_index`` and ``block``: indexes in the request's messages and in the
    message's blocks; None where the loss is outside of them.
    """

    code: str
    message: str
    message_index: int | None = None
    block: int | None = None


class Encoded(Struct, frozen=True, gc=False):
    """A request body for one wire. ``body``: parsed JSON, or a protobuf message on `xai.grpc`.

    ``losses``: the content that the body does not carry unchanged. ``ids`` and ``names``: the id or name on the wire ->
    the canonical one, if they differ. ``namespaces``: canonical name of a tool that was declared without its namespace
    -> namespace ("" for none) and name. `restored` applies all of them to the provider's response. ``body`` shares
    objects with the request: change only a copy of it.
    """

    wire: Wire
    body: Any
    losses: list[Loss] = []
    ids: dict[str, str] = {}
    names: dict[str, str] = {}
    namespaces: dict[str, tuple[str, str]] = {}

    def restored(self, response: Response) -> Response:
        """Return the response to this request with the canonical ids and names of its client calls.

        Return the same object if none differs. A call that used a tool's alias then has the canonical tool name; the
        next request writes the alias again.
        """
        if not (self.ids or self.names or self.namespaces):
            return response
        choices = [replace(choice, blocks=[self._restored(b) for b in choice.blocks]) for choice in response.choices]
        if choices == response.choices:
            return response
        return replace(response, choices=choices).with_findings(list(response.findings))

    def _restored(self, block: Block) -> Block:
        if not isinstance(block, ToolCall):
            return block
        id, name = self.ids.get(block.id, block.id), self.names.get(block.name, block.name)
        namespace = block.namespace
        if name in self.namespaces:
            space, name = self.namespaces[name]
            namespace = space or None
        same = id == block.id and name == block.name
        return block if same else replace(block, id=id, name=name, namespace=namespace)
