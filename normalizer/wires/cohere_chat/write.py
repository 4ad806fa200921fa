"""Writer for requests of version 2 of Cohere's Chat API: it converts the canonical conversation to a request body.

Content that a message here cannot express is converted, and reported as a loss. A failed result is marked in its text
(`write_context.mark_failed`).
"""

from __future__ import annotations

from typing import Any

from ...conversation import Assistant, Encoded, Request, System, ToolResults, User
from ..model_owners import report_foreign_model
from ..surrogates import is_encodable, replace_in_members
from ..write_context import IdStyle, NameStyle, WriteContext
from ..writer import WriterBase
from .parts import write_content
from .request_params import write_params
from .results import write_result
from .schema import WIRE
from .tools import write_tools
from .write_assistant import AssistantWriter

#: Cohere does not document which ids it accepts. Those that it creates (`get_weather_mznfyh090g90`) match this pattern.
IDS = IdStyle(r"[!-~]{1,128}", 64, plain=128)
#: Documented in the list of errors (https://docs.cohere.com/reference/errors).
NAMES = NameStyle(r"[a-zA-Z_][a-zA-Z0-9_]*", prefix="tool_", alphabet="[^a-zA-Z0-9_]")


class Writer(WriterBase):
    """Incremental writer for the messages of a request."""

    def __init__(self, request: Request, provider: str | None) -> None:
        super().__init__(request, WriteContext(request, WIRE, provider, IDS, NAMES), (request.wire, provider))
        self._assistant = AssistantWriter(self._context)

    def encoded(self) -> Encoded:
        request, context = self._request, self._context
        body: dict[str, Any] = {}
        report_foreign_model(request, context)
        if request.model is not None:
            body["model"] = request.model
        body["messages"] = self._written
        write_tools(request, context, body)
        write_params(request, context, body)
        return context.encoded(replace_in_members(body, "messages", context))

    def _regular_user(self, text: str) -> dict[str, Any] | None:
        return {"role": "user", "content": text} if text and (text.isascii() or is_encodable(text)) else None

    def _write_assistant(self, message: Assistant) -> None:
        if (written := self._assistant.write(message)) is not None:
            self._written.append(written)

    def _write_results(self, message: ToolResults) -> None:
        self._context.lose_extra(message.extra)
        images: list[dict[str, Any]] = []
        for result in message.results:
            ids = self._assistant.ids
            id = ids[result.call_id] if result.call_id in ids else self._context.id(result.call_id)
            self._written.append(write_result(result, id, self._context, images))
        if images:
            self._written.append({"role": "user", "content": images})

    def _write_user(self, message: User) -> None:
        self._write_spoken(message, "user")

    def _write_system(self, message: System) -> None:
        self._write_spoken(message, "system")

    def _write_spoken(self, message: User | System, role: str) -> None:
        content = write_content(message.parts, message.plain, self._context, images=role == "user")
        if not content and not self._context.own:
            self._context.lose("empty", f"a {role} message without content was left out")
            return
        self._written.append({"role": role, "content": content, **self._context.kept_extra(message.extra)})


write = Writer.write
