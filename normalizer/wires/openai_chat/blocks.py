"""Convert a chat message into canonical blocks, for complete bodies and for finished streams.

The wire does not order the members of a message. The canonical order is: reasoning, server calls, text and refusals,
client calls.
"""

from __future__ import annotations

from typing import Any

from ... import json_codec
from ...model import (
    DEAD_STOPS,
    Block,
    Choice,
    Opaque,
    Reasoning,
    Refusal,
    ServerToolCall,
    ServerToolResult,
    StopReason,
    Text,
    ToolCall,
)
from ..call_builder import CallBuilder
from ..decode_context import Context
from ..misplaced_arguments import mark_misplaced
from ..stop_reason import CUTS, effective_stop
from ..stop_words import reason_of
from ..traverse import members_except
from ..usage import usage_reader
from .routing import Doubts
from .schema import Body, Call, ChatMessage, Function, merged_extra

#: Stop reasons that a gateway also sends if it has no equivalent for its provider's `native_finish_reason` (GEM-02).
_NATURAL = frozenset((None, "end_turn", "tool_calls", "unknown"))

#: Types in Groq's `executed_tools` -> canonical names of server tools.
_EXECUTED = {"search": "web_search", "visit": "web_fetch", "python": "code_execution", "wolfram": "wolfram"}


def build_choice(
    builder: CallBuilder,
    message: ChatMessage,
    raw_stop: str | None,
    extra: dict[str, Any],
    broken_off: bool = False,
    functions: list[Function] | None = None,
    doubts: Doubts | None = None,
) -> Choice:
    """Return the canonical choice for one message.

    ``extra``: members of the choice that have no canonical field; members of the message may be added to it.
    ``broken_off``: the stream ended before this choice did, so its last call counts as cut off.
    ``functions``: replaces the message's `function_call`, because a stream may hold several.
    ``doubts``: the entries of `tool_calls` whose arguments may belong to another call.
    """
    reason = stop_reason(raw_stop, extra)
    blocks: list[Block] = []
    refusals = 0
    if message.reasoning_content or message.reasoning or message.reasoning_details:
        blocks.append(reasoning(message.reasoning_content, message.reasoning, message.reasoning_details))
    if message.executed_tools:
        blocks += _executed_tools(message.executed_tools)
    content = message.content
    if content:
        if isinstance(content, str):
            blocks.append(Text(content, message.annotations or []))
        else:
            blocks += content_parts(builder, content, message.annotations)
            refusals = sum(type(block) is Refusal for block in blocks)
    elif message.annotations:
        extra["annotations"] = message.annotations
    if message.refusal:
        blocks.append(Refusal(message.refusal))
        refusals += 1
    cut = broken_off or reason in CUTS
    positions = _calls(builder, message.tool_calls, blocks, cut) if message.tool_calls else {}
    if functions is None and message.function_call is not None:
        functions = [message.function_call]
    doubted = _functions(builder, functions, blocks, cut) if functions else ()
    if builder.seen:
        doubts = doubts or Doubts()
        strays, rivals = (
            {positions[number] for number in numbers if number in positions}
            for numbers in (doubts.strays, doubts.rivals)
        )
        mark_misplaced(builder.context, builder.choice, blocks, strays, rivals, doubted)
    return Choice(builder.choice, blocks, effective_stop(builder, reason, raw_stop, 0, refusals), extra)


def _calls(builder: CallBuilder, calls: list[Call], blocks: list[Block], cut: bool) -> dict[int, int]:
    """Append a block for each entry of `tool_calls` and return entry number -> block position.

    If ``cut``, the last call counts as cut off. Entries without name and arguments get no block (`nameless-call`).
    """
    last = calls[-1] if cut else None
    positions: dict[int, int] = {}
    for number, given in enumerate(calls):
        call = unwrapped(given, builder.context)
        id = call.id
        name, text, kind, extra = read_call(call, builder.context)
        if not (name or text or extra):
            entry = id or "an entry of tool_calls"
            builder.context.find(
                "nameless-call", f"{entry} has neither a name nor arguments; it is not a call", builder.choice
            )
            continue
        free_text = kind == "custom"
        if id in builder.seen and builder.repeats(id, name, text, free_text):
            continue
        positions[number] = len(blocks)
        blocks.append(builder.build(len(blocks), id, name, text, kind, extra, given is last, free_text=free_text))
    return positions


