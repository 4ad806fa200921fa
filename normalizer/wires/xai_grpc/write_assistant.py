"""Writer for assistant messages: one becomes several messages if its blocks come from several outputs."""

from __future__ import annotations

from typing import Any

from ... import json_codec
from ...conversation import Assistant
from ...model import Block, Opaque, Reasoning, Refusal, ServerToolCall, ServerToolResult, Text, ToolCall
from ..content_writer import ContentWriter, lose_kind
from . import schema as s
from . import serialize

_INDEX = {"index"}
_STATUS_NUMBERS = {word: number for number, word in s.STATUSES.items()}
_JSON_KINDS = frozenset(("function", "legacy_function", "unresolved"))


class AssistantWriter(ContentWriter):
    """Writer for the assistant messages of one request. ``ids``: canonical id -> wire id, for the last calls."""

    def regular(self, message: Assistant, call_ids: list[str], out: list[Any]) -> bool:
        """Fast path: append the serialized message of only text and function calls; return False for any other message.

        The ids of the calls are appended to ``call_ids``, even if the result is False.
        """
        response = message.response
        choices = response.choices
        if message.extra or not choices or not (blocks := choices[0].blocks):
            return False
        own = response.wire == s.WIRE
        index = blocks[0].extra
        if own and (choices[0].extra or (index and index.keys() != _INDEX)):
            return False
        context = self._context
        names, accepts, plain = context.known_names, context.accepts_id, context.plain_length
        text = ""
        calls: list[str] = []
        size = 0
        for block in blocks:
            if own and block.extra != index:
                return False
            if type(block) is ToolCall:
                if block.kind != "function" or (not own and (block.extra or block.namespace or block.caller)):
                    return False
                id, arguments = block.id, serialize.piece(block.arguments_text or ("" if own else "{}"))
                if (len(id) > plain or not (id.isascii() and id.isidentifier())) and not accepts(id):
                    return False
                if arguments is None:
                    return False
                name = names.get(block.name) or context.name(block.name)
                status = s.INCOMPLETE if block.status == "truncated" else s.COMPLETED
                call_ids.append(id)
                size += serialize.append_call(id, name, arguments, status, calls)
            elif type(block) is Text and block.text and not (text or calls or block.annotations):
                spoken = serialize.piece(block.text)
                if spoken is None or (block.extra and not own):
                    return False
                text = spoken
            else:
                return False
        serialize.append_assistant(text, calls, size, out)
        return True

    def write(self, message: Assistant) -> list[Any]:
        """Return the protobuf messages of an assistant message, and report losses."""
        self.ids = {}
        response = message.response
        self._context.lose_extra(message.extra)
        if not response.choices:
            self._context.lose("empty", "an assistant message without content was left out")
            return []
        choice = response.choices[0]
        if response.wire != s.WIRE:
            return _ForeignMessages(self).write(choice.blocks)
        written = self._own(choice.blocks, choice.extra.get("outputs") or {})
        return written or [s.ProtoMessage(role=s.ROLE_ASSISTANT, content=[s.Content(text="")])]

    def call(self, call: ToolCall, text: str) -> Any:
        """Return a client call. ``text``: its argument text."""
        context = self._context
        id = self.ids[call.id] = context.id(call.id)
        written = s.ToolCall(
            id=id,
            type=s.TYPE_CLIENT,
            status=s.INCOMPLETE if call.status == "truncated" else s.COMPLETED,
            function=s.FunctionCall(name=context.name(call.name), arguments=text),
        )
        if call.extra:
            if call.extra.get("status") == s.STATUSES[s.FAILED]:
                written.status = s.FAILED
            if call.extra.get("error_message"):
                written.error_message = call.extra["error_message"]
        return written

    def _own(self, blocks: list[Block], output_extras: dict[str, Any]) -> list[Any]:
        messages: list[Any] = []
        position: int | None = None
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
            if current is None or index != position or (index is None and not _takes(current, kind)):
                if current is not None:
                    _complete(current, output_extras, position)
                current = s.ProtoMessage(role=s.ROLE_TOOL if kind is ServerToolResult else s.ROLE_ASSISTANT)
                position = index
                messages.append(current)
            self._add(current, block, served)
        if current is not None:
            _complete(current, output_extras, position)
        return messages

    def _add(self, message: Any, block: Block, served: dict[str, ServerToolCall]) -> None:
        if isinstance(block, Text):
            message.content.append(s.Content(text=block.text))
        elif isinstance(block, Reasoning):
            if block.text:
                message.reasoning_content = block.text
            if block.encrypted:
                message.encrypted_content = block.encrypted
        elif isinstance(block, ToolCall):
            message.tool_calls.append(self.call(block, block.arguments_text))
        elif isinstance(block, ServerToolCall):
            message.tool_calls.append(_server_call(block))
        elif isinstance(block, ServerToolResult):
            _result(message, block, served.get(block.call_id))
        elif isinstance(block, Refusal):
            message.content.append(s.Content(text=block.text))
        elif isinstance(block, Opaque) and isinstance(block.raw, dict):
            message.content.append(s.parse_dict(block.raw, s.Content()))


#: Members of reasoning on other wires that only identify it.
_IDENTITY = ("id", "status")


def _is_text(value: Any) -> bool:
    """Return whether a member holds parts of a text and nothing else: the text of the block has them already."""
    return isinstance(value, list) and all(isinstance(part, dict) and part.keys() <= {"type", "text"} for part in value)


