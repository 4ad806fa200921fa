"""Every public entry point, called with damaged input: a value, or a typed error."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import anthropic.types
import cohere
import ollama
import openai.types.chat
import openai.types.responses
from cohere.core.unchecked_base_model import construct_type
from google.genai import interactions
from google.genai import types as gemini
from google.protobuf.json_format import ParseDict
from xai_sdk.proto import chat_pb2

from tests.support.answers import BODIES, GRPC
from tests.support.damage import STRANGE, places
from tests.support.streaming import AS_STREAM, events_of, grpc
from tests.support.wires import WIRES
from toolparity import Response, StreamDecoder, ToolparityError, normalize, select
from toolparity.cassettes.sources import read as read_files
from toolparity.normalizer import json_codec
from toolparity.normalizer.answers import answer, strip
from toolparity.normalizer.detect import detect_body, detect_event
from toolparity.normalizer.repair import strip_name, unwrap_arguments, unwrap_fields, unwrap_parallel
from toolparity.normalizer.requests import RequestWriter, check_request, read_request, write_request
from toolparity.normalizer.textmode import TextReader, read_response, report
from toolparity.normalizer.textmode.dialects import DIALECTS

#: How an SDK builds its object of a body. boto3 returns plain dictionaries.
BUILDERS: dict[str, Callable[[Any], Any]] = {
    "openai.chat": lambda body: openai.types.chat.ChatCompletion.construct(**body),
    "openai.responses": lambda body: openai.types.responses.Response.construct(**body),
    "anthropic.messages": lambda body: anthropic.types.Message.construct(**body),
    "google.gemini": lambda body: gemini.GenerateContentResponse.model_construct(**body),
    "google.interactions": lambda body: interactions.Interaction.model_construct(**body),
    "cohere.chat": lambda body: construct_type(type_=cohere.V2ChatResponse, object_=body),
    "ollama.chat": lambda body: ollama.ChatResponse.model_construct(**body),
    "bedrock.converse": dict,
}
#: What a request declares, in the forms that `request` takes.
DECLARED: list[Any] = [
    None,
    ["f", "weather"],
    {"tools": [{"type": "function", "function": {"name": "f"}}, {"type": "custom", "name": "patch"}], "n": 2},
    [{"name": "f", "input_schema": {}}],
]
#: Bytes that end a character, a string or a number in the wrong place.
TORN = [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf0\x9f", b"\x00", b"\\ud800", b"1e999", b"NaN", b"[", b"{", b"\n\n"]
TORN += [b"data: ", b"\\u", b'"', b"9" * 25, b"-", b"\xef\xbb\xbf"]
_CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
_IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aa"}}
REQUESTS: dict[str, Any] = {
    "openai.chat": {
        "model": "m",
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": None, "tool_calls": [_CALL]},
            {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "x"}]},
        ],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
        "tool_choice": "auto",
        "temperature": 1,
        "max_tokens": 5,
        "response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": {}}},
        "stop": ["a"],
    },
    "openai.responses": {
        "model": "m",
        "input": [
            {
                "role": "user",
                "content": [{"type": "input_text", "text": "x"}, {"type": "input_image", "image_url": "u"}],
            },
            {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "z"},
            {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}", "id": "fc"},
            {"type": "function_call_output", "call_id": "a", "output": "x"},
            {"type": "web_search_call", "id": "w", "status": "completed", "action": {}},
        ],
        "tools": [{"type": "function", "name": "f", "parameters": {}}, {"type": "web_search"}],
        "max_output_tokens": 3,
    },
    "anthropic.messages": {
        "model": "m",
        "max_tokens": 5,
        "system": [{"type": "text", "text": "s"}],
        "messages": [
            {"role": "user", "content": "x"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "a", "signature": "s"},
                    {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}},
                ],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [_IMAGE]}]},
        ],
        "tools": [{"name": "f", "input_schema": {"type": "object"}}],
        "tool_choice": {"type": "auto"},
    },
    "google.gemini": {
        "model": "m",
        "systemInstruction": {"parts": [{"text": "s"}]},
        "contents": [
            {"role": "user", "parts": [{"text": "x"}, {"inlineData": {"mimeType": "image/png", "data": "AA=="}}]},
            {
                "role": "model",
                "parts": [
                    {"text": "a", "thought": True},
                    {"functionCall": {"id": "a", "name": "f", "args": {"x": 1}}, "thoughtSignature": "c2ln"},
                ],
            },
            {"role": "user", "parts": [{"functionResponse": {"id": "a", "name": "f", "response": {"output": "x"}}}]},
        ],
        "tools": [{"functionDeclarations": [{"name": "f", "parameters": {"type": "OBJECT"}}]}, {"googleSearch": {}}],
        "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
        "generationConfig": {"temperature": 1, "maxOutputTokens": 5, "topK": 3},
    },
    "google.interactions": {
        "model": "m",
        "system_instruction": "s",
        "input": [
            {
                "type": "user_input",
                "content": [
                    {"type": "text", "text": "x"},
                    {"type": "image", "data": "AAAA", "mime_type": "image/png"},
                ],
            },
            {"type": "thought", "signature": "s", "summary": [{"type": "text", "text": "a"}]},
            {"type": "google_search_call", "id": "w", "arguments": {"queries": ["q"]}, "signature": "s"},
            {"type": "google_search_result", "call_id": "w", "result": [], "signature": "s"},
            {"type": "model_output", "content": [{"type": "text", "text": "x", "annotations": []}]},
            {"type": "function_call", "id": "a", "name": "f", "arguments": {"x": 1}},
            {"type": "function_result", "call_id": "a", "name": "f", "result": {"x": 1}},
        ],
        "tools": [{"type": "function", "name": "f", "parameters": {}}, {"type": "google_search"}],
        "generation_config": {"temperature": 1, "tool_choice": "any"},
        "previous_interaction_id": "v",
        "stream": True,
    },
    "xai.grpc": {
        "model": "m",
        "messages": [
            {"role": "ROLE_USER", "content": [{"text": "x"}]},
            {
                "role": "ROLE_ASSISTANT",
                "content": [{"text": ""}],
                "toolCalls": [{"id": "a", "type": 1, "function": {"name": "f", "arguments": "{}"}}],
            },
            {"role": "ROLE_TOOL", "content": [{"text": "r"}]},
        ],
        "tools": [{"function": {"name": "f", "parameters": "{}"}}],
    },
    "cohere.chat": {
        "model": "m",
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": [{"type": "text", "text": "x"}]},
            {"role": "assistant", "tool_plan": "p", "content": [{"type": "thinking", "thinking": "t"}]},
            {"role": "assistant", "tool_calls": [_CALL], "citations": [{"start": 0, "end": 1, "text": "x"}]},
            {
                "role": "tool",
                "tool_call_id": "a",
                "content": [{"type": "document", "document": {"data": {"x": 1}, "id": "d"}}],
            },
        ],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
        "strict_tools": True,
        "tool_choice": "REQUIRED",
        "stop_sequences": ["a"],
        "p": 0.5,
    },
    "ollama.chat": {
        "model": "m",
        "messages": [
            {"role": "user", "content": "x", "images": ["AAAA"]},
            {
                "role": "assistant",
                "content": "",
                "thinking": "a",
                "tool_calls": [{"id": "a", "function": {"index": 0, "name": "f", "arguments": {"x": 1}}}],
            },
            {"role": "tool", "content": "x", "tool_name": "f", "tool_call_id": "a"},
        ],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
        "options": {"stop": ["a"]},
        "format": {},
    },
    "bedrock.converse": {
        "modelId": "m",
        "system": [{"text": "s"}],
        "messages": [
            {"role": "user", "content": [{"text": "x"}, {"image": {"format": "png", "source": {"bytes": "AA=="}}}]},
            {
                "role": "assistant",
                "content": [
                    {"reasoningContent": {"reasoningText": {"text": "a", "signature": "s"}}},
                    {"toolUse": {"toolUseId": "a", "name": "f", "input": {"x": 1}}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"toolResult": {"toolUseId": "a", "content": [{"json": {"x": 1}}], "status": "success"}},
                    {"document": {"format": "pdf", "name": "d", "source": {"bytes": "AA=="}}},
                ],
            },
        ],
        "toolConfig": {
            "tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}, {"cachePoint": {}}],
            "toolChoice": {"auto": {}},
        },
        "inferenceConfig": {"maxTokens": 5, "temperature": 1, "stopSequences": ["a"]},
    },
}
assert REQUESTS.keys() == set(WIRES)


def tried(call: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """What a call returns, and None where it raises a typed error. Anything else that it raises passes on."""
    try:
        return call(*given, **named)
    except ToolparityError:
        return None


def garbled(chance: Random, data: bytes) -> bytes:
    """The bytes with up to four of them flipped, lost, repeated, cut off or put in."""
    damaged = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at, length = chance.randint(0, len(damaged)), chance.randint(1, 12)
        how = chance.random()
        if how < 0.3 and at < len(damaged):
            damaged[at] ^= chance.randint(1, 255)
        elif how < 0.45:
            del damaged[at : at + length]
        elif how < 0.55:
            damaged[at:at] = damaged[at : at + length * 8]
        elif how < 0.95:
            damaged[at:at] = chance.choice(TORN)
        else:
            del damaged[at:]
    return bytes(damaged)


def strange_values() -> list[Any]:
    """Values that callers pass as parsed JSON, and some that JSON cannot hold."""
    deep: Any = []
    for _ in range(60):
        deep = [deep]
    no_json: list[Any] = [float("nan"), float("inf"), b"x", {1: 2}, object(), {1, 2}]
    return [*copy.deepcopy(STRANGE), deep, {"a": "\udc80"}, 2**70, -(2**70), "\x00", *no_json]


def hurt(chance: Random, tree: Any) -> Any:
    """A copy in which one to four members were dropped, added, or given another value."""
    tree = copy.deepcopy(tree)
    for _ in range(chance.randint(1, 4)):
        found = list(places(tree))
        if not found:
            break
        *path, last = chance.choice(found)
        holder = tree
        for key in path:
            holder = holder[key]
        how = chance.random()
        if how < 0.3:
            del holder[last]
        elif how < 0.9:
            holder[last] = chance.choice(strange_values())
        elif isinstance(holder, dict):
            name = chance.choice(["type", "id", "error", "new", "\ud800", "tools", "input"])
            holder[name] = chance.choice(strange_values())
    return tree


def spelled(tree: Any) -> str | None:
    """A tree as JSON text, where it has one."""
    try:
        return json.dumps(tree)
    except (TypeError, ValueError):
        return None


def built(wire: str, parsed: Any) -> Any:
    """The SDK's own object of a body, where the SDK can build it."""
    try:
        return BUILDERS[wire](parsed)
    except (TypeError, ValueError, AttributeError, RuntimeError, OverflowError):
        return None


