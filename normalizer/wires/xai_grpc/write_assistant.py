"""Conversion of assistant turns to xAI's messages."""

from __future__ import annotations

from typing import Any

from ... import json_codec
from ...conversation import Assistant
from ...model import Block, Opaque, Reasoning, Refusal, ServerToolCall, ServerToolResult, Text, ToolCall
from ..surrogates import is_encodable
from ..write_context import WriteContext, unrepresented
from . import schema
from .schema import (
    FAILED,
    INCOMPLETE,
    ROLE_ASSISTANT,
    ROLE_TOOL,
    SERVER_TYPES,
    STATUSES,
    TYPE_CLIENT,
    Content,
    FunctionCall,
    ProtoMessage,
    parse_dict,
)

WIRE = "xai.grpc"
COMPLETED = 1
_INDEX = {"index"}
_STATUS_NUMBERS = {word: number for number, word in STATUSES.items()}
_JSON_KINDS = frozenset(("function", "legacy_function", "unresolved"))


class AssistantWriter:
    """Converter for assistant turns. ``ids``: canonical id -> wire id, for the calls of the last turn."""

    def __init__(self, context: WriteContext) -> None:
        self._context = context
        self.ids: dict[str, str] = {}

    def usual(self, turn: Assistant, asked: list[str]) -> dict[str, Any] | None:
        """Return the members of the message for a turn of only text and function calls, or None for any other turn.

        Part of the fast path. The method appends the ids of the turn's calls to ``asked``, even if it returns None.
        """
        response = turn.response
        choices = response.choices
        if turn.extra or not choices or not (blocks := choices[0].blocks):
            return None
        own = response.wire == WIRE
        index = blocks[0].extra
        if own and (choices[0].extra or (index and index.keys() != _INDEX)):
            return None
        names, takes = self._context.named, self._context.takes_id
        text = ""
        calls: list[dict[str, Any]] = []
        for block in blocks:
            if own and block.extra != index:
                return None
            if type(block) is ToolCall:
                if block.kind != "function" or (not own and (block.extra or block.namespace or block.caller)):
                    return None
                id = block.id
                if not takes(id) or not is_encodable(block.arguments_text):
                    return None
                name = names.get(block.name)
                if name is None:
                    name = self._context.name(block.name)
                function = {"name": name, "arguments": block.arguments_text or ("" if own else "{}")}
                status = INCOMPLETE if block.status == "truncated" else COMPLETED
                asked.append(id)
                calls.append({"id": id, "type": TYPE_CLIENT, "status": status, "function": function})
            elif type(block) is Text and block.text and not (text or calls or block.annotations):
                text = block.text
                if not is_encodable(text) or (block.extra and not own):
                    return None
            else:
                return None
        message = {"role": ROLE_ASSISTANT, "content": [{"text": text}]}
        if calls:
            message["tool_calls"] = calls
        return message

    def spell(self, turn: Assistant, number: int) -> list[Any]:
        """Return the messages of one turn. ``number``: index of the turn, for losses."""
        self.ids = {}
        response = turn.response
        if lost := unrepresented(turn.extra):
            self._context.lose("extra", f"left out: {', '.join(lost)}", number)
        if not response.choices:
            self._context.lose("empty", "an answer without content was left out", number)
            return []
        choice = response.choices[0]
        if response.wire != WIRE:
            return self._foreign(choice.blocks, number)
        messages = self._own(choice.blocks, choice.extra.get("outputs") or {})
        if not messages:
            messages = [ProtoMessage(role=ROLE_ASSISTANT, content=[Content(text="")])]
        return messages

    # Turns from xAI.

    def _own(self, blocks: list[Block], output_extras: dict[str, Any]) -> list[Any]:
        messages: list[Any] = []
        place: int | None = None
        current: Any = None
        served: dict[str, ServerToolCall] = {}
        with_result = {(b.call_id, b.extra.get("index")) for b in blocks if isinstance(b, ServerToolResult)}
        for block in blocks:
            index = block.extra.get("index")
            kind = type(block)
            if isinstance(block, ServerToolCall):
                served[block.id] = block
                if index is not None and (block.id, index) in with_result:
                    continue  # no output before its result contains it; `_result` adds it
            if current is None or index != place or (index is None and not _takes(current, kind)):
                if current is not None:
                    _complete(current, output_extras, place)
                current = ProtoMessage(role=ROLE_TOOL if kind is ServerToolResult else ROLE_ASSISTANT)
                place = index
                messages.append(current)
            self._add(current, block, served)
        if current is not None:
            _complete(current, output_extras, place)
        return messages

    def _add(self, message: Any, block: Block, served: dict[str, ServerToolCall]) -> None:
        if isinstance(block, Text):
            message.content.append(Content(text=block.text))
        elif isinstance(block, Reasoning):
            if block.text:
                message.reasoning_content = block.text
            if block.encrypted:
                message.encrypted_content = block.encrypted
        elif isinstance(block, ToolCall):
            message.tool_calls.append(self._call(block, block.arguments_text))
        elif isinstance(block, ServerToolCall):
            message.tool_calls.append(_server_call(block))
        elif isinstance(block, ServerToolResult):
            _result(message, block, served.get(block.call_id))
        elif isinstance(block, Refusal):
            message.content.append(Content(text=block.text))
        elif isinstance(block, Opaque) and isinstance(block.raw, dict):
            message.content.append(parse_dict(block.raw, Content()))

    def _call(self, call: ToolCall, text: str) -> Any:
        context = self._context
        id = self.ids[call.id] = context.id(call.id)
        made = schema.ToolCall(
            id=id,
            type=TYPE_CLIENT,
            status=INCOMPLETE if call.status == "truncated" else COMPLETED,
            function=FunctionCall(name=context.name(call.name), arguments=text),
        )
        if call.extra:
            if call.extra.get("status") == STATUSES[FAILED]:
                made.status = FAILED
            if call.extra.get("error_message"):
                made.error_message = call.extra["error_message"]
        return made

    # Turns from other wires.

    def _foreign(self, blocks: list[Block], number: int) -> list[Any]:
        """Return messages with reasoning, then text, then calls. Blocks after a call move into the call's message."""
        context = self._context
        messages: list[Any] = []
        current: Any = None
        for place, block in enumerate(blocks):
            if isinstance(block, ToolCall):
                if current is None:
                    messages.append(current := ProtoMessage(role=ROLE_ASSISTANT))
                current.tool_calls.append(self._foreign_call(block, number, place))
            elif isinstance(block, (Text, Refusal)):
                if isinstance(block, Refusal):
                    context.lose("refusal", turn=number, block=place)
                elif block.annotations:
                    context.lose("annotations", turn=number, block=place)
                if lost := unrepresented(block.extra):
                    context.lose("extra", f"left out: {', '.join(lost)}", number, place)
                if not block.text:
                    continue
                if current is None:
                    messages.append(current := ProtoMessage(role=ROLE_ASSISTANT))
                if current.tool_calls:
                    context.lose("order", "words after a call were moved before it", number, place)
                current.content.append(Content(text=block.text))
            elif isinstance(block, Reasoning):
                if block.signature or block.encrypted or not block.text:
                    context.lose("reasoning", turn=number, block=place)
                if not block.text:
                    continue
                called = current is not None and bool(current.tool_calls)
                if called:
                    context.lose("order", "reasoning after a call was moved before it", number, place)
                if current is None or (not called and (current.content or current.reasoning_content)):
                    messages.append(current := ProtoMessage(role=ROLE_ASSISTANT))
                before = current.reasoning_content
                current.reasoning_content = f"{before}\n\n{block.text}" if before else block.text
            elif isinstance(block, (ServerToolCall, ServerToolResult)):
                context.lose("server-tool", turn=number, block=place)
            else:
                context.lose("opaque", turn=number, block=place)
        if not messages:
            context.lose("empty", "nothing of this answer could be carried", number)
        for message in messages:
            if not message.content:
                message.content.append(Content(text=""))
        return messages

    def _foreign_call(self, call: ToolCall, number: int, place: int) -> Any:
        text = call.arguments_text or "{}"
        if call.kind not in _JSON_KINDS:
            self._context.lose("kind", f"{call.name}: a {call.kind} call became a function call", number, place)
            if call.arguments is None:
                text = json_codec.text({"input": call.arguments_text})
        if call.namespace or call.caller is not None:
            self._context.lose("namespace", turn=number, block=place)
        if lost := unrepresented(call.extra):
            self._context.lose("extra", f"left out: {', '.join(lost)}", number, place)
        return self._call(call, text)


