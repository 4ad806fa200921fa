"""From what a chat message says to canonical blocks: shared by whole bodies and by finished streams.

The wire does not order its parts, so the canonical order is the design's: reasoning, then what the provider executed
itself, then text and refusal, then calls.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from ... import jsontext
from ...model import (
    Block,
    Choice,
    Opaque,
    Reasoning,
    Refusal,
    ServerToolCall,
    ServerToolResult,
    StopReason,
    Text,
    Usage,
)
from ..common import CallSite, is_cut, settle, total

#: `finish_reason` of OpenAI (`openai.types.chat.chat_completion.Choice`) and, below the line, of its dialects.
STOPS: dict[str, StopReason] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    # dialects
    "tool_call": "tool_calls",  # Together
    "tool_use": "tool_calls",  # gateways before Anthropic
    "eos": "end_turn",  # Together
    "end_turn": "end_turn",
    "stop_sequence": "stop_sequence",
    "max_tokens": "max_tokens",
    "model_length": "context_window",  # Mistral
    "error": "error",  # OpenRouter, Mistral
    "insufficient_system_resource": "error",  # DeepSeek
    "refusal": "refusal",
    "safety": "content_filter",
}
#: Gemini's reasons that OpenRouter passes on in `native_finish_reason` (failure GEM-02).
_MALFORMED = ("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL")

#: Groq's names for what its compound models ran, in canonical terms.
_EXECUTED = {"search": "web_search", "visit": "web_fetch", "python": "code_execution", "wolfram": "wolfram"}


class Entry(Struct, gc=False):
    """One call as the wire gave it, its fragments already joined."""

    id: str | None
    name: str | None
    text: str
    kind: str = "function"
    extra: dict[str, Any] | None = None


class Said(Struct, gc=False):
    """Everything one message said, by part."""

    calls: list[Entry]
    content: str | list[Any] | dict[str, Any] | None = None
    reasoning: str | None = None
    reasoning_member: str = "reasoning_content"
    details: list[Any] | None = None
    refusal: str | None = None
    annotations: list[Any] | None = None
    executed: list[Any] | None = None


def finish(
    site: CallSite,
    said: Said,
    raw_stop: str | None,
    extra: dict[str, Any],
) -> Choice:
    """The canonical choice."""
    reason = stop_reason(raw_stop, extra)
    blocks: list[Block] = []
    if said.reasoning or said.details:
        blocks.append(_reasoning(said))
    if said.executed:
        blocks += _executed(said.executed)
    content = said.content
    if content:
        if type(content) is str:
            blocks.append(Text(content, said.annotations or []))
        else:
            blocks += _content_parts(site, content, said.annotations)
    elif said.annotations:
        extra["annotations"] = said.annotations
    if said.refusal:
        blocks.append(Refusal(said.refusal))
    if said.calls:
        last = len(said.calls) - 1 if is_cut(reason) else -1
        for number, entry in enumerate(said.calls):
            if entry.id in site.seen and site.repeats(entry.id, entry.name, entry.text):
                continue
            blocks.append(
                site.build(
                    len(blocks),
                    entry.id,
                    entry.name,
                    entry.text,
                    kind=entry.kind,
                    extra=entry.extra,
                    cut=number == last,
                    free_text=entry.kind == "custom",
                )
            )
    return Choice(site.choice, blocks, settle(site.context, site.choice, blocks, reason, raw_stop), extra)


def stop_reason(raw: str | None, extra: dict[str, Any]) -> StopReason | None:
    """The wire's word mapped; null where it gave none ("" counts as none, failure FIN-08)."""
    if extra and extra.get("native_finish_reason") in _MALFORMED:
        return "malformed_call"
    return STOPS.get(raw, "unknown") if raw else None


