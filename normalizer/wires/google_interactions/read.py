"""Reader for requests of the Interactions API: it converts them to the canonical form.

The input is a text, contents of one user message, steps, or turns (see `turns`). Consecutive steps of the model become
one assistant message, which the code that decodes responses converts; consecutive `function_result` steps become one
message of results.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct

from ... import json_codec
from ...conversation import Assistant, Message, RawItem, Request, System, TextPart, ToolResult, ToolResults, User
from ...model import Block, Choice, Response, Stop, ToolCall
from ..call_builder import CallBuilder
from ..decode_context import Context
from ..history_reader import OpenCalls
from ..schema import Reader, Unknown
from ..traverse import members_except, request_object
from ..write_context import AS_WRITTEN
from . import schema as s
from .blocks import Conversion
from .parts import CONTENTS, is_plain, read_parts
from .request_params import read_params
from .results import read_result
from .schema import WIRE
from .tools import read_choice, read_tool
from .turns import MORE, is_turn, spelling, steps_of

_reader = Reader(s.Interaction)
#: Types of the steps that a response has, apart from calls and results of types that the schema does not know.
_OF_MODEL = frozenset(
    tag for step in s.Step.__args__ if isinstance(tag := step.__struct_config__.tag, str) and tag not in CONTENTS
) - {"user_input", "function_result", Unknown.__struct_config__.tag}


class _RawBody(Struct):
    input: list[Raw]


def read(body: Any, provider: str | None = None, before: int = 0) -> Request:
    """Convert a request body (bytes, text or parsed JSON) to a canonical request.

    ``provider``: the provider that the request is for. ``before``: the number of canonical messages before those of the
    body. Raises MalformedBody if the body is not a JSON object.
    """
    request = request_object(body, WIRE)
    params = dict(request)
    messages: list[Message] = []
    model, anchor, instruction = (params.get(m) for m in ("model", "previous_interaction_id", "system_instruction"))
    for name, value in (("model", model), ("previous_interaction_id", anchor), ("system_instruction", instruction)):
        if isinstance(value, str):
            del params[name]
    if isinstance(instruction, str):
        messages.append(System([TextPart(instruction)]))
    tools = params.get("tools")
    if isinstance(tools, list):
        del params["tools"]
    choice = None
    if isinstance(config := params.get("generation_config"), dict) and (raw := config.get("tool_choice")) is not None:
        choice = read_choice(raw)
        params["generation_config"] = {k: v for k, v in config.items() if k != "tool_choice"}
        if not params["generation_config"]:
            del params["generation_config"]
    given = params.get("input")
    if isinstance(given, (str, list)) or _kind(given) in CONTENTS:
        del params["input"]
        history = _History(messages, provider, not isinstance(body, (bytes, bytearray, str)), before)
        if isinstance(given, list):
            for item, data in zip(given, _exact(body, given), strict=True):
                history.add(item, data)
        else:
            messages.append(User(read_parts(given), isinstance(given, str)))
        history.close()
    return Request(
        WIRE,
        model if isinstance(model, str) else None,
        messages,
        [read_tool(tool) for tool in tools] if isinstance(tools, list) else [],
        choice,
        None,
        anchor if isinstance(anchor, str) else None,
        provider,
        read_params(params),
    )


def _kind(item: Any) -> str:
    kind = item.get("type") if isinstance(item, dict) else None
    return kind if isinstance(kind, str) else ""


def _exact(body: Any, given: list[Any]) -> list[bytes]:
    """Return each item of the input as its original bytes, which keeps the exact argument texts."""
    if isinstance(body, (bytes, bytearray, memoryview, str)):
        try:
            return [bytes(item) for item in json_codec.decoder(_RawBody)(body).input]
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            pass
    return [json_codec.bytes_of(item) for item in given]


class _History:
    """Collects steps into messages. ``_steps``: those of the current assistant message, as JSON."""

    def __init__(self, messages: list[Message], provider: str | None, respelled: bool, before: int) -> None:
        self._messages = messages
        self._before = before
        self._provider = provider
        self._respelled = respelled
        self._steps: list[bytes] = []
        self._open = OpenCalls()
        self._results: list[ToolResult] = []
        self._contents: list[Any] = []  # contents that are items themselves: one user message

    def add(self, item: Any, data: bytes) -> None:
        """Process the next item of the input. ``data``: its JSON."""
        kind = _kind(item)
        if kind in CONTENTS:
            if not self._contents:
                self.close()
            self._contents.append(item)
        elif kind == "function_result":
            self._close_assistant()
            self._close_user()
            self._results.append(read_result(item, self._open))
        elif kind in _OF_MODEL or kind.endswith("_call") or (kind and kind != "user_input" and self._steps):
            self._close_results()
            self._close_user()
            self._steps.append(data)
        else:
            self.close()
            content = item.get("content") if kind == "user_input" else None
            if isinstance(content, (list, str)):
                extra = members_except(item, "type", "content")
                self._messages.append(User(read_parts(content), is_plain(content), extra))
            elif is_turn(item) and self._add_turn(item["role"], item["content"]):
                pass
            else:
                self._messages.append(RawItem(WIRE, item))

    def _add_turn(self, role: str, content: Any) -> bool:
        """Process a turn between other messages; return False for one that steps cannot represent."""
        extra = spelling(content)
        if role == "model":
            steps = steps_of(content)
            if not all(_kind(step) for step in steps):
                return False
            self._steps = [json_codec.bytes_of(step) for step in steps]
            self._close_assistant(extra)
            return bool(steps)
        kinds = [_kind(each) for each in content] if isinstance(content, list) else []
        count = kinds.count("function_result")
        if kinds[:count] != ["function_result"] * count:
            return False
        if count:
            results = [read_result(result, self._open) for result in content[:count]]
            self._messages.append(ToolResults(results, extra))
            content, extra = content[count:], {AS_WRITTEN: MORE}
        if content or not count:
            self._messages.append(User(read_parts(content), is_plain(content), extra))
        return True

    def close(self) -> None:
        """Finish the current message."""
        self._close_assistant()
        self._close_results()
        self._close_user()

    def _close_user(self) -> None:
        if self._contents:
            self._messages.append(User(read_parts(self._contents), is_plain(self._contents)))
            self._contents = []

    def _close_results(self) -> None:
        if self._results:
            self._messages.append(ToolResults(self._results))
            self._results = []

    def _close_assistant(self, extra: dict[str, Any] | None = None) -> None:
        if not self._steps:
            return
        data = b'{"steps":[' + b",".join(self._steps) + b"]}"
        self._steps = []
        context = Context(WIRE, self._provider, findings=[], respelled=self._respelled)
        notes: list[Any] = []
        steps = _reader.read(data, notes).steps or []
        context.report_notes(notes)
        builder = CallBuilder.of(context, 0, f"turn {self._before + len(self._messages)}")
        conversion = Conversion(builder, is_history=True)
        blocks: list[Block] = []
        self._open.clear()
        for step in steps:
            conversion.add(step, blocks, False)
            if type(step) is s.FunctionCall and type(call := blocks[-1]) is ToolCall:
                self._open.add([(step.id or (step.extra_ or {}).get("id"), call)])
        stop = Stop("tool_calls" if conversion.builder.seen else "end_turn")
        response = Response(WIRE, self._provider, None, None, [Choice(0, blocks, stop)])
        self._messages.append(Assistant(response.with_findings(context.findings), extra or {}))
