"""The canonical conversation: what was said to the model and what it answered, beside the canonical response.

A conversation is a list of turns in order. What the assistant said is a canonical `Response` (its first choice), so
that whatever a provider needs to see again travels with it; the answers to its calls are `Results`. A `Request` adds
what stands beside the history in a request body: tools, how they may be chosen, and the provider's other members.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from .model import Block, Response, ToolCall


class TextPart(Struct, tag="text", tag_field="type", frozen=True, gc=False):
    """Words. ``extra``: the wire's other members (cache marks, citations)."""

    text: str
    extra: dict[str, Any] = {}


class JsonPart(Struct, tag="json", tag_field="type", frozen=True, gc=False):
    """A value as a tool returned it; spelled as compact JSON where the wire knows only text."""

    value: Any
    extra: dict[str, Any] = {}


class MediaPart(Struct, tag="media", tag_field="type", frozen=True, gc=False):
    """An image, file or sound. Exactly one of ``data`` (base64), ``url`` and ``file_id`` is there.

    ``kind``: "image", "file", "audio" or "video"; ``media_type``: its MIME type where known.
    """

    kind: str
    media_type: str | None = None
    data: str | None = None
    url: str | None = None
    file_id: str | None = None
    name: str | None = None
    extra: dict[str, Any] = {}


class OpaquePart(Struct, tag="opaque", tag_field="type", frozen=True, gc=False):
    """A part that no field here represents: kept whole for the wire it came from."""

    wire_type: str
    raw: Any = None


Part = TextPart | JsonPart | MediaPart | OpaquePart


class System(Struct, tag="system", tag_field="type", frozen=True, gc=False):
    """Standing instructions. ``role`` keeps the wire's word ("system" or "developer"). ``plain``: one bare string."""

    parts: list[Part]
    role: str = "system"
    plain: bool = True
    extra: dict[str, Any] = {}


class User(Struct, tag="user", tag_field="type", frozen=True, gc=False):
    """What the user said. ``plain``: the wire held one bare string, not a list of parts."""

    parts: list[Part]
    plain: bool = True
    extra: dict[str, Any] = {}


class Assistant(Struct, tag="assistant", tag_field="type", frozen=True, gc=False):
    """What the model said: its first choice counts. ``extra``: members of the history's message itself."""

    response: Response
    extra: dict[str, Any] = {}


class Result(Struct, frozen=True, gc=False):
    """The answer to one call. ``call_id``: the canonical id of the call. ``kind``: that of the call.

    ``plain``: the wire held one bare string. ``wire_id``: the answer's own item id, where the wire has one.
    """

    call_id: str
    parts: list[Part]
    is_error: bool = False
    name: str | None = None
    kind: str = "function"
    plain: bool = True
    wire_id: str | None = None
    extra: dict[str, Any] = {}


class Results(Struct, tag="results", tag_field="type", frozen=True, gc=False):
    """The answers to the calls of the assistant turn before, in call order.

    ``extra``: members of the message that held them, where the wire has one message for all.
    """

    results: list[Result]
    extra: dict[str, Any] = {}


class Other(Struct, tag="other", tag_field="type", frozen=True, gc=False):
    """An item of the history that is none of the above: kept whole for the wire it came from."""

    wire: str
    raw: Any


Turn = System | User | Assistant | Results | Other


class Tool(Struct, frozen=True, gc=False):
    """One tool definition. ``parameters``: its JSON schema; ``strict``: null where nobody said.

    ``kind``: "function", "custom" (free text in), or "hosted" (the provider's own: then ``raw`` is the wire's
    definition and goes only to the wire it came from). ``waiting_hint``: what to tell the user while it runs; it is
    never sent.
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
    """How the model may choose: ``mode`` auto, none, required or named (then ``name``). ``raw``: a mode of one wire."""

    mode: Literal["auto", "none", "required", "named", "raw"]
    name: str | None = None
    raw: Any = None


class Request(Struct, frozen=True, gc=False):
    """A request: the conversation and what stands beside it.

    ``parallel``: whether several calls may come at once, null where nobody said. ``previous_response_id``: the
    provider keeps the history up to there (`openai.responses`, `xai.grpc`). ``params``: every other member of the
    body (temperature, max_tokens, stream, …), as the wire spells it.
    """

    wire: str
    model: str | None
    turns: list[Turn]
    tools: list[Tool] = []
    tool_choice: ToolChoice | None = None
    parallel: bool | None = None
    previous_response_id: str | None = None
    provider: str | None = None
    params: dict[str, Any] = {}


class Loss(Struct, frozen=True, gc=False):
    """Something that the target cannot carry, or not unchanged. ``code``: see `wires.write_context.LOSSES`."""

    code: str
    message: str
    turn: int | None = None
    block: int | None = None


class Encoded(Struct, frozen=True, gc=False):
    """A request body for one wire. ``body``: parsed JSON (or a protobuf message on `xai.grpc`).

    ``losses``: empty, or true. ``ids`` and ``names``: what stands on the wire -> the canonical id or name, wherever
    they differ; `restored` reads the provider's next response with them. What stands inside the body is shared with
    the request: change a copy.
    """

    wire: str
    body: Any
    losses: list[Loss] = []
    ids: dict[str, str] = {}
    names: dict[str, str] = {}

    def restored(self, response: Response) -> Response:
        """The response to this request, its client calls under the canonical ids and names; the same where none differ.

        A tool called by its alias is found under its own name then, and goes back under the alias when written again.
        """
        if not (self.ids or self.names):
            return response
        choices = [replace(choice, blocks=[self._restored(b) for b in choice.blocks]) for choice in response.choices]
        if choices == response.choices:
            return response
        return replace(response, choices=choices).with_findings(list(response.findings))

    def _restored(self, block: Block) -> Block:
        if not isinstance(block, ToolCall):
            return block
        id, name = self.ids.get(block.id, block.id), self.names.get(block.name, block.name)
        return block if id == block.id and name == block.name else replace(block, id=id, name=name)
