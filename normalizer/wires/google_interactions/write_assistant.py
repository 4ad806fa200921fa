"""Writer for assistant messages: their blocks become steps.

Steps of the same wire and provider go back unchanged, with the signatures of thoughts and of the provider's calls. From
other wires and providers only text and calls are sent; the rest is reported as lost.
"""

from __future__ import annotations

from typing import Any

from ... import json_codec
from ...conversation import Assistant
from ...model import (
    Block,
    Opaque,
    Reasoning,
    Refusal,
    Response,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
)
from ..content_writer import ContentWriter, Format, lose_item
from ..surrogates import is_encodable
from ..write_context import AS_WRITTEN
from .blocks import CONTENT, EMPTY_STEP, NEXT_STEP
from .parts import KINDS
from .schema import TOOLS, WIRE, ServerCall

#: Canonical tool -> type of the provider's call.
_CALLS = {tool: kind.__struct_config__.tag for kind, tool in TOOLS.items() if issubclass(kind, ServerCall)}
#: Keys of ``extra`` that are not members of a content.
_OF_STEP = (AS_WRITTEN, "step_error")


def _client_call(id: str, name: str, arguments: Any) -> dict[str, Any]:
    return {"type": "function_call", "id": id, "name": name, "arguments": arguments}


def _plain(text: str) -> dict[str, Any] | None:
    return {"type": "text", "text": text} if text else None


def _text_result(id: str, name: str, text: str) -> dict[str, Any]:
    return {"type": "function_result", "call_id": id, "name": name, "result": text}


class AssistantWriter(ContentWriter):
    """Writer for the assistant messages of one request, whose results repeat the names of their calls."""

    _format = Format(_client_call, _plain, _text_result, names_results=True)

    def learn(self, message: Assistant) -> None:
        """Record the names of the calls in a message that is not sent because the provider stores it."""
        for call in message.response.calls:
            self.names[call.id] = self._context.name(call.name)

    def regular(self, message: Assistant, call_ids: list[str], out: list[Any]) -> bool:
        # as in the base class, without its calls of functions for each part: every request runs this loop
        response = message.response
        if message.extra or not response.choices:
            return False
        context, inputs, own = self._context, self.inputs, self._is_own(response)
        accepts, names, plain = context.accepts_id, context.known_names, context.plain_length
        if self.ids:
            self.ids = {}
        before: Any = None
        for block in response.choices[0].blocks:
            kind = type(block)
            if type(block) is ToolCall:
                id, arguments = block.id, block.arguments
                if block.extra or arguments is None or block.kind != "function" or block.caller or block.namespace:
                    return False
                if (len(id) > plain or not (id.isascii() and id.isidentifier())) and not accepts(id):
                    return False
                self.names[id] = name = names.get(block.name) or context.name(block.name)
                call_ids.append(id)
                inputs.append(arguments)
                out.append({"type": "function_call", "id": id, "name": name, "arguments": arguments})
            elif type(block) is Text and before is not Text:  # else in the same step
                text = block.text
                if not text or block.extra or block.annotations or not (text.isascii() or is_encodable(text)):
                    return False
                out.append({"type": "model_output", "content": [{"type": "text", "text": text}]})
            elif own and type(block) is Reasoning and not block.extra and block.encrypted is None:
                if not is_encodable(block.text):
                    return False
                out.append(_thought(block))
            else:
                return False
            before = kind
        return before is not None

    def write_steps(self, message: Assistant, out: list[dict[str, Any]]) -> None:
        """Append the steps of one message to ``out``, and report losses."""
        response, lose = message.response, self._context.lose
        self._context.lose_extra(message.extra)
        own = self._is_own(response)
        begun = len(out)
        output: dict[str, Any] | None = None  # the current output step
        for index, block in enumerate(response.choices[0].blocks if response.choices else ()):
            if (content := self._content(block, own, index)) is not None:
                if output is None or str(block.extra.get(AS_WRITTEN)).startswith((NEXT_STEP, EMPTY_STEP)):
                    output = {"type": "model_output", "content": []}
                    out.append(output)
                if block.extra.get(AS_WRITTEN) != EMPTY_STEP or not own:
                    output["content"].append(content)
                if own and "step_error" in block.extra:
                    output["error"] = block.extra["step_error"]
                continue
            step = self._step(block, own, index)
            if step is not None:
                output = None
                out.append(step)
        if len(out) == begun:
            lose("empty", "an assistant message without content was left out")

    def _is_own(self, response: Response) -> bool:
        """Whether a response goes back to the provider that produced it; an unknown provider counts as the same."""
        provider, target = response.provider, self._context.provider
        return response.wire == WIRE and (provider is None or target is None or provider == target)

    # Contents of an output

    def _content(self, block: Block, own: bool, index: int) -> dict[str, Any] | None:
        """Return the content of an output for a block; None if the block is a step or is left out."""
        if isinstance(block, Text):
            if not own:
                self._lose_text(block, index, "a text")
                return _plain(block.text)
            annotations = {"annotations": block.annotations} if block.annotations else {}
            extra = {k: v for k, v in block.extra.items() if k not in _OF_STEP}
            return {"type": "text", "text": block.text, **annotations, **extra}
        if isinstance(block, Refusal):
            refused: dict[str, Any] | None = self._foreign(block, index)
            return refused
        if not own:
            return None
        if isinstance(block, ServerToolResult) and isinstance(block.raw, dict) and block.raw.get("type") in KINDS:
            return block.raw
        if isinstance(block, Opaque) and CONTENT in str(block.extra.get(AS_WRITTEN)) and isinstance(block.raw, dict):
            return block.raw
        return None

    # Steps

    def _step(self, block: Block, own: bool, index: int) -> Any:
        """Return the step for a block that is not text; None if it is left out, which is reported."""
        if isinstance(block, ToolCall):
            return self._call(block, own, index)
        if own:
            if isinstance(block, Reasoning):
                return _thought(block)
            if isinstance(block, ServerToolCall):
                return _server_call(block)
            if isinstance(block, (ServerToolResult, Opaque)) and isinstance(block.raw, dict):
                return block.raw
        if not isinstance(block, (Text, Refusal)):  # without text, they leave nothing
            lose_item(block, self._context, index)
        return None

    def _lose_members(self, call: ToolCall, index: int, owner: str = "", *known: str) -> None:
        super()._lose_members(call, index, f"the call {call.id}")


def _thought(block: Reasoning) -> dict[str, Any]:
    """Return a thought unchanged. Its signature is the state that the provider needs back."""
    step: dict[str, Any] = {"type": "thought"}
    if block.signature is not None:
        step["signature"] = block.signature
    summary = block.extra.get("summary")
    if isinstance(summary, list):
        return {**step, **block.extra}
    written = {**step, **block.extra}
    if block.text:
        written["summary"] = [{"type": "text", "text": block.text, **(summary or {})}]
    return written


def _server_call(block: ServerToolCall) -> dict[str, Any]:
    raw = block.extra.get("step")
    if isinstance(raw, dict):  # a step of an unknown type, or a client call whose result followed
        return raw
    step: dict[str, Any] = {"type": _CALLS.get(block.tool, f"{block.tool}_call"), "id": block.id}
    if block.name:
        step["name"] = block.name
    if block.arguments_text:
        try:
            step["arguments"] = json_codec.decode(block.arguments_text)
        except ValueError:
            step["arguments"] = {}
    return {**step, **block.extra}
