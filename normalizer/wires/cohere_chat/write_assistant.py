"""Writer for assistant messages.

A message of this wire is sent back with its plan, thinking and citations. One of another wire keeps its text and calls.
"""

from __future__ import annotations

from typing import Any

from ... import json_codec
from ...conversation import Assistant, TextPart, ToolResult
from ...model import Block, Opaque, Reasoning, Refusal, ServerToolCall, ServerToolResult, Text, ToolCall
from ..surrogates import is_encodable
from ..write_context import AS_WRITTEN, WriteContext, mark_failed, merged, shallow_copy
from .blocks import MEMBER, PLAN
from .schema import WIRE

_FUNCTIONS = ("function", "legacy_function")
_NOTHING: dict[str, Any] = {}


class AssistantWriter:
    """Writer for the assistant messages of one request.

    ``ids``: canonical call id -> id on the wire, for the calls of the last message; after `regular`, only ids that
    differ.
    """

    def __init__(self, context: WriteContext) -> None:
        self.ids: dict[str, str | None] = {}
        self._context = context

    def fork(self, context: WriteContext) -> AssistantWriter:
        """Return an independent copy, for another request."""
        other = shallow_copy(self)
        other._context = context
        return other

    def regular(self, message: Assistant, call_ids: list[str], out: list[Any]) -> bool:
        """Fast path: append a message of texts and function calls; return False for any other message.

        The ids of the calls are appended to ``call_ids``, even if the result is False.
        """
        choices = message.response.choices
        if message.extra or not choices or choices[0].extra:
            return False
        context = self._context
        names, plain = context.known_names, context.plain_length
        texts: list[dict[str, Any]] = []
        calls: list[dict[str, Any]] = []
        if self.ids:
            self.ids = {}
        for block in choices[0].blocks:
            if type(block) is ToolCall:
                id, text = block.id, block.arguments_text
                if block.extra or block.kind != "function" or block.namespace or block.caller or not text:
                    return False
                call_ids.append(id)
                if not (text.isascii() or is_encodable(text)):
                    return False
                if (len(id) > plain or not (id.isascii() and id.isidentifier())) and not context.accepts_id(id):
                    self.ids[id] = id = context.id(id)
                name = names.get(block.name) or context.name(block.name)
                calls.append({"id": id, "type": "function", "function": {"name": name, "arguments": text}})
            elif type(block) is Text and not (calls or block.annotations or block.extra):
                text = block.text
                if not text or not (text.isascii() or is_encodable(text)):
                    return False
                texts.append({"type": "text", "text": text})
            else:
                return False
        if not (texts or calls):
            return False
        written: dict[str, Any] = {"role": "assistant"}
        if texts:
            written["content"] = texts
        if calls:
            written["tool_calls"] = calls
        out.append(written)
        return True

    def regular_results(self, results: list[ToolResult], call_ids: list[str], out: list[Any]) -> bool:
        """Append results of one plain text each to ``out``, and report whether all are regular and in order."""
        aliases = self.ids
        ids = iter(call_ids)
        for result in results:  # every request runs this loop; zip takes longer
            id = next(ids)
            parts = result.parts
            if result.call_id != id or result.extra or not result.plain or len(parts) != 1:
                return False
            part = parts[0]
            if type(part) is not TextPart or part.extra:
                return False
            text = part.text
            if not (text.isascii() or is_encodable(text)):
                return False
            if result.is_error or "[" <= text < "\\":  # it begins with a bracket
                text = mark_failed(text, result.is_error)
            out.append({"role": "tool", "tool_call_id": aliases.get(id, id) if aliases else id, "content": text})
        return True

    def write(self, message: Assistant) -> dict[str, Any] | None:
        """Return the wire's message, None if nothing is left of it; report losses, and set `ids` for the results."""
        self.ids = {}
        response = message.response
        if not response.choices:
            self._context.lose("empty", "a response without a choice was left out")
            return None
        own = response.wire == WIRE
        builder = _MessageBuilder(message, own, self._context)
        written = builder.build()
        self.ids = builder.ids
        if written is None:
            self._context.lose("empty", "an assistant message without content was left out")
        return written


