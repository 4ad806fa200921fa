"""Writer for assistant messages.

A message of this wire is sent back with its plan, thinking and citations. One of another wire keeps its text and calls.
"""

from __future__ import annotations

from typing import Any

from ... import json_codec
from ...conversation import Assistant
from ...model import ApprovalRequest, Block, Opaque, Reasoning, Text, ToolCall
from ..content_writer import FUNCTIONS, Format, MessageWriter, lose_kind
from ..surrogates import is_encodable
from ..write_context import AS_WRITTEN, merged
from .blocks import MEMBER, PLAN


def _client_call(id: str, name: str, arguments: Any) -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _plain(text: str) -> dict[str, Any] | None:
    return {"type": "text", "text": text} if text else None


class AssistantWriter(MessageWriter):
    """Writer for the assistant messages of one request."""

    _nothing = "an assistant message without content was left out"
    _format = Format(
        _client_call,
        _plain,
        marks_failures=True,
        result_keys=("role", "tool", "tool_call_id", "content"),
    )

    def regular(self, message: Assistant, call_ids: list[str], out: list[Any]) -> bool:
        # as in the base class, without its calls of functions for each part: every request runs this loop
        choices = message.response.choices
        if message.extra or not choices or choices[0].extra:
            return False
        context = self._context
        names, plain = context.known_names, context.plain_length
        if self.ids:
            self.ids = {}
        texts: list[dict[str, Any]] = []
        calls: list[dict[str, Any]] = []
        for block in choices[0].blocks:
            if type(block) is ToolCall:
                id, text = block.id, block.arguments_text
                if block.extra or block.kind != "function" or block.namespace or block.caller or not text:
                    return False
                if not (text.isascii() or is_encodable(text)):
                    return False
                call_ids.append(id)
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

    def _begin(self, message: Assistant) -> bool:
        self._citations: list[Any] = []
        self._plan: str | None = None
        return super()._begin(message)

    def _finished(self, own: bool) -> dict[str, Any] | None:
        content, extra = self._texts, self._message.extra
        if not self._calls and not any(part.get("text") != "" for part in content):
            return None  # an empty text is accepted beside calls (recorded)
        message: dict[str, Any] = {"role": "assistant"}
        if self._plan is not None:
            message["tool_plan"] = self._plan
        if content:
            plain = "text" in self._spelling and len(content) == 1 and content[0].keys() == {"type", "text"}
            message["content"] = content[0]["text"] if plain else content
        if self._calls:
            message["tool_calls"] = self._calls
        if not own:
            self._context.lose_extra(extra)
            return message
        answered = dict(self._message.response.choices[0].extra.get("message") or ())
        if citations := [*self._citations, *(answered.pop("citations", None) or ())]:
            message["citations"] = citations
        return merged(message, {**answered, **extra}, AS_WRITTEN)

    def _text(self, block: Text, own: bool, index: int) -> None:
        if own:
            self._citations += block.annotations
            self._texts.append(merged({"type": "text", "text": block.text}, block.extra))
            return
        self._lose_order(index)
        if (part := _plain(block.text)) is not None:
            self._lose_text(block, index)
            self._texts.append(part)

    def _state(self, block: Block, index: int) -> bool:
        """Put reasoning into the member that it came from."""
        if isinstance(block, Reasoning):
            self._citations += block.extra.get("citations") or ()
            if block.extra.get(MEMBER) == PLAN:
                self._plan = block.text
            elif block.text:
                part = {"type": "thinking", "thinking": block.text}
                self._texts.append(merged(part, block.extra, "citations"))
            return True
        if isinstance(block, Opaque) and isinstance(block.raw, dict):
            self._texts.append(block.raw)
            return True
        return False

    def _foreign(self, block: Block, index: int) -> None:
        if isinstance(block, ApprovalRequest):
            self._context.lose("server-tool", "a request for an approval was left out", index)
        else:
            super()._foreign(block, index)

    def _call(self, call: ToolCall, own: bool, index: int) -> dict[str, Any]:
        ids = self._spelling.get("ids", {})
        id = ids[call.id] if call.id in ids else self._context.id(call.id)
        self.ids[call.id] = id
        written = _client_call(id, self._context.name(call.name), self._arguments(call, own, index))
        if id is None:
            del written["id"]
        if own:
            return merged(written, call.extra)
        self._lose_members(call, index)
        return written

    def _arguments(self, call: ToolCall, own: bool, index: int) -> str:
        """Return the argument text. Calls of other kinds become function calls."""
        text = call.arguments_text
        if call.kind not in FUNCTIONS:
            lose_kind(call, self._context, index)
            return text if call.arguments is not None else json_codec.text({"input": text})
        return text if own or text.strip() else "{}"
