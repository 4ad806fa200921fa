"""Writer for assistant messages: their blocks become content blocks of the Messages API."""

from __future__ import annotations

import re
from typing import Any, Self

from ...conversation import Assistant, Message
from ...model import Block, Opaque, Reasoning, Response, ServerToolCall, ServerToolResult, Text, ToolCall
from ..content_writer import ContentWriter, Format, UniqueIds, object_of
from ..surrogates import is_encodable
from ..write_context import WriteContext, merged
from .parts import kind_of
from .schema import WIRE
from .server_calls import ServerPairs

#: Format of the provider's ids for server calls.
SERVER_IDS = re.compile(r"srvtoolu_[a-zA-Z0-9_]+")
#: Providers of Claude, which accept each other's signatures, server blocks and ids.
FAMILY = frozenset((None, "anthropic", "bedrock", "vertex", "google", "azure"))
_THINKING = frozenset(("thinking", "redacted_thinking"))


def _client_call(id: str, name: str, arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": arguments}


def _plain(text: str) -> dict[str, Any] | None:
    return {"type": "text", "text": text} if text else None  # refused when empty


class AssistantWriter(ContentWriter):
    """Writer for the assistant messages of one request, in which each id of a call must be unique.

    ``pairs``: the server calls that may be sent back. ``container``: the container id of the last response that has
    one. ``last``: the last message without calls that `regular` wrote; the caller adds those of `write`.
    """

    _format = Format(
        _client_call,
        _plain,
        wraps_results=True,
        result_keys=("type", "tool_result", "tool_use_id", "content"),
    )

    def __init__(self, context: WriteContext) -> None:
        super().__init__(context)
        self.pairs = ServerPairs()
        self.container: str | None = None
        self.last: dict[str, Any] | None = None
        self._unique: UniqueIds = UniqueIds()
        self._strict = context.provider in FAMILY

    def fork(self, context: WriteContext) -> Self:
        other = super().fork(context)
        other.pairs = self.pairs.fork()
        return other

    def regular(self, message: Assistant, call_ids: list[str], out: list[Any]) -> bool:
        # as in the base class, without its calls of functions for each part: every request runs this loop
        response = message.response
        choices = response.choices
        if message.extra or "container" in response.extra or not choices:
            return False
        context, inputs, used = self._context, self.inputs, self._unique.used
        accepts, names, plain = context.accepts_id, context.known_names, context.plain_length
        if self.ids:
            self.ids = {}
        parts: list[dict[str, Any]] = []
        for block in choices[0].blocks:
            if type(block) is ToolCall:
                id, arguments = block.id, block.arguments
                if block.extra or arguments is None or block.kind != "function" or block.caller or block.namespace:
                    return False
                if id in used or id in call_ids:
                    return False
                if (len(id) > plain or not (id.isascii() and id.isidentifier())) and not accepts(id):
                    return False
                name = names.get(block.name) or context.name(block.name)
                call_ids.append(id)
                inputs.append(arguments)
                parts.append({"type": "tool_use", "id": id, "name": name, "input": arguments})
            elif type(block) is Text:
                text = block.text
                if not text or block.extra or block.annotations or not (text.isascii() or is_encodable(text)):
                    return False
                parts.append({"type": "text", "text": text})
            else:
                return False
        written = {"role": "assistant", "content": parts}
        if not call_ids:
            if all(part["text"].isspace() for part in parts):
                return False
            self.last = written
        out.append(written)
        return True

    def _results_message(self, results: list[Any]) -> Any:
        return {"role": "user", "content": results}

    def survey(self, messages: list[Message], stop: int, index: int) -> None:
        """Collect the server calls from message ``index`` on, unless that was done. ``stop``: end of the messages."""
        if index >= self.pairs.end:
            self.pairs.survey(messages, index, stop)

    def write(self, message: Assistant) -> Any:
        response = message.response
        if self._is_own(response):
            container = response.extra.get("container")
            if isinstance(container, dict) and isinstance(container.get("id"), str):
                self.container = container["id"]
        written = super().write(message)
        while written and kind_of(written[-1]) in _THINKING:  # from a cut response; refused at the end of a message
            written.pop()
            self._context.lose("reasoning", "thinking at the end of a message was left out")
        return written

    def _is_own(self, response: Response) -> bool:
        if response.wire != WIRE:
            return False
        provider = self._context.provider
        return response.provider == provider or (response.provider in FAMILY and provider in FAMILY)

    def _with_members(self, part: Any, call: ToolCall) -> dict[str, Any]:
        if call.caller is not None:
            part["caller"] = call.caller
        return merged(part, call.extra)

    def _text(self, block: Text, own: bool, index: int) -> dict[str, Any] | None:
        if (written := _plain(block.text)) is None:
            return None
        if not own:
            self._lose_text(block, index)
            return written
        if block.annotations:
            written["citations"] = block.annotations
        return merged(written, block.extra)

    def _state(self, block: Block, index: int) -> Any:
        if isinstance(block, Reasoning):
            return self._thinking(block, index)
        if isinstance(block, ServerToolCall):
            return self._server_call(block, index)
        if isinstance(block, ServerToolResult):
            return self._server_result(block, index)
        if isinstance(block, Opaque) and isinstance(block.raw, dict):
            return block.raw
        return self._foreign(block, index)

    def _thinking(self, block: Reasoning, index: int) -> dict[str, Any] | None:
        """Return thinking unchanged, as it is signed (THINK-01, THINK-02). Claude refuses it unsigned (THINK-03)."""
        extra = block.extra
        if extra.get("type") == "compaction":
            summary: dict[str, Any] = {"type": "compaction", "content": None if block.redacted else block.text}
            if block.encrypted is not None:
                summary["encrypted_content"] = block.encrypted
            if block.signature is not None:
                summary["signature"] = block.signature
            return merged(summary, extra)
        if block.redacted and block.encrypted:
            return merged({"type": "redacted_thinking", "data": block.encrypted}, extra)
        if block.signature or not self._strict:
            return merged({"type": "thinking", "thinking": block.text, "signature": block.signature or ""}, extra)
        self._context.lose("unsigned-reasoning", block=index)
        return None

    def _server_call(self, call: ServerToolCall, index: int) -> dict[str, Any] | None:
        """Return a server call if its result is there or may still come; otherwise report a loss."""
        if call.id not in self.pairs.returnable:
            self._context.lose("server-tool", f"{call.name} ({call.id}) has no result and was left out", index)
            return None
        if call.tool == "mcp":
            known = "server_name" in call.extra
        else:
            known = not self._strict or SERVER_IDS.fullmatch(call.id) is not None
        if not known:  # a call from another provider, or an MCP call without its server
            self._context.lose("server-tool", f"{call.name} ({call.id}) was made by another provider", index)
            return None
        self.pairs.written.add(call.id)
        kind = "mcp_tool_use" if call.tool == "mcp" else "server_tool_use"
        return merged(
            {"type": kind, "id": call.id, "name": call.name, "input": object_of(call.arguments_text)}, call.extra
        )

    def _server_result(self, result: ServerToolResult, index: int) -> dict[str, Any] | None:
        id, pairs = result.call_id, self.pairs
        if isinstance(result.raw, dict) and (id == "" or (id in pairs.returnable and id in pairs.written)):
            return result.raw
        self._context.lose("server-tool", f"the {result.tool} result for {id} has no call and was left out", index)
        return None


def is_blank(content: Any) -> bool:
    """Report whether a message content has nothing but white space."""
    if isinstance(content, str):
        return not content or content.isspace()
    return all(kind_of(block) == "text" and str(block.get("text")).isspace() for block in content)