def _takes(message: Any, kind: type[Block]) -> bool:
    """Report whether a block of this kind belongs to the same message, if its output index is not known."""
    if message.role == ROLE_TOOL or kind is ServerToolResult:
        return False
    if kind is Reasoning:
        return not (message.content or message.tool_calls or message.reasoning_content or message.encrypted_content)
    if kind in (ToolCall, ServerToolCall, Opaque):
        return True
    return not (message.content or message.tool_calls)


def _complete(message: Any, output_extras: dict[str, Any], place: int | None) -> None:
    """Add an empty text if the message has no content, and restore its name and the split of its texts.

    ``output_extras``: the outputs' extra members, by index.
    """
    if not message.content:
        message.content.append(Content(text=""))
    output = output_extras.get(str(place or 0))
    if not output:
        return
    if output.get("name"):
        message.name = output["name"]
    texts = output.get("content")
    if isinstance(texts, list) and "".join(texts) == message.content[0].text:
        parts = [Content(text=text) for text in texts] + list(message.content[1:])
        del message.content[:]
        message.content.extend(parts)


def _server_call(call: ServerToolCall) -> Any:
    type_number = SERVER_TYPES.get(call.tool)
    if type_number is None:
        tail = call.tool.removeprefix("type_")
        type_number = int(tail) if tail.isdecimal() else 0
    made = schema.ToolCall(
        id=call.id,
        type=type_number,
        status=_STATUS_NUMBERS.get(call.status or "", COMPLETED),
        function=FunctionCall(name=call.name, arguments=call.arguments_text),
    )
    if call.extra.get("error_message"):
        made.error_message = call.extra["error_message"]
    return made


def _result(message: Any, result: ServerToolResult, call: ServerToolCall | None) -> None:
    """Add the server call and its result to a tool message. xAI pairs them by id, as its SDK also writes them."""
    if call is not None:
        message.tool_calls.append(_server_call(call))
    if result.call_id and not message.tool_call_id:
        message.tool_call_id = result.call_id
    if message.content or message.encrypted_content:
        return  # a second call of the same output
    raw = result.raw if isinstance(result.raw, dict) else {}
    message.content.append(Content(text=raw.get("content") or ""))
    if raw.get("encrypted_content"):
        message.encrypted_content = raw["encrypted_content"]
    if raw.get("reasoning_content"):
        message.reasoning_content = raw["reasoning_content"]
