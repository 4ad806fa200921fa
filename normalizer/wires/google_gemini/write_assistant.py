"""Writer for assistant messages: their blocks become parts of a content of the model."""

from __future__ import annotations

from typing import Any, Self

from ... import json_codec
from ...conversation import Assistant
from ...model import Block, Opaque, Reasoning, ServerToolCall, ServerToolResult, Text, ToolCall
from ..calls import is_synthetic
from ..content_writer import ContentWriter, Format
from ..write_context import WriteContext, merged

#: The signature with which Gemini 3 accepts calls that another model made; without one it refuses them. This is
#: base64 of `skip_thought_signature_validator` (https://ai.google.dev/gemini-api/docs/thought-signatures).
UNVALIDATED = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="


def _client_call(id: str, name: str, arguments: Any) -> dict[str, Any]:
    return {"functionCall": {"id": id, "name": name, "args": arguments}}


def _plain(text: str) -> dict[str, Any] | None:
    return {"text": text} if text else None


def _text_result(id: str, name: str, text: str) -> dict[str, Any]:
    return {"functionResponse": {"id": id, "name": name, "response": {"output": text}}}


class AssistantWriter(ContentWriter):
    """Writer for the assistant messages of one request.

    ``without_id``: the calls that are written without an id, as they arrived; their results are, too.
    """

    _format = Format(
        _client_call,
        _plain,
        _text_result,
        wraps_results=True,
        names_results=True,
        own_differs=True,
        members=frozenset(("thoughtSignature",)),
    )

    def __init__(self, context: WriteContext) -> None:
        super().__init__(context)
        self.without_id: set[str] = set()

    def fork(self, context: WriteContext) -> Self:
        other = super().fork(context)
        other.without_id = self.without_id.copy()
        return other

    def _append_message(self, parts: list[Any], call_ids: list[str], own: bool, out: list[Any]) -> bool:
        if not parts:
            return False
        self.without_id = set()
        if call_ids and own:
            for part in parts:
                if "functionCall" in part:
                    self._drop_id(part["functionCall"])
        elif call_ids:
            _sign(parts)
        out.append({"role": "model", "parts": parts})
        return True

    def _results_message(self, results: list[Any]) -> Any:
        if self.without_id:
            for part in results:
                if part["functionResponse"]["id"] in self.without_id:
                    del part["functionResponse"]["id"]
        return {"role": "user", "parts": results}

    def write(self, message: Assistant) -> Any:
        self.without_id = set()
        parts = super().write(message)
        if not self._is_own(message.response):
            _sign(parts)
        return parts

    def _with_members(self, part: Any, call: ToolCall) -> dict[str, Any]:
        self._drop_id(part["functionCall"])
        return merged(part, call.extra, "id")

    def _drop_id(self, call: dict[str, Any]) -> None:
        if is_synthetic(call["id"]):
            self.without_id.add(call.pop("id"))

    def _text(self, block: Text, own: bool, index: int) -> dict[str, Any] | None:
        if own:  # annotations are metadata of the response, and no content has them
            return merged({"text": block.text}, block.extra) if block.text or block.extra else None
        self._lose_text(block, index)
        return _plain(block.text)

    def _state(self, block: Block, index: int) -> Any:
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


def _sign(parts: list[Any]) -> None:
    """Sign the first call of a message of another model."""
    for part in parts:
        if "functionCall" in part:
            part["thoughtSignature"] = UNVALIDATED
            return


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
