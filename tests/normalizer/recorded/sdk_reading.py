"""Recorded exchanges read by the official SDKs, over their HTTP path where they have one.

The recorded bytes are served to the real client through a transport that opens no socket, in the pieces in which they
arrived where that is known; so how the SDK reads server-sent events is compared too. Streams in other framings
(AWS event streams, events one a line) are served as server-sent events, since the clients read nothing else.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from typing import Any, NamedTuple

import anthropic
import boto3
import cohere
import httpx
import httpx2
import ollama
import openai
from anthropic.lib.streaming._beta_messages import accumulate_event
from botocore.awsrequest import AWSPreparedRequest, AWSResponse, HeadersDict
from botocore.config import Config
from botocore.exceptions import ClientError
from cohere.core.api_error import ApiError as CohereError
from google import genai
from google.genai import errors as google_errors
from google.genai._interactions_errors import APIError as GoogleError
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.lib.streaming.responses._responses import ResponseStreamState
from urllib3.response import HTTPResponse
from xai_sdk.chat import Response as XaiResponse
from xai_sdk.proto import chat_pb2

from tests.normalizer.recorded.rows import Row
from toolparity.normalizer.readers import sniff


class Call(NamedTuple):
    """A client call as both sides report it: ``arguments`` is the exact text, or the value where no text is left."""

    choice: int
    id: str | None
    name: str | None
    arguments: Any


class Read(NamedTuple):
    """What an SDK read. ``usage``: its non-null figures. Text or usage is None where the SDK does not report it."""

    calls: list[Call]
    text: str | None
    usage: dict[str, Any] | None


class ProviderError(Exception):
    """The exchange is an error, by its status or by an event in its stream, and the SDK raised it as such."""


class _Server:
    """Serves one recorded body after the other to a caller that asks."""

    def __init__(self) -> None:
        self.body: bytes | Iterator[bytes] = b""
        self.status = 200
        self.content_type = "application/json"

    def transport(self, http: Any) -> Any:
        """The transport for an SDK that uses httpx, or its successor."""
        return http.MockTransport(
            lambda request: http.Response(
                self.status, headers={"content-type": self.content_type}, content=self.body, request=request
            )
        )

    def load(self, row: Row) -> None:
        self.status = row.status or 200
        if not row.stream or row.failed or row.wire == "ollama.chat":
            self.body, self.content_type = row.data, "application/json"
            return
        self.content_type = "text/event-stream"
        # version 1 of Cohere sends events one a line, as its SDK reads them
        reframed = None if row.wire == "cohere.chat" else _as_sse(row.data)
        pieces = row.arrived if reframed is None else None
        self.body = iter(pieces) if pieces else (reframed or row.data)


def _as_sse(data: bytes) -> bytes | None:
    """A stream in another framing as server-sent events; None where it is some already."""
    if data.lstrip()[:1] not in (b"{", b"[", b"\x00"):
        return None
    reader = sniff(data, len(data) + 1)
    assert reader is not None
    events = []
    for name, payload in [*reader.feed(data), *reader.close()]:
        kind: Any = name
        with suppress(ValueError):
            found = json.loads(payload)
            kind = kind or (found.get("type") if isinstance(found, dict) else None)
        events.append((f"event: {kind}\n" if kind else "").encode() + b"data: " + payload.replace(b"\n", b" "))
    return b"\n\n".join([*events, b""])


_server = _Server()
#: The errors of the SDKs for what they cannot read or the provider refuses.
_REFUSALS = (
    *(openai.APIError, anthropic.APIError, ClientError, CohereError, GoogleError, google_errors.APIError),
    ollama.ResponseError,
)
_URL = "http://recorded.invalid"
_http, _httpx = httpx2.Client(transport=_server.transport(httpx2)), httpx.Client(transport=_server.transport(httpx))
_openai = openai.OpenAI(api_key="none", base_url=f"{_URL}/v1", max_retries=0, http_client=_http)
_ollama = ollama.Client(_URL, transport=_server.transport(httpx))
_anthropic = anthropic.Anthropic(api_key="none", base_url=_URL, max_retries=0, http_client=_http)
_google = genai.Client(api_key="none", http_options={"base_url": _URL, "httpx_client": _http})
_cohere = cohere.ClientV2("none", base_url=_URL, max_retries=0, httpx_client=_httpx)
_cohere_v1 = cohere.Client("none", base_url=_URL, max_retries=0, httpx_client=_httpx)


def _answered(request: AWSPreparedRequest, **context: Any) -> AWSResponse:
    """The recorded body, before boto3 would open a socket."""
    assert isinstance(_server.body, bytes)
    return AWSResponse(
        request.url, _server.status, HeadersDict(), HTTPResponse(BytesIO(_server.body), preload_content=False)
    )


_bedrock = boto3.client(
    "bedrock-runtime",
    region_name="us-east-1",
    aws_access_key_id="none",
    aws_secret_access_key="none",
    config=Config(retries={"total_max_attempts": 1}, parameter_validation=False),
)
_bedrock.meta.events.register("before-send.bedrock-runtime", _answered)


def read(row: Row) -> Read:
    """Raises ProviderError where the exchange is one, and the error of the SDK where it cannot read the exchange."""
    if row.wire == "bedrock.converse":
        _server.body, _server.status = row.data, row.status or 200
    elif row.wire != "xai.grpc":
        _server.load(row)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pydantic's, where a dialect's types are not OpenAI's
            return _READERS[row.wire](row)
    except _REFUSALS as error:
        raise ProviderError(str(error)) from error


def _chat(row: Row) -> Read:
    request: dict[str, Any] = {"model": "m", "messages": []}
    completion: Any
    if row.stream:
        state = ChatCompletionStreamState()
        for chunk in _openai.chat.completions.create(**request, stream=True):
            state.handle_chunk(chunk)
        completion = state.current_completion_snapshot
    else:
        completion = _openai.chat.completions.create(**request)
    calls = []
    for choice in completion.choices:
        message = choice.message
        for call in message.tool_calls or ():
            made = call.custom if call.type == "custom" else call.function
            text = made.input if call.type == "custom" else made.arguments
            calls.append(Call(choice.index, call.id, made.name, text))
        if message.function_call is not None:
            legacy = message.function_call
            calls.append(Call(choice.index, None, legacy.name, legacy.arguments))
    text = completion.choices[0].message.content if completion.choices else None
    # Dialects that send a list of parts, or an object, are handed through by the SDK as they are.
    text = text or "" if text is None or isinstance(text, str) else None
    return Read(calls, text, _figures(completion.usage))


def _responses(row: Row) -> Read:
    request: dict[str, Any] = {"model": "m", "input": ""}
    response: Any
    if row.stream:
        state: Any = ResponseStreamState(input_tools=openai.omit, text_format=openai.omit)
        response = None
        for event in _openai.responses.create(**request, stream=True):
            for made in state.handle_event(event):
                if made.type in ("response.completed", "response.incomplete", "response.failed"):
                    response = made.response
        if response is None:
            raise ValueError("no terminal event")
    else:
        response = _openai.responses.create(**request)
    parts = {"function_call": "arguments", "custom_tool_call": "input"}
    items = [item for item in response.output if item.type in parts]
    calls = [Call(0, item.call_id, item.name, getattr(item, parts[item.type])) for item in items]
    return Read(calls, response.output_text, _figures(response.usage))


def _messages(row: Row) -> Read:
    request: dict[str, Any] = {"model": "m", "messages": [], "max_tokens": 1}
    message: Any = None
    buffers: dict[int, bytes] = {}
    if row.stream:
        for event in _anthropic.beta.messages.create(**request, stream=True):
            state = {"current_snapshot": message, "json_bufs": buffers}
            message = accumulate_event(event=event, request_headers=httpx2.Headers(), **state)
    else:
        message = _anthropic.beta.messages.create(**request)
    calls = []
    for index, block in enumerate(message.content):
        if block.type == "tool_use":
            text = buffers.get(index)
            calls.append(Call(0, block.id, block.name, text.decode() if text else block.input))
    texts = [block.text for block in message.content if block.type == "text"]
    return Read(calls, "".join(texts), _figures(message.usage))


def _grpc(row: Row) -> Read:
    if row.stream:
        response = XaiResponse(chat_pb2.GetChatCompletionResponse(), None)
        for message in row.messages:
            response.process_chunk(chat_pb2.GetChatCompletionChunk.FromString(message))
    else:
        response = XaiResponse(chat_pb2.GetChatCompletionResponse.FromString(row.messages[0]), None)
    types = (chat_pb2.TOOL_CALL_TYPE_CLIENT_SIDE_TOOL, chat_pb2.TOOL_CALL_TYPE_INVALID)
    client = [call for call in response.tool_calls if call.type in types]
    calls = [Call(0, call.id, call.function.name, call.function.arguments) for call in client]
    return Read(calls, response.content, None)


def _cohere_chat(row: Row) -> Read:
    if "messages" not in row.request:
        return _cohere_chat_v1(row)
    request: dict[str, Any] = {"model": "m", "messages": []}
    if not row.stream:
        response = _cohere.chat(**request)
        message = response.message
        found = message.tool_calls or ()
        calls = [Call(0, c.id, f.name, f.arguments) for c in found if (f := c.function) is not None]
        text = "".join(part.text for part in message.content or () if part.type == "text")
        return Read(calls, text, None if response.usage is None else response.usage.dict())
    begun: dict[int, Any] = {}
    arguments: dict[int, str] = {}
    text, usage = "", None
    for event in _cohere.chat_stream(**request):
        match event.type:
            case "content-delta":
                text += event.delta.message.content.text or ""
            case "tool-call-start":
                begun[event.index] = call = event.delta.message.tool_calls
                arguments[event.index] = call.function.arguments or ""
            case "tool-call-delta":
                arguments[event.index] += event.delta.message.tool_calls.function.arguments
            case "message-end":
                usage = event.delta.usage
    calls = [Call(0, call.id, call.function.name, arguments[index]) for index, call in begun.items()]
    return Read(calls, text, None if usage is None else usage.dict())


def _cohere_chat_v1(row: Row) -> Read:
    response: Any = None
    if row.stream:
        for event in _cohere_v1.chat_stream(message="m"):
            if event.event_type == "stream-end":
                response = event.response
    else:
        response = _cohere_v1.chat(message="m")
    calls = [Call(0, None, call.name, call.parameters) for call in response.tool_calls or ()]
    return Read(calls, response.text, response.meta.dict())


def _figures(usage: Any) -> dict[str, Any] | None:
    """The members of an SDK's usage object that the wire has and that are not null."""
    if usage is None:
        return None
    return {k: v for k, v in usage.to_dict(mode="json").items() if v is not None}


