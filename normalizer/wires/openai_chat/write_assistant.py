"""Writer for assistant messages.

A message is built from the canonical fields. If it goes back to its provider, it also gets its original spelling.
"""

from __future__ import annotations

from typing import Any

from ... import json_codec
from ...conversation import Assistant, TextPart, ToolResult
from ...model import Block, Opaque, Reasoning, Refusal, Response, ServerToolCall, ServerToolResult, Text, ToolCall
from ..surrogates import is_encodable
from ..write_context import AS_WRITTEN, HINTS, REPEATED, WriteContext, mark_failed, shallow_copy
from .dialects import Dialect
from .schema import WIRE

#: Members of a response message that do not belong in a history.
_RESPONSE_ONLY = frozenset(("channel", "parsed", "token_id", "audio"))
#: Extra members of other wires that only hold position and state of an item; leaving them out is not a loss.
_BOOKKEEPING = ("role", "execution")
_FUNCTIONS = ("function", "legacy_function")
_NOTHING: dict[str, Any] = {}


class AssistantWriter:
    """Writer for the assistant messages of one request.

    ``source``: the provider of the request. ``must_think``: calls need reasoning. ``ids``: canonical id -> id on the
    wire (None: no id) for the calls of the last message; after `regular`, only ids that differ.
    """

    def __init__(self, context: WriteContext, dialect: Dialect, source: str | None, must_think: bool) -> None:
        self.ids: dict[str, str | None] = {}
        self._context = context
        self._dialect = dialect
        self._source = source
        self._must_think = must_think

    def fork(self, context: WriteContext) -> AssistantWriter:
        """Return an independent copy, for another request."""
        other = shallow_copy(self)
        other._context = context
        return other

    def regular(self, message: Assistant, call_ids: list[str], out: list[Any]) -> bool:
        """Fast path: append a message of at most one text and function calls; return False for any other message.

        The ids of the calls are appended to ``call_ids``, even if the result is False.
        """
        response = message.response
        choices = response.choices
        if message.extra or not choices:
            return False
        context, dialect = self._context, self._dialect
        same = (response.wire == WIRE and response.provider == context.provider) or self._is_same(response)
        choice = choices[0]
        if same and choice.extra:
            return False
        names, plain = context.known_names, context.plain_length
        text: str | None = None
        calls: list[dict[str, Any]] = []
        if self.ids:
            self.ids = {}
        for block in choice.blocks:
            if type(block) is ToolCall:
                id, arguments = block.id, block.arguments_text
                if block.extra or block.kind != "function":
                    return False
                if not same and (block.namespace or block.caller or not arguments):
                    return False
                call_ids.append(id)
                if not (arguments.isascii() or is_encodable(arguments)):
                    return False
                if (len(id) > plain or not (id.isascii() and id.isidentifier())) and not self._accepts(id, same):
                    self.ids[id] = id = context.id(id)
                name = names.get(block.name) or context.name(block.name)
                calls.append({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
            elif type(block) is Text and text is None and not (calls or block.annotations or block.extra):
                text = block.text
                if not (text.isascii() or is_encodable(text)):
                    return False
            else:
                return False
        if calls:
            content = dialect.blank if text is None else text
            out.append({"role": "assistant", "content": content, "tool_calls": calls})
        elif text or (same and dialect.wordless):
            out.append({"role": "assistant", "content": text or ""})
        else:
            return False
        return True

    def _accepts(self, id: str, same: bool) -> bool:
        """Whether the target accepts an id unchanged. ``same``: it comes from the target."""
        checked = self._dialect.ids_checked or not same
        return (not checked and is_encodable(id)) or self._context.accepts_id(id) is not None

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
            if type(part) is not TextPart or result.kind == "legacy_function":
                return False
            text = part.text
            if not (text.isascii() or is_encodable(text)):
                return False
            if result.is_error or "[" <= text < "\\":  # it begins with a bracket
                text = mark_failed(text, result.is_error)
            out.append({"role": "tool", "tool_call_id": aliases.get(id, id) if aliases else id, "content": text})
        return True

    def write(self, message: Assistant) -> dict[str, Any] | None:
        """Return the wire's message, None if there is none; report losses, and set `ids` for the results."""
        response = message.response
        self.ids = {}
        if not response.choices:
            self._context.lose("empty", "a response without a choice was left out")
            return None
        if not self._must_think:
            call_ids: list[str] = []
            regular: list[dict[str, Any]] = []
            if self.regular(message, call_ids, regular):
                self.ids = {id: self.ids.get(id, id) for id in call_ids}
                return regular[0]
        same = self._is_same(response)
        # Keep the original spelling only if the provider is known to have used it.
        spelled = same and (self._context.provider is None or (response.provider or self._source) is not None)
        builder = _MessageBuilder(message, same, spelled, self._dialect, self._context)
        written = builder.build()
        self.ids = builder.ids
        if written is None:
            self._context.lose("empty")
        elif self._must_think and "tool_calls" in written and "reasoning_content" not in written:
            written["reasoning_content"] = ""  # DeepSeek requires the member while it thinks
        return written

    def _is_same(self, response: Response) -> bool:
        """Whether a response goes back to the provider that produced it.

        If its provider is unknown, it counts as the same unless the target has a strict dialect or the response has
        calls of an unusual kind.
        """
        if response.wire != WIRE:
            return False
        source, target = response.provider or self._source, self._context.provider
        if source == target or target is None:
            return True
        return source is None and not self._dialect.strict and all(call.kind in _FUNCTIONS for call in response.calls)


class _MessageBuilder:
    """Builder for one message.

    ``same``: it goes back to the provider that produced it. ``spelled``: it keeps its original spelling. ``ids``: as in
    `AssistantWriter`, filled by `build`.
    """

    def __init__(self, message: Assistant, same: bool, spelled: bool, dialect: Dialect, context: WriteContext) -> None:
        self.ids: dict[str, str | None] = {}
        self._message = message
        self._same = same
        self._dialect = dialect
        self._context = context
        self._lose = context.lose
        self._spelling: dict[str, Any] = (message.extra.get(AS_WRITTEN) if spelled else None) or _NOTHING
        self._parts: list[dict[str, Any]] = []
        self._rich = "parts" in self._spelling  # whether the content has to be a list
        self._members: dict[str, Any] = {}
        self._calls: list[dict[str, Any]] = []

    def build(self) -> dict[str, Any] | None:
        """Return the message; None if the target cannot represent any of it."""
        for index, block in enumerate(self._message.response.choices[0].blocks):
            if type(block) is ToolCall:
                call = self._call(block, index)
                if block.kind == "legacy_function" and self._same:
                    self._members["function_call"] = call
                else:
                    self._calls.append(call)
            elif type(block) is Text:
                self._text(block, index)
            else:
                self._other(block, index)
        message: dict[str, Any] = {"role": "assistant"}
        if self._parts:
            message["content"] = self._content()
        message.update(self._members)
        if self._calls:
            message["tool_calls"] = self._calls
        self._add_extra(message)
        return message if message.get("content") else self._wordless(message)

    def _wordless(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """Complete a message without text as the dialect requires; None if it has to be left out."""
        silent = not (self._calls or "function_call" in self._members or "refusal" in self._members)
        if silent and not (self._same and self._dialect.wordless):
            return None
        if self._dialect.blank is not None and not silent:
            message["content"] = self._dialect.blank
        elif "silent" not in self._spelling:
            message.setdefault("content", "" if silent else None)
        return message

    def _content(self) -> Any:
        parts = self._parts
        if self._rich or (len(parts) > 1 and self._dialect.lists):
            return parts
        return parts[0]["text"] if len(parts) == 1 else "".join(part["text"] for part in parts)

    def _text(self, block: Text, index: int) -> None:
        if self._calls and not self._same:
            self._lose("order", "text after a call was moved before it", index)
        part = {"type": "text", "text": block.text}
        if block.extra and self._same:
            part.update(block.extra)
            self._rich = True
        else:
            self._context.lose_extra(block.extra, "", index, *_BOOKKEEPING)
        if block.annotations:
            if self._same and not self._dialect.strict:
                self._members["annotations"] = block.annotations
            else:
                self._lose("annotations", "", index)
        self._parts.append(part)

    def _other(self, block: Block, index: int) -> None:
        same = self._same
        if isinstance(block, Reasoning):
            if same:
                self._reasoning(block)
            else:
                self._lose("reasoning", "", index)
        elif isinstance(block, Refusal):
            if same or self._dialect.refusal:
                self._members["refusal"] = block.text
            else:
                self._lose("refusal", "", index)
                self._parts.append({"type": "text", "text": block.text})
        elif isinstance(block, Opaque) and same and isinstance(block.raw, dict) and "type" in block.raw:
            self._parts.append(block.raw)
            self._rich = True
        elif not (same and "executed_tools" in self._message.extra):
            hosted = isinstance(block, (ServerToolCall, ServerToolResult))
            self._lose("server-tool" if hosted else "opaque", "", index)

    def _reasoning(self, block: Reasoning) -> None:
        """Put reasoning into the member it came from, or into the dialect's usual one."""
        member = block.extra.get("member") or self._spelling.get("reasoning", self._dialect.reasoning)
        if member == "content":
            thinking = [{"type": "text", "text": block.text}]
            rest = {key: value for key, value in block.extra.items() if key != "member"}
            self._parts.append({"type": "thinking", "thinking": thinking, **rest})
            self._rich = True
            return
        details = block.extra.get("reasoning_details")
        if details is None and block.signature is not None:
            details = [{"type": "reasoning.text", "text": block.text, "signature": block.signature}]
        elif details is None and block.encrypted is not None:
            details = [{"type": "reasoning.encrypted", "data": block.encrypted}]
        if details is not None:
            self._members["reasoning_details"] = details
        if block.text and (details is None or "member" in block.extra):
            self._members[member] = block.text

    def _call(self, call: ToolCall, index: int) -> dict[str, Any]:
        same, spelling = self._same, self._spelling
        id: str | None = call.id
        if call.id in spelling.get("ids", _NOTHING):
            id = spelling["ids"][call.id]
        elif not same or self._dialect.ids_checked or not is_encodable(call.id):
            id = self._context.id(call.id)
        self.ids[call.id] = id
        name = self._context.name(call.name)
        text: Any = call.arguments_text
        kind = call.kind
        if not same:
            kind, text = self._translated(call, index)
        elif "objects" in spelling and call.arguments is not None:
            text = call.arguments
        if kind == "legacy_function":
            return {"name": name, "arguments": text, **call.extra}
        written: dict[str, Any] = {} if id is None else {"id": id}
        written["type"] = kind
        if kind == "custom":
            written["custom"] = {"name": name, "input": text}
        else:
            written["function"] = {"name": name, "arguments": text}
        if same:
            written.update((key, value) for key, value in call.extra.items() if key != "id")
        if call.id in spelling.get("indexes", _NOTHING):
            written["index"] = spelling["indexes"][call.id]
        return written

    def _translated(self, call: ToolCall, index: int) -> tuple[str, str]:
        """Return kind and argument text for a call that another provider's model made."""
        if call.namespace is not None or call.caller is not None:
            self._lose("namespace", "", index)
        # Members that another provider needs back are lost (failures THINK-06, PASS-02).
        self._context.lose_extra(call.extra, "", index, *_BOOKKEEPING)
        text = call.arguments_text
        if call.kind == "custom" and self._dialect.custom:
            return "custom", text
        if call.kind not in _FUNCTIONS:
            self._lose("kind", f"{call.name}: a {call.kind} call was written as a function call", index)
            return "function", text if call.arguments is not None else json_codec.text({"input": text})
        return "function", text if text.strip() else "{}"

    def _add_extra(self, message: dict[str, Any]) -> None:
        """Add extra members: all of a history message, and of a response message those that a history may hold."""
        extra = self._message.extra
        if not self._same:
            self._context.lose_extra(extra)
            return
        members = {**extra, **extra.get(REPEATED, _NOTHING)}
        message.update((k, v) for k, v in members.items() if k not in message and k not in HINTS)
        response_message = self._message.response.choices[0].extra.get("message")
        if isinstance(response_message, dict):
            audio = response_message.get("audio")
            if isinstance(audio, dict) and audio.get("id") and "audio" not in message:
                message["audio"] = {"id": audio["id"]}
            if not self._dialect.strict:
                members = {k: v for k, v in response_message.items() if k not in _RESPONSE_ONLY}
                message.update((k, v) for k, v in members.items() if k not in message)
