"""Writer for requests of Converse: it converts the canonical conversation to a request body.

The body contains the arguments of boto3's ``converse``, with bytes in base64 as in its JSON. An HTTP client moves
``modelId`` to the path. Messages of one role are merged, because most models refuse two in a row. So all results of a
turn, and the user's words after them, are one user message.
"""

from __future__ import annotations

from typing import Any

from ...conversation import Assistant, Encoded, Request, System, ToolResults, User
from ..surrogates import SurrogateReplacer, are_encodable, is_encodable, replace_in_members
from ..write_context import OPENING, IdStyle, NameStyle, WriteContext
from ..writer import WriterBase
from .parts import beside_documents, role_of, write_content
from .request_params import write_params
from .results import write_results
from .schema import WIRE
from .tools import write_tools
from .write_assistant import AssistantWriter

#: The service model also accepts a dot and a colon in ids, but Claude refuses them. Ids that Bedrock issued stay.
IDS = IdStyle(r"[a-zA-Z0-9_-]{1,64}", prefix="tooluse_", plain=64)
NAMES = NameStyle(r"[a-zA-Z0-9_-]{1,64}")


class Writer(WriterBase):
    """Incremental writer for the messages of a request."""

    def __init__(self, request: Request, provider: str | None) -> None:
        super().__init__(request, WriteContext(request, WIRE, provider, IDS, NAMES), (request.wire, provider))
        self._assistant = AssistantWriter(self._context)
        self._system: list[Any] = []

    def encoded(self) -> Encoded:
        body: dict[str, Any] = {}
        if self._request.model is not None:
            body["modelId"] = self._request.model
        if self._system:
            body["system"] = self._system
        params = write_params(self._request, self._context)
        config = write_tools(self._request, self._context, dict.fromkeys(self._context.known_names.values()))
        body["messages"] = self._written
        if config is not None:
            beside = params.pop("toolConfig", None)
            body["toolConfig"] = {**beside, **config} if isinstance(beside, dict) else config
        body.update(params)
        return self._context.encoded(replace_in_members(body, "messages", self._context))

    def _regular_user(self, text: str) -> dict[str, Any] | None:
        """Return a user message of one text, or None if it is not regular. It replaces a user message before it."""
        written = self._written
        if not text or text.isspace() or not is_encodable(text):
            return None
        if not written or role_of(written[-1]) != "user":
            return {"role": "user", "content": [{"text": text}]}
        if not isinstance(written[-1].get("content"), list):
            return None
        last = written.pop()
        return {**last, "content": [*last["content"], {"text": text}]}

    def _write_assistant(self, message: Assistant) -> None:
        blocks = self._assistant.write(message)
        if not blocks:
            self._context.lose("empty", "an assistant message without content was left out")
            return
        if not self._written:
            self._context.lose("bridge", "a user message was added, because a conversation has to begin with one")
            self._append("user", [{"text": OPENING}], {})
        self._append("assistant", blocks, message.extra)

    def _write_results(self, message: ToolResults) -> None:
        blocks = write_results(message.results, self._assistant.ids, self._context)
        self._append("user", blocks, message.extra)

    def _write_user(self, message: User) -> None:
        content = beside_documents(write_content(message.parts, self._context), self._context)
        if content:
            self._append("user", content, message.extra)
        else:
            self._context.lose("empty", "a user message without content was left out")

    def _write_system(self, message: System) -> None:
        content = write_content(message.parts, self._context)
        if self._written and content and self._context.own and message.role == "system":
            self._append("system", content, message.extra)
            return
        self._context.lose_extra(message.extra)
        if not self._written:
            self._system = [*self._system, *_system_blocks(content, self._context)]
        elif content:  # only some models accept system messages here, so they become user text
            text = "\n".join(block["text"] for block in content if "text" in block)
            self._context.lose("order", "a system message within the conversation was written as a user message")
            media = [block for block in content if "text" not in block]
            self._append("user", [{"text": f"<system>\n{text}\n</system>"}, *media], {})

    def _append(self, role: str, content: list[Any], extra: dict[str, Any]) -> None:
        """Append a message, or add its content to the last one if it has the same role."""
        if extra and not self._context.own:
            self._context.lose_extra(extra)
            extra = {}
        if not are_encodable(content):
            replacer = SurrogateReplacer()
            content = replacer.clean(content)
            if replacer.replaced:
                self._context.lose("corrupt-text")
        last: Any = self._written[-1] if self._written else None
        if role_of(last) == role and isinstance(last.get("content"), list):
            self._written[-1] = {**last, "content": [*last["content"], *content], **extra}
        else:
            self._written.append({"role": role, "content": content, **extra})

    def _complete(self, begun: int, end: int) -> None:
        """Do nothing: `_append` replaces lone surrogates, because it may change a message before ``begun``."""


def _system_blocks(content: list[Any], context: WriteContext) -> list[Any]:
    """Return the blocks that a system prompt can contain: no media."""
    allowed = [block for block in content if context.own or "text" in block]
    if len(allowed) < len(content):
        context.lose("media", "media in the system prompt were left out")
    return allowed


write = Writer.write
