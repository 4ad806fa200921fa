"""What the official SDKs make of a recorded exchange, over their own HTTP path where they have one.

The recorded bytes are served to the real client through a transport that opens no socket, in the pieces in which they
arrived where that is known; so the SDK's own reading of server-sent events is compared too. Streams in other framings
(AWS event streams, events one a line) are handed on as server-sent events, since the clients read nothing else.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import anthropic
import httpx2
import openai
from anthropic.lib.streaming._beta_messages import accumulate_event
from google import genai
from google.genai import errors as google_errors
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.lib.streaming.responses._responses import ResponseStreamState
from xai_sdk.chat import Response as XaiResponse
from xai_sdk.proto import chat_pb2

from tests.recorded.rows import Row
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

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        headers = {"content-type": self.content_type}
        return httpx2.Response(self.status, headers=headers, content=self.body, request=request)

    def load(self, row: Row) -> None:
        self.status = row.status or 200
        if not row.stream or row.failed:
            self.body, self.content_type = row.data, "application/json"
            return
        self.content_type = "text/event-stream"
        reframed = _as_sse(row.data)
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
        kind = name
        with suppress(ValueError):
            found = json.loads(payload)
            kind = kind or (found.get("type") if isinstance(found, dict) else None)
        events.append(
            (f"event: {kind}\n".encode() if kind else b"") + b"data: " + payload.replace(b"\n", b" ") + b"\n\n"
        )
    return b"".join(events)


_server = _Server()
_openai = openai.OpenAI(
    api_key="none",
    base_url="http://recorded.invalid/v1",
    max_retries=0,
    http_client=httpx2.Client(transport=httpx2.MockTransport(_server)),
)
_anthropic = anthropic.Anthropic(
    api_key="none",
    base_url="http://recorded.invalid",
    max_retries=0,
    http_client=httpx2.Client(transport=httpx2.MockTransport(_server)),
)

_google = genai.Client(
    api_key="none",
    http_options={
        "base_url": "http://recorded.invalid",
        "httpx_client": httpx2.Client(transport=httpx2.MockTransport(_server)),
    },
)


def read(row: Row) -> Read:
    """Raises ProviderError where the provider said so, and what the SDK raises where it cannot read the exchange."""
    if row.wire != "xai.grpc":
        _server.load(row)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pydantic's, where a dialect's types are not OpenAI's
            return _READERS[row.wire](row)
    except (openai.APIError, anthropic.APIError, google_errors.APIError) as error:
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
            if call.type == "custom":
                calls.append(Call(choice.index, call.id, call.custom.name, call.custom.input))
            else:
                calls.append(Call(choice.index, call.id, call.function.name, call.function.arguments))
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
            for told in state.handle_event(event):
                if told.type in ("response.completed", "response.incomplete", "response.failed"):
                    response = told.response
        if response is None:
            raise ValueError("no terminal event")
    else:
        response = _openai.responses.create(**request)
    calls = []
    for item in response.output:
        if item.type == "function_call":
            calls.append(Call(0, item.call_id, item.name, item.arguments))
        elif item.type == "custom_tool_call":
            calls.append(Call(0, item.call_id, item.name, item.input))
    return Read(calls, response.output_text, _figures(response.usage))


def _messages(row: Row) -> Read:
    request: dict[str, Any] = {"model": "m", "messages": [], "max_tokens": 1}
    message: Any = None
    buffers: dict[int, bytes] = {}
    if row.stream:
        for event in _anthropic.beta.messages.create(**request, stream=True):
            message = accumulate_event(
                event=event, current_snapshot=message, json_bufs=buffers, request_headers=httpx2.Headers()
            )
    else:
        message = _anthropic.beta.messages.create(**request)
    calls = []
    for index, block in enumerate(message.content):
        if block.type == "tool_use":
            spelled = buffers.get(index)
            calls.append(Call(0, block.id, block.name, spelled.decode() if spelled else block.input))
    text = "".join(block.text for block in message.content if block.type == "text")
    return Read(calls, text, _figures(message.usage))


def _grpc(row: Row) -> Read:
    if row.stream:
        response = XaiResponse(chat_pb2.GetChatCompletionResponse(), None)
        for message in row.messages:
            response.process_chunk(chat_pb2.GetChatCompletionChunk.FromString(message))
    else:
        response = XaiResponse(chat_pb2.GetChatCompletionResponse.FromString(row.messages[0]), None)
    client = (chat_pb2.TOOL_CALL_TYPE_CLIENT_SIDE_TOOL, chat_pb2.TOOL_CALL_TYPE_INVALID)
    calls = [
        Call(0, call.id, call.function.name, call.function.arguments)
        for call in response.tool_calls
        if call.type in client
    ]
    return Read(calls, response.content, None)


def _figures(usage: Any) -> dict[str, Any] | None:
    """What an SDK's usage object got from the wire: unset members and nulls are none."""
    if usage is None:
        return None
    return {k: v for k, v in usage.to_dict(mode="json").items() if v is not None}


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
    "google.gemini": _gemini,
}
