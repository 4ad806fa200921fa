"""Reader for xAI's requests: it converts a GetCompletionsRequest to a canonical request.

Consecutive assistant messages, with the outputs of their server calls between them, are the outputs of one response.
They become one assistant message, built as the decoder builds responses. Tool messages without an id belong to the
unanswered calls in order, as xAI pairs them (XAI-01).
"""

from __future__ import annotations

from typing import Any

from ...conversation import Assistant, Message, RawItem, Request, System, ToolResults, User
from ...model import Choice, Opaque, Response
from ..decode_context import Context
from ..history_reader import OpenCalls, with_wire_ids
from ..write_context import REPEATED
from . import schema as s
from .blocks import Output, build_choices
from .decode import read_call
from .parts import read_parts
from .results import read_result
from .tools import read_choice, read_tool

_CLIENT = (s.TYPE_CLIENT, s.TYPE_UNSET)


def read(body: Any, provider: str | None, before: int = 0) -> Request:
    """Convert a GetCompletionsRequest (message, bytes or protobuf JSON) to a canonical request.

    ``provider``: the provider that the request is for. ``before``: the number of canonical messages before those of the
    body. Raises MalformedBody if the body is not such a message.
    """
    message = s.request_from(body)
    choice = message.tool_choice if message.HasField("tool_choice") else None
    return Request(
        s.WIRE,
        message.model or None,
        _History(provider or "xai", before).read(message.messages),
        [read_tool(tool) for tool in message.tools],
        read_choice(choice) if choice is not None else None,
        message.parallel_tool_calls if message.HasField("parallel_tool_calls") else None,
        message.previous_response_id or None,
        provider,
        s.fields_except(
            message,
            *("messages", "model", "tools", "tool_choice", "parallel_tool_calls"),
            *(("previous_response_id",) if message.previous_response_id else ()),
        ),
    )


class _History:
    """State of reading a history. ``_pending``: the messages of the current assistant message.

    ``_answers``: index of the message with the tool results of these calls.
    """

    def __init__(self, provider: str, before: int) -> None:
        self._provider = provider
        self._before = before
        self._messages: list[Message] = []
        self._pending: list[Any] = []
        self._open = OpenCalls()
        self._names: dict[str, str] = {}  # tool names of the last message's calls, by id
        self._answers: int | None = None
        self._after = 0  # index at which the results of the last calls belong

    def read(self, messages: Any) -> list[Message]:
        for message in messages:
            role = message.role
            if role == s.ROLE_ASSISTANT or (role == s.ROLE_TOOL and self._server_output(message)):
                self._pending.append(message)
                continue
            self._close()
            if role == s.ROLE_TOOL:
                self._result(message)
            elif role == s.ROLE_USER and not message.encrypted_content and not message.tool_calls:
                self._messages.append(User(read_parts(message.content), s.is_plain(message.content), _extra(message)))
            elif role in (s.ROLE_SYSTEM, s.ROLE_DEVELOPER):
                name = "system" if role == s.ROLE_SYSTEM else "developer"
                parts, plain = read_parts(message.content), s.is_plain(message.content)
                self._messages.append(System(parts, name, plain, _extra(message)))
            else:
                self._messages.append(RawItem(s.WIRE, s.as_dict(message)))
        self._close()
        return self._messages

    def _server_output(self, message: Any) -> bool:
        """Report whether a tool message contains the result of a call that xAI executed."""
        if not self._pending:
            return False
        if message.tool_calls:
            return all(call.type not in _CLIENT for call in message.tool_calls)
        id = message.tool_call_id
        return bool(id) and any(
            call.id == id and call.type not in _CLIENT for pending in self._pending for call in pending.tool_calls
        )

    def _close(self) -> None:
        """Convert the pending messages to one assistant message."""
        if not self._pending:
            return
        context = Context(s.WIRE, self._provider)
        outputs = [_output(context, index, message, self._pending) for index, message in enumerate(self._pending)]
        # The salt keeps synthetic ids of different messages apart.
        (choice,) = build_choices(context, outputs, f"turn {self._before + len(self._messages)}", True)
        response = Response(s.WIRE, self._provider, None, None, [_with_parts(choice, self._pending)])
        self._messages.append(Assistant(response.with_findings(context.findings)))
        self._open.clear()
        ids = (call.id for message in self._pending for call in message.tool_calls)
        self._open.add(with_wire_ids(choice.calls, ids))
        self._names = {call.id: call.name for call in choice.calls}
        self._answers = None
        self._after = len(self._messages)
        self._pending = []

    def _result(self, message: Any) -> None:
        id = message.tool_call_id
        extra = _extra(message, "tool_call_id")
        if not (id or self._open):
            self._messages.append(RawItem(s.WIRE, s.as_dict(message)))
            return
        if (call := self._open.take(id, any_id=True)) is not None:
            id = call.id
        if message.name and self._names.get(id) == message.name:
            extra[REPEATED] = {"name": extra.pop("name")}
        result = read_result(message, id, extra)
        if self._answers is None:
            # Messages between the calls and their results move after the results. ``behind`` counts them, so that the
            # writer of this wire can restore the order.
            behind = len(self._messages) - self._after
            self._answers = self._after
            self._messages.insert(self._after, ToolResults([], {"behind": behind} if behind else {}))
        answers = self._messages[self._answers]
        assert isinstance(answers, ToolResults)
        answers.results.append(result)


def _output(context: Context, index: int, message: Any, pending: list[Any]) -> Output:
    """Convert a message of the history back to the output that it value from."""
    calls = [read_call(context, call) for call in message.tool_calls]
    if not calls and message.role == s.ROLE_TOOL:
        calls = [read_call(context, call) for m in pending for call in m.tool_calls if call.id == message.tool_call_id][
            :1
        ]
    texts = [part.text for part in message.content if part.WhichOneof("content") == "text"]
    extra = s.fields_except(
        message, "role", "content", "tool_calls", "reasoning_content", "encrypted_content", "tool_call_id"
    )
    if len(texts) > 1:
        extra["content"] = texts
    return Output(
        index, message.role, "".join(texts), message.reasoning_content, message.encrypted_content, calls, [], 0, extra
    )


def _with_parts(choice: Choice, pending: list[Any]) -> Choice:
    """Append the content elements of the messages that are not text to the choice, as opaque blocks."""
    for index, message in enumerate(pending):
        for part in message.content:
            if part.WhichOneof("content") != "text":
                position = {"index": index} if len(pending) > 1 else {}
                choice.blocks.append(Opaque(part.WhichOneof("content") or "", s.as_dict(part), position))
    return choice


def _extra(message: Any, *represented: str) -> dict[str, Any]:
    return s.fields_except(message, "role", "content", *represented)
