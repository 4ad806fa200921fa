"""Readers to measure: two JSON parsers, the normalizer, and the official SDKs.

The measurement of an SDK starts with the bytes of the HTTP body. It includes the SDK's decoder of server-sent events,
its construction of types and its accumulation, but not its HTTP client. A reader takes a body, or the pieces of a
stream, and returns its result. `calls` extracts the calls from a result.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import msgspec

from toolparity import Response, StreamDecoder, Wire, normalize

from . import traffic

Read = Callable[[Any], Any]


def json_each(payloads: Iterable[bytes]) -> Any:
    """Parse each payload of a stream with the standard library and return the last value."""
    value = None
    for payload in payloads:
        value = json.loads(payload)
    return value


def msgspec_each(payloads: Iterable[bytes]) -> Any:
    """Parse each payload of a stream with msgspec and return the last value."""
    decode = msgspec.json.decode
    value = None
    for payload in payloads:
        value = decode(payload)
    return value


def ours(wire: Wire) -> Read:
    """Return the normalizer as a reader of bodies."""

    def read(body: bytes) -> Response:
        return normalize(body, wire)

    return read


def ours_streamed(wire: Wire, *, events: bool = True) -> Read:
    """Return the normalizer as a reader of streams. ``events``: see `StreamDecoder`."""

    def read(pieces: Iterable[bytes]) -> Response:
        decoder = StreamDecoder(wire, events=events)
        for piece in pieces:
            decoder.feed(piece)
        return decoder.finish()

    return read


def sdk(wire: str) -> Read:
    """Return the official SDK as a reader of bodies. Raises ImportError if it is not installed."""
    if wire == "xai.grpc":
        from xai_sdk.chat import Response as XaiResponse
        from xai_sdk.proto import chat_pb2

        return lambda body: XaiResponse(chat_pb2.GetChatCompletionResponse.FromString(body), None)
    if wire == "google.interactions":
        from google.genai.interactions import Interaction

        return lambda body: Interaction.model_validate(json.loads(body))
    if wire == "google.gemini":
        return _generate_content()
    if wire == "bedrock.converse":
        return _converse("Converse")
    if wire == "ollama.chat":
        from ollama import ChatResponse

        return lambda body: ChatResponse(**json.loads(body))
    if wire == "anthropic.messages":
        from anthropic._models import construct_type
        from anthropic.types import Message as Type
    elif wire == "cohere.chat":
        from cohere import V2ChatResponse as Type
        from cohere.core.unchecked_base_model import construct_type as construct

        return lambda body: construct(type_=Type, object_=json.loads(body))
    elif wire == "openai.chat":
        from openai._models import construct_type
        from openai.types.chat import ChatCompletion as Type
    else:
        from openai._models import construct_type
        from openai.types.responses import Response as Type
    return lambda body: construct_type(value=json.loads(body), type_=Type)


def xai_members(body: bytes) -> Any:
    """Read a body of `xai.grpc` with the official SDK, and return the members that a canonical response has.

    The SDK's object converts a member only when it is used.
    """
    response = sdk("xai.grpc")(body)
    calls = [
        (call.id, call.function.name, call.function.arguments, call.type, call.status) for call in response.tool_calls
    ]
    texts = response.id, response.content, response.reasoning_content, response.finish_reason
    return texts, calls, response.usage.prompt_tokens, response.usage.completion_tokens


def sdk_streamed(wire: str) -> Read:
    """Return the official SDK as a reader of streams. Raises ImportError if it is not installed."""
    makers = {
        "openai.chat": _chat,
        "anthropic.messages": _anthropic,
        "xai.grpc": _xai,
        "cohere.chat": _cohere,
        "bedrock.converse": _converse_stream,
        "google.gemini": _gemini,
        "google.interactions": _google,
        "ollama.chat": _ollama,
    }
    return makers.get(wire, _responses)()


def _ollama() -> Read:
    """Return the reading of the SDK's client, which has no accumulator."""
    from ollama import ChatResponse

    def read(pieces: Iterable[bytes]) -> Any:
        calls: list[Any] = []
        response = None
        for line in b"".join(pieces).decode().splitlines():
            response = ChatResponse(**json.loads(line))
            calls += response.message.tool_calls or ()
        assert response is not None
        response.message.tool_calls = calls
        return response

    return read