def _ollama_chat(row: Row) -> Read:
    events = _ollama.chat("m", [], stream=True) if row.stream else [_ollama.chat("m", [])]
    calls, texts, last = [], [], None
    for last in events:
        message = last.message
        calls += [Call(0, None, c.function.name, dict(c.function.arguments)) for c in message.tool_calls or ()]
        texts.append(message.content or "")
    figures = {name: getattr(last, name) for name in ("prompt_eval_count", "eval_count")}
    return Read(calls, "".join(texts), {name: count for name, count in figures.items() if count is not None})


def _interactions(row: Row) -> Read:
    """The steps of an interaction. Of a stream the SDK returns only the events, so they are put together here."""
    if not row.stream:
        interaction: Any = _google.interactions.create(model="m", input="")
        steps = [step for step in interaction.steps or () if step.type == "function_call"]
        calls = [Call(0, step.id, step.name, step.arguments) for step in steps]
        return Read(calls, interaction.output_text, _google_figures(interaction.usage))
    texts: list[str] = []
    streamed: dict[int, tuple[Any, list[str]]] = {}
    usage: Any = None
    for event in _google.interactions.create(model="m", input="", stream=True):
        if event.event_type == "step.start" and event.step.type == "function_call":
            streamed[event.index] = event.step, []
        elif event.event_type == "step.delta" and event.delta.type == "text":
            texts.append(event.delta.text)
        elif event.event_type == "step.delta" and event.delta.type == "arguments_delta":
            streamed[event.index][1].append(event.delta.arguments or "")
        elif event.event_type == "interaction.completed":
            usage = event.interaction.usage
    calls = [Call(0, step.id, step.name, "".join(parts)) for step, parts in streamed.values()]
    return Read(calls, "".join(texts), _google_figures(usage))


