"""What must hold when a conversation is handed from one wire to another: for tests of made and recorded ones alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from types import GeneratorType
from typing import Any

from anthropic.types.beta import BetaMessageParam, BetaTextBlockParam, BetaToolChoiceParam, BetaToolUnionParam
from botocore.validate import ParamValidator
from cohere import ChatMessageV2, ToolV2
from google.genai import types as gemini
from google.genai.interactions import CreateModelInteraction
from google.protobuf.message import Message
from msgspec.structs import replace
from ollama._types import ChatRequest, Image, Tool
from ollama._types import Message as OllamaMessage
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from openai.types.responses.response_create_params import ToolChoice as ResponsesToolChoice
from openai.types.responses.response_input_param import ResponseInputItemParam
from openai.types.responses.tool_param import ToolParam
from pydantic import TypeAdapter
from xai_sdk.proto import chat_pb2

from tests.normalizer.history.views import Said, said, value
from tests.support.sdk_types import bedrock_shape
from tests.support.wires import WIRES
from toolparity import Choice, Opaque, Reasoning, Refusal, ServerToolCall, ServerToolResult, Text, ToolCall
from toolparity.normalizer.conversation import (
    Assistant,
    Encoded,
    Loss,
    MediaPart,
    OpaquePart,
    RawItem,
    Request,
    System,
    ToolResults,
    User,
)
from toolparity.normalizer.model import ApprovalRequest, Block
from toolparity.normalizer.pairing import paired
from toolparity.normalizer.wires.registry import spec
from toolparity.normalizer.wires.write_context import LOSSES

PROVIDERS = {wire: spec(wire).owner for wire in WIRES}
_BY_NAME = frozenset(("function", "custom", "legacy_function"))
_SPOKEN = frozenset(("system", "user", "assistant", "result"))


# The target SDK's types


def _types() -> dict[str, dict[str, Any]]:
    return {
        "openai.chat": {"": TypeAdapter(CompletionCreateParamsNonStreaming)},
        "openai.responses": {
            "input": TypeAdapter(list[ResponseInputItemParam]),
            "tools": TypeAdapter(list[ToolParam]),
            "tool_choice": TypeAdapter(ResponsesToolChoice),
        },
        "google.interactions": {"": TypeAdapter(CreateModelInteraction)},
        "anthropic.messages": {
            "messages": TypeAdapter(list[BetaMessageParam]),
            "system": TypeAdapter(str | list[BetaTextBlockParam]),
            "tools": TypeAdapter(list[BetaToolUnionParam]),
            "tool_choice": TypeAdapter(BetaToolChoiceParam),
        },
        "google.gemini": {
            "contents": TypeAdapter(list[gemini.Content]),
            "systemInstruction": TypeAdapter(gemini.Content),
            "tools": TypeAdapter(list[gemini.Tool]),
            "toolConfig": TypeAdapter(gemini.ToolConfig),
            "generationConfig": TypeAdapter(gemini.GenerationConfig),
        },
        "cohere.chat": {"messages": TypeAdapter(list[ChatMessageV2]), "tools": TypeAdapter(list[ToolV2])},
        "ollama.chat": {
            "": TypeAdapter(ChatRequest),
            "messages": TypeAdapter(list[OllamaMessage]),
            "tools": TypeAdapter(list[Tool]),
        },
    }


_adapters: dict[str, dict[str, Any]] = {}


def assert_the_sdk_takes_it(wire: str, body: Any) -> None:
    """Raises where the types of the target's own SDK refuse the body."""
    if wire == "xai.grpc":
        assert isinstance(body, Message)
        chat_pb2.GetCompletionsRequest.FromString(body.SerializeToString())
        return
    if wire == "bedrock.converse":
        report = ParamValidator().validate({"modelId": "m", **body}, bedrock_shape("ConverseRequest"))
        assert not report.has_errors(), report.generate_report()
        return
    if not _adapters:
        _adapters.update(_types())
    if wire == "openai.responses":
        body = {**body, "input": [_with_id(item) for item in body.get("input", ())]}
    if wire == "ollama.chat":
        body = {**body, "messages": [_with_images(message) for message in body["messages"]]}
    for member, adapter in _adapters[wire].items():
        if not member:
            _exhaust(adapter.validate_python({k: v for k, v in body.items() if k not in ("stream", "stream_options")}))
        elif member in body:
            _exhaust(adapter.validate_python(body[member]))


