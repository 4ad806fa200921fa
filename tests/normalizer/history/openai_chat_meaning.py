"""When two requests of Chat Completions mean the same: key order and equivalent spellings only.

The equivalences, each with its reason:

* a member that is None = a member that is absent (the API reads both as "not said");
* content as a string = a list of one text part without other members (the API's reference says so);
* an assistant's content null, "", [] or absent = one another (nothing is said in words; providers differ in which of
  them they take);
* empty ``annotations``, ``tool_calls``, ``refusal``, ``reasoning`` and ``reasoning_content`` = none;
* results that follow one message in any order = in the order of their ids (each names its call);
* a call or tool without ``type`` = one of type "function" (the old spelling);
* ``index`` of a call in a history = none (left over from a stream; the list has an order);
* ``tool_choice`` "any" = "required" (Mistral's word for it);
* an ``image_url`` or ``document_url`` that is a plain string = an object with that ``url`` (Mistral takes both).

After erasing (`erased`), the canonical fields alone are left, so these are the same too:

* ``reasoning`` and ``reasoning_content`` (two names for one member; a gateway sends both with one text);
* ``reasoning_details`` by what they say: their text, signature and data; text alone = ``reasoning``;
* one thought in several pieces of text = their words joined (Mistral).
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

from msgspec.structs import replace

from toolparity.normalizer.conversation import Assistant, Message, Request
from toolparity.normalizer.model import Block, Opaque, ServerToolResult
from toolparity.normalizer.wires.write_context import AS_WRITTEN

_EMPTY_IS_NONE = ("annotations", "tool_calls", "refusal", "reasoning", "reasoning_content")
_LINKS = ("image_url", "document_url")


def meaning(body: dict[str, Any], *, erased: bool = False) -> dict[str, Any]:
    """The body without what makes no difference."""
    plain = _given(body)
    plain["messages"] = _sorted_results([_message(message, erased) for message in body["messages"]])
    if isinstance(plain.get("tools"), list):
        plain["tools"] = [{"type": "function", **_given(tool)} for tool in plain["tools"]]
    if plain.get("tool_choice") == "any":
        plain["tool_choice"] = "required"
    return plain


def _given(members: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in members.items() if value is not None}


def _sorted_results(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    runs = groupby(messages, key=lambda message: message["role"] == "tool")
    return [m for results, run in runs for m in (sorted(run, key=_answered) if results else run)]


def _answered(message: dict[str, Any]) -> str:
    return str(message.get("tool_call_id"))


def _message(message: dict[str, Any], erased: bool) -> dict[str, Any]:
    plain = _given(message)
    content = plain.get("content")
    if isinstance(content, str) and content:
        plain["content"] = [{"type": "text", "text": content}]
    elif isinstance(content, list):
        plain["content"] = [_part(part) for part in content]
    if message["role"] == "assistant":
        if not plain.get("content"):
            plain.pop("content", None)
        for member in _EMPTY_IS_NONE:
            if member in plain and not plain[member]:
                del plain[member]
        if "tool_calls" in plain:
            plain["tool_calls"] = [_call(call) for call in plain["tool_calls"]]
        if erased:
            _reasoning(plain)
            plain["content"] = [_thought(part) for part in plain.get("content", ())]
    return plain


def _part(part: Any) -> Any:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind in _LINKS and isinstance(part[kind], str):
        return {**part, kind: {"url": part[kind]}}
    return part


def _call(call: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", **{key: value for key, value in _given(call).items() if key != "index"}}


def _reasoning(plain: dict[str, Any]) -> None:
    spoken = [plain.pop(name) for name in ("reasoning_content", "reasoning") if name in plain]
    said = [
        {name: detail[name] for name in ("text", "summary", "signature", "data") if detail.get(name)}
        for detail in plain.pop("reasoning_details", ())
    ]
    if any(detail.keys() - {"text"} for detail in said):
        plain["reasoning_details"] = said
    elif said or spoken:
        plain["reasoning"] = spoken[0] if spoken else "".join(detail["text"] for detail in said)


def _thought(part: Any) -> Any:
    if not isinstance(part, dict) or part.get("type") != "thinking":
        return part
    return {"type": "thinking", "thinking": "".join(piece["text"] for piece in part["thinking"])}


def erased(request: Request) -> Request:
    """The request with ``raw`` and ``extra`` gone from every block of a known type, and no note of spellings."""
    return replace(request, messages=[_erased(turn) for turn in request.messages])


def _erased(turn: Message) -> Message:
    if not isinstance(turn, Assistant):
        return turn
    choices = [replace(c, blocks=[_bare(b) for b in c.blocks], extra={}) for c in turn.response.choices]
    extra = {key: value for key, value in turn.extra.items() if key != AS_WRITTEN}
    return Assistant(replace(turn.response, choices=choices, extra={}), extra)


def _bare(block: Block) -> Block:
    if isinstance(block, Opaque):
        return block
    if isinstance(block, ServerToolResult):
        return replace(block, raw=None, extra={})
    return replace(block, extra={})
