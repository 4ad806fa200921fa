"""Writer for requests of generateContent: it converts the canonical conversation to a request body.

Parts of the model from this wire are sent back unchanged, each with its own signature: Gemini 3 refuses calls without
it. The body has the model as the member ``model``; clients move it to the address of the request.
"""

from __future__ import annotations

from typing import Any, Self

from ...conversation import Assistant, Encoded, Message, Request, System, ToolResults, User
from ..surrogates import is_encodable, replace_in_members
from ..write_context import OPENING, IdStyle, NameStyle, WriteContext
from ..writer import WriterBase
from .parts import begins_with_call, write_parts
from .request_params import write_params
from .results import write_result
from .schema import WIRE
from .tools import write_tools
from .write_assistant import AssistantWriter

#: Ids are free texts; recorded ones have up to 64 characters.
IDS = IdStyle(r"[^\ud800-\udfff]+", length=64, plain=1000)
#: https://ai.google.dev/api/caching#FunctionDeclaration
NAMES = NameStyle(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}", prefix="_")

#: Messages before the first user or assistant message; tool results there belong to no call.
_NOT_SPOKEN = (System, ToolResults)


class Writer(WriterBase):
    """Incremental writer for the contents of a request. ``provider``: not used, as the APIs of Google are alike."""

    def __init__(self, request: Request, provider: str | None) -> None:
        super().__init__(request, WriteContext(request, WIRE, provider, IDS, NAMES), (request.wire, provider))
        self._assistant = AssistantWriter(self._context)
        self._system: list[dict[str, Any]] = []
        self._system_extra: dict[str, Any] = {}
        self._messages: list[Message] = []

    def fork(self, request: Request) -> Self:
        other = super().fork(request)
        other._system = self._system[:]
        return other

    def add(self, messages: list[Message], start: int, stop: int) -> None:
        self._messages = messages
        super().add(messages, start, stop)

    def encoded(self) -> Encoded:
        body: dict[str, Any] = {}
        if self._request.model is not None:
            body["model"] = self._request.model
        if self._system:
            body["systemInstruction"] = {**self._system_extra, "parts": self._system}
        params = write_params(self._request, self._context)
        config = params.pop("toolConfig", None)
        write_tools(self._request, self._context, body, config if isinstance(config, dict) else {})
        if begins_with_call(self._written) and "cachedContent" not in self._request.params:
            self._context.lose("bridge", "a user message was added, because no conversation may begin with a call")
            self._written.insert(0, {"role": "user", "parts": [{"text": OPENING}]})
        body["contents"] = self._written
        body.update(params)
        return self._context.encoded(replace_in_members(body, "contents", self._context))

    def _regular_user(self, text: str) -> dict[str, Any] | None:
        regular = text and (text.isascii() or is_encodable(text))
        return {"role": "user", "parts": [{"text": text}]} if regular else None

    def _write_assistant(self, message: Assistant) -> None:
        parts = self._assistant.write(message)
        if parts:
            self._append("model", parts, message.extra)
        else:
            self._context.lose("empty", "an assistant message without content was left out")

    def _write_results(self, message: ToolResults) -> None:
        """Write one content with all results, directly after their calls (HIST-02, ORD-02)."""
        names, without_id, context = self._assistant.names, self._assistant.without_id, self._context
        parts = []
        for result in message.results:
            name = names.get(result.call_id)
            if name is None:
                name = context.name(result.name or result.call_id)
            parts.append(write_result(result, name, result.call_id not in without_id, context))
        self._append("user", parts, message.extra)

    def _write_user(self, message: User) -> None:
        parts = write_parts(message.parts, self._context)
        if parts:
            self._append("user", parts, message.extra)
        else:
            self._context.lose("empty", "a user message without content was left out")

    def _write_system(self, message: System) -> None:
        parts = write_parts(message.parts, self._context)
        before = self._messages[: self._context.message]
        if all(type(earlier) in _NOT_SPOKEN for earlier in before):
            self._system += parts
            self._system_extra = {**self._system_extra, **self._context.kept_extra(message.extra)}
            return
        self._context.lose_extra(message.extra)
        if parts:  # the API has no system role
            text = "\n".join(part["text"] for part in parts if "text" in part)
            self._context.lose("order", "a system message within the conversation was written as a user message")
            media = [part for part in parts if "text" not in part]
            self._append("user", [{"text": f"<system>\n{text}\n</system>"}, *media], {})

    def _append(self, role: str, parts: list[Any], extra: dict[str, Any]) -> None:
        """Append a content. Contents of one role stay separate, which keeps their bytes."""
        self._written.append({"role": role, "parts": parts, **(self._context.kept_extra(extra) if extra else {})})


write = Writer.write
