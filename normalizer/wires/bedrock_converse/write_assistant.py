"""Writer for assistant messages: their blocks become content blocks of Converse."""

from __future__ import annotations

import re
from typing import Any

from ...arguments import parse
from ...conversation import Assistant, TextPart, ToolResult
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
from ..surrogates import are_encodable, is_encodable
from ..write_context import WriteContext, merged, shallow_copy
from .parts import kind_of, role_of
from .schema import WIRE

#: The ids that Bedrock accepts (`ToolUseId` of the service model). Some models issue `functions.get_temperature:0`.
OWN_ID = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
_FUNCTIONS = frozenset(("function", "legacy_function"))


class AssistantWriter:
    """Writer for the assistant messages of one request.

    ``ids``: canonical call id -> id on the wire, for tool results. ``used``: the ids on the wire so far. ``called``:
    the names on the wire of the tools that were called, in order.
    """

    def __init__(self, context: WriteContext) -> None:
        self.ids: dict[str, str] = {}
        self.used: set[str] = set()
        self.called: dict[str, None] = {}
        self._context = context
        self._repeats: dict[str, int] = {}  # how often each repeated id was used

    def fork(self, context: WriteContext) -> AssistantWriter:
        """Return an independent copy, for another request."""
        other = shallow_copy(self)
        other._context = context
        other.ids, other._repeats = self.ids.copy(), self._repeats.copy()
        other.used, other.called = self.used.copy(), self.called.copy()
        return other

    def regular(self, message: Assistant, call_ids: list[str], out: list[Any]) -> bool:
        """Fast path: append the message for only text and regular function calls; return False for any other message.

        An id of an earlier call is not regular, nor is the first message, or one that has to be merged with the last
        one. The ids of the calls are appended to ``call_ids``, even if the result is False.
        """
        choices = message.response.choices
        if message.extra or not choices or not out or role_of(out[-1]) != "user":
            return False
        context, used = self._context, self.used
        accepts, names, plain = context.accepts_id, context.known_names, context.plain_length
        written: list[dict[str, Any]] = []
        called: list[str] = []
        for block in choices[0].blocks:
            if type(block) is ToolCall:
                arguments = block.arguments
                if block.extra or arguments is None or block.kind != "function" or block.caller or block.namespace:
                    return False
                id = block.id
                if id in used or id in call_ids or not are_encodable(arguments):
                    return False
                if (len(id) > plain or not (id.isascii() and id.isidentifier())) and not accepts(id):
                    return False
                name = names.get(block.name) or context.name(block.name)
                call_ids.append(id)
                called.append(name)
                written.append({"toolUse": {"toolUseId": id, "name": name, "input": arguments}})
            elif type(block) is Text:
                text = block.text
                if not text or text.isspace() or block.extra or block.annotations or not is_encodable(text):
                    return False
                written.append({"text": text})
            else:
                return False
        if not written:
            return False
        self.called.update(dict.fromkeys(called))
        out.append({"role": "assistant", "content": written})
        return True

    def regular_results(self, results: list[ToolResult], call_ids: list[str], out: list[Any]) -> bool:
        """Append results of one text each to ``out``, and report whether all are regular and in order."""
        blocks = []
        ids = iter(call_ids)
        for result in results:  # every request runs this loop; zip takes longer
            id = next(ids)
            parts = result.parts
            if result.call_id != id or result.extra or result.is_error or len(parts) != 1:
                return False
            part = parts[0]
            if type(part) is not TextPart or part.extra:
                return False
            text = part.text
            if not text or text.isspace() or not is_encodable(text):
                return False
            blocks.append({"toolResult": {"toolUseId": id, "content": [{"text": text}]}})
        self.used.update(call_ids)
        out.append({"role": "user", "content": blocks})
        return True

    def write(self, message: Assistant) -> list[dict[str, Any]]:
        """Return the content blocks of a message, and report losses."""
        response = message.response
        own = self._is_own(response)
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
        while written and kind_of(written[-1]) == "reasoningContent":  # from a cut response; Claude refuses it there
            written.pop()
            self._context.lose("reasoning", "reasoning at the end of a message was left out")
        return written

    def _is_own(self, response: Response) -> bool:
        """Report whether Bedrock made the response, which is the only provider of the wire."""
        return response.wire == WIRE

    def _call(self, call: ToolCall, own: bool, index: int) -> dict[str, Any]:
        context = self._context
        canonical = call.id
        id = canonical if own and OWN_ID.fullmatch(canonical) else context.id(canonical)
        if id in self.used:  # Claude requires unique ids in the whole request (ID-10, ID-21)
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
        name = context.name(call.name)
        self.called[name] = None
        use: dict[str, Any] = {"toolUseId": id, "name": name, "input": arguments}
        if call.kind not in _FUNCTIONS:
            context.lose("kind", f"{call.name}: a {call.kind} call was written as a function call", index)
        if own:
            return {"toolUse": merged(use, call.extra, "id")}
        if call.namespace is not None or call.caller is not None:
            context.lose("namespace", block=index)
        context.lose_extra(call.extra, "", index)
        return {"toolUse": use}

    def _text(self, block: Text, own: bool, index: int) -> dict[str, Any] | None:
        extra = block.extra
        if own and (block.annotations or "citations" in extra):
            cited: dict[str, Any] = {"content": [{"text": block.text}]} if block.text else {}
            if "content" in extra:
                cited["content"] = extra["content"]
            return {"citationsContent": merged({**cited, "citations": block.annotations}, extra)}
        if not block.text or block.text.isspace():  # refused
            if block.text:
                self._context.lose("empty", "a text of only white space was left out", index)
            return None
        if own:
            return merged({"text": block.text}, extra)
        if block.annotations:
            self._context.lose("annotations", block=index)
        self._context.lose_extra(extra, "", index)
        return {"text": block.text}

    def _state(self, block: Block, index: int) -> dict[str, Any] | None:
        """Return a block of a response from this wire, other than text and client calls."""
        if isinstance(block, Reasoning):
            return {"reasoningContent": self._reasoning(block)}
        if isinstance(block, ServerToolCall):
            use = {"toolUseId": block.id, "name": block.name, "input": _object(block.arguments_text)}
            return {"toolUse": merged(use, {"type": "server_tool_use", **block.extra})}
        if isinstance(block, ServerToolResult) and isinstance(block.raw, dict):
            return block.raw
        if isinstance(block, Opaque) and isinstance(block.raw, dict):
            return block.raw
        return self._foreign(block, index)

    def _reasoning(self, block: Reasoning) -> dict[str, Any]:
        """Return reasoning unchanged, as Claude signs it (THINK-01, THINK-02). Other models do not sign."""
        if block.redacted and block.encrypted is not None:
            return merged({"redactedContent": block.encrypted}, block.extra)
        text: dict[str, Any] = {"text": block.text}
        if block.signature is not None:
            text["signature"] = block.signature
        return {"reasoningText": merged(text, block.extra)}

    def _foreign(self, block: Block, index: int) -> dict[str, Any] | None:
        """Report the loss of a block without a counterpart on this wire. A refusal becomes text."""
        lose = self._context.lose
        if isinstance(block, Refusal):
            lose("refusal", block=index)
            return {"text": block.text} if block.text.strip() else None
        if isinstance(block, Reasoning):
            lose("reasoning", block=index)
        elif isinstance(block, Opaque):
            lose("opaque", f"a block of type {block.wire_type!r} was left out", index)
        elif isinstance(block, (ServerToolCall, ServerToolResult, ApprovalRequest)):
            lose("server-tool", block=index)
        return None


def _object(text: str) -> dict[str, Any]:
    """Return the object in an argument text, or the text under `_raw`. NaN and infinity are not JSON (NUM-02)."""
    arguments = parse(text).arguments
    return {"_raw": text} if arguments is None else arguments
