"""A conversation of any wire, sent to any other, is legal there; exactly what could not be carried is reported."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import GeneratorType
from typing import Any, NamedTuple

import pytest
from anthropic.types.beta import BetaMessageParam, BetaTextBlockParam, BetaToolChoiceParam, BetaToolUnionParam
from botocore.validate import ParamValidator
from cohere import ChatMessageV2, ToolV2
from google.genai import types as gemini
from google.genai.interactions import CreateModelInteraction
from google.protobuf.message import Message as Proto
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from ollama._types import ChatRequest, Image, Tool
from ollama._types import Message as OllamaMessage
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from openai.types.responses.response_create_params import ToolChoice as ResponsesToolChoice
from openai.types.responses.response_input_param import ResponseInputItemParam
from openai.types.responses.tool_param import ToolParam
from pydantic import TypeAdapter
from xai_sdk.proto import chat_pb2

from tests.normalizer.history.conversations import CONTINUED, PROVIDERS, TARGETS, conversations
from tests.normalizer.history.views import Statement, statements, value
from tests.normalizer.recorded.rows import Row, rows
from tests.support.sdk_types import bedrock_shape
from tests.support.thoroughness import examples
from tests.support.wires import WIRES
from toolparity import Opaque, Reasoning, Refusal, ServerToolCall, ServerToolResult, Text, ToolCall
from toolparity.normalizer.conversation import (
    Assistant,
    Encoded,
    Loss,
    MediaPart,
    Message,
    OpaquePart,
    RawItem,
    Request,
    System,
    ToolChoice,
    ToolDefinition,
    ToolResults,
    User,
)
from toolparity.normalizer.model import ApprovalRequest, Wire
from toolparity.normalizer.pairing import paired
from toolparity.normalizer.requests import check_request, read_request, write_request
from toolparity.normalizer.wires.registry import wire_name
from toolparity.normalizer.wires.write_context import LOSSES
from toolparity.normalizer.wires.xai_grpc.schema import request_from

#: For each wire: a member of the body, or "" for the whole body -> its type.
TYPES: dict[str, dict[str, Any]] = {
    "openai.chat": {"": CompletionCreateParamsNonStreaming},
    "openai.responses": {
        "input": list[ResponseInputItemParam],
        "tools": list[ToolParam],
        "tool_choice": ResponsesToolChoice,
    },
    "google.interactions": {"": CreateModelInteraction},
    "anthropic.messages": {
        "messages": list[BetaMessageParam],
        "system": str | list[BetaTextBlockParam],
        "tools": list[BetaToolUnionParam],
        "tool_choice": BetaToolChoiceParam,
    },
    "google.gemini": {
        "contents": list[gemini.Content],
        "systemInstruction": gemini.Content,
        "tools": list[gemini.Tool],
        "toolConfig": gemini.ToolConfig,
        "generationConfig": gemini.GenerationConfig,
    },
    "cohere.chat": {"messages": list[ChatMessageV2], "tools": list[ToolV2]},
    "ollama.chat": {"": ChatRequest, "messages": list[OllamaMessage], "tools": list[Tool]},
}


@cache
def _adapters(wire: str) -> dict[str, TypeAdapter[Any]]:
    return {member: TypeAdapter(type) for member, type in TYPES[wire].items()}


def assert_sdk_accepts(wire: str, body: Any) -> None:
    """Raise an exception if the types of the wire's own SDK refuse the body."""
    if wire == "xai.grpc":
        assert isinstance(body, Proto)
        chat_pb2.GetCompletionsRequest.FromString(body.SerializeToString())
        return
    if wire == "bedrock.converse":
        report = ParamValidator().validate({"modelId": "m", **body}, bedrock_shape("ConverseRequest"))
        assert not report.has_errors(), report.generate_report()
        return
    if wire == "openai.responses" and isinstance(body.get("input"), list):
        body = {**body, "input": [_with_id(item) for item in body["input"]]}
    if wire == "ollama.chat":  # the SDK's client wraps images before it validates the messages
        body = {**body, "messages": [_with_images(message) for message in body["messages"]]}
    for member, adapter in _adapters(wire).items():
        if not member:
            _exhaust(adapter.validate_python({k: v for k, v in body.items() if k not in ("stream", "stream_options")}))
        elif member in body:
            _exhaust(adapter.validate_python(body[member]))