def _with_id(item: Any) -> Any:
    """The SDK's types of an assistant's message in parts and of a thought demand an id, which the API does not."""
    if item.get("role") == "assistant" and isinstance(item.get("content"), list):
        return {"id": "msg_1", "status": "completed", **item}
    if item.get("type") == "reasoning":
        return {"id": "rs_1", **item}
    return item


def _with_images(message: Any) -> Any:
    """The SDK's client wraps images before it validates the messages."""
    images = message.get("images")
    return {**message, "images": [Image(value=image) for image in images]} if images else message


def _exhaust(given: Any) -> None:
    """Pydantic validates what the SDKs call an iterable only while it is iterated."""
    if isinstance(given, dict):
        given = list(given.values())
    if isinstance(given, (list, tuple, GeneratorType, Iterator)):
        for item in given:
            _exhaust(item)


# Nothing is missing


def missing(request: Request, source: list[Said], encoded: Encoded) -> list[str]:
    """What the source says, the target does not, and no loss reports; a line each."""
    target = said(encoded.wire, encoded.body)
    lost = Counter(loss.code for loss in encoded.losses)
    found = _calls(request, encoded, target, lost) + _results(request, encoded, target)
    spoken = [one.text for one in target if one.kind in _SPOKEN]
    whole = "\n".join(spoken)
    thoughts = "\n".join(one.text for one in target if one.kind == "reasoning")
    excused = {"orphan", "duplicate-answer", "opaque", "server-tool", "param"} & set(lost)
    for one in source:
        # An image between the texts of a result may be replaced by a note there.
        texts = one.text.strip().splitlines() if one.kind == "result" else [one.text.strip()]
        if one.kind in _SPOKEN and not all(text in whole for text in texts) and not excused:
            found.append(f"{one.kind}: {one.text[:60]!r}")
        if one.kind == "reasoning" and one.text not in thoughts and not {"reasoning", "unsigned-reasoning"} & set(lost):
            found.append(f"reasoning: {one.text[:60]!r}")
    media = [sum(one.kind == "media" for one in of) for of in (source, target)]
    if media[0] > media[1] and not {"media", "opaque", "order"} & set(lost):
        found.append(f"{media[0] - media[1]} images or files")
    return found


def _turns(request: Request) -> list[Any]:
    return paired(request.messages, lambda code, message, turn: None)


def _calls(request: Request, encoded: Encoded, target: list[Said], lost: Counter[str]) -> list[str]:
    """Calls whose id, name or arguments are not in the target, in their order."""
    wanted = [call for turn in request.messages if isinstance(turn, Assistant) for call in turn.response.calls]
    there = [one for one in target if one.kind == "call"]
    if len(wanted) != len(there):
        return [f"{len(wanted)} calls, {len(there)} written"]
    found = []
    for call, one in zip(wanted, there, strict=True):
        id, name = encoded.ids.get(one.id, one.id), encoded.names.get(one.name, one.name)
        id = id or call.id  # a call that had no id on its wire is known by its position
        if not one.name and call.kind not in _BY_NAME:
            name = call.name  # an item with a type of its own names nothing else
        if (id, name) != (call.id, call.name):
            found.append(f"call {call.name} ({call.id}) is {name} ({id})")
        given = value(one.text)
        allowed: list[Any] = [call.arguments_text, value(call.arguments_text)]
        if call.arguments is not None:
            allowed.append(call.arguments)
        if lost["arguments"]:
            allowed.append({"_raw": call.arguments_text})
        if lost["kind"]:
            allowed += [{"input": call.arguments_text}, {"_raw": call.arguments_text}]
        if one.name and given not in allowed:
            found.append(f"call {call.name}: {call.arguments_text[:60]!r} is {one.text[:60]!r}")
    return found


def _results(request: Request, encoded: Encoded, target: list[Said]) -> list[str]:
    wanted = [result.call_id for turn in _turns(request) if isinstance(turn, ToolResults) for result in turn.results]
    there = [encoded.ids.get(one.id, one.id) for one in target if one.kind == "result"]
    if len(wanted) == len(there):
        there = [id or known for id, known in zip(there, wanted, strict=True)]
    return [] if wanted == there else [f"results of {wanted}, written {there}"]


# Every loss is true


