"""Reader for Responses requests: it converts them to the canonical form.

Consecutive items of one response (reasoning, messages, client calls, server calls) become one assistant message. The
code that decodes responses converts them. Consecutive outputs of the client become one message of results.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ... import json_codec
from ...conversation import Assistant, Message, RawItem, Request, System, TextPart, ToolResult, ToolResults, User
from ...model import Block, Choice, Opaque, Response, ServerToolCall, Stop, ToolCall
from ..call_builder import CallBuilder
from ..decode_context import Context
from ..history_reader import OpenCalls
from ..schema import Reader, Unknown
from ..traverse import request_object
from ..write_context import AS_WRITTEN
from . import schema as s
from .blocks import Conversion, CustomTools, convert
from .decode import custom_tools
from .parts import read_parts
from .results import OUTPUTS, TYPES, read_result
from .schema import WIRE
from .tools import read_choice, read_tool

_reader = Reader(s.Body)
#: Members of a body that have a canonical field.
_REPRESENTED = frozenset(("model", "input", "tools", "tool_choice", "parallel_tool_calls", "previous_response_id"))
#: Items that only the client writes, apart from messages and outputs.
_CALLERS = frozenset(("item_reference", "compaction_trigger"))
_STANDARD_PARTS = frozenset(("output_text", "refusal"))


def read(body: Any, provider: str | None = None, before: int = 0) -> Request:
    """Return the canonical request for a body: a parsed object, or JSON as text or bytes.

    ``before``: the number of canonical messages before those of the body. Raises MalformedBody if the body is not a
    JSON object.
    """
    body = request_object(body, WIRE)
    params = {k: v for k, v in body.items() if k not in _REPRESENTED}
    model, anchor, parallel = body.get("model"), body.get("previous_response_id"), body.get("parallel_tool_calls")
    for name, value, kind in (
        ("model", model, str),
        ("previous_response_id", anchor, str),
        ("parallel_tool_calls", parallel, bool),
    ):
        if value is not None and not isinstance(value, kind):
            params[name] = value
    model = model if isinstance(model, str) else None
    tools = body.get("tools")
    if not isinstance(tools, list):
        if tools is not None:
            params["tools"] = tools
        tools = []
    messages: list[Message] = []
    if isinstance(body.get("instructions"), str):
        messages.append(System([TextPart(params.pop("instructions"))], extra={"instructions": True}))
    context = Context(WIRE, provider)
    history = _History(messages, provider, custom_tools(context, s.Body(model=model, tools=tools)), before)
    history_input = body.get("input")
    if isinstance(history_input, str):
        messages.append(User([TextPart(history_input)]))
    elif isinstance(history_input, list):
        for item in history_input:
            history.add_item(item)
        history.close()
    elif history_input is not None:
        params["input"] = history_input
    return Request(
        WIRE,
        model,
        messages,
        [read_tool(tool) for tool in tools],
        read_choice(body.get("tool_choice")),
        parallel if isinstance(parallel, bool) else None,
        anchor if isinstance(anchor, str) else None,
        provider,
        params,
    )


class _History:
    """Collects items into messages. ``_assistant_items`` holds the items of the current assistant turn."""

    def __init__(self, messages: list[Message], provider: str | None, custom: CustomTools | None, before: int) -> None:
        self._messages = messages
        self._before = before
        self._provider = provider
        self._custom = custom
        self._assistant_items: list[dict[str, Any]] = []
        self._waiting: set[str] = set()
        self._open = OpenCalls()
        self._results: list[tuple[Any, ToolResult]] = []  # with their ids on the wire
        #: approvals and other items between outputs; they move behind the outputs, which stay one message
        self._between: list[Message] = []

    def add_item(self, item: Any) -> None:
        """Process the next item of the input."""
        if hasattr(item, "model_dump"):
            item = item.model_dump(mode="json", exclude_unset=True)
        if not isinstance(item, dict):
            self._add_raw(item)
            return
        kind = item.get("type")
        if kind is None or kind == "message":
            self._add_message(item)
        elif not isinstance(kind, str):
            self._add_raw(item)
        elif kind in OUTPUTS and not self._is_hosted(item):
            self._flush_assistant()
            self._results.append((item.get("call_id"), read_result(item)))
        elif kind == "mcp_approval_response":
            self._flush_assistant()
            self._between.append(RawItem(WIRE, item))
        elif kind in _CALLERS or (kind == "additional_tools" and not self._waiting):
            self._add_raw(item)
        elif kind in _NAMED or kind.endswith("_call") or self._assistant_items:
            self._add_to_assistant(item)
        else:
            self._add_raw(item)

    def _is_hosted(self, item: dict[str, Any]) -> bool:
        """Whether an output answers a server call, so that it belongs to the assistant message."""
        if item["type"] == "tool_search_output":
            return item.get("execution") != "client"
        if item["type"] != "shell_call_output" or not self._assistant_items:
            return False
        id = item.get("call_id")
        calls = [i for i in self._assistant_items if i.get("call_id") == id]
        hosted = [i for i in calls if isinstance(i.get("environment"), dict)]
        return any(i["environment"].get("type") not in (None, "local") for i in hosted)

    def _add_to_assistant(self, item: dict[str, Any]) -> None:
        self._flush_results()
        self._assistant_items.append(item)
        id = item.get("call_id")
        if isinstance(id, str):
            self._waiting.add(id)

    def _add_raw(self, item: Any) -> None:
        raw_item = RawItem(WIRE, item)
        refers = (
            isinstance(item, dict) and item.get("type") == "item_reference"
        )  # maybe a call: stays before the outputs
        if (self._results or self._between) and not refers:
            self._between.append(raw_item)
        else:
            self.close()
            self._messages.append(raw_item)

    def _add_message(self, item: dict[str, Any]) -> None:
        role, content = item.get("role"), item.get("content")
        if not isinstance(content, (str, list)) or role not in ("user", "system", "developer", "assistant"):
            self._add_raw(item)
            return
        if role == "assistant":
            self._add_to_assistant(item)
            return
        self.close()
        extra = {k: v for k, v in item.items() if k not in ("role", "content", "type")}
        if "type" in item:
            extra[AS_WRITTEN] = "typed"
        plain = isinstance(content, str)
        if role == "user":
            self._messages.append(User(read_parts(content), plain, extra))
        else:
            self._messages.append(System(read_parts(content), role, plain, extra))

    def close(self) -> None:
        """Finish the current message."""
        self._flush_assistant()
        self._flush_results()

    def _flush_results(self) -> None:
        if self._results:
            self._messages.append(ToolResults([_of_call(result, id, self._open) for id, result in self._results]))
        self._messages.extend(self._between)
        self._results, self._between = [], []

    def _flush_assistant(self) -> None:
        if not self._assistant_items:
            return
        items, self._assistant_items = self._assistant_items, []
        self._waiting = set()
        context = Context(WIRE, self._provider)
        builder = CallBuilder.of(context, 0, f"turn {self._before + len(self._messages)}")
        self._open.clear()
        blocks = _blocks(Conversion(builder, self._custom, is_history=True), items, context, self._open)
        stop = Stop("tool_calls" if builder.seen else "end_turn")
        response = Response(WIRE, self._provider, None, None, [Choice(0, blocks, stop)])
        if context.findings:
            response.with_findings(context.findings)
        self._messages.append(Assistant(response))


def _of_call(result: ToolResult, id: Any, calls: OpenCalls) -> ToolResult:
    """Return a result under the canonical id of its call. ``id``: that on the wire.

    The ids differ if calls share an id or have none (ID-09, ID-14). A result whose type does not fit the kind of its
    call keeps its type in ``extra``.
    """
    call = calls.take(id, kind=result.kind) or calls.take(id)
    if call is None or (call.id == result.call_id and call.kind == result.kind):
        return result
    odd = {AS_WRITTEN: TYPES[result.kind]} if call.kind != result.kind else {}
    return replace(result, call_id=call.id, extra={**result.extra, **odd})


#: Item types that `convert` knows.
_NAMED = frozenset(
    tag for cls in s.AnyItem.__args__ if isinstance(tag := cls.__struct_config__.tag, str) and cls is not Unknown
)


def _blocks(conversion: Conversion, items: list[dict[str, Any]], context: Context, calls: OpenCalls) -> list[Block]:
    """Return the blocks of one assistant message, and add its client calls to ``calls``."""
    forms = [_spelling(item) if item.get("type") in (None, "message") else None for item in items]
    normalized = [_as_item(item) if form else item for item, form in zip(items, forms, strict=True)]
    data = json_codec.bytes_of({"output": normalized})
    try:
        output = _reader.strict(data).output
    except Exception:
        notes: list[Any] = []
        output = _reader.read_leniently(data, notes).output
        context.report_notes(notes)
    blocks: list[Block] = []
    for item, form, read_item in zip(items, forms, output or [], strict=True):
        converted = convert(conversion, [read_item], False)
        if len(converted) == 1 and type(converted[0]) is ToolCall:
            calls.add([(item.get("call_id"), converted[0])])
            converted[0].extra.pop("call_id", None)  # a number: the call and its output get a text
        elif not converted:  # a duplicate of a call whose output is in the same message: keep it unchanged
            converted = [Opaque(str(item.get("type")), item)]
        elif type(read_item) is s.MessageItem:
            converted = _messages(converted, read_item, form)
        elif type(converted[0]) is ServerToolCall and not item.get("id"):
            converted[0] = replace(converted[0], extra={**converted[0].extra, AS_WRITTEN: "no id"})
        blocks.extend(converted)
    return blocks


def _spelling(item: dict[str, Any]) -> str | None:
    """Return the spelling of an assistant message; None for the form that responses have."""
    typed = "typed " if "type" in item else ""
    if isinstance(item.get("content"), str):
        return f"{typed}text"
    if not item.get("content"):
        return f"{typed}nothing"
    return None if typed and item.get("id") else f"{typed}parts"


def _as_item(item: dict[str, Any]) -> dict[str, Any]:
    content = item["content"]
    parts = [{"type": "output_text", "text": content}] if isinstance(content, str) else content
    return {**item, "type": "message", "content": parts}


def _messages(blocks: list[Block], item: s.MessageItem, form: str | None) -> list[Block]:
    """Return the blocks of one message with its spelling in ``extra`` if it differs from a response."""
    converted: list[Block] = []
    for number, block in enumerate(blocks):
        extra = dict(block.extra)
        part = item.content[number] if item.content else None
        if part is not None and part.type not in _STANDARD_PARTS:
            extra["part"] = {"type": part.type, **extra.get("part", {})}
        if form:
            extra[AS_WRITTEN] = "more" if number else form
        converted.append(replace(block, extra=extra) if extra != block.extra else block)
    return converted