def _with_id(item: Any) -> Any:
    """The SDK's types of an assistant's message in parts and of a thought require an id, which the API does not."""
    if item.get("role") == "assistant" and isinstance(item.get("content"), list):
        return {"id": "msg_1", "status": "completed", **item}
    return {"id": "rs_1", **item} if item.get("type") == "reasoning" else item


def _with_images(message: Any) -> Any:
    images = message.get("images")
    return {**message, "images": [Image(value=image) for image in images]} if images else message


def _exhaust(value: Any) -> None:
    """Pydantic validates what the SDKs call an iterable only while it is iterated."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple, GeneratorType, Iterator)):
        for item in value:
            _exhaust(item)


_BY_NAME = frozenset(("function", "custom", "legacy_function"))
_TEXTS = frozenset(("system", "user", "assistant", "result"))


def missing(request: Request, source: list[Statement], encoded: Encoded) -> list[str]:
    """Return what the source states, the target does not, and no loss reports; a line each."""
    target = statements(encoded.wire, encoded.body)
    lost = Counter(loss.code for loss in encoded.losses)
    found = _missing_calls(request, encoded, target, lost) + _missing_results(request, encoded, target)
    texts = "\n".join(one.text for one in target if one.kind in _TEXTS)
    thoughts = "\n".join(one.text for one in target if one.kind == "reasoning")
    excused = {"orphan", "duplicate-answer", "opaque", "server-tool", "param"} & set(lost)
    for one in source:
        # A note may replace an image between the texts of a result.
        lines = one.text.strip().splitlines() if one.kind == "result" else [one.text.strip()]
        if one.kind in _TEXTS and not all(line in texts for line in lines) and not excused:
            found.append(f"{one.kind}: {one.text[:60]!r}")
        if one.kind == "reasoning" and one.text not in thoughts and not {"reasoning", "unsigned-reasoning"} & set(lost):
            found.append(f"reasoning: {one.text[:60]!r}")
    media = [sum(one.kind == "media" for one in side) for side in (source, target)]
    if media[0] > media[1] and not {"media", "opaque", "order"} & set(lost):
        found.append(f"{media[0] - media[1]} images or files")
    return found


def _missing_calls(request: Request, encoded: Encoded, target: list[Statement], lost: Counter[str]) -> list[str]:
    """Return the calls whose id, name or arguments are not in the target, in their order."""
    wanted = [call for turn in request.messages if isinstance(turn, Assistant) for call in turn.response.calls]
    written = [one for one in target if one.kind == "call"]
    if len(wanted) != len(written):
        return [f"{len(wanted)} calls, {len(written)} written"]
    found = []
    for call, one in zip(wanted, written, strict=True):
        id, name = encoded.ids.get(one.id, one.id), encoded.names.get(one.name, one.name)
        id = id or call.id  # a call that had no id on its wire is known by its position
        if not one.name and call.kind not in _BY_NAME:
            name = call.name  # an item of another type names nothing else
        if (id, name) != (call.id, call.name):
            found.append(f"call {call.name} ({call.id}) is {name} ({id})")
        allowed = [call.arguments_text, value(call.arguments_text)]
        allowed += [call.arguments] * (call.arguments is not None)
        allowed += [{"_raw": call.arguments_text}] * bool(lost["arguments"] or lost["kind"])
        allowed += [{"input": call.arguments_text}] * bool(lost["kind"])
        if one.name and value(one.text) not in allowed:
            found.append(f"call {call.name}: {call.arguments_text[:60]!r} is {one.text[:60]!r}")
    return found


def _missing_results(request: Request, encoded: Encoded, target: list[Statement]) -> list[str]:
    turns = paired(request.messages, lambda code, message, turn: None)
    wanted = [result.call_id for turn in turns if isinstance(turn, ToolResults) for result in turn.results]
    written = [encoded.ids.get(one.id, one.id) for one in target if one.kind == "result"]
    if len(wanted) == len(written):
        written = [id or known for id, known in zip(written, wanted, strict=True)]
    return [] if wanted == written else [f"results of {wanted}, written {written}"]


def untrue(request: Request, encoded: Encoded) -> list[Loss]:
    """Return the losses that name nothing of the request."""
    return [loss for loss in encoded.losses if loss.code not in LOSSES or not _is_true(request, loss)]


def _is_true(request: Request, loss: Loss) -> bool:
    index = loss.message_index
    messages = request.messages if index is None else request.messages[index : index + 1]
    blocks = [block for turn in messages if isinstance(turn, Assistant) for block in turn.response.choices[0].blocks]
    if loss.block is not None and loss.block < len(blocks):
        blocks = [blocks[loss.block]]
    parts = [part for turn in messages for part in _parts(turn)]
    tools, params = request.tools, request.params
    match loss.code:
        case "reasoning" | "unsigned-reasoning":
            return _any(blocks, Reasoning)
        case "server-tool":
            return _any(blocks, ServerToolCall, ServerToolResult)
        case "refusal":
            return _any(blocks, Refusal)
        case "annotations":
            return any(block.annotations for block in blocks if isinstance(block, Text))
        case "namespace":
            return any(block.namespace or block.caller for block in blocks if isinstance(block, ToolCall))
        case "arguments":
            return any(block.arguments is None for block in blocks if isinstance(block, ToolCall))
        case "kind":
            calls = [block for block in blocks if isinstance(block, ToolCall)]
            kinds = [tool.kind for tool in tools] + [call.kind for call in calls]
            return any(kind not in ("function", "hosted") for kind in kinds)
        case "media":
            return _any(parts, MediaPart)
        case "opaque":
            return _any([*blocks, *parts, *request.messages], Opaque, ApprovalRequest, OpaquePart, RawItem)
        case "default" if "tools" in loss.message:  # for the calls of the history
            return all(tool.kind == "hosted" for tool in tools)
        case "default":
            return not any("max" in name and isinstance(size, int) and size > 0 for name, size in params.items())
        case "hosted-tool":
            return any(tool.kind == "hosted" for tool in tools)
        case "model" | "tool-choice":
            return getattr(request, loss.code.replace("-", "_")) is not None
        case "parallel":
            return request.parallel is False
        case "param":
            name = loss.message.split(":")[0].split(" ")[0].split(".")[0]
            is_strict = name == "strict" and any(tool.strict for tool in tools)
            return name in params or is_strict or bool(request.previous_response_id)
        case "answered" | "orphan" | "duplicate-answer":
            reported: list[str] = []
            paired(request.messages, lambda code, message, turn: reported.append(code))
            return loss.code in reported
    return True  # extra, order, empty, bridge: other tests compare their messages


def _any(values: list[Any], *types: type) -> bool:
    return any(isinstance(value, types) for value in values)


def _parts(turn: Any) -> list[Any]:
    if isinstance(turn, (User, System)):
        return turn.parts
    return [part for result in turn.results for part in result.parts] if isinstance(turn, ToolResults) else []


#: How many recorded conversations of each wire are taken, evenly over all that contain calls.
OF_EACH = 100
#: What recordings contain in place of the data of an image.
_ELIDED = re.compile(r"\[ELIDED \d+ chars sha256:[0-9a-f]+\]")
#: Gemini accepts base64 with the characters for URLs, which other wires get unchanged and refuse.
_BASE64_FOR_URLS = "google-adk-instrumentor-image-artifacts"
PAIRS = list(itertools.product(WIRES, WIRES))


class Conversation(NamedTuple):
    """A recorded conversation: read, and what its body states."""

    id: str
    request: Request
    statements: list[Statement]


def conversation(row: Row) -> Conversation:
    text = row.request if isinstance(row.request, str) else json.dumps(row.request)
    body = json.loads(_ELIDED.sub("AAAA", text))
    # A caller that hands a conversation over names a model of the target.
    request = replace(read_request(body, wire_name(row.wire), provider=row.provider), model="m")
    return Conversation(row.id, request, statements(row.wire, request_from(body) if row.wire == "xai.grpc" else body))


@pytest.fixture(scope="module")
def recorded(recordings: Path) -> dict[Wire, list[Conversation]]:
    """Conversations with calls that a provider accepted, by wire."""
    found: dict[Wire, list[Conversation]] = {}
    for wire in WIRES:
        accepted = [conversation(row) for row in rows(recordings, wire) if row.request and row.status == 200]
        called = [one for one in accepted if any(item.kind == "call" for item in one.statements)]
        called = [one for one in called if _BASE64_FOR_URLS not in one.id]
        found[wire] = called[:: max(1, len(called) // OF_EACH)]
    assert sum(map(len, found.values())) > 100
    return found


@pytest.mark.thorough(keep=6)
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_recorded_conversation_is_legal_on_every_wire_and_its_losses_are_true(
    recorded: dict[Wire, list[Conversation]], source: Wire, target: Wire
) -> None:
    wrong: dict[str, list[Any]] = {}
    for one in recorded[source]:
        provider = one.request.provider if target == source else PROVIDERS[target]
        encoded = write_request(one.request, target, provider=provider)
        found: list[Any] = [*missing(one.request, one.statements, encoded), *untrue(one.request, encoded)]
        if source != target:
            assert_sdk_accepts(target, encoded.body)
            found += check_request(encoded.body, target, provider=PROVIDERS[target])
        if found:
            wrong[one.id] = found
    assert wrong == {}


def _was_served(turn: Message, wire: Wire) -> bool:
    """Return whether the target's own provider ran a call: an invented one has none of its real members."""
    if not isinstance(turn, Assistant) or turn.response.wire != wire:
        return False
    return any(isinstance(block, ServerToolCall) for block in turn.response.choices[0].blocks)


