"""Conversion of Gemini's parts to canonical blocks, for whole responses and finished streams."""

from __future__ import annotations

from typing import Any

from ... import json_codec
from ...model import Block, Opaque, Reasoning, ServerToolCall, ServerToolResult, Text, ToolCall, Usage
from ..call_builder import CallBuilder
from ..schema import exact_text
from ..usage import first_int
from . import schema as s
from .partial_args import argument_text

#: Canonical tools of the types of server calls (`google.genai.types.ToolType`).
TOOLS = {
    "GOOGLE_SEARCH_WEB": "web_search",
    "GOOGLE_SEARCH_IMAGE": "image_search",
    "URL_CONTEXT": "web_fetch",
    "GOOGLE_MAPS": "maps",
    "FILE_SEARCH": "file_search",
    "MEDIA_PROCESSING": "media_processing",
}
#: Canonical tools of what the model or its code produced beside text, by the first part of the MIME type.
_MADE = {"image": "image_generation", "audio": "audio_generation", "video": "video_generation"}
_SUCCEEDED = frozenset((None, "OUTCOME_OK", "OUTCOME_UNSPECIFIED"))


def add_part(builder: CallBuilder, part: s.Part, blocks: list[Block], cut: bool) -> None:
    """Append the block of a part to ``blocks``. ``cut``: the response was cut inside this part.

    A part has one member with data. If there are more, each becomes a block, and none is lost.
    """
    extra = s.carry_part(part)
    data = _NOTHING
    if not _OF_SERVER.isdisjoint(extra):
        data = {name: extra.pop(name) for name in s.SERVER if isinstance(extra.get(name), dict)}
    call, text = part.function_call, part.text
    if part.thought is not None and text is None:
        extra["thought"] = part.thought
    if text is not None:
        if part.thought:
            blocks.append(Reasoning(text, extra.pop("thoughtSignature", None), extra=extra))
        elif text or extra:  # an answer without words has an empty text, of which a stream shows nothing
            blocks.append(Text(text, [], extra))
        extra = {}
    if call is not None:
        built = _call(builder, call, extra, len(blocks), cut)
        if built is not None:
            blocks.append(built)
        extra = {}
    for member, value in data.items():
        blocks.append(_server_block(member, value, extra, blocks))
        extra = {}
    if extra:
        blocks.append(_without_data(builder, extra))


_NOTHING: dict[str, Any] = {}
_OF_SERVER = frozenset(s.SERVER)


def regular_call(builder: CallBuilder, part: s.Part) -> ToolCall | None:
    """Return the call of a part that has nothing else but a signature, as nearly all parts with calls.

    Returns None, without any effect, for a part that `add_part` has to examine.
    """
    call = part.function_call
    if call is None or not call.id or call.extra_ is not None or part.extra_ is not None or builder.context.respelled:
        return None
    if part.text is not None or part.thought is not None or call.partial_args is not None or call.will_continue:
        return None
    extra = s.carry_beside_call(part)
    if extra and (len(extra) > 1 or "thoughtSignature" not in extra):
        return None
    return builder.regular_call(call.id, call.name, exact_text(call.args), extra=extra)


def _call(builder: CallBuilder, call: s.FunctionCall, extra: dict[str, Any], index: int, cut: bool) -> ToolCall | None:
    if call.extra_ is not None:
        extra = {**extra, **call.extra_}
    text = text_of(call)
    if call.partial_args is not None or (text and builder.context.respelled):
        builder.context.find("arguments-respelled", "", builder.choice, index)
    if call.id in builder.seen and builder.repeats(call.id, call.name, text):
        return None
    cut = cut or call.will_continue is True
    if not (call.id or cut):
        regular = builder.regular_without_id(index, call.name, text, extra)
        if regular is not None:
            return regular
    return builder.build(index, call.id, call.name, text, extra=extra, cut=cut)


def text_of(call: s.FunctionCall) -> str:
    """Return the argument text of a call, which its streamed arguments complete.

    Streamed arguments that are not a list of objects give their own JSON, which cannot run.
    """
    text = exact_text(call.args) if memoryview(call.args) else ""
    unread = (call.extra_ or {}).get("partialArgs")
    if unread is not None:
        return json_codec.text([*(call.partial_args or ()), unread])
    return text if call.partial_args is None else argument_text(text, call.partial_args)


def _server_block(member: str, data: dict[str, Any], extra: dict[str, Any], before: list[Block]) -> Block:
    """Convert data that the provider, its tools or its model's other modalities produced."""
    id = data.get("id")
    id = id if isinstance(id, str) else ""
    if member == "executableCode":
        arguments = {name: value for name, value in data.items() if name != "id"}
        return ServerToolCall(id, "code_execution", member, json_codec.text(arguments), None, extra)
    if member == "toolCall":
        return _tool_call(id, data, extra)
    return ServerToolResult(id, _tool(member, data, before), _failed(member, data), {member: data}, extra)


def _tool_call(id: str, data: dict[str, Any], extra: dict[str, Any]) -> ServerToolCall:
    kind, arguments = data.get("toolType"), data.get("args")
    others = {name: value for name, value in data.items() if name not in ("id", "toolType", "args")}
    if others:
        extra = {**extra, "toolCall": others}
    text = "" if arguments is None else json_codec.text(arguments)
    return ServerToolCall(id, tool_of(kind), kind if isinstance(kind, str) else "", text, None, extra)


