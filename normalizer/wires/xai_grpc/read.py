"""Reader for xAI's requests: it converts a GetCompletionsRequest to a canonical request.

Consecutive assistant messages, with the outputs of their server calls between them, are the outputs of one response.
They become one assistant turn, built as the decoder builds responses. Tool messages without an id belong to the
unanswered calls in order, as xAI pairs them (XAI-01).
"""

from __future__ import annotations

import base64
from contextlib import suppress
from typing import Any

from ... import json_codec
from ...conversation import (
    Assistant,
    MediaPart,
    Message,
    OpaquePart,
    Part,
    RawItem,
    Request,
    System,
    TextPart,
    Tool,
    ToolChoice,
    ToolResult,
    ToolResults,
    User,
)
from ...model import Choice, Opaque, Response
from ..decode_context import Context
from ..write_context import REPEATED, unmark_failed
from .blocks import Output, choices
from .decode import called
from .schema import (
    MODES,
    ROLE_ASSISTANT,
    ROLE_DEVELOPER,
    ROLE_SYSTEM,
    ROLE_TOOL,
    ROLE_USER,
    TYPE_CLIENT,
    TYPE_UNSET,
    as_dict,
    detail_name,
    request_from,
    rest,
)

WIRE = "xai.grpc"
_CLIENT = (TYPE_CLIENT, TYPE_UNSET)


def read(body: Any, provider: str | None) -> Request:
    """Convert a GetCompletionsRequest (message, bytes or protobuf JSON) to a canonical request.

    ``provider``: the provider that the request is for. Raises MalformedBody if the body is not such a message.
    """
    message = request_from(body)
    choice = message.tool_choice if message.HasField("tool_choice") else None
    return Request(
        WIRE,
        message.model or None,
        _History(provider or "xai").read(message.messages),
        [_tool(tool) for tool in message.tools],
        _choice(choice) if choice is not None else None,
        message.parallel_tool_calls if message.HasField("parallel_tool_calls") else None,
        message.previous_response_id or None,
        provider,
        rest(
            message,
            *("messages", "model", "tools", "tool_choice", "parallel_tool_calls"),
            *(("previous_response_id",) if message.previous_response_id else ()),
        ),
    )


class _History:
    """State of reading a history. ``_said``: the messages of the current assistant turn.

    ``_open``: the client calls without a tool result so far, each with its wire id and its canonical id, which differ
    if calls share a wire id. ``_answers``: index of the turn with the tool results of these calls.
    """

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._turns: list[Message] = []
        self._said: list[Any] = []
        self._open: list[tuple[str, str]] = []
        self._names: dict[str, str] = {}  # tool names of the last turn's calls, by id
        self._answers: int | None = None
        self._after = 0  # index at which the results of the last calls belong

    def read(self, messages: Any) -> list[Message]:
        for message in messages:
            role = message.role
            if role == ROLE_ASSISTANT or (role == ROLE_TOOL and self._server_output(message)):
                self._said.append(message)
                continue
            self._close()
            if role == ROLE_TOOL:
                self._result(message)
            elif role == ROLE_USER and not message.encrypted_content and not message.tool_calls:
                self._turns.append(User(_parts(message.content), _plain(message.content), _extra(message)))
            elif role in (ROLE_SYSTEM, ROLE_DEVELOPER):
                word = "system" if role == ROLE_SYSTEM else "developer"
                self._turns.append(System(_parts(message.content), word, _plain(message.content), _extra(message)))
            else:
                self._turns.append(RawItem(WIRE, as_dict(message)))
        self._close()
        return self._turns

    def _server_output(self, message: Any) -> bool:
        """Report whether a tool message contains the result of a call that xAI executed."""
        if not self._said:
            return False
        if message.tool_calls:
            return all(call.type not in _CLIENT for call in message.tool_calls)
        id = message.tool_call_id
        return bool(id) and any(
            call.id == id and call.type not in _CLIENT for said in self._said for call in said.tool_calls
        )

    def _close(self) -> None:
        """Convert the pending messages to one assistant turn."""
        if not self._said:
            return
        context = Context(WIRE, self._provider)
        outputs = [_output(context, index, message, self._said) for index, message in enumerate(self._said)]
        # The salt keeps synthetic ids of different turns apart.
        (choice,) = choices(context, outputs, f"turn {len(self._turns)}", True)
        response = Response(WIRE, self._provider, None, None, [_with_parts(choice, self._said)])
        self._turns.append(Assistant(response.with_findings(context.findings)))
        self._open = [(call.extra.get("id", call.id), call.id) for call in choice.calls]
        self._names = {call.id: call.name for call in choice.calls}
        self._answers = None
        self._after = len(self._turns)
        self._said = []

    def _result(self, message: Any) -> None:
        id = message.tool_call_id
        extra = _extra(message, "tool_call_id")
        if not (id or self._open):
            self._turns.append(RawItem(WIRE, as_dict(message)))
            return
        for place, (wired, canonical) in enumerate(self._open):
            if not id or id == wired:
                id = canonical
                del self._open[place]
                break
        if message.name and self._names.get(id) == message.name:
            extra[REPEATED] = {"name": extra.pop("name")}
        parts: list[Part] = [
            TextPart(part.text) if part.WhichOneof("content") == "text" else _opaque(part) for part in message.content
        ]
        failed = False
        if parts and isinstance(parts[0], TextPart):
            text, failed = unmark_failed(parts[0].text)
            parts[0] = TextPart(text)
        result = ToolResult(id, parts, failed, message.name or None, plain=_plain(message.content), extra=extra)
        if self._answers is None:
            # Turns between the calls and their results move after the results. ``behind`` counts them, so that the
            # writer of this wire can restore the order.
            behind = len(self._turns) - self._after
            self._answers = self._after
            self._turns.insert(self._after, ToolResults([], {"behind": behind} if behind else {}))
        answers = self._turns[self._answers]
        assert isinstance(answers, ToolResults)
        answers.results.append(result)