def untrue(request: Request, encoded: Encoded) -> list[Loss]:
    """Losses that name nothing of the request."""
    return [loss for loss in encoded.losses if loss.code not in LOSSES or not _true(request, loss)]


def _true(request: Request, loss: Loss) -> bool:
    index = loss.message_index
    turn = request.messages[index] if index is not None and index < len(request.messages) else None
    block = _block(turn, loss.block)
    whole = [b for t in request.messages if isinstance(t, Assistant) for c in t.response.choices[:1] for b in c.blocks]
    blocks = [block] if block is not None else whole
    kinds: dict[str, tuple[type, ...]] = {
        "reasoning": (Reasoning,),
        "unsigned-reasoning": (Reasoning,),
        "server-tool": (ServerToolCall, ServerToolResult),
        "refusal": (Refusal,),
        "annotations": (Text,),
        "namespace": (ToolCall,),
        "arguments": (ToolCall,),
    }
    if loss.code in kinds:
        return any(isinstance(one, kinds[loss.code]) and _has(loss.code, one) for one in blocks)
    parts = [part for t in ([turn] if turn is not None else request.messages) for part in _parts(t)]
    match loss.code:
        case "default" if "tools" in loss.message:  # for the calls of the history
            return all(tool.kind == "hosted" for tool in request.tools)
        case "default":
            return not any(
                "max" in name and isinstance(value, int) and value > 0 for name, value in request.params.items()
            )
        case "model":
            return request.model is not None
        case "media":
            return any(isinstance(part, MediaPart) for part in parts)
        case "opaque":
            return (
                any(isinstance(one, (Opaque, ApprovalRequest)) for one in blocks)
                or any(isinstance(part, OpaquePart) for part in parts)
                or any(isinstance(one, RawItem) for one in request.messages)
            )
        case "kind":
            tools = any(tool.kind not in ("function", "hosted") for tool in request.tools)
            return tools or any(isinstance(one, ToolCall) and one.kind != "function" for one in blocks)
        case "hosted-tool":
            return any(tool.kind == "hosted" for tool in request.tools)
        case "tool-choice":
            return request.tool_choice is not None
        case "parallel":
            return request.parallel is False
        case "param":
            name = loss.message.split(":")[0].split(" ")[0].split(".")[0]
            strict = any(tool.strict for tool in request.tools)
            return name in request.params or (name == "strict" and strict) or bool(request.previous_response_id)
        case "answered" | "orphan" | "duplicate-answer":
            told: list[str] = []
            paired(request.messages, lambda code, message, turn: told.append(code))
            return loss.code in told
    return True  # extra, order, empty, bridge: their messages say what, and their own tests hold them


def _has(code: str, block: Any) -> bool:
    if code == "annotations":
        return bool(block.annotations)
    if code == "namespace":
        return block.namespace is not None or block.caller is not None
    if code == "arguments":
        return block.arguments is None
    return True


def _block(turn: Any, place: int | None) -> Block | None:
    if place is None or not isinstance(turn, Assistant):
        return None
    blocks = turn.response.choices[0].blocks
    return blocks[place] if place < len(blocks) else None


def _parts(turn: Any) -> list[Any]:
    if isinstance(turn, (User, System)):
        return turn.parts
    if isinstance(turn, ToolResults):
        return [part for result in turn.results for part in result.parts]
    return []


# There and back


def home(request: Request, encoded: Encoded) -> Request:
    """A request that was read from what was written, its ids and names the canonical ones again."""

    def block(given: Block) -> Block:
        if not isinstance(given, ToolCall):
            return given
        id, name = encoded.ids.get(given.id, given.id), encoded.names.get(given.name, given.name)
        return replace(given, id=id, name=name)

    def turn(given: Any) -> Any:
        if isinstance(given, Assistant):
            choices = [Choice(c.index, [block(b) for b in c.blocks], c.stop, c.extra) for c in given.response.choices]
            return replace(given, response=replace(given.response, choices=choices))
        if isinstance(given, ToolResults):
            results = [replace(r, call_id=encoded.ids.get(r.call_id, r.call_id)) for r in given.results]
            return replace(given, results=results)
        return given

    tools = [replace(tool, name=encoded.names.get(tool.name, tool.name)) for tool in request.tools]
    return replace(request, messages=[turn(one) for one in request.messages], tools=tools)
