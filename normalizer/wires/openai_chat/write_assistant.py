"""Write an assistant turn as one message of a Chat Completions history.

The message is built from the canonical fields. If it goes back to its provider, it also gets its original spelling.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import json_codec
from ...conversation import Assistant
from ...model import Block, Opaque, Reasoning, Refusal, ServerToolCall, ServerToolResult, Text, ToolCall
from ..surrogates import is_encodable
from ..write_context import HINTS, REPEATED, WriteContext, unrepresented
from .dialects import Dialect

#: Key of ``extra`` under which the reader keeps the original spelling; `read` documents its value.
AS_WRITTEN = "as_written"
#: Members of a response message that do not belong in a history.
_RESPONSE_ONLY = frozenset(("channel", "parsed", "token_id", "audio"))
#: Members that only hold position and state of an item; leaving them out is not a loss.
_BOOKKEEPING = frozenset(("id", "item_id", "index", "output_index", "status", "role", "part", "member", "execution"))
_NOTHING: dict[str, Any] = {}
Lose = Callable[..., None]


class AssistantWriter:
    """Writer for one assistant turn.

    ``same``: the turn goes back to the provider that produced it. ``spelled``: it keeps its original spelling.
    ``ids``: canonical id -> id on the wire (None: no id), filled by `message`.
    """

    def __init__(
        self, turn: Assistant, same: bool, spelled: bool, dialect: Dialect, context: WriteContext, lose: Lose
    ) -> None:
        self.ids: dict[str, str | None] = {}
        self._turn = turn
        self._same = same
        self._dialect = dialect
        self._context = context
        self._lose = lose
        self._written: dict[str, Any] = (turn.extra.get(AS_WRITTEN) if turn.extra and spelled else None) or _NOTHING
        self._parts: list[dict[str, Any]] = []
        self._rich = "parts" in self._written
        self._beside: dict[str, Any] = {}
        self._calls: list[dict[str, Any]] = []

    def message(self) -> dict[str, Any] | None:
        """Return the message; None if the target cannot represent any of it."""
        for number, block in enumerate(self._turn.response.choices[0].blocks):
            if type(block) is ToolCall:
                call = self._call(block, number)
                if block.kind == "legacy_function" and self._same:
                    self._beside["function_call"] = call
                else:
                    self._calls.append(call)
            elif type(block) is Text:
                self._text(block, number)
            else:
                self._other(block, number)
        message: dict[str, Any] = {"role": "assistant"}
        if self._parts:
            message["content"] = self._content()
        if self._beside:
            message.update(self._beside)
        if self._calls:
            message["tool_calls"] = self._calls
        self._add_members(message)
        if not message.get("content"):
            return self._wordless(message)
        return message

    def _wordless(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """Complete a message without text as the dialect requires; None if it has to be left out."""
        silent = not (self._calls or "function_call" in self._beside or "refusal" in self._beside)
        if silent and not (self._same and self._dialect.wordless):
            return None
        if self._dialect.blank is not None and not silent:
            message["content"] = self._dialect.blank
        elif "silent" not in self._written:
            message.setdefault("content", "" if silent else None)
        return message

    def _content(self) -> Any:
        parts = self._parts
        if self._rich or (len(parts) > 1 and self._dialect.lists):
            return parts
        return parts[0]["text"] if len(parts) == 1 else "".join(part["text"] for part in parts)

    def _text(self, block: Text, number: int) -> None:
        if self._calls and not self._same:
            self._lose("order", "words that stood after a call stand before it", number)
        part = {"type": "text", "text": block.text}
        if block.extra and self._same:
            part.update(block.extra)
            self._rich = True
        elif block.extra:
            self._extra(block.extra, number)
        if block.annotations:
            if self._same and not self._dialect.strict:
                self._beside["annotations"] = block.annotations
            else:
                self._lose("annotations", "", number)
        self._parts.append(part)

    def _other(self, block: Block, number: int) -> None:
        same = self._same
        if isinstance(block, Reasoning):
            if same:
                self._reasoning(block)
            else:
                self._lose("reasoning", "", number)
        elif isinstance(block, Refusal):
            if same or self._dialect.refusal:
                self._beside["refusal"] = block.text
            else:
                self._lose("refusal", "", number)
                self._parts.append({"type": "text", "text": block.text})
        elif isinstance(block, Opaque) and same and isinstance(block.raw, dict) and "type" in block.raw:
            self._parts.append(block.raw)
            self._rich = True
        elif not (same and "executed_tools" in self._turn.extra):
            hosted = isinstance(block, (ServerToolCall, ServerToolResult))
            self._lose("server-tool" if hosted else "opaque", "", number)

    def _reasoning(self, block: Reasoning) -> None:
        """Put reasoning into the member it came from, or into the dialect's usual one."""
        member = block.extra.get("member") or self._written.get("reasoning", self._dialect.reasoning)
        if member == "content":
            inner = [{"type": "text", "text": block.text}]
            rest = {key: value for key, value in block.extra.items() if key != "member"}
            self._parts.append({"type": "thinking", "thinking": inner, **rest})
            self._rich = True
            return
        details = block.extra.get("reasoning_details")
        if details is None and block.signature is not None:
            details = [{"type": "reasoning.text", "text": block.text, "signature": block.signature}]
        elif details is None and block.encrypted is not None:
            details = [{"type": "reasoning.encrypted", "data": block.encrypted}]
        if details is not None:
            self._beside["reasoning_details"] = details
        if block.text and (details is None or "member" in block.extra):
            self._beside[member] = block.text

    def _call(self, call: ToolCall, number: int) -> dict[str, Any]:
        same, written = self._same, self._written
        id: str | None = call.id
        if written and "ids" in written and call.id in written["ids"]:
            id = written["ids"][call.id]
        elif not same or self._dialect.ids_checked or not is_encodable(call.id):
            id = self._context.id(call.id)
        self.ids[call.id] = id
        name = self._context.name(call.name)
        text: Any = call.arguments_text
        kind = call.kind
        if not same:
            kind, text = self._translated(call, number)
        elif "objects" in written and call.arguments is not None:
            text = call.arguments
        if kind == "legacy_function":
            return {"name": name, "arguments": text, **call.extra}
        made: dict[str, Any] = {} if id is None else {"id": id}
        made["type"] = kind
        if kind == "custom":
            made["custom"] = {"name": name, "input": text}
        else:
            made["function"] = {"name": name, "arguments": text}
        if same and call.extra:
            made.update((key, value) for key, value in call.extra.items() if key != "id")
        if "indexes" in written and call.id in written["indexes"]:
            made["index"] = written["indexes"][call.id]
        return made

    def _translated(self, call: ToolCall, number: int) -> tuple[str, str]:
        """Return kind and argument text for a call that another provider's model made."""
        if call.namespace is not None or call.caller is not None:
            self._lose("namespace", "", number)
        if call.extra:
            self._extra(call.extra, number)
        text = call.arguments_text
        if call.kind == "custom" and self._dialect.custom:
            return "custom", text
        if call.kind not in ("function", "legacy_function"):
            self._lose("kind", f"a call of kind {call.kind} was carried as a function call", number)
            return "function", text if call.arguments is not None else json_codec.text({"input": text})
        return "function", text if text.strip() else "{}"

    def _extra(self, extra: dict[str, Any], number: int) -> None:
        """Report extra members of a block that another provider needs back as lost (failures THINK-06, PASS-02)."""
        if left := [key for key in unrepresented(extra) if key not in _BOOKKEEPING]:
            self._lose("extra", f"{', '.join(left)} left out", number)

    def _add_members(self, message: dict[str, Any]) -> None:
        """Add extra members: all of a history message, and of a response message those that a history may hold."""
        extra = self._turn.extra
        if extra:
            if self._same:
                members = {**extra, **extra.get(REPEATED, _NOTHING)}
                message.update((k, v) for k, v in members.items() if k not in message and k not in HINTS)
            elif left := unrepresented(extra):
                self._lose("extra", f"{', '.join(left)} left out")
        carried = self._turn.response.choices[0].extra
        said = carried.get("message") if carried and self._same else None
        if isinstance(said, dict):
            audio = said.get("audio")
            if isinstance(audio, dict) and audio.get("id") and "audio" not in message:
                message["audio"] = {"id": audio["id"]}
            if not self._dialect.strict:
                message.update((k, v) for k, v in said.items() if k not in message and k not in _RESPONSE_ONLY)