def streamed(wire: str | None, pieces: list[Any], request: Any) -> Response:
    """The response of a stream in these pieces."""
    decoder = StreamDecoder(wire, request=request)
    for piece in pieces:
        decoder.feed(piece)
    return decoder.finish()


def act(response: Response | None) -> None:
    """Everything that a caller does with a response."""
    if response is None:
        return
    json_codec.encode(response)
    report(response)
    tried(read_response, response)
    for choice in response.choices[:2]:
        for policy in ("first", "all", "batch"):
            selection = select(response, policy, choice=choice.index)
            tried(answer, response, selection, {ref.id: {"x": 1} for ref in selection.kept[:1]})
            tried(strip, response, selection)
    for call in response.calls:
        unwrap_arguments(call)
        unwrap_fields(call, {"properties": {"a": {"type": "object"}}})
        unwrap_parallel(call, ["f"])
        strip_name(call, ["f"])


def bodies(chance: Random) -> None:
    """`normalize` and the detection, on bytes, text, parsed JSON and SDK objects."""
    wire = chance.choice(list(BODIES))
    body = chance.choice(list(BODIES[wire].values()))
    request = chance.choice(DECLARED)
    parsed = hurt(chance, body)
    data = garbled(chance, json.dumps(body, ensure_ascii=chance.random() < 0.5).encode("utf-8", "surrogatepass"))
    forms: list[Any] = [parsed, data, bytearray(data), spelled(parsed)]
    forms.append(built(wire, parsed))
    for form in filter(None, forms):
        act(tried(normalize, form, wire, request=request))
        tried(normalize, form)
        tried(normalize, form, wire, status=500)
    tried(detect_body, data)
    tried(detect_event, data)


