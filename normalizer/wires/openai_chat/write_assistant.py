"""Writer for assistant messages.

A message is built from the canonical fields. If it goes back to its provider, it also gets its original spelling.
"""

from __future__ import annotations

from typing import Any

from ... import json_codec
from ...conversation import Assistant
from ...model import Block, Opaque, Reasoning, Refusal, Response, ServerToolCall, ServerToolResult, Text, ToolCall
from ..content_writer import FUNCTIONS, Format, MessageWriter, lose_kind
from ..surrogates import is_encodable
from ..write_context import HINTS, REPEATED, WriteContext
from .dialects import Dialect
from .schema import WIRE

#: Members of a response message that do not belong in a history.
_RESPONSE_ONLY = frozenset(("channel", "parsed", "token_id", "audio"))
#: Extra members of other wires that only hold position and state of an item; leaving them out is not a loss.
_BOOKKEEPING = ("role", "execution")


def _client_call(id: str, name: str, arguments: Any) -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _plain(text: str) -> str:
    return text


class AssistantWriter(MessageWriter):
    """Writer for the assistant messages of one request. An id in ``ids`` is None if the call has none.

    ``source``: the provider of the request. ``must_think``: calls need reasoning.
    """

    _format = Format(
        _client_call,
        _plain,
        marks_failures=True,
        result_keys=("role", "tool", "tool_call_id", "content"),
    )

    def __init__(self, context: WriteContext, dialect: Dialect, source: str | None, must_think: bool) -> None:
        super().__init__(context)
        self._dialect = dialect
        self._source = source
        self._must_think = must_think

    def regular(self, message: Assistant, call_ids: list[str], out: list[Any]) -> bool:
        # as in the base class, without its calls of functions for each part: every request runs this loop
        response = message.response
        choices = response.choices
        if message.extra or not choices:
            return False
        context, dialect, choice = self._context, self._dialect, choices[0]
        own = (response.wire == WIRE and response.provider == context.provider) or self._is_own(response)
        if own and choice.extra:
            return False
        accepts, names, plain = context.accepts_id, context.known_names, context.plain_length
        if self.ids:
            self.ids = {}
        text: str | None = None
        calls: list[dict[str, Any]] = []
        for block in choice.blocks:
            if type(block) is ToolCall:
                id, arguments = block.id, block.arguments_text
                if block.extra or block.kind != "function" or block.namespace or block.caller or not arguments:
                    return False
                if not (arguments.isascii() or is_encodable(arguments)):
                    return False
                call_ids.append(id)
                if (len(id) > plain or not (id.isascii() and id.isidentifier())) and not accepts(id):
                    self.ids[id] = id = self._call_id(id, own)
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
        elif text or (own and dialect.wordless):
            out.append({"role": "assistant", "content": text or ""})
        else:
            return False
        return True

    def write(self, message: Assistant) -> dict[str, Any] | None:
        call_ids: list[str] = []
        regular: list[dict[str, Any]] = []
        if not self._must_think and self.regular(message, call_ids, regular):
            self.ids = {id: self.ids.get(id, id) for id in call_ids}
            return regular[0]
        written = super().write(message)
        if written and self._must_think and "tool_calls" in written and "reasoning_content" not in written:
            written["reasoning_content"] = ""  # DeepSeek requires the member while it thinks
        return written

    def _is_own(self, response: Response) -> bool:
        """Whether a response goes back to the provider that produced it.

        If its provider is unknown, it counts as the same unless the target has a strict dialect or the response has
        calls of an unusual kind.
        """
        if response.wire != WIRE:
            return False
        source, target = response.provider or self._source, self._context.provider
        if source == target or target is None:
            return True
        return source is None and not self._dialect.strict and all(call.kind in FUNCTIONS for call in response.calls)

    def _begin(self, message: Assistant) -> bool:
        self._same = same = super()._begin(message)
        provider = self._context.provider
        if same and provider is not None and (message.response.provider or self._source) is None:
            self._spelling = {}  # the provider is not known to have used the original spelling
        self._rich = "parts" in self._spelling  # whether the content has to be a list
        self._members: dict[str, Any] = {}
        return same

    def _finished(self, own: bool) -> dict[str, Any] | None:
        message: dict[str, Any] = {"role": "assistant"}
        if self._texts:
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
        parts = self._texts
        if self._rich or (len(parts) > 1 and self._dialect.lists):
            return parts
        return parts[0]["text"] if len(parts) == 1 else "".join(part["text"] for part in parts)

    def _text(self, block: Text, own: bool, index: int) -> None:
        if not own:
            self._lose_order(index)
        part = {"type": "text", "text": block.text}
        if block.extra and own:
            part.update(block.extra)
            self._rich = True
        else:
            self._context.lose_extra(block.extra, "", index, *_BOOKKEEPING)
        if block.annotations:
            if own and not self._dialect.strict:
                self._members["annotations"] = block.annotations
            else:
                self._context.lose("annotations", block=index)
        self._texts.append(part)

    def _state(self, block: Block, index: int) -> bool:
        if isinstance(block, Reasoning):
            self._reasoning(block)
        elif isinstance(block, Opaque) and isinstance(block.raw, dict) and "type" in block.raw:
            self._texts.append(block.raw)
            self._rich = True
        else:
            return not isinstance(block, Refusal) and "executed_tools" in self._message.extra
        return True

    def _foreign(self, block: Block, index: int) -> None:
        lose = self._context.lose
        if isinstance(block, Refusal):
            if self._same or self._dialect.refusal:
                self._members["refusal"] = block.text
            else:
                lose("refusal", block=index)
                self._texts.append({"type": "text", "text": block.text})
        elif isinstance(block, Reasoning):
            lose("reasoning", block=index)
        else:
            hosted = isinstance(block, (ServerToolCall, ServerToolResult))
            lose("server-tool" if hosted else "opaque", block=index)

    def _reasoning(self, block: Reasoning) -> None:
        """Put reasoning into the member it came from, or into the dialect's usual one."""
        member = block.extra.get("member") or self._spelling.get("reasoning", self._dialect.reasoning)
        if member == "content":
            thinking = [{"type": "text", "text": block.text}]
            rest = {key: value for key, value in block.extra.items() if key != "member"}
            self._texts.append({"type": "thinking", "thinking": thinking, **rest})
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

    def _call_id(self, canonical: str, own: bool) -> str:
        unchecked = own and not self._dialect.ids_checked and is_encodable(canonical)
        return canonical if unchecked else self._context.id(canonical)

    def _call(self, call: ToolCall, own: bool, index: int) -> dict[str, Any] | None:
        spelling, kind = self._spelling, call.kind
        ids, indexes = spelling.get("ids", {}), spelling.get("indexes", {})
        id = ids[call.id] if call.id in ids else self._call_id(call.id, own)
        self.ids[call.id] = id
        name = self._context.name(call.name)
        text: Any = call.arguments_text
        if not own:
            kind, text = self._translated(call, index)
        elif "objects" in spelling and call.arguments is not None:
            text = call.arguments
        if kind == "legacy_function":
            self._members["function_call"] = {"name": name, "arguments": text, **call.extra}
            return None
        written: dict[str, Any] = {} if id is None else {"id": id}
        written["type"] = kind
        if kind == "custom":
            written["custom"] = {"name": name, "input": text}
        else:
            written["function"] = {"name": name, "arguments": text}
        if own:
            written.update((key, value) for key, value in call.extra.items() if key != "id")
        if call.id in indexes:
            written["index"] = indexes[call.id]
        return written

    def _translated(self, call: ToolCall, index: int) -> tuple[str, str]:
        """Return kind and argument text for a call that another provider's model made."""
        # Members that another provider needs back are lost (failures THINK-06, PASS-02).
        self._lose_members(call, index, "", *_BOOKKEEPING)
        text = call.arguments_text
        if call.kind == "custom" and self._dialect.custom:
            return "custom", text
        if call.kind not in FUNCTIONS:
            lose_kind(call, self._context, index)
            return "function", text if call.arguments is not None else json_codec.text({"input": text})
        return "function", text if text.strip() else "{}"

    def _add_extra(self, message: dict[str, Any]) -> None:
        """Add extra members: all of a history message, and of a response message those that a history may hold."""
        extra = self._message.extra
        if not self._same:
            self._context.lose_extra(extra)
            return
        members = {**extra, **extra.get(REPEATED, {})}
        message.update((k, v) for k, v in members.items() if k not in message and k not in HINTS)
        response_message = self._message.response.choices[0].extra.get("message")
        if isinstance(response_message, dict):
            audio = response_message.get("audio")
            if isinstance(audio, dict) and audio.get("id") and "audio" not in message:
                message["audio"] = {"id": audio["id"]}
            if not self._dialect.strict:
                members = {k: v for k, v in response_message.items() if k not in _RESPONSE_ONLY}
                message.update((k, v) for k, v in members.items() if k not in message)
