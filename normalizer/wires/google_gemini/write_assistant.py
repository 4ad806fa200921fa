"""Writer for assistant messages: their blocks become parts of a content of the model."""

from __future__ import annotations

from typing import Any

from ... import json_codec
from ...arguments import parse
from ...conversation import Assistant, TextPart, ToolResult
from ...model import (
    ApprovalRequest,
    Block,
    Opaque,
    Reasoning,
    Refusal,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
)
from ..call_builder import is_synthetic
from ..surrogates import is_encodable
from ..write_context import WriteContext, merged, shallow_copy
from .schema import WIRE

#: The signature with which Gemini 3 accepts calls that another model made; without one it refuses them. This is
#: base64 of `skip_thought_signature_validator` (https://ai.google.dev/gemini-api/docs/thought-signatures).
UNVALIDATED = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="
_FUNCTIONS = frozenset(("function", "legacy_function"))


class AssistantWriter:
    """Writer for the assistant messages of one request.

    ``names``: canonical call id -> name of the call on the wire, for its result. ``without_id``: the calls that are
    written without an id, as they arrived; their results are, too. ``inputs``: the arguments that `regular` wrote, in
    which the caller has to look for lone surrogates.
    """

    def __init__(self, context: WriteContext) -> None:
        self.names: dict[str, str] = {}
        self.without_id: set[str] = set()
        self.inputs: list[dict[str, Any]] = []
        self._context = context
        self._regular_names: list[str] = []  # of the calls that `regular` wrote last
        self._regular_without_id: set[str] = set()  # and those of them without an id

    def fork(self, context: WriteContext) -> AssistantWriter:
        """Return an independent copy, for another request."""
        other = shallow_copy(self)
        other._context = context
        other.inputs = []
        other.names, other.without_id = self.names.copy(), self.without_id.copy()
        return other

    def regular(self, message: Assistant, call_ids: list[str], out: list[Any]) -> bool:
        """Fast path: append the message for only text and regular function calls; return False for any other message.

        The ids of the calls are appended to ``call_ids``, even if the result is False.
        """
        response = message.response
        choices = response.choices
        if message.extra or not choices:
            return False
        own = response.wire == WIRE
        if not own and response.extra:
            return False
        context, inputs = self._context, self.inputs
        accepts, known, plain = context.accepts_id, context.known_names, context.plain_length
        names: list[str] = []
        without_id: set[str] = set()
        written: list[dict[str, Any]] = []
        signed = own
        for block in choices[0].blocks:
            if type(block) is ToolCall:
                arguments, extra = block.arguments, block.extra
                if arguments is None or block.kind != "function" or block.caller or block.namespace:
                    return False
                if extra and (not own or extra.keys() != _SIGNATURE):
                    return False
                id = block.id
                if id in call_ids:
                    return False
                name = known.get(block.name) or context.name(block.name)
                if own and is_synthetic(id):
                    without_id.add(id)
                    call = {"name": name, "args": arguments}
                elif (len(id) <= plain and id.isascii() and id.isidentifier()) or accepts(id):
                    call = {"id": id, "name": name, "args": arguments}
                else:
                    return False
                call_ids.append(id)
                inputs.append(arguments)
                names.append(name)
                part: dict[str, Any] = {"functionCall": call}
                if not signed:
                    signed = True
                    part["thoughtSignature"] = UNVALIDATED
                elif extra:
                    part.update(extra)
                written.append(part)
            elif type(block) is Text:
                text = block.text
                if not text or block.annotations or not (text.isascii() or is_encodable(text)):
                    return False
                if block.extra and (not own or block.extra.keys() != _SIGNATURE):
                    return False
                written.append({"text": text, **block.extra} if block.extra else {"text": text})
            else:
                return False
        if not written:
            return False
        self._regular_names, self._regular_without_id = names, without_id
        out.append({"role": "model", "parts": written})
        return True

    def regular_results(self, results: list[ToolResult], call_ids: list[str], out: list[Any]) -> bool:
        """Append results of one plain text each to ``out``, and report whether all are regular and in order."""
        parts: list[dict[str, Any]] = []
        ids, names = iter(call_ids), iter(self._regular_names)
        without_id = self._regular_without_id
        for result in results:  # every request runs this loop; zip takes longer
            id = next(ids)
            content = result.parts
            if result.call_id != id or result.extra or result.is_error or not result.plain or len(content) != 1:
                return False
            part = content[0]
            if type(part) is not TextPart or part.extra or not (part.text.isascii() or is_encodable(part.text)):
                return False
            written = {"id": id, "name": next(names), "response": {"output": part.text}}
            if id in without_id:
                del written["id"]
            parts.append({"functionResponse": written})
        self.names.update(zip(call_ids, self._regular_names, strict=True))
        self.without_id.difference_update(call_ids)
        self.without_id.update(without_id)
        out.append({"role": "user", "parts": parts})
        return True

    def write(self, message: Assistant) -> list[dict[str, Any]]:
        """Return the parts of a message, and report losses."""
        response = message.response
        own = response.wire == WIRE
        written: list[dict[str, Any]] = []
        signed = own
        for index, block in enumerate(response.choices[0].blocks if response.choices else ()):
            if type(block) is ToolCall:
                made: dict[str, Any] | None = self._call(block, own, index)
                if not signed:
                    signed = True
                    made = {**made, "thoughtSignature": UNVALIDATED}  # type: ignore[dict-item]
            elif type(block) is Text:
                made = self._text(block, own, index)
            else:
                made = self._state(block, index) if own else self._foreign(block, index)
            if made is not None:
                written.append(made)
        return written

    def _call(self, call: ToolCall, own: bool, index: int) -> dict[str, Any]:
        context = self._context
        name = self.names[call.id] = context.name(call.name)
        arguments = call.arguments
        if arguments is None:
            # A custom tool is declared here as a function with one text parameter (ARG-08, INV-02).
            text = call.arguments_text
            arguments = {"input": text} if call.kind == "custom" else object_of(text)
            if "_raw" in arguments:
                context.lose("arguments", block=index)
        written: dict[str, Any] = {}
        if own and is_synthetic(call.id):
            self.without_id.add(call.id)
        else:
            self.without_id.discard(call.id)
            written["id"] = context.id(call.id)
        written["name"] = name
        written["args"] = arguments
        if call.kind not in _FUNCTIONS:
            context.lose("kind", f"{call.name}: a {call.kind} call was written as a function call", index)
        if own:
            beside = {key: value for key, value in call.extra.items() if key != "id"}
            return {"functionCall": written, **beside}
        if call.namespace is not None or call.caller is not None:
            context.lose("namespace", block=index)
        context.lose_extra(call.extra, "", index)
        return {"functionCall": written}

    def _text(self, block: Text, own: bool, index: int) -> dict[str, Any] | None:
        if own:  # annotations are metadata of the response, and no content has them
            return merged({"text": block.text}, block.extra) if block.text or block.extra else None
        if block.annotations:
            self._context.lose("annotations", block=index)
        self._context.lose_extra(block.extra, "", index)
        return {"text": block.text} if block.text else None

    def _state(self, block: Block, index: int) -> dict[str, Any] | None:
        """Return a block of a response from this wire, other than text and client calls."""
        if isinstance(block, Reasoning):
            signature = {} if block.signature is None else {"thoughtSignature": block.signature}
            if block.extra.get("member") == "thoughtSignature":
                return {**signature, **{name: value for name, value in block.extra.items() if name != "member"}}
            return {"text": block.text, "thought": True, **signature, **block.extra}
        if isinstance(block, ServerToolCall):
            return _server_call(block)
        if isinstance(block, ServerToolResult) and isinstance(block.raw, dict):
            return merged(block.raw, block.extra)
        if isinstance(block, Opaque) and isinstance(block.raw, dict):
            return block.raw
        return self._foreign(block, index)

    def _foreign(self, block: Block, index: int) -> dict[str, Any] | None:
        """Report the loss of a block without a counterpart on this wire. A refusal becomes text."""
        lose = self._context.lose
        if isinstance(block, Refusal):
            lose("refusal", block=index)
            return {"text": block.text} if block.text else None
        if isinstance(block, Reasoning):
            lose("reasoning", block=index)
        elif isinstance(block, Opaque):
            lose("opaque", f"a block of type {block.wire_type!r} was left out", index)
        elif isinstance(block, (ServerToolCall, ServerToolResult, ApprovalRequest)):
            lose("server-tool", block=index)
        return None


_SIGNATURE = {"thoughtSignature"}


def _server_call(call: ServerToolCall) -> dict[str, Any]:
    id = {"id": call.id} if call.id else {}
    arguments = json_codec.decode(call.arguments_text) if call.arguments_text else None
    if call.name == "executableCode":
        return {"executableCode": {**(arguments or {}), **id}, **call.extra}
    data: dict[str, Any] = {"toolType": call.name, **id}
    if arguments is not None:
        data["args"] = arguments
    others = call.extra.get("toolCall")
    data.update(others if isinstance(others, dict) else {})
    return {"toolCall": data, **{name: value for name, value in call.extra.items() if name != "toolCall"}}


def object_of(text: str) -> dict[str, Any]:
    """Return the object in an argument text, or the text under `_raw`. NaN and infinity are not JSON (NUM-02)."""
    arguments = parse(text).arguments
    return {"_raw": text} if arguments is None else arguments
