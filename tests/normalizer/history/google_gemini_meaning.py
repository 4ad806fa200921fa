"""When two requests of generateContent mean the same: what may differ, and why.

Each step below undoes one equivalence; whatever differs after all of them differs in meaning.
"""

from __future__ import annotations

import json
import re
from typing import Any

from msgspec.structs import replace

from toolparity.normalizer.conversation import Assistant, Message, Request
from toolparity.normalizer.model import Block, Opaque, ServerToolResult, Text, ToolCall

#: Members with the caller's own names.
_OWN_NAMES = (
    "args",
    "response",
    "parameters",
    "parametersJsonSchema",
    "responseSchema",
    "responseJsonSchema",
    "labels",
)


def meaning(request: Any) -> Any:
    """The request with every equivalent spelling made one."""
    told = _given(json.loads(request) if isinstance(request, str) else request)
    contents: list[Any] = []
    for given in _listed(told["contents"]):
        content = {**given, "parts": [part for part in _listed(given.get("parts")) if part != {"text": ""}]}
        if content.get("role") != "model":  # no role, or `function` of older versions
            content["role"] = "user"
        if not content["parts"]:
            continue
        for part in content["parts"]:
            if "functionCall" in part:  # the SDK for Go leaves out an empty object of arguments
                part["functionCall"].setdefault("args", {})
        if contents and contents[-1]["role"] == content["role"] == "user":
            contents[-1]["parts"] += content["parts"]  # one turn in several contents
        else:
            contents.append(content)
    told["contents"] = contents
    if "systemInstruction" in told:
        told["systemInstruction"]["parts"] = _listed(told["systemInstruction"].get("parts"))
    told["tools"] = sorted(_tools(told.get("tools")), key=lambda tool: json.dumps(tool, sort_keys=True))
    calling = told.get("toolConfig", {}).get("functionCallingConfig", {})
    if "mode" in calling:
        calling["mode"] = calling["mode"].upper()
    if told.get("generationConfig") == {}:
        del told["generationConfig"]
    return told


def _given(value: Any) -> Any:
    """Absent and None are the same, and the API accepts names in snake case and in camel case."""
    if isinstance(value, list):
        return [_given(item) for item in value]
    if not isinstance(value, dict):
        return value
    members = {_camel(name): member for name, member in value.items() if member is not None}
    return {name: member if name in _OWN_NAMES else _given(member) for name, member in members.items()}


def _camel(name: str) -> str:
    return re.sub(r"_([a-z])", lambda match: match[1].upper(), name)


def _listed(value: Any) -> list[Any]:
    """A repeated member with one item may leave out its list."""
    return value if isinstance(value, list) else [] if value is None else [value]


def _tools(tools: Any) -> list[Any]:
    """A tool is a holder: it does not matter which one holds a declaration or a hosted tool."""
    found: list[Any] = []
    for tool in _listed(tools):
        for name, value in tool.items():
            found += [[name, item] for item in (_listed(value) if name == "functionDeclarations" else [value])]
    return found


def erased(request: Request) -> Request:
    """The request with ``raw`` and ``extra`` emptied where canonical fields must carry the content.

    Signatures of texts and calls are in ``extra``, as no canonical field has them; they stay.
    """
    return replace(request, messages=[_erased_turn(turn) for turn in request.messages])


def _erased_turn(turn: Message) -> Message:
    if not isinstance(turn, Assistant):
        return turn
    choices = [replace(c, blocks=[_erased_block(b) for b in c.blocks], extra={}) for c in turn.response.choices]
    return Assistant(replace(turn.response, choices=choices, extra={}))


def _erased_block(block: Block) -> Block:
    if isinstance(block, (Opaque, ServerToolResult)):
        return block
    if isinstance(block, (Text, ToolCall)):
        return replace(block, extra={k: v for k, v in block.extra.items() if k == "thoughtSignature"})
    return block