def tool_of(kind: Any) -> str:
    """Return the canonical tool of a ``toolType``."""
    return TOOLS.get(kind, kind.lower()) if isinstance(kind, str) else ""


def _tool(member: str, data: dict[str, Any], before: list[Block]) -> str:
    """Return the canonical tool of a result. ``before``: the blocks before it."""
    if member == "codeExecutionResult":
        return "code_execution"
    if member == "toolResponse":
        return tool_of(data.get("toolType"))
    if member == "audioTranscription":
        return "audio_transcription"
    if member == "functionResponse":
        name = data.get("name")
        return name if isinstance(name, str) else ""
    last = before[-1] if before else None
    if isinstance(last, ServerToolResult) and last.tool == "code_execution":  # a plot that the code drew
        return "code_execution"
    kind = data.get("mimeType")
    return _MADE.get(kind.partition("/")[0], "file_generation") if isinstance(kind, str) else "file_generation"


def _failed(member: str, data: dict[str, Any]) -> bool:
    if member == "codeExecutionResult":
        outcome = data.get("outcome")
        return isinstance(outcome, str) and outcome not in _SUCCEEDED
    return member == "toolResponse" and isinstance(data.get("response"), dict) and "error" in data["response"]


def _without_data(builder: CallBuilder, extra: dict[str, Any]) -> Block:
    """Convert a part without any known data: a signature alone, or a type of part that is not known yet."""
    signature = extra.get("thoughtSignature")
    if isinstance(signature, str) and extra.keys() <= {"thoughtSignature", "thought"}:
        thought = {"thought": True} if extra.get("thought") else {}
        return Reasoning("", signature, extra={"member": "thoughtSignature", **thought})
    kind = next((name for name in extra if name not in ("thought", "thoughtSignature")), "")
    if kind != "audio":
        builder.context.find_once("unknown-block", f"part {kind!r}")
    return Opaque(kind, extra)


def annotated(blocks: list[Block], citations: Any, grounding: Any) -> tuple[list[Block], dict[str, Any]]:
    """Return the blocks with citations as annotations of the text, and the members of the metadata that are left.

    ``citations``: the ``citationMetadata`` of the candidate. ``grounding``: its ``groundingMetadata``, whose supports
    are citations. They belong to the part that their ``segment`` names, or else to the last text.
    """
    listed, rest = _split(citations, "citationMetadata", "citations")
    supports, more = _split(grounding, "groundingMetadata", "groundingSupports")
    texts = [index for index, block in enumerate(blocks) if type(block) is Text]
    if not texts or not (listed or supports):
        kept = {"citationMetadata": citations, "groundingMetadata": grounding}
        return blocks, {name: value for name, value in kept.items() if value is not None}
    by_block: dict[int, list[Any]] = {}
    for annotation in [*listed, *supports]:
        by_block.setdefault(_cited(annotation, texts), []).append(annotation)
    blocks = blocks[:]
    for index, cited in by_block.items():
        block = blocks[index]
        assert type(block) is Text
        blocks[index] = Text(block.text, cited, block.extra)
    return blocks, {**rest, **more}


def _split(metadata: Any, name: str, member: str) -> tuple[list[Any], dict[str, Any]]:
    """Return the list ``member`` of the metadata, and the metadata without it under its name, unless it is empty."""
    if not isinstance(metadata, dict):
        return [], {}
    listed = metadata.get(member)
    if not isinstance(listed, list):
        return [], {name: metadata} if metadata else {}
    rest = {key: value for key, value in metadata.items() if key != member}
    return listed, {name: rest} if rest else {}


def _cited(annotation: Any, texts: list[int]) -> int:
    segment = annotation.get("segment") if isinstance(annotation, dict) else None
    index = segment.get("partIndex") if isinstance(segment, dict) else None
    return index if index in texts else texts[-1]


_COUNT = frozenset((int, type(None)))


def usage(figures: dict[str, Any] | None) -> Usage | None:
    """Convert token usage. Gemini counts tool results apart from the prompt, and thoughts apart from the answer."""
    if not figures:
        return None
    get = figures.get
    prompt, answer = get("promptTokenCount"), get("candidatesTokenCount")
    thoughts, cached = get("thoughtsTokenCount"), get("cachedContentTokenCount")
    regular = type(prompt) is int and type(answer) in _COUNT and type(thoughts) in _COUNT and type(cached) in _COUNT
    if regular and get("toolUsePromptTokenCount") is None:
        return Usage(prompt, answer if thoughts is None else (answer or 0) + thoughts, thoughts, cached, None, figures)
    prompt, results = first_int(figures, ("promptTokenCount",)), first_int(figures, ("toolUsePromptTokenCount",))
    answer, thoughts = first_int(figures, ("candidatesTokenCount",)), first_int(figures, ("thoughtsTokenCount",))
    return Usage(
        prompt if results is None else (prompt or 0) + results,
        answer if thoughts is None else (answer or 0) + thoughts,
        thoughts,
        first_int(figures, ("cachedContentTokenCount",)),
        None,
        figures,
    )
