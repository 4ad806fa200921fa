"""Reader for requests of generateContent: it converts them to the canonical form.

The function responses of a content become a separate message. The parts of the model are decoded like those of
responses. Calls mostly have no ids, so their results belong to them by name and position (GEM-03).
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from ... import json_codec
from ...conversation import Assistant, Message, RawItem, Request, System, TextPart, ToolResults, User
from ...errors import MalformedBody
from ...model import Choice, Response, Stop
from ..decode_context import Context, read_whole
from ..exact_messages import body_bytes
from ..history_reader import OpenCalls, with_wire_ids
from ..schema import Reader
from ..traverse import members_except, request_object
from .decode import choice_of
from .parts import read_parts
from .results import read_result
from .schema import WIRE, Candidate, Content
from .spelling import camel_case, listed
from .tools import read_choice, read_tools

_REPRESENTED = ("model", "systemInstruction", "contents", "tools", "toolConfig")
_reader = Reader(Content)
#: Roles of contents that are not the model's. Older versions of the API sent function responses as `function`.
_USERS = frozenset((None, "", "user", "function"))


class _RawBody(Struct):
    contents: list[Raw]


def read(body: Any, provider: str | None = None, before: int = 0) -> Request:
    """Convert a request body (bytes, text or parsed JSON) to a canonical request.

    ``provider``: the provider that the request is for. ``before``: the number of contents before those of the body.
    Raises MalformedBody if the body is not a generateContent request.
    """
    respelled = not isinstance(body, (bytes, bytearray, str))
    data = body_bytes(body)
    original = request_object(data, WIRE)
    request = camel_case(original)
    if not isinstance(request.get("contents"), (list, dict)):
        raise MalformedBody(f"a request of {WIRE} has a list 'contents'", body=body)
    contents = listed(request["contents"])
    history = _History(provider, respelled, before)
    if request.get("systemInstruction") is not None:
        history.messages.append(_system(request["systemInstruction"]))
    for content, exact in zip(contents, _exact(data, contents, original.get("contents")), strict=True):
        history.add_content(content, exact)
    choice, config = read_choice(request.get("toolConfig"))
    params = members_except(request, *_REPRESENTED)
    model = request.get("model")
    return Request(
        WIRE,
        model if isinstance(model, str) else None,
        history.messages,
        read_tools(request.get("tools")),
        choice,
        None,
        None,
        provider,
        {**params, "toolConfig": config} if config else params,
    )


def _exact(data: bytes, contents: list[Any], original: Any) -> list[bytes]:
    """Return the bytes of each content, which keeps the exact argument texts unless its members are respelled."""
    if contents is original:
        try:
            return [bytes(content) for content in json_codec.decoder(_RawBody)(data).contents]
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass
    return [json_codec.encode(content) for content in contents]


class _History:
    """State of reading one request: the messages so far, and the calls that wait for their results."""

    def __init__(self, provider: str | None, respelled: bool, before: int) -> None:
        self.messages: list[Message] = []
        self._provider = provider
        self._respelled = respelled
        self._open = OpenCalls()
        self._contents = before

    def add_content(self, content: Any, exact: bytes) -> None:
        """Add the next content. ``exact``: its bytes."""
        self._contents += 1
        role = content.get("role") if isinstance(content, dict) else None
        parts = listed(content.get("parts")) if isinstance(content, dict) else None
        if role == "model" and parts is not None:
            self._add_model(content, parts, exact)
        elif isinstance(role, (str, type(None))) and role in _USERS and parts is not None:
            self._add_user(content, parts)
        else:
            self.messages.append(RawItem(WIRE, content))

    def _add_model(self, content: dict[str, Any], parts: list[Any], exact: bytes) -> None:
        context = Context(WIRE, self._provider, findings=[], respelled=self._respelled)
        if not isinstance(content.get("parts"), list):
            exact = json_codec.encode({**content, "parts": parts})
        decoded = read_whole(_reader, exact, context)
        decoded.extra_ = None
        # The ids of calls without one depend on the position of the content, so that they differ in one request.
        choice = choice_of(context, str(self._contents), Candidate(content=decoded), 0)
        choice = Choice(0, choice.blocks, Stop("tool_calls" if choice.calls else "end_turn"), choice.extra)
        response = Response(WIRE, self._provider, None, None, [choice]).with_findings(context.findings)
        if not (self.messages and type(self.messages[-1]) is Assistant):
            self._open.clear()
        ids = [part["functionCall"].get("id") for part in parts if _is_call(part)]
        self._open.add(with_wire_ids(response.calls, ids))
        self.messages.append(Assistant(response, members_except(content, "role", "parts")))

    def _add_user(self, content: dict[str, Any], parts: list[Any]) -> None:
        extra = members_except(content, "role", "parts")
        results = [part for part in parts if _is_result(part)]
        others = [part for part in parts if not _is_result(part)]
        if results:
            read = [read_result(part, self._open) for part in results]
            self.messages.append(ToolResults(read, {} if others else extra))
        if others or not results:
            self.messages.append(_plain(User(read_parts(others), False, extra)))


def _is_call(part: Any) -> bool:
    return isinstance(part, dict) and isinstance(part.get("functionCall"), dict)


def _is_result(part: Any) -> bool:
    return isinstance(part, dict) and isinstance(part.get("functionResponse"), dict)


def _plain(user: User) -> User:
    """Mark a message with nothing but one text as plain: this wire has no other form for it."""
    return replace(user, plain=True) if len(user.parts) == 1 and type(user.parts[0]) is TextPart else user


def _system(content: Any) -> System:
    if not isinstance(content, dict):
        return System(read_parts([{"text": content}] if isinstance(content, str) else listed(content)))
    parts = read_parts(listed(content.get("parts")))
    plain = len(parts) == 1 and type(parts[0]) is TextPart
    return System(parts, plain=plain, extra=members_except(content, "parts"))