def _functions(builder: CallBuilder, functions: list[Function], blocks: list[Block], cut: bool) -> list[int]:
    """Append a block for each call that arrived as `function_call`. If ``cut``, the last one counts as cut off.

    A message holds only one `function_call`, so several of them get the kind of an entry of `tool_calls`. Returns the
    positions of calls from `tool_calls` that have no arguments and share their name with a `function_call`: the
    arguments may be theirs.
    """
    kind = "legacy_function" if len(functions) == 1 else "function"
    doubted = []
    for function in functions:
        text, rest = arguments_text(function, builder.context)
        # One gateway sends {"name": "", "arguments": ""} in every message. That is not a call.
        if not (function.name or text) or _duplicates_call(builder, function.name, text, blocks):
            continue
        doubted += [
            index
            for index, block in enumerate(blocks)
            if type(block) is ToolCall and block.name == function.name and not block.arguments
        ]
        ended = cut and function is functions[-1]
        blocks.append(builder.build(len(blocks), None, function.name, text, kind, merged_extra(rest), ended))
    return doubted


def _duplicates_call(builder: CallBuilder, name: str | None, text: str, blocks: list[Block]) -> bool:
    """Whether a `function_call` duplicates an entry of `tool_calls`. Reports `duplicate-call` if so."""
    from ...arguments import by_value  # imported lazily

    for block in blocks:
        if type(block) is not ToolCall or block.name != name:
            continue
        if block.arguments_text == text or by_value(block.arguments_text) == by_value(text):
            builder.context.find("duplicate-call", f"{name} is in both tool_calls and function_call", builder.choice)
            return True
    return False


def read_call(call: Call, context: Context) -> tuple[str | None, str, str, dict[str, Any] | None]:
    """Return name, argument text, kind and extra members of a function call or a custom call."""
    function, custom, extra = call.function, call.custom, call.extra_
    if function is not None and (custom is None or function.name):
        text, rest = arguments_text(function, context)
        return function.name, text, call.type or "function", merged_extra(extra, rest) if extra or rest else None
    if custom is not None:
        return custom.name, custom.input or "", "custom", merged_extra(extra, custom.extra_)
    return None, "", call.type or "function", merged_extra(extra)


def unwrapped(call: Call, context: Context) -> Call:
    """Move name and arguments that are members of the call itself, as on other wires, into a `function` object.

    Returns the same object if there are none. Reports `call-unwrapped` otherwise.
    """
    if call.extra_ is None or call.function is not None or call.custom is not None:
        return call
    rest = dict(call.extra_)
    name, arguments = rest.get("name", rest.get("function")), rest.get("arguments", rest.get("input"))
    if not isinstance(name, str) and arguments is None:
        return call
    for member in ("name", "function", "arguments", "input"):
        rest.pop(member, None)
    call_id = rest.get("call_id")
    id = call.id or (call_id if isinstance(call_id, str) else None)
    context.find_once("call-unwrapped")
    named = name if isinstance(name, str) else None
    if arguments is None or isinstance(arguments, str):
        function = Function(name=named, arguments=arguments)
    else:
        function = Function(extra_={"arguments": arguments}, name=named)
    return Call(extra_=rest or None, id=id, index=call.index, function=function)


def arguments_text(function: Function, context: Context) -> tuple[str, dict[str, Any]]:
    """Return the argument text and the other members of a function object.

    Arguments that are JSON but not text become compact JSON, with the finding `arguments-respelled` (failure ARG-02).
    """
    rest = dict(function.extra_ or ())
    if function.call_id is not None:
        rest["call_id"] = function.call_id
    if function.arguments is not None or "arguments" not in rest:
        return function.arguments or "", rest
    context.find("arguments-respelled", "the arguments are JSON, not text")
    return json_codec.text(rest.pop("arguments")), rest


def stop_reason(raw: str | None, extra: dict[str, Any]) -> StopReason | None:
    """Return the canonical stop reason; None if the wire has none or an empty one (failure FIN-08).

    If OpenRouter's `native_finish_reason` in ``extra`` means a failure or a cut-off response, it takes precedence over
    a regular finish reason.
    """
    reason = reason_of(raw) if raw else None
    native = extra.get("native_finish_reason") if extra else None
    if native and isinstance(native, str) and reason in _NATURAL:
        meant = reason_of(native)
        if meant in DEAD_STOPS or meant in CUTS:
            return meant
    return reason


