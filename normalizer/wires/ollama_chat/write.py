"""Writer for requests of Ollama's chat API: it converts the canonical conversation to a request body.

Content that the wire cannot express is converted, and most conversions are reported as losses:

- A failed result is marked in its text (`write_context.mark_failed`).
- Several texts of a message become one, and images come before it.
- Other media become a note.
"""

from __future__ import annotations

from typing import Any

from ...conversation import Assistant, Encoded, Request, System, ToolResults, User
from ..surrogates import is_encodable, replace_in_members
from ..write_context import AS_WRITTEN, HINTS, IdStyle, NameStyle, WriteContext
from ..writer import WriterBase
from .parts import write_parts
from .request_params import write_params
from .results import write_results
from .schema import WIRE
from .tools import write_tools
from .write_assistant import AssistantWriter

#: The server accepts any text as an id and as a name (`ToolCall` in `api/types.go`); a lone surrogate is not text.
IDS = IdStyle("[^\ud800-\udfff]+", plain=1000)
NAMES = NameStyle("[^\ud800-\udfff]{1,256}", 256)


class Writer(WriterBase):
    """Incremental writer for the messages of a request."""

    def __init__(self, request: Request, provider: str | None) -> None:
        super().__init__(request, WriteContext(request, WIRE, provider, IDS, NAMES), (request.wire, provider))
        self._assistant = AssistantWriter(self._context)

    def encoded(self) -> Encoded:
        body: dict[str, Any] = {}
        if self._request.model is not None:
            body["model"] = self._request.model
        body["messages"] = self._written
        write_tools(self._request, self._context, body)
        body.update(write_params(self._request, self._context))
        return self._context.encoded(replace_in_members(body, "messages", self._context))

    def _regular_user(self, text: str) -> dict[str, Any] | None:
        return {"role": "user", "content": text} if text and (text.isascii() or is_encodable(text)) else None

    def _write_assistant(self, message: Assistant) -> None:
        if (written := self._assistant.write(message)) is not None:
            self._written.append(written)

    def _write_results(self, message: ToolResults) -> None:
        self._context.lose_extra(message.extra)
        self._written += write_results(message.results, self._assistant.ids, self._assistant.names, self._context)

    def _write_user(self, message: User) -> None:
        self._write_spoken(message, "user")

    def _write_system(self, message: System) -> None:
        self._write_spoken(message, "system")

    def _write_spoken(self, message: User | System, role: str) -> None:
        text, images = write_parts(message.parts, self._context)
        if not (text or images or self._context.own):
            self._context.lose("empty")
            return
        extra = self._context.kept_extra(message.extra)
        written: dict[str, Any] = {"role": role}
        if text or "silent" not in extra.get(AS_WRITTEN, ()):
            written["content"] = text
        if images:
            written["images"] = images
        written.update((key, value) for key, value in extra.items() if key not in HINTS)
        self._written.append(written)


write = Writer.write
