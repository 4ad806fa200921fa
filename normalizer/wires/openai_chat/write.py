"""Writer for Chat Completions requests: it converts the canonical conversation to a request body.

A message goes back unchanged to the provider it came from. For another provider it follows that provider's dialect.
Content that a chat message cannot express is converted, and most conversions are reported as losses:

- A failed result is marked in its text (`write_context.mark_failed`).
- An image in a result moves to a user message after all results of the round.
- A custom call, or one of another kind, becomes a function call if the target has no such kind.
"""

from __future__ import annotations

from typing import Any

from ...conversation import Assistant, Encoded, Request, System, ToolResults, User
from ..fast_history import RegularWriters
from ..model_owners import report_foreign_model
from ..surrogates import is_encodable, replace_in_members
from ..write_context import WriteContext
from ..writer import WriterBase
from .dialects import USER_AFTER_TOOL, dialect_of
from .parts import write_content
from .request_params import write_params
from .results import write_results
from .schema import WIRE
from .tools import write_tools
from .write_assistant import AssistantWriter

BRIDGE = "OK."


class Writer(WriterBase):
    """Incremental writer for the messages of a request."""

    def __init__(self, request: Request, provider: str | None) -> None:
        self._dialect = dialect = dialect_of(provider)
        own = request.wire == WIRE and provider in (None, request.provider)
        #: whether the target requires an assistant message between a result and a message of another role
        self._bridged = dialect.bridge and not (own and (request.model or "").startswith(USER_AFTER_TOOL))
        thinking = request.params.get("thinking")
        enabled = isinstance(thinking, dict) and thinking.get("type") == "enabled"
        self._must_think = provider == "deepseek" and (enabled or request.model == "deepseek-reasoner")
        basis = (request.wire, request.provider, provider, self._must_think, self._bridged)
        context = WriteContext(request, WIRE, provider, dialect.ids, dialect.names, own)
        super().__init__(request, context, basis)
        self._assistant = AssistantWriter(self._context, dialect, request.provider, self._must_think)

    def encoded(self) -> Encoded:
        request, written = self._request, self._written
        body: dict[str, Any] = {}
        report_foreign_model(request, self._context)
        if request.model is not None:
            body["model"] = request.model
        body["messages"] = written
        last = written[-1] if written else {}
        if self._dialect.bridge and _role(last) == "assistant" and not last.get("tool_calls"):
            # These dialects accept an assistant message at the end only as a prefix to continue.
            written[-1] = last if "prefix" in last else {**last, "prefix": True}
        write_tools(request, self._dialect, self._context, body)
        write_params(request, self._dialect, self._context, body)
        return self._context.encoded(replace_in_members(body, "messages", self._context))

    def _regular_writers(self) -> RegularWriters | None:
        if self._dialect.bridge or self._must_think:
            return None
        return super()._regular_writers()

    def _regular_user(self, text: str) -> dict[str, Any] | None:
        return {"role": "user", "content": text} if text and (text.isascii() or is_encodable(text)) else None

    def _write_assistant(self, message: Assistant) -> None:
        if (written := self._assistant.write(message)) is not None:
            self._written.append(written)

    def _write_results(self, message: ToolResults) -> None:
        self._context.lose_extra(message.extra)
        written, media = write_results(message.results, self._assistant.ids, self._dialect, self._context)
        self._written += written
        if media:
            self._bridge()
            self._written.append({"role": "user", "content": media})

    def _write_user(self, message: User) -> None:
        self._write_spoken(message, "user")

    def _write_system(self, message: System) -> None:
        self._write_spoken(message, message.role if self._context.own or self._dialect.developer else "system")

    def _write_spoken(self, message: User | System, role: str) -> None:
        content = write_content(message.parts, message.plain, self._dialect, self._context)
        if not content and not self._context.own:
            self._context.lose("empty")
            return
        if self._context.own and "content" in message.extra:
            content = None
        self._bridge()
        extra = self._context.kept_extra(message.extra)
        self._written.append({"role": role, "content": content, **{k: v for k, v in extra.items() if k != "content"}})

    def _bridge(self) -> None:
        """Insert an assistant message if the dialect requires one after a result (failure ORD-04)."""
        if self._bridged and self._written and _role(self._written[-1]) == "tool":
            self._context.lose("bridge")
            self._written.append({"role": "assistant", "content": BRIDGE})


def _role(message: Any) -> Any:
    """Return a message's role; None if the message, which may be any JSON value, is not an object."""
    return message.get("role") if isinstance(message, dict) else None


write = Writer.write