def _google_figures(usage: Any) -> dict[str, Any] | None:
    """The figures from the wire: the SDK adds that of the first of several continued interactions."""
    if usage is None:
        return None
    return usage.model_dump(mode="json", exclude_none=True, exclude={"initial_input_tokens"})  # type: ignore[no-any-return]


def _converse(row: Row) -> Read:
    """boto3 has no accumulator of its events: they are put together here, by the index of their block."""
    if not row.stream:
        answer = _bedrock.converse(modelId="m", messages=[])
        whole = answer["output"]["message"]["content"]
        parts = [part for block in whole for part in (block, *block.get("citationsContent", {}).get("content", ()))]
        return Read(_converse_calls(whole), "".join(part.get("text") or "" for part in parts), answer["usage"])
    blocks: dict[int, dict[str, Any]] = {}
    texts: list[str] = []
    usage = None
    for event in _converse_events(row):
        for kind, content in event.items():
            place = content.get("contentBlockIndex") if isinstance(content, dict) else None
            if kind == "contentBlockStart" and "toolUse" in content["start"]:
                blocks[place] = {"toolUse": {**content["start"]["toolUse"], "input": ""}}  # type: ignore[index]
            elif kind == "contentBlockDelta" and "toolUse" in content["delta"]:
                blocks[place]["toolUse"]["input"] += content["delta"]["toolUse"]["input"]  # type: ignore[index]
            elif kind == "contentBlockDelta":
                texts.append(content["delta"].get("text", ""))
            elif kind == "metadata":
                usage = content["usage"]
    return Read(_converse_calls([blocks[place] for place in sorted(blocks)]), "".join(texts), usage)