def _output(context: Context, index: int, message: Any, said: list[Any]) -> Output:
    """Convert a message of the history back to the output that it came from."""
    calls = [called(context, call) for call in message.tool_calls]
    if not calls and message.role == ROLE_TOOL:
        calls = [called(context, call) for m in said for call in m.tool_calls if call.id == message.tool_call_id][:1]
    texts = [part.text for part in message.content if part.WhichOneof("content") == "text"]
    extra = rest(message, "role", "content", "tool_calls", "reasoning_content", "encrypted_content", "tool_call_id")
    if len(texts) > 1:
        extra["content"] = texts
    return Output(
        index,
        message.role,
        "".join(texts),
        message.reasoning_content,
        message.encrypted_content,
        calls,
        [],
        0,
        extra,
    )


def _with_parts(choice: Choice, said: list[Any]) -> Choice:
    """Append the content elements of the messages that are not text to the choice, as opaque blocks."""
    for index, message in enumerate(said):
        for part in message.content:
            if part.WhichOneof("content") != "text":
                place = {"index": index} if len(said) > 1 else {}
                choice.blocks.append(Opaque(part.WhichOneof("content") or "", as_dict(part), place))
    return choice


def _parts(content: Any) -> list[Part]:
    return [_part(part) for part in content]


def _part(part: Any) -> Part:
    kind = part.WhichOneof("content")
    if kind == "text":
        return TextPart(part.text)
    if kind == "image_url":
        url, extra = part.image_url.image_url, rest(part.image_url, "image_url", "detail")
        detail = detail_name(part.image_url.detail)
        if detail:
            extra["detail"] = detail
        head, comma, data = url.partition(";base64,")
        if comma and head.startswith("data:") and ";" not in head:
            return MediaPart("image", head[5:] or None, data=data, extra=extra)
        return MediaPart("image", url=url, extra=extra)
    if kind == "file":
        file = part.file
        given = [bool(file.file_id), bool(file.data), bool(file.url)]
        if sum(given) == 1:
            return MediaPart(
                "file",
                file.mime_type or None,
                base64.b64encode(file.data).decode() if file.data else None,
                file.url or None,
                file.file_id or None,
                file.filename or None,
            )
    return _opaque(part)


def _opaque(part: Any) -> OpaquePart:
    return OpaquePart(part.WhichOneof("content") or "", as_dict(part))


def _plain(content: Any) -> bool:
    """Report whether the content is a single text, as the SDK creates it from a plain string."""
    return len(content) == 1 and content[0].WhichOneof("content") == "text"


def _extra(message: Any, *represented: str) -> dict[str, Any]:
    return rest(message, "role", "content", *represented)


def _tool(tool: Any) -> Tool:
    kind = tool.WhichOneof("tool")
    if kind != "function":
        return Tool(kind or "", kind="hosted", wire=WIRE, raw=as_dict(tool))
    function = tool.function
    extra = rest(function, "name", "description", "strict", "parameters")
    parameters = None
    if function.parameters:
        with suppress(ValueError):
            parameters = json_codec.decode(function.parameters)
        if not isinstance(parameters, dict) or json_codec.text(parameters) != function.parameters:
            extra["parameters"] = function.parameters  # the original spelling
        if not isinstance(parameters, dict):
            parameters = None
    return Tool(
        function.name,
        function.description or None,
        parameters,
        function.strict or None,
        wire=WIRE,
        extra=extra,
    )


def _choice(choice: Any) -> ToolChoice:
    if choice.WhichOneof("tool_choice") == "function_name":
        return ToolChoice("named", choice.function_name)
    mode = MODES.get(choice.mode)
    return ToolChoice(mode) if mode else ToolChoice("raw", raw=as_dict(choice))
