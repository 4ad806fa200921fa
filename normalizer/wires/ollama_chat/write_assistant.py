"""Writer for assistant messages, whose arguments are JSON objects.

A message is built from the canonical fields. If it goes back to its wire, it also gets its original spelling.
"""

from __future__ import annotations

from typing import Any

from ...arguments import parse
from ...conversation import Assistant, TextPart, ToolResult
from ...model import Block, Opaque, Reasoning, Refusal, Response, Text, ToolCall
from ..surrogates import is_encodable
from ..write_context import AS_WRITTEN, HINTS, WriteContext, mark_failed, shallow_copy
from .schema import WIRE

_FUNCTIONS = frozenset(("function", "legacy_function"))
#: Extra members of other wires that only hold position and state of an item; leaving them out is not a loss.
_BOOKKEEPING = ("role", "part", "execution")
_NOTHING: dict[str, Any] = {}


class AssistantWriter:
    """Writer for the assistant messages of one request.

    ``calls``: canonical id -> id (None: no id) and name on the wire, for the results of the last message. ``inputs``:
    the arguments that `regular` wrote, in which the caller has to look for lone surrogates.
    """

    def __init__(self, context: WriteContext) -> None:
        self.calls: dict[str, tuple[str | None, str]] = {}
        self.inputs: list[dict[str, Any]] = []
        self._context = context

    def fork(self, context: WriteContext) -> AssistantWriter:
        """Return an independent copy, for another request."""
        other = shallow_copy(self)
        other._context = context
        other.inputs, other.calls = [], self.calls.copy()
        return other

    def regular(self, message: Assistant, call_ids: list[str], out: list[Any]) -> bool:
        """Fast path: append a message of at most one text and function calls; return False for any other message.

        The ids of the calls are appended to ``call_ids``, even if the result is False.
        """
        response = message.response
        choices = response.choices
        if message.extra or not choices or (choices[0].extra and response.wire == WIRE):
            return False
        context, inputs, written = self._context, self.inputs, self.calls
        written.clear()
        accepts, names, plain = context.accepts_id, context.known_names, context.plain_length
        text: str | None = None
        calls: list[dict[str, Any]] = []
        for block in choices[0].blocks:
            if type(block) is ToolCall:
                id, arguments = block.id, block.arguments
                if block.extra or arguments is None or block.kind != "function" or block.caller or block.namespace:
                    return False
                if (len(id) > plain or not (id.isascii() and id.isidentifier())) and not accepts(id):
                    return False
                name = names.get(block.name) or context.name(block.name)
                call_ids.append(id)
                inputs.append(arguments)
                written[id] = id, name
                calls.append({"id": id, "function": {"name": name, "arguments": arguments}})
            elif type(block) is Text and text is None and not (calls or block.annotations or block.extra):
                text = block.text
                if not (text.isascii() or is_encodable(text)):
                    return False
            else:
                return False
        if not (calls or text):
            return False
        made: dict[str, Any] = {"role": "assistant", "content": text or ""}
        if calls:
            made["tool_calls"] = calls
        out.append(made)
        return True

    def regular_results(self, results: list[ToolResult], call_ids: list[str], out: list[Any]) -> bool:
        """Append results of one plain text each to ``out``, and report whether all are regular and in order."""
        calls = self.calls
        ids = iter(call_ids)
        for result in results:  # every request runs this loop; zip takes longer
            id = next(ids)
            parts = result.parts
            if result.call_id != id or result.extra or len(parts) != 1:
                return False
            part = parts[0]
            if type(part) is not TextPart or part.extra:
                return False
            text = part.text
            if not (text.isascii() or is_encodable(text)):
                return False
            if result.is_error or "[" <= text < "\\":  # it begins with a bracket
                text = mark_failed(text, result.is_error)
            out.append({"role": "tool", "content": text, "tool_name": calls[id][1], "tool_call_id": id})
        return True

    def write(self, message: Assistant) -> dict[str, Any] | None:
        """Return the wire's message, None if there is none; report losses, and set `calls` for the results."""
        response = message.response
        self.calls = {}
        if not response.choices:
            self._context.lose("empty", "a response without a choice was left out")
            return None
        builder = _MessageBuilder(message, response.wire == WIRE, self._context)
        written = builder.build(response)
        self.calls = builder.calls
        if written is None:
            self._context.lose("empty")
        return written