def _converse_events(row: Row) -> Iterator[dict[str, Any]]:
    if not (isinstance(row.request, dict) and "schemaVersion" in row.request):
        yield from _bedrock.converse_stream(modelId="m", messages=[])["stream"]
        return
    for event in _bedrock.invoke_model_with_response_stream(modelId="m", body=b"{}")["body"]:
        yield json.loads(event["chunk"]["bytes"])


def _converse_calls(content: list[dict[str, Any]]) -> list[Call]:
    uses = [block["toolUse"] for block in content if "toolUse" in block]
    client = [use for use in uses if use.get("type") != "server_tool_use"]
    return [Call(0, use["toolUseId"], use["name"], use["input"]) for use in client]


def _gemini(row: Row) -> Read:
    """The SDK has no accumulator: the events of a stream are read one by one."""
    request: dict[str, Any] = {"model": "m", "contents": "asked"}
    if row.stream:
        answers = list(_google.models.generate_content_stream(**request))
    else:
        answers = [_google.models.generate_content(**request)]
    calls, texts = [], []
    usage: dict[str, Any] = {}
    for answer in answers:
        for place, candidate in enumerate(answer.candidates or ()):
            for part in (candidate.content.parts if candidate.content is not None else None) or ():
                if part.function_call is not None:
                    call = part.function_call
                    calls.append(Call(candidate.index or place, call.id, call.name, call.args))
                elif part.text is not None and not part.thought and not candidate.index and not place:
                    texts.append(part.text)
        if answer.usage_metadata is not None:
            figures = answer.usage_metadata.model_dump(by_alias=True, exclude_none=True)
            usage.update({name: figure for name, figure in figures.items() if isinstance(figure, int)})
    return Read(calls, "".join(texts), usage or None)


_READERS = {
    "openai.chat": _chat,
    "openai.responses": _responses,
    "anthropic.messages": _messages,
    "xai.grpc": _grpc,
    "cohere.chat": _cohere_chat,
    "ollama.chat": _ollama_chat,
    "google.interactions": _interactions,
    "bedrock.converse": _converse,
    "google.gemini": _gemini,
}
