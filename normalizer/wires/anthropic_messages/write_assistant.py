"""Writer for assistant messages: their blocks become content blocks of the Messages API."""

from __future__ import annotations

import re
from typing import Any

from ...arguments import parse
from ...conversation import Assistant, Message, TextPart, ToolResult
from ...model import (
    ApprovalRequest,
    Block,
    Opaque,
    Reasoning,
    Refusal,
    Response,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
)
from ..surrogates import is_encodable
from ..write_context import WriteContext, merged, shallow_copy
from .parts import kind_of
from .schema import WIRE
from .server_calls import ServerPairs

#: Format of the provider's ids for server calls.
SERVER_IDS = re.compile(r"srvtoolu_[a-zA-Z0-9_]+")
#: Providers of Claude, which accept each other's signatures, server blocks and ids.
FAMILY = frozenset((None, "anthropic", "bedrock", "vertex", "google", "azure"))
_THINKING = frozenset(("thinking", "redacted_thinking"))
_FUNCTIONS = frozenset(("function", "legacy_function"))


class AssistantWriter:
    """Writer for the assistant messages of one request.

    ``ids``: canonical call id -> id on the wire, for tool results. ``used``: the ids on the wire so far. ``pairs``: the
    server calls that may be sent back. ``container``: the container id of the last response that has one. ``last``: the
    last message without calls that `regular` wrote; the caller adds those of `write`. ``inputs``: the arguments that
    `regular` wrote, in which the caller has to look for lone surrogates.
    """

    def __init__(self, context: WriteContext) -> None:
        self.ids: dict[str, str] = {}
        self.used: set[str] = set()
        self.pairs = ServerPairs()
        self.container: str | None = None
        self.last: dict[str, Any] | None = None
        self.inputs: list[dict[str, Any]] = []
        self._context = context
        self._strict = context.provider in FAMILY
        self._repeats: dict[str, int] = {}  # how often each repeated id was used

    def fork(self, context: WriteContext) -> AssistantWriter:
        """Return an independent copy, for another request."""
        other = shallow_copy(self)
        other._context = context
        other.inputs = []
        other.ids, other._repeats = self.ids.copy(), self._repeats.copy()
        other.used, other.pairs = self.used.copy(), self.pairs.fork()
        return other

    def regular(self, message: Assistant, call_ids: list[str], out: list[Any]) -> bool:
        """Fast path: append the message for only text and regular function calls; return False for any other message.

        An id of an earlier call is not regular. The ids of the calls are appended to ``call_ids``, even if the result
        is False.
        """
        response = message.response
        choices = response.choices
        if message.extra or response.extra or not choices:
            return False
        context, used, inputs = self._context, self.used, self.inputs
        accepts, names, plain = context.accepts_id, context.known_names, context.plain_length
        written: list[dict[str, Any]] = []
        for block in choices[0].blocks:
            if type(block) is ToolCall:
                arguments = block.arguments
                if block.extra or arguments is None or block.kind != "function" or block.caller or block.namespace:
                    return False
                id = block.id
                if id in used or id in call_ids:
                    return False
                if (len(id) > plain or not (id.isascii() and id.isidentifier())) and not accepts(id):
                    return False
                name = names.get(block.name) or context.name(block.name)
                call_ids.append(id)
                inputs.append(arguments)
                written.append({"type": "tool_use", "id": id, "name": name, "input": arguments})
            elif type(block) is Text:
                text = block.text
                if not text or block.extra or block.annotations or not (text.isascii() or is_encodable(text)):
                    return False
                written.append({"type": "text", "text": text})
            else:
                return False
        if not call_ids and all(part["text"].isspace() for part in written):
            return False
        made = {"role": "assistant", "content": written}
        if not call_ids:
            self.last = made
        out.append(made)
        return True

    def regular_results(self, results: list[ToolResult], call_ids: list[str], out: list[Any]) -> bool:
        """Append results of one plain text each to ``out``, and report whether all are regular and in order."""
        blocks = []
        ids = iter(call_ids)
        for result in results:  # every request runs this loop; zip takes longer
            id = next(ids)
            parts = result.parts
            if result.call_id != id or result.extra or result.is_error or not result.plain or len(parts) != 1:
                return False
            part = parts[0]
            if type(part) is not TextPart or part.extra:
                return False
            text = part.text
            if not text or not (text.isascii() or is_encodable(text)):
                return False
            blocks.append({"type": "tool_result", "tool_use_id": id, "content": text})
        self.used.update(call_ids)
        out.append({"role": "user", "content": blocks})
        return True

    def survey(self, messages: list[Message], stop: int, index: int) -> None:
        """Collect the server calls from message ``index`` on, unless that was done. ``stop``: end of the messages."""
        if index >= self.pairs.end:
            self.pairs.survey(messages, index, stop)

    def write(self, message: Assistant) -> list[dict[str, Any]]:
        """Return the content blocks of a message, and report losses."""
        response = message.response
        own = self._is_own(response)
        if own:
            container = response.extra.get("container")
            if isinstance(container, dict) and isinstance(container.get("id"), str):
                self.container = container["id"]
        written: list[dict[str, Any]] = []
        for index, block in enumerate(response.choices[0].blocks if response.choices else ()):
            if type(block) is ToolCall:
                made: dict[str, Any] | None = self._call(block, own, index)
            elif type(block) is Text:
                made = self._text(block, own, index)
            else:
                made = self._state(block, index) if own else self._foreign(block, index)
            if made is not None:
                written.append(made)
        while written and kind_of(written[-1]) in _THINKING:  # from a cut response; refused at the end of a message
            written.pop()
            self._context.lose("reasoning", "thinking at the end of a message was left out")
        return written

    def _is_own(self, response: Response) -> bool:
        if response.wire != WIRE:
            return False
        provider = self._context.provider
        return response.provider == provider or (response.provider in FAMILY and provider in FAMILY)

    def _call(self, call: ToolCall, own: bool, index: int) -> dict[str, Any]:
        context = self._context
        canonical = call.id
        id = context.id(canonical)
        if id in self.used:  # here ids must be unique in the whole request, elsewhere only in a round (ID-10, ID-21)
            while id in self.used:
                self._repeats[canonical] = number = self._repeats.get(canonical, 1) + 1
                id = context.id(f"{canonical}#{number}")
            context.ids[id] = canonical
        self.used.add(id)
        self.ids[canonical] = id
        arguments = call.arguments
        if arguments is None:
            # A custom tool is declared here as a function with one text parameter (ARG-08, INV-02).
            text = call.arguments_text
            arguments = {"input": text} if call.kind == "custom" else _object(text)
            if "_raw" in arguments:
                context.lose("arguments", block=index)
        block: dict[str, Any] = {"type": "tool_use", "id": id, "name": context.name(call.name), "input": arguments}
        if call.kind not in _FUNCTIONS:
            context.lose("kind", f"{call.name}: a {call.kind} call was written as a function call", index)
        if own:
            if call.caller is not None:
                block["caller"] = call.caller
            return merged(block, call.extra)
        if call.namespace is not None or call.caller is not None:
            context.lose("namespace", block=index)
        context.lose_extra(call.extra, "", index)
        return block

    def _text(self, block: Text, own: bool, index: int) -> dict[str, Any] | None:
        if not block.text:  # refused when empty
            return None
        written: dict[str, Any] = {"type": "text", "text": block.text}
        if own:
            if block.annotations:
                written["citations"] = block.annotations
            return merged(written, block.extra)
        if block.annotations:
            self._context.lose("annotations", block=index)
        self._context.lose_extra(block.extra, "", index)
        return written

    def _state(self, block: Block, index: int) -> dict[str, Any] | None:
        """Return a block of a response from this wire, other than text and client calls."""
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
            {"type": kind, "id": call.id, "name": call.name, "input": _object(call.arguments_text)}, call.extra
        )

    def _server_result(self, result: ServerToolResult, index: int) -> dict[str, Any] | None:
        id, pairs = result.call_id, self.pairs
        if isinstance(result.raw, dict) and (id == "" or (id in pairs.returnable and id in pairs.written)):
            return result.raw
        self._context.lose("server-tool", f"the {result.tool} result for {id} has no call and was left out", index)
        return None

    def _foreign(self, block: Block, index: int) -> dict[str, Any] | None:
        """Report the loss of a block without a counterpart on this wire. A refusal becomes text."""
        lose = self._context.lose
        if isinstance(block, Refusal):
            lose("refusal", block=index)
            return {"type": "text", "text": block.text} if block.text else None
        if isinstance(block, Reasoning):
            lose("reasoning", block=index)
        elif isinstance(block, Opaque):
            lose("opaque", f"a block of type {block.wire_type!r} was left out", index)
        elif isinstance(block, (ServerToolCall, ServerToolResult, ApprovalRequest)):
            lose("server-tool", block=index)
        return None


def is_blank(content: Any) -> bool:
    """Report whether a message content has nothing but white space."""
    if isinstance(content, str):
        return not content or content.isspace()
    return all(kind_of(block) == "text" and str(block.get("text")).isspace() for block in content)


def _object(text: str) -> dict[str, Any]:
    """Return the object in an argument text, or the text under `_raw`. NaN and infinity are not JSON (NUM-02)."""
    arguments = parse(text).arguments
    return {"_raw": text} if arguments is None else arguments
