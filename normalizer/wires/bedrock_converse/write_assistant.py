"""Writer for assistant messages: their blocks become content blocks of Converse."""

from __future__ import annotations

import re
from typing import Any

from ...conversation import Assistant
from ...model import Block, Opaque, Reasoning, ServerToolCall, ServerToolResult, Text, ToolCall
from ..content_writer import ContentWriter, Format, UniqueIds, object_of
from ..surrogates import are_encodable
from ..write_context import WriteContext, merged
from .blocks import BESIDE
from .parts import kind_of, role_of

#: The ids that Bedrock accepts (`ToolUseId` of the service model). Some models issue `functions.get_temperature:0`.
OWN_ID = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")


def _client_call(id: str, name: str, arguments: Any) -> dict[str, Any]:
    return {"toolUse": {"toolUseId": id, "name": name, "input": arguments}}


def _plain(text: str) -> dict[str, Any] | None:
    return {"text": text} if text and not text.isspace() else None  # white space alone is refused


def _text_result(id: str, name: str, text: str) -> dict[str, Any] | None:
    return {"toolResult": {"toolUseId": id, "content": [{"text": text}]}} if text and not text.isspace() else None


class AssistantWriter(ContentWriter):
    """Writer for the assistant messages of one request.

    Bedrock is the only provider of the wire. Claude requires unique ids in the whole request.
    """

    _format = Format(_client_call, _plain, _text_result, wraps_results=True, any_plain=True)

    def __init__(self, context: WriteContext) -> None:
        super().__init__(context)
        self._unique = UniqueIds()

    def _append_message(self, parts: list[Any], call_ids: list[str], own: bool, out: list[Any]) -> bool:
        encodable = are_encodable(self.inputs)  # here a replacement is reported for each message
        self.inputs.clear()
        if not parts or not out or role_of(out[-1]) != "user" or not encodable:
            return False
        out.append({"role": "assistant", "content": parts})
        return True

    def _results_message(self, results: list[Any]) -> Any:
        return {"role": "user", "content": results}

    def write(self, message: Assistant) -> Any:
        written = super().write(message)
        while written and kind_of(written[-1]) == "reasoningContent":  # from a cut response; Claude refuses it there
            written.pop()
            self._context.lose("reasoning", "reasoning at the end of a message was left out")
        return written

    def _call_id(self, canonical: str, own: bool) -> str:
        return canonical if own and OWN_ID.fullmatch(canonical) else self._context.id(canonical)

    def _with_members(self, part: Any, call: ToolCall) -> dict[str, Any]:
        return {"toolUse": merged(part["toolUse"], call.extra, "id")}

    def _text(self, block: Text, own: bool, index: int) -> dict[str, Any] | None:
        text, extra = block.text, block.extra
        if own and (block.annotations or "citations" in extra):
            cited: dict[str, Any] = {"content": [{"text": text}]} if text else {}
            if "content" in extra:
                cited["content"] = extra["content"]
            return {"citationsContent": merged({**cited, "citations": block.annotations}, extra)}
        part = _plain(text)
        if part is None:
            if text:
                self._context.lose("empty", "a text of only white space was left out", index)
        elif not own:
            self._lose_text(block, index)
        elif extra:
            return merged(part, extra)
        return part

    def _state(self, block: Block, index: int) -> Any:
        if isinstance(block, Reasoning):
            return {"reasoningContent": _reasoning(block)}
        if isinstance(block, ServerToolCall):
            use = {"toolUseId": block.id, "name": block.name, "input": object_of(block.arguments_text)}
            return {"toolUse": merged(use, {"type": "server_tool_use", **block.extra})}
        if isinstance(block, (ServerToolResult, Opaque)) and isinstance(block.raw, dict):
            return block.raw
        return self._foreign(block, index)


def _reasoning(block: Reasoning) -> dict[str, Any]:
    """Return reasoning unchanged, as Claude signs it (THINK-01, THINK-02). Other models do not sign."""
    if block.redacted and block.encrypted is not None:
        return merged({"redactedContent": block.encrypted}, block.extra)
    text: dict[str, Any] = {"text": block.text}
    if block.signature is not None:
        text["signature"] = block.signature
    return {"reasoningText": merged(text, block.extra, BESIDE), **block.extra.get(BESIDE, {})}