def _reasoning(said: Said) -> Reasoning:
    details = said.details
    text = said.reasoning or ""
    if not details:
        extra: dict[str, Any] = {} if said.reasoning_member == "reasoning_content" else {"member": said.reasoning_member}
        return Reasoning(text, extra=extra)
    signature = encrypted = None
    spoken = []
    for detail in details:
        if isinstance(detail, dict):
            signature = signature or _string(detail.get("signature"))
            encrypted = encrypted or _string(detail.get("data"))
            spoken.append(_string(detail.get("text")) or _string(detail.get("summary")) or "")
    text = text or "".join(spoken)
    extra = {"reasoning_details": details}
    if said.reasoning:
        extra["member"] = said.reasoning_member
    return Reasoning(text, signature, encrypted, redacted=bool(encrypted and not text), extra=extra)


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _executed(entries: list[Any]) -> list[Block]:
    """Groq's compound models list what they ran beside the answer: hosted calls, never the caller's (SRV-05)."""
    blocks: list[Block] = []
    for number, entry in enumerate(entries):
        if not isinstance(entry, dict):
            blocks.append(Opaque("executed_tools", entry))
            continue
        index = entry.get("index")
        id = f"executed_{index if isinstance(index, int) else number}"
        name = _string(entry.get("name")) or _string(entry.get("type")) or ""
        tool = _EXECUTED.get(_string(entry.get("type")) or "", name)
        arguments = entry.get("arguments")
        text = arguments if isinstance(arguments, str) else jsontext.text(arguments) if arguments is not None else ""
        done = entry.get("output") is not None
        blocks.append(ServerToolCall(id, tool, name, text, "completed" if done else None))
        blocks.append(ServerToolResult(id, tool, raw=entry))
    return blocks


def _content_parts(site: CallSite, content: list[Any] | dict[str, Any], annotations: list[Any] | None) -> list[Block]:
    """Content as parts (Mistral's thinking and text; others' objects), reasoning first as the wire's order is free."""
    if isinstance(content, dict):
        # A server that answers a JSON-mode request with the object itself: its text is the JSON.
        return [Text(jsontext.text(content), annotations or [])]
    thinking: list[Block] = []
    rest: list[Block] = []
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if isinstance(part, str):
            rest.append(Text(part))
        elif kind == "text" and isinstance(part.get("text"), str):
            rest.append(Text(part["text"], extra=_rest(part, "type", "text")))
        elif kind == "thinking":
            thinking.append(_thinking(part))
        elif kind == "refusal" and isinstance(part.get("refusal"), str):
            rest.append(Refusal(part["refusal"]))
        else:
            site.context.find("unknown-block", f"content part {kind!r}", site.choice)
            rest.append(Opaque(kind if isinstance(kind, str) else "", part))
    if annotations and rest and isinstance(rest[-1], Text):
        rest[-1] = Text(rest[-1].text, annotations, rest[-1].extra)
    return thinking + rest


def _thinking(part: dict[str, Any]) -> Reasoning:
    thoughts = part.get("thinking")
    extra = {"member": "content", **_rest(part, "type", "thinking")}
    if isinstance(thoughts, str):
        return Reasoning(thoughts, extra=extra)
    texts = [t.get("text") for t in thoughts if isinstance(t, dict)] if isinstance(thoughts, list) else []
    return Reasoning("".join(t for t in texts if isinstance(t, str)), extra=extra)


def _rest(part: dict[str, Any], *known: str) -> dict[str, Any]:
    return {key: value for key, value in part.items() if key not in known and value is not None}


def usage(figures: dict[str, Any] | None) -> Usage | None:
    """Canonical figures. xAI's REST completion_tokens leave reasoning out, told by the wire's own total."""
    if not figures:
        return None
    read, wrote = figures.get("prompt_tokens_details"), figures.get("completion_tokens_details")
    read = read if isinstance(read, dict) else {}
    wrote = wrote if isinstance(wrote, dict) else {}
    given = total(figures, "prompt_tokens", "input_tokens")
    output = total(figures, "completion_tokens", "output_tokens")
    reasoning = total(wrote, "reasoning_tokens")
    if reasoning is None:
        reasoning = total(figures, "reasoning_tokens")
    cached = total(read, "cached_tokens")
    if cached is None:
        cached = total(figures, "prompt_cache_hit_tokens", "cache_read_input_tokens", "cached_tokens", "num_cached_tokens")
    written = total(read, "cache_write_tokens")
    if written is None:
        written = total(figures, "cache_creation_input_tokens")
    if reasoning and output is not None and given is not None:
        if total(figures, "total_tokens") == given + output + reasoning:
            output += reasoning
    return Usage(given, output, reasoning, cached, written, figures)