class _ForeignMessages:
    """Writer for the blocks of another wire's message: reasoning, then text, then calls.

    Blocks after a call move into the message of the call.
    """

    def __init__(self, writer: AssistantWriter) -> None:
        self._writer = writer
        self._context = writer._context
        self._messages: list[Any] = []

    def write(self, blocks: list[Block]) -> list[Any]:
        lose = self._context.lose
        for index, block in enumerate(blocks):
            if isinstance(block, ToolCall):
                self._current().tool_calls.append(self._call(block, index))
            elif isinstance(block, (Text, Refusal)):
                self._text(block, index)
            elif isinstance(block, Reasoning):
                self._reasoning(block, index)
            else:
                hosted = isinstance(block, (ServerToolCall, ServerToolResult))
                lose("server-tool" if hosted else "opaque", block=index)
        if not self._messages:
            lose("empty", "an assistant message was left out: none of its blocks can be represented")
        for message in self._messages:
            if not message.content:
                message.content.append(s.Content(text=""))
        return self._messages

    def _current(self, new: bool = False) -> Any:
        """Return the last message, or a new one if there is none or ``new``."""
        if new or not self._messages:
            self._messages.append(s.ProtoMessage(role=s.ROLE_ASSISTANT))
        return self._messages[-1]

    def _text(self, block: Text | Refusal, index: int) -> None:
        if isinstance(block, Refusal):
            self._context.lose("refusal", block=index)
        elif block.annotations:
            self._context.lose("annotations", block=index)
        self._context.lose_extra(block.extra, "", index)
        if block.text:
            message = self._current()
            if message.tool_calls:
                self._context.lose("order", "text after a call was moved before it", index)
            message.content.append(s.Content(text=block.text))

    def _reasoning(self, block: Reasoning, index: int) -> None:
        if block.signature or block.encrypted or not block.text:
            self._context.lose("reasoning", block=index)
        else:
            texts = (name for name, value in (block.extra or {}).items() if _is_text(value))
            self._context.lose_extra(block.extra, "", index, *_IDENTITY, *texts)
        if not block.text:
            return
        message = self._current()
        if message.tool_calls:
            self._context.lose("order", "reasoning after a call was moved before it", index)
        elif message.content or message.reasoning_content:
            message = self._current(new=True)
        before = message.reasoning_content
        message.reasoning_content = f"{before}\n\n{block.text}" if before else block.text

    def _call(self, call: ToolCall, index: int) -> Any:
        text = call.arguments_text or "{}"
        if call.kind not in _JSON_KINDS:
            lose_kind(call, self._context, index)
            if call.arguments is None:
                text = json_codec.text({"input": call.arguments_text})
        if call.namespace or call.caller is not None:
            self._context.lose("namespace", block=index)
        self._context.lose_extra(call.extra, "", index)
        return self._writer.call(call, text)


def _takes(message: Any, kind: type[Block]) -> bool:
    """Report whether a block of this kind belongs to the same message, if its output index is not known."""
    if message.role == s.ROLE_TOOL or kind is ServerToolResult:
        return False
    if kind is Reasoning:
        return not (message.content or message.tool_calls or message.reasoning_content or message.encrypted_content)
    if kind in (ToolCall, ServerToolCall, Opaque):
        return True
    return not (message.content or message.tool_calls)


def _complete(message: Any, output_extras: dict[str, Any], position: int | None) -> None:
    """Add an empty text if the message has no content, and restore its name and the split of its texts.

    ``output_extras``: the outputs' extra members, by index.
    """
    if not message.content:
        message.content.append(s.Content(text=""))
    output = output_extras.get(str(position or 0))
    if not output:
        return
    if output.get("name"):
        message.name = output["name"]
    texts = output.get("content")
    if isinstance(texts, list) and "".join(texts) == message.content[0].text:
        parts = [s.Content(text=text) for text in texts] + list(message.content[1:])
        del message.content[:]
        message.content.extend(parts)


def _server_call(call: ServerToolCall) -> Any:
    type_number = s.SERVER_TYPES.get(call.tool)
    if type_number is None:
        tail = call.tool.removeprefix("type_")
        type_number = int(tail) if tail.isdecimal() else 0
    written = s.ToolCall(
        id=call.id,
        type=type_number,
        status=_STATUS_NUMBERS.get(call.status or "", s.COMPLETED),
        function=s.FunctionCall(name=call.name, arguments=call.arguments_text),
    )
    if call.extra.get("error_message"):
        written.error_message = call.extra["error_message"]
    return written


def _result(message: Any, result: ServerToolResult, call: ServerToolCall | None) -> None:
    """Add the server call and its result to a tool message. xAI pairs them by id, as its SDK also writes them."""
    if call is not None:
        message.tool_calls.append(_server_call(call))
    if result.call_id and not message.tool_call_id:
        message.tool_call_id = result.call_id
    if message.content or message.encrypted_content:
        return  # a second call of the same output
    raw = result.raw if isinstance(result.raw, dict) else {}
    message.content.append(s.Content(text=raw.get("content") or ""))
    if raw.get("encrypted_content"):
        message.encrypted_content = raw["encrypted_content"]
    if raw.get("reasoning_content"):
        message.reasoning_content = raw["reasoning_content"]