def _xai() -> Read:
    from xai_sdk.chat import Response as XaiResponse
    from xai_sdk.proto import chat_pb2

    def read(messages: Iterable[bytes]) -> Any:
        response = XaiResponse(chat_pb2.GetChatCompletionResponse(), None)
        for message in messages:
            response.process_chunk(chat_pb2.GetChatCompletionChunk.FromString(message))
        return response

    return read


def _anthropic() -> Read:
    from anthropic._models import construct_type
    from anthropic._streaming import SSEDecoder
    from anthropic.lib.streaming._messages import accumulate_event
    from anthropic.types import RawMessageStreamEvent

    def read(pieces: Iterable[bytes]) -> Any:
        message: Any = None
        buffers: dict[int, bytes] = {}
        for event in SSEDecoder().iter_bytes(iter(pieces)):
            if event.event == "ping":
                continue
            told: Any = construct_type(value=event.json(), type_=RawMessageStreamEvent)
            message = accumulate_event(event=told, current_snapshot=message, json_bufs=buffers)
        return message

    return read


def _generate_content() -> Read:
    """Return the reading of the SDK's client: it converts the members, and then constructs the types."""
    from google.genai.models import _GenerateContentResponse_from_mldev as converted
    from google.genai.types import GenerateContentResponse

    return lambda body: GenerateContentResponse._from_response(response=converted(json.loads(body)), kwargs={})


def _converse(operation: str) -> Read:
    """Return the parser of boto3's client."""
    from botocore.parsers import create_parser
    from botocore.session import Session

    shape = Session().get_service_model("bedrock-runtime").operation_model(operation).output_shape
    parser = create_parser("rest-json")
    told = {"status_code": 200, "headers": {}, "context": {"operation_name": operation}}
    return lambda body: parser.parse({**told, "body": body}, shape)


def _converse_stream() -> Read:
    """Return the reader of boto3's events; it has no accumulator, so that the calls are put together here."""
    parse = _converse("ConverseStream")

    def read(pieces: Iterable[bytes]) -> Any:
        blocks: dict[int, dict[str, Any]] = {}
        for event in parse(SimpleNamespace(stream=lambda: iter(pieces)))["stream"]:
            if begun := event.get("contentBlockStart"):
                blocks[begun["contentBlockIndex"]] = {**begun["start"]["toolUse"], "input": ""}
            elif (more := event.get("contentBlockDelta")) and "toolUse" in more["delta"]:
                blocks[more["contentBlockIndex"]]["input"] += more["delta"]["toolUse"]["input"]
        content = [{"toolUse": {**block, "input": json.loads(block["input"])}} for block in blocks.values()]
        return {"output": {"message": {"content": content}}}

    return read


def _gemini() -> Read:
    """Return the reader of the SDK's events; it has no accumulator, so that the calls are collected here."""
    read_event = _generate_content()

    def read(pieces: Iterable[bytes]) -> Any:
        called: list[Any] = []
        for event in traffic.payloads(b"".join(pieces)):
            called += read_event(event).function_calls or ()
        return SimpleNamespace(function_calls=called)

    return read


def _google() -> Read:
    """Return the reader of the SDK's events; it has no accumulator, so that the calls are put together here."""
    from google.genai.interactions import InteractionSSEEvent
    from pydantic import TypeAdapter

    adapter: TypeAdapter[Any] = TypeAdapter(InteractionSSEEvent)

    def read(pieces: Iterable[bytes]) -> Any:
        steps: dict[int, tuple[Any, list[str]]] = {}
        for event in traffic.payloads(b"".join(pieces)):
            told: Any = adapter.validate_json(event)
            if told.event_type == "step.start":
                steps[told.index] = told.step, []
            elif told.event_type == "step.delta" and told.delta.type == "arguments_delta":
                steps[told.index][1].append(told.delta.arguments)
        for step, parts in steps.values():
            if step.type == "function_call":
                step.arguments = json.loads("".join(parts))
        return SimpleNamespace(steps=[step for step, _ in steps.values()])

    return read