def reasoning(text: str | None, other_text: str | None, details: list[Any] | None) -> Reasoning:
    """Build the reasoning block from `reasoning_content` (DeepSeek and most) or `reasoning` (OpenRouter, Groq).

    ``details``: OpenRouter's `reasoning_details`. They supply signature and encrypted data, and the text if there is no
    other.
    """
    extra: dict[str, Any] = {}
    if not text:
        text = other_text or ""
        if text:
            extra["member"] = "reasoning"
    if not details:
        return Reasoning(text, extra=extra)
    signature = encrypted = None
    texts = []
    for detail in details:
        if isinstance(detail, dict):
            signature = signature or _string(detail.get("signature"))
            encrypted = encrypted or _string(detail.get("data"))
            texts.append(_string(detail.get("text")) or _string(detail.get("summary")) or "")
    text = text or "".join(texts)
    extra["reasoning_details"] = details
    return Reasoning(text, signature, encrypted, bool(encrypted and not text), extra)


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _executed_tools(entries: list[Any]) -> list[Block]:
    """Convert Groq's `executed_tools` to server calls and results; they are never client calls (SRV-05)."""
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
        text = arguments if isinstance(arguments, str) else json_codec.text(arguments) if arguments is not None else ""
        done = entry.get("output") is not None
        blocks.append(ServerToolCall(id, tool, name, text, "completed" if done else None))
        blocks.append(ServerToolResult(id, tool, raw=entry))
    return blocks


def content_parts(
    builder: CallBuilder, content: list[Any] | dict[str, Any], annotations: list[Any] | None
) -> list[Block]:
    """Convert content that is a list of parts, or an object, to blocks with the reasoning first."""
    if isinstance(content, dict):
        # Some servers answer a JSON-mode request with the object itself instead of its text.
        return [Text(json_codec.text(content), annotations or [])]
    thinking: list[Block] = []
    rest: list[Block] = []
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if isinstance(part, str):
            rest.append(Text(part))
        elif kind == "text" and isinstance(part.get("text"), str):
            rest.append(Text(part["text"], extra=members_except(part, "type", "text")))
        elif kind == "thinking":
            thinking.append(_thinking(part))
        elif kind == "refusal" and isinstance(part.get("refusal"), str):
            rest.append(Refusal(part["refusal"]))
        else:
            builder.context.find("unknown-block", f"content part {kind!r}", builder.choice)
            rest.append(Opaque(kind if isinstance(kind, str) else "", part))
    if annotations and rest and isinstance(rest[-1], Text):
        rest[-1] = Text(rest[-1].text, annotations, rest[-1].extra)
    return thinking + rest


def _thinking(part: dict[str, Any]) -> Reasoning:
    thoughts = part.get("thinking")
    extra = {"member": "content", **members_except(part, "type", "thinking")}
    if isinstance(thoughts, str):
        return Reasoning(thoughts, extra={**extra, "thinking": thoughts})
    texts = [t.get("text") for t in thoughts if isinstance(t, dict)] if isinstance(thoughts, list) else []
    if len(texts) != 1 or thoughts != [{"type": "text", "text": texts[0]}]:
        extra["thinking"] = thoughts  # has to go back unchanged
    return Reasoning("".join(t for t in texts if isinstance(t, str)), extra=extra)


def usage_beside(body: Body) -> dict[str, Any] | None:
    """Return usage that is not a member of the body: from `x_groq` (Groq) or a choice (Moonshot). None if absent."""
    figures = body.x_groq.get("usage") if isinstance(body.x_groq, dict) else None
    for choice in body.choices or ():
        figures = choice.usage or figures
    return figures if isinstance(figures, dict) else None


#: Return the canonical usage; None if there is none.
usage = usage_reader(
    ("prompt_tokens", "input_tokens"),
    ("completion_tokens", "output_tokens"),
    "prompt_tokens_details",
    "completion_tokens_details",
    cached=("prompt_cache_hit_tokens", "cache_read_input_tokens", "cached_tokens", "num_cached_tokens"),
    written=("cache_creation_input_tokens",),
    reasoning=("reasoning_tokens",),
)
