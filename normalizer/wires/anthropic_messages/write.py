"""Writer for requests of the Messages API: it converts the canonical conversation to a request body.

Assistant messages from this wire are sent back unchanged, with signed thinking, server calls and their results, and
opaque blocks (THINK-01, THINK-02, SRV-03). Those from other wires are written with the block types of this wire.
"""

from __future__ import annotations

from typing import Any

from ...conversation import Assistant, Encoded, Message, Request, System, ToolResults, User
from ..fast_history import RegularWriters
from ..surrogates import is_encodable, replace_in_members
from ..write_context import IdStyle, NameStyle, WriteContext
from ..writer import WriterBase
from .parts import kind_of, write_content
from .request_params import write_params
from .results import write_results
from .schema import WIRE
from .tools import write_tools
from .write_assistant import AssistantWriter, is_blank

IDS = IdStyle(r"[a-zA-Z0-9_-]+", prefix="toolu_", plain=1000)
#: The API's error messages give 128 as the maximum length. Aliases keep to the documented 64.
NAMES = NameStyle(r"[a-zA-Z0-9_-]{1,128}")

#: Messages before the first user or assistant message; tool results there belong to no call.
_NOT_SPOKEN = (System, ToolResults)


class Writer(WriterBase):
    """Incremental writer for the messages of a request. ``provider``: None is treated like Anthropic."""

    def __init__(self, request: Request, provider: str | None) -> None:
        super().__init__(request, WriteContext(request, WIRE, provider, IDS, NAMES), (request.wire, provider))
        self._assistant = AssistantWriter(self._context)
        self._system: Any = None
        self._segment: tuple[list[Message], int] = ([], 0)  # the messages being written, and their end

    def add(self, messages: list[Message], start: int, stop: int) -> None:
        self._segment = messages, stop
        super().add(messages, start, stop)

    def encoded(self) -> Encoded:
        self._trim_end()
        body: dict[str, Any] = {}
        if self._request.model is not None:
            body["model"] = self._request.model
        if self._system:
            body["system"] = self._system
        params = write_params(self._request, self._context, self._written)
        write_tools(self._request, self._context, params, body)
        body["messages"] = self._written
        body.update(params)
        container = self._assistant.container
        if container is not None:  # the code that made the calls waits there for their results (PTC-01)
            requested = body.get("container")
            if requested is None:
                body["container"] = container
            elif isinstance(requested, dict) and requested.get("id") is None:
                body["container"] = {**requested, "id": container}
        return self._context.encoded(replace_in_members(body, "messages", self._context))

    def _trim_end(self) -> None:
        """Remove white space from the end of a final assistant message, which the model is to continue."""
        last = self._assistant.last
        if last is None or not self._written or self._written[-1] is not last:
            return
        content = list(last["content"])
        while content and kind_of(content[-1]) == "text" and content[-1]["text"] != content[-1]["text"].rstrip():
            block = content.pop()
            if text := block["text"].rstrip():  # an empty text is refused, too
                content.append({**block, "text": text})
        if content != last["content"]:
            self._context.lose("empty", "white space at the end of the last assistant message was removed")
            self._written[-1:] = [{**last, "content": content}] if content else []

    def _regular_writers(self) -> RegularWriters | None:
        if self._assistant.pairs.pending:
            return None
        return super()._regular_writers()

    def _regular_user(self, text: str) -> dict[str, Any] | None:
        regular = text and not text.isspace() and (text.isascii() or is_encodable(text))
        return {"role": "user", "content": text} if regular else None

    def _write(self, message: Message, index: int) -> None:
        if type(message) is Assistant:
            self._assistant.survey(*self._segment, index)
        super()._write(message, index)

    def _write_assistant(self, message: Assistant) -> None:
        blocks = self._assistant.write(message)
        if is_blank(blocks):
            self._context.lose("empty", "an assistant message without content was left out")
        else:
            self._append("assistant", blocks, message.extra)
            self._assistant.last = self._written[-1]

    def _write_results(self, message: ToolResults) -> None:
        """Write one message with all tool results, and other content after it (HIST-02, HIST-05, ORD-02)."""
        blocks, following = write_results(message.results, self._assistant.ids, self._context)
        self._append("user", blocks, message.extra)
        if following:
            self._append("user", following, {})

    def _write_user(self, message: User) -> None:
        content = write_content(message.parts, message.plain, self._context)
        if is_blank(content):
            self._context.lose("empty", "a user message without content was left out")
        else:
            self._append("user", content, message.extra)

    def _write_system(self, message: System) -> None:
        content = write_content(message.parts, message.plain, self._context)
        before = self._segment[0][: self._context.message]
        if all(type(earlier) in _NOT_SPOKEN for earlier in before):
            self._context.lose_extra(message.extra)
            self._system = _blocks(self._system) + _blocks(content) if self._system else content or None
        elif self._context.own:
            self._append("system", content, message.extra)
        elif content:  # only some models accept system messages here, so they become user text
            text = content if isinstance(content, str) else "\n".join(b["text"] for b in content if "text" in b)
            self._context.lose("order", "a system message within the conversation was written as a user message")
            self._context.lose_extra(message.extra)
            self._append("user", [{"type": "text", "text": f"<system>\n{text}\n</system>"}], {})

    def _append(self, role: str, content: Any, extra: dict[str, Any]) -> None:
        """Append a message. Messages of one role stay separate, which keeps their bytes; the API concatenates them."""
        if extra and not self._context.own:
            self._context.lose_extra(extra)
            extra = {}
        self._written.append({"role": role, "content": content, **extra})

    def _complete(self, begun: int, end: int) -> None:
        ends_with_assistant = bool(self._written) and self._written[-1] is self._assistant.last
        super()._complete(begun, end)
        if ends_with_assistant:
            self._assistant.last = self._written[-1]


def _blocks(content: str | list[Any]) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


write = Writer.write