def _chat() -> Read:
    from openai._models import construct_type
    from openai._streaming import SSEDecoder
    from openai.lib.streaming.chat import ChatCompletionStreamState
    from openai.types.chat import ChatCompletionChunk

    def read(pieces: Iterable[bytes]) -> Any:
        state = ChatCompletionStreamState()
        for event in SSEDecoder().iter_bytes(iter(pieces)):
            if event.data == "[DONE]":
                break
            chunk: Any = construct_type(value=event.json(), type_=ChatCompletionChunk)
            state.handle_chunk(chunk)
        return state.current_completion_snapshot

    return read


def _cohere() -> Read:
    """Return the SDK's reading of events, which it does not accumulate; the calls are concatenated here."""
    from cohere import AssistantMessageResponse
    from cohere.core.http_sse._decoders import SSEDecoder
    from cohere.core.unchecked_base_model import construct_type
    from cohere.v2 import V2ChatStreamResponse

    def read(pieces: Iterable[bytes]) -> Any:
        begun: list[Any] = []
        decoder = SSEDecoder()
        for line in b"".join(pieces).decode().split("\n"):
            event = decoder.decode(line)
            if event is None or event.data == "[DONE]":
                continue
            told: Any = construct_type(type_=V2ChatStreamResponse, object_=json.loads(event.data))
            if told.type == "tool-call-start":
                begun.append(told.delta.message.tool_calls.dict())
            elif told.type == "tool-call-delta":
                begun[told.index]["function"]["arguments"] += told.delta.message.tool_calls.function.arguments
        return construct_type(type_=AssistantMessageResponse, object_={"role": "assistant", "tool_calls": begun})

    return read


def _responses() -> Read:
    import openai
    from openai._models import construct_type
    from openai._streaming import SSEDecoder
    from openai.lib.streaming.responses._responses import ResponseStreamState
    from openai.types.responses import ResponseStreamEvent

    def read(pieces: Iterable[bytes]) -> Any:
        state: Any = ResponseStreamState(input_tools=openai.omit, text_format=openai.omit)
        response = None
        for event in SSEDecoder().iter_bytes(iter(pieces)):
            value: Any = construct_type(value=event.json(), type_=ResponseStreamEvent)
            for told in state.handle_event(value):
                if told.type == "response.completed":
                    response = told.response
        return response

    return read


def calls(answer: Any) -> list[tuple[str, str, dict[str, Any]]]:
    """Return the calls in a result of the normalizer or of an SDK: id, name, parsed arguments.

    Ollama's SDK has no ids.
    """
    if isinstance(answer, Response):
        return [(call.id, call.name, call.arguments or {}) for call in answer.calls]
    if isinstance(answer, dict):
        used = [block["toolUse"] for block in answer["output"]["message"]["content"] if "toolUse" in block]
        return [(call["toolUseId"], call["name"], call["input"]) for call in used]
    if hasattr(answer, "steps"):
        return [(step.id, step.name, step.arguments) for step in answer.steps if step.type == "function_call"]
    if hasattr(answer, "function_calls"):
        return [(call.id, call.name, call.args) for call in answer.function_calls]
    if hasattr(answer, "done_reason"):
        return [("", call.function.name, dict(call.function.arguments)) for call in answer.message.tool_calls]
    if hasattr(answer, "choices"):
        functions = [(call.id, call.function) for call in answer.choices[0].message.tool_calls]
    elif hasattr(answer, "output"):
        functions = [(item.call_id, item) for item in answer.output if item.type == "function_call"]
    elif hasattr(answer, "message"):
        functions = [(call.id, call.function) for call in answer.message.tool_calls]
    elif hasattr(answer, "tool_calls"):
        functions = [(call.id, call.function) for call in answer.tool_calls]
    else:
        return [(block.id, block.name, dict(block.input)) for block in answer.content if block.type == "tool_use"]
    return [(id, function.name, json.loads(function.arguments)) for id, function in functions]