class _MessageBuilder:
    """Builder for one message. ``own``: it comes from this wire. ``ids``: as in `AssistantWriter`, set by `build`."""

    def __init__(self, message: Assistant, own: bool, context: WriteContext) -> None:
        self.ids: dict[str, str | None] = {}
        self._message = message
        self._own = own
        self._context = context
        self._spelling: dict[str, Any] = (message.extra.get(AS_WRITTEN) if own else None) or _NOTHING
        self._content: list[dict[str, Any]] = []
        self._citations: list[Any] = []
        self._plan: str | None = None
        self._calls: list[dict[str, Any]] = []

    def build(self) -> dict[str, Any] | None:
        """Return the message; None if the wire cannot represent any of it."""
        choice = self._message.response.choices[0]
        for index, block in enumerate(choice.blocks):
            if type(block) is ToolCall:
                self._calls.append(self._call(block, index))
            elif type(block) is Text:
                self._text(block, index)
            elif type(block) is Reasoning and self._own:
                self._reasoning(block)
            else:
                self._other(block, index)
        if not self._calls and not any(part.get("text") != "" for part in self._content):
            return None  # an empty text is accepted beside calls (recorded)
        message: dict[str, Any] = {"role": "assistant"}
        if self._plan is not None:
            message["tool_plan"] = self._plan
        if self._content:
            content = self._content
            plain = "text" in self._spelling and len(content) == 1 and content[0].keys() == {"type", "text"}
            message["content"] = content[0]["text"] if plain else content
        if self._calls:
            message["tool_calls"] = self._calls
        extra = choice.extra.get("message")
        if self._own:
            left = extra.get("citations") if isinstance(extra, dict) else None
            if citations := [*self._citations, *(left or ())]:
                message["citations"] = citations
            return merged(message, self._message.extra, AS_WRITTEN)
        self._context.lose_extra(self._message.extra)
        return message

    def _text(self, block: Text, index: int) -> None:
        if self._calls and not self._own:
            self._context.lose("order", "text after a call was moved before it", index)
        if not (block.text or self._own):
            return
        part: dict[str, Any] = {"type": "text", "text": block.text}
        if self._own:
            self._citations += block.annotations
            part = merged(part, block.extra)
        else:
            if block.annotations:
                self._context.lose("annotations", block=index)
            self._context.lose_extra(block.extra, "", index)
        self._content.append(part)

    def _reasoning(self, block: Reasoning) -> None:
        """Put reasoning into the member that it came from."""
        self._citations += block.extra.get("citations") or ()
        if block.extra.get(MEMBER) == PLAN:
            self._plan = block.text
        elif block.text:
            part = {"type": "thinking", "thinking": block.text}
            self._content.append(merged(part, block.extra, "citations"))

    def _other(self, block: Block, index: int) -> None:
        lose = self._context.lose
        if isinstance(block, Reasoning):
            lose("reasoning", block=index)
        elif isinstance(block, Refusal):
            lose("refusal", block=index)
            if block.text:
                self._content.append({"type": "text", "text": block.text})
        elif isinstance(block, Opaque) and self._own and isinstance(block.raw, dict):
            self._content.append(block.raw)
        elif isinstance(block, Opaque):
            lose("opaque", f"a block of type {block.wire_type!r} was left out", index)
        else:
            hosted = isinstance(block, (ServerToolCall, ServerToolResult))
            lose("server-tool", "" if hosted else "a request for an approval was left out", index)

    def _call(self, call: ToolCall, index: int) -> dict[str, Any]:
        ids = self._spelling.get("ids", _NOTHING)
        id = ids[call.id] if call.id in ids else self._context.id(call.id)
        self.ids[call.id] = id
        function = {"name": self._context.name(call.name), "arguments": self._arguments(call, index)}
        written: dict[str, Any] = {"type": "function", "function": function}
        if id is not None:
            written = {"id": id, **written}
        if self._own:
            return merged(written, call.extra)
        if call.namespace is not None or call.caller is not None:
            self._context.lose("namespace", block=index)
        self._context.lose_extra(call.extra, "", index)
        return written

    def _arguments(self, call: ToolCall, index: int) -> str:
        """Return the argument text. Calls of other kinds become function calls."""
        text = call.arguments_text
        if self._own and call.kind in _FUNCTIONS:
            return text
        if call.kind not in _FUNCTIONS:
            self._context.lose("kind", f"{call.name}: a {call.kind} call was written as a function call", index)
            return text if call.arguments is not None else json_codec.text({"input": text})
        return text if text.strip() else "{}"