def streams(chance: Random) -> None:
    """`StreamDecoder` and the readers of text, on bytes and parsed events."""
    wire = chance.choice(list(BODIES))
    stream = AS_STREAM[wire](chance.choice(list(BODIES[wire].values())), Random(chance.randint(0, 9)))
    request = chance.choice(DECLARED)
    data = garbled(chance, stream)
    pieces = [data[: len(data) // 2], data[len(data) // 2 :]]
    hurt_events = hurt(chance, events_of(wire, stream))
    for told in (wire, None):
        act(tried(streamed, told, pieces, request))
        act(tried(streamed, told, hurt_events, request))
    reader = TextReader(
        chance.choice([*DIALECTS, None]), StreamDecoder(wire, request=request), limit=chance.choice([None, 1])
    )
    for piece in pieces:
        tried(reader.feed, piece)
    tried(reader.finish)


def messages(chance: Random) -> None:
    """xAI's messages, whole and streamed, with times beyond every calendar."""
    message = chat_pb2.GetChatCompletionResponse()
    message.CopyFrom(chance.choice(list(GRPC.values())))
    request = chance.choice(DECLARED)
    act(tried(normalize, garbled(chance, message.SerializeToString()), "xai.grpc", request=request))
    message.created.seconds = chance.choice([2**62, -(2**60), 5])
    message.created.nanos = chance.choice([0, -1, 2**31 - 1])
    act(tried(normalize, message, request=request))
    chunks = grpc(message, Random(1))
    act(tried(streamed, "xai.grpc", chunks, request))
    at = chance.randrange(len(chunks))
    act(tried(streamed, "xai.grpc", [*chunks[:at], garbled(chance, chunks[at]), *chunks[at + 1 :]], request))


def requests(chance: Random) -> None:
    """Requests: read, checked, written to every wire, and declared to a decoder."""
    wire = chance.choice(WIRES)
    tree = hurt(chance, REQUESTS[wire])
    if wire == "xai.grpc":
        data = ParseDict(REQUESTS[wire], chat_pb2.GetCompletionsRequest()).SerializeToString()
    else:
        data = json.dumps(REQUESTS[wire]).encode()
    for form in (tree, spelled(tree), garbled(chance, data)):
        if form is None:
            continue
        tried(check_request, form, wire)
        tried(normalize, BODIES["openai.chat"]["text"], "openai.chat", request=form)
        request = tried(read_request, form, wire)
        for target in WIRES if request is not None else ():
            tried(write_request, request, target)
            encoded = tried(RequestWriter(target).write, request)
            if encoded is not None:
                tried(check_request, encoded.body, target)
                tried(read_request, encoded.body, target)


def files(chance: Random, folder: Path, seeds: list[Path]) -> None:
    """Files of recorded traffic, by all names that a format has."""
    wire = chance.choice(list(BODIES))
    body = chance.choice(list(BODIES[wire].values()))
    contents = [json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass"), AS_STREAM[wire](body, chance)]
    suffix = chance.choice([".json", ".sse", ".jsonl", ".yaml", ".har", ".jsonl.gz", ""])
    path = folder / f"made{suffix}"
    path.write_bytes(garbled(chance, chance.choice(contents)))
    for _ in _found(path):
        pass
    seed = chance.choice(seeds)
    path = folder / seed.name
    path.write_bytes(garbled(chance, seed.read_bytes()))
    for _ in _found(path):
        pass


def _found(path: Path) -> Iterator[Any]:
    yield from read_files(path)
