"""Writer for assistant messages, whose arguments are JSON objects.

A message is built from the canonical fields. If it goes back to its wire, it also gets its original spelling.
"""

from __future__ import annotations

from typing import Any

from ...conversation import Assistant
from ...model import Block, Reasoning, Text, ToolCall
from ..content_writer import Format, MessageWriter, lose_kind, object_arguments
from ..surrogates import is_encodable
from ..write_context import HINTS

#: Extra members of other wires that only hold position and state of an item; leaving them out is not a loss.
_BOOKKEEPING = ("role", "part", "execution")


def _client_call(id: str, name: str, arguments: Any) -> dict[str, Any]:
    return {"id": id, "function": {"name": name, "arguments": arguments}}


def _plain(text: str) -> str:
    return text


def _text_result(id: str, name: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "content": text, "tool_name": name, "tool_call_id": id}


class AssistantWriter(MessageWriter):
    """Writer for the assistant messages of one request. An id in ``ids`` is None if the call has none."""

    _format = Format(
        _client_call,
        _plain,
        _text_result,
        marks_failures=True,
        names_results=True,
        any_plain=True,
    )

    def regular(self, message: Assistant, call_ids: list[str], out: list[Any]) -> bool:
        # as in the base class, without its calls of functions for each part: every request runs this loop
        response = message.response
        choices = response.choices
        if message.extra or not choices or (choices[0].extra and self._is_own(response)):
            return False
        context, inputs, known = self._context, self.inputs, self.names
        accepts, names, plain = context.accepts_id, context.known_names, context.plain_length
        if self.ids:
            self.ids = {}
        text: str | None = None
        calls: list[dict[str, Any]] = []
        for block in choices[0].blocks:
            if type(block) is ToolCall:
                id, arguments = block.id, block.arguments
                if block.extra or arguments is None or block.kind != "function" or block.caller or block.namespace:
                    return False
                if (len(id) > plain or not (id.isascii() and id.isidentifier())) and not accepts(id):
                    return False
                known[id] = name = names.get(block.name) or context.name(block.name)
                call_ids.append(id)
                inputs.append(arguments)
                calls.append({"id": id, "function": {"name": name, "arguments": arguments}})
            elif type(block) is Text and text is None and not (calls or block.annotations or block.extra):
                text = block.text
                if not (text.isascii() or is_encodable(text)):
                    return False
            else:
                return False
        if not (calls or text):
            return False
        written: dict[str, Any] = {"role": "assistant", "content": text or ""}
        if calls:
            written["tool_calls"] = calls
        out.append(written)
        return True

    def _begin(self, message: Assistant) -> bool:
        self._thoughts: list[str] = []
        return super()._begin(message)

    def _finished(self, own: bool) -> dict[str, Any] | None:
        extra = self._message.extra
        message: dict[str, Any] = {"role": "assistant"}
        if self._texts or "silent" not in self._spelling:
            message["content"] = "".join(self._texts)
        if self._thoughts:
            message["thinking"] = "".join(self._thoughts)
        if self._calls:
            message["tool_calls"] = self._calls
        if not own:
            self._context.lose_extra(extra)
            return message if self._texts or self._calls else None
        answered = self._message.response.choices[0].extra.get("message")
        members = {**extra, **(answered if isinstance(answered, dict) else {})}
        message.update((k, v) for k, v in members.items() if k not in HINTS and k not in message)
        return message

    def _text(self, block: Text, own: bool, index: int) -> None:
        self._lose_order(index)
        self._context.lose_extra(block.extra, "", index, *_BOOKKEEPING)
        if block.annotations:
            self._context.lose("annotations", block=index)
        self._texts.append(block.text)

    def _state(self, block: Block, index: int) -> bool:
        if isinstance(block, Reasoning):
            self._thoughts.append(block.text)
            return True
        return False

    def _call(self, call: ToolCall, own: bool, index: int) -> dict[str, Any]:
        id = None if call.id in self._spelling.get("ids", ()) else self._context.id(call.id)
        name = self._context.name(call.name)
        self.ids[call.id], self.names[call.id] = id, name
        function: dict[str, Any] = {"name": name, "arguments": object_arguments(call, self._context, index)}
        lose_kind(call, self._context, index)
        if call.namespace is not None or call.caller is not None:
            self._context.lose("namespace", block=index)
        indexes = self._spelling.get("indexes", {})
        if call.id in indexes:
            function = {"index": indexes[call.id], **function}
        written: dict[str, Any] = {"function": function} if id is None else {"id": id, "function": function}
        if own:
            written.update((key, value) for key, value in call.extra.items() if key not in written)
        else:
            self._context.lose_extra(call.extra, "", index, *_BOOKKEEPING)
        return written
