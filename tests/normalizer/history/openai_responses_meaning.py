"""When two Responses request bodies mean the same: key order and equivalent spellings only.

The equivalences, each with its reason:

* a member that is None = a member that is absent (the API reads both as "not said");
* ``input`` as a string = one user message with that string (the API's reference says so);
* ``type: "message"`` on a message = none (its type is optional there);
* empty ``annotations`` and ``logprobs`` of a text = none (nothing is said by an empty list);
* no ``summary`` of a reasoning item = an empty one (some servers leave it out of answers, requests have to have it);
* an empty list of ``tools`` = none (no tool is declared either way).

After erasing (`erased`), the canonical fields alone are left, so what a block holds in ``extra`` is not compared:
item ids of messages and reasoning, ``status``, ``phase``, how a thought is divided into summary parts. What the model
said and did is: its words, thoughts, encrypted state, calls with ids and exact arguments, in order. Adjacent messages
of the assistant's count as one, and a stored thought without words and without encrypted content as none: it is
nothing but its id.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from toolparity.normalizer.conversation import Assistant, Message, Request
from toolparity.normalizer.model import Block, Opaque, ServerToolResult

_MESSAGE_ROLES = ("user", "system", "developer")


def meaning(body: dict[str, Any], *, erased: bool = False) -> dict[str, Any]:
    """The body without what makes no difference."""
    plain: dict[str, Any] = _without_nulls({k: v for k, v in body.items() if k != "input"})
    if plain.get("tools") == []:
        del plain["tools"]
    given = body.get("input")
    if isinstance(given, str):
        given = [{"role": "user", "content": given}]
    if isinstance(given, list):
        items = [_item(item) for item in given]
        plain["input"] = _canonical(items) if erased else items
    elif given is not None:
        plain["input"] = given
    return plain


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_nulls(v) for k, v in value.items() if v is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _item(item: Any) -> Any:
    plain = _without_nulls(item)
    if not isinstance(plain, dict):
        return plain
    if plain.get("type") == "reasoning":
        plain.setdefault("summary", [])
    if plain.get("type", "message") == "message":
        plain.pop("type", None)
        if isinstance(plain.get("content"), list):
            plain["content"] = [_part(part) for part in plain["content"]]
    return plain


def _part(part: Any) -> Any:
    if not isinstance(part, dict):
        return part
    return {k: v for k, v in part.items() if k not in ("annotations", "logprobs") or v != []}


def _canonical(items: list[Any]) -> list[Any]:
    view: list[Any] = []
    for item in items:
        kind = item.get("type", "message") if isinstance(item, dict) else None
        if kind == "message" and item.get("role") == "assistant":
            said = _said(item["content"])
            if view and isinstance(view[-1], dict) and view[-1].get("role") == "assistant":
                view[-1] = {"role": "assistant", "said": view[-1]["said"] + said}
            else:
                view.append({"role": "assistant", "said": said})
        elif kind == "reasoning":
            parts = item.get("content") or item.get("summary") or []
            thought = {
                "type": kind,
                "words": "\n\n".join(part["text"] for part in parts),
                "encrypted": item.get("encrypted_content"),
            }
            if thought["words"] or thought["encrypted"]:
                view.append(thought)
        elif isinstance(kind, str) and (kind.endswith("_call") or kind == "program"):
            view.append({k: v for k, v in item.items() if k not in ("status", "async", "agent", "created_by")})
        else:
            view.append(item)
    return view


def _said(content: Any) -> list[Any]:
    """The words as pieces: text, refusals and citations, however they are divided into parts."""
    if isinstance(content, str):
        return [content] if content else []
    pieces: list[Any] = []
    for part in content:
        if part.get("type") == "refusal":
            pieces.append({"refusal": part["refusal"]})
        else:
            pieces += [part["text"]] if part.get("text") else []
            pieces += part.get("annotations") or []
    return pieces


def erased(request: Request, *, results: bool = True) -> Request:
    """The request with ``raw`` and ``extra`` emptied on every block of a known type.

    ``results``: also the ``raw`` of a server's results, which is the canonical field for the result of a call.
    """
    return replace(request, messages=[_erased_turn(turn, results) for turn in request.messages])


def _erased_turn(turn: Message, results: bool) -> Message:
    if not isinstance(turn, Assistant):
        return turn
    choices = [
        replace(c, blocks=[_erased_block(b, results) for b in c.blocks], extra={}) for c in turn.response.choices
    ]
    return Assistant(replace(turn.response, choices=choices, extra={}))


def _erased_block(block: Block, results: bool) -> Block:
    if isinstance(block, Opaque):
        return block
    if isinstance(block, ServerToolResult):
        return replace(block, raw=None if results else block.raw, extra={})
    return replace(block, extra={})