@given(conversations(), st.sampled_from(WIRES), st.sampled_from(TARGETS))
@examples(400)
def test_an_invented_conversation_of_several_wires_is_legal_and_its_losses_are_true(
    talk: list[list[Message]], source: Wire, target: tuple[Wire, str]
) -> None:
    wire, provider = target
    turns = [turn for part in talk for turn in part]
    names = dict.fromkeys(call.name for turn in turns if isinstance(turn, Assistant) for call in turn.response.calls)
    tools = [ToolDefinition(name, "a tool", {"type": "object", "properties": {}}) for name in names]
    tools.append(ToolDefinition("sql", kind="custom"))
    asked = Request(source, "m", [*turns, CONTINUED], tools, ToolChoice("auto"), False, params={"max_tokens": 9})
    request = replace(asked, provider=PROVIDERS[source])
    encoded = write_request(request, wire, provider=provider)
    served = any(_was_served(turn, wire) for turn in turns)
    if not (served and wire == "bedrock.converse"):  # Converse requires the declaration of a server tool, too
        assert check_request(encoded.body, wire, provider=provider) == []
    if source != wire and not served and PROVIDERS[wire] == provider:
        assert_sdk_accepts(wire, encoded.body)
    assert missing(request, [], encoded) == []
    assert untrue(request, encoded) == []
    declared = [encoded.names.get(tool.name, tool.name) for tool in read_request(encoded.body, wire).tools]
    assert declared == [*names, "sql"]