class _MessageBuilder:
    """Builder for one message. ``own``: it goes back to this wire. ``calls``: as in `AssistantWriter`."""

    def __init__(self, message: Assistant, own: bool, context: WriteContext) -> None:
        self.calls: dict[str, tuple[str | None, str]] = {}
        self._extra = message.extra
        self._own = own
        self._context = context
        self._lose = context.lose
        self._spelling: dict[str, Any] = (message.extra.get(AS_WRITTEN) if own else None) or _NOTHING
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._written: list[dict[str, Any]] = []

    def build(self, response: Response) -> dict[str, Any] | None:
        """Return the message; None if the target cannot represent any of it."""
        for index, block in enumerate(response.choices[0].blocks):
            if type(block) is ToolCall:
                self._written.append(self._call(block, index))
            elif type(block) is Text:
                self._text(block, index)
            else:
                self._other(block, index)
        message: dict[str, Any] = {"role": "assistant"}
        if self._texts or "silent" not in self._spelling:
            message["content"] = "".join(self._texts)
        if self._thoughts:
            message["thinking"] = "".join(self._thoughts)
        if self._written:
            message["tool_calls"] = self._written
        if self._own:
            message.update((key, value) for key, value in self._members(response) if key not in message)
        else:
            self._context.lose_extra(self._extra)
        return message if self._own or self._texts or self._written else None

    def _members(self, response: Response) -> list[tuple[str, Any]]:
        """Return the extra members of a message in a history, or of a response."""
        answered = response.choices[0].extra.get("message")
        members = {**self._extra, **(answered if isinstance(answered, dict) else {})}
        return [(key, value) for key, value in members.items() if key not in HINTS]

    def _text(self, block: Text, index: int) -> None:
        if self._written:
            self._lose("order", "text after a call was moved before it", index)
        self._context.lose_extra(block.extra, "", index, *_BOOKKEEPING)
        if block.annotations:
            self._lose("annotations", "", index)
        self._texts.append(block.text)

    def _other(self, block: Block, index: int) -> None:
        if isinstance(block, Reasoning):
            if self._own:
                self._thoughts.append(block.text)
            else:
                self._lose("reasoning", "", index)
        elif isinstance(block, Refusal):
            self._lose("refusal", "", index)
            self._texts.append(block.text)
        elif isinstance(block, Opaque):
            self._lose("opaque", f"a block of type {block.wire_type!r} was left out", index)
        else:
            self._lose("server-tool", "", index)

    def _call(self, call: ToolCall, index: int) -> dict[str, Any]:
        context = self._context
        id = None if call.id in self._spelling.get("ids", ()) else context.id(call.id)
        name = context.name(call.name)
        self.calls[call.id] = id, name
        arguments = call.arguments
        if arguments is None:
            # A custom tool is declared here as a function with one text parameter (ARG-08, INV-02).
            text = call.arguments_text
            arguments = {"input": text} if call.kind == "custom" else _object(text)
            if "_raw" in arguments:
                self._lose("arguments", block=index)
        if call.kind not in _FUNCTIONS:
            self._lose("kind", f"{call.name}: a {call.kind} call was written as a function call", index)
        if call.namespace is not None or call.caller is not None:
            self._lose("namespace", block=index)
        function: dict[str, Any] = {"name": name, "arguments": arguments}
        indexes = self._spelling.get("indexes", _NOTHING)
        if call.id in indexes:
            function = {"index": indexes[call.id], **function}
        written: dict[str, Any] = {"function": function} if id is None else {"id": id, "function": function}
        if self._own:
            written.update((key, value) for key, value in call.extra.items() if key not in written)
        else:
            context.lose_extra(call.extra, "", index, *_BOOKKEEPING)
        return written


def _object(text: str) -> dict[str, Any]:
    """Return the object in an argument text, or the text under `_raw`. NaN and infinity are not JSON (NUM-02)."""
    arguments = parse(text).arguments
    return {"_raw": text} if arguments is None else arguments
