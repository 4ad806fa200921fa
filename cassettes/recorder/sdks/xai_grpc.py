"""xAI's Chat service through `xai-sdk`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any
from unittest import mock

import grpc
import xai_sdk

from toolparity.normalizer import json_codec

from ...sources.vcrpy import HTTP_STATUS
from . import CUT_AT, AsyncSent, Link, ProviderError, RequestSettings, Sent

REFUSALS = (grpc.RpcError,)

HOSTED: dict[str, dict[str, Any]] = {
    "xai": {
        "web_search": {"web_search": {}},
        "x_search": {"x_search": {}},
        "code_execution": {"code_execution": {}},
    }
}

#: Without this variable the SDK parses call arguments for its telemetry, even if none is collected. Arguments cut at
#: the token limit then raise a JSONDecodeError instead of returning the response.
_SWITCH = {"XAI_SDK_DISABLE_SENSITIVE_TELEMETRY_ATTRIBUTES": "1"}
_without_words = partial(mock.patch.dict, os.environ, _SWITCH)

#: gRPC itself retries when a server is unavailable.
_NO_RETRIES = [("grpc.enable_retries", 0)]


def settings(wanted: RequestSettings) -> dict[str, Any]:
    """Return the parameters. With reasoning or hosted tools, encrypted content is sent with the history."""
    parameters: dict[str, Any] = {}
    if wanted.thinks or wanted.script.hosted:
        parameters["use_encrypted_content"] = True
    if wanted.cut:
        parameters["max_tokens"] = CUT_AT
    return parameters


@contextlib.contextmanager
def client(link: Link) -> Iterator[Any]:
    """Yield a client without retries."""
    sdk_client = xai_sdk.Client(api_key=link.key, **_reach(link))
    try:
        with _without_words():
            yield sdk_client
    finally:
        sdk_client.close()


@contextlib.asynccontextmanager
async def async_client(link: Link) -> AsyncIterator[Any]:
    """Asynchronous variant of `client`."""
    sdk_client = xai_sdk.AsyncClient(api_key=link.key, **_reach(link))
    try:
        with _without_words():
            yield sdk_client
    finally:
        await sdk_client.close()


def sent(client: Any, body: Any, stream: bool) -> Sent:
    """Yield the SDK's Response, or its chunks."""
    chat = client.chat.create(**_arguments(body))
    if not stream:
        yield chat.sample()
        return
    for _, chunk in chat.stream():
        yield chunk


async def async_sent(client: Any, body: Any, stream: bool) -> AsyncSent:
    """Asynchronous variant of `sent`."""
    chat = client.chat.create(**_arguments(body))
    if not stream:
        yield await chat.sample()
        return
    async for _, chunk in chat.stream():
        yield chunk


def refused(error: Any) -> ProviderError | None:
    """Return the status of a failed call, from the server or from grpc itself."""
    code = error.code()
    if code is None:
        return None
    body = json_codec.encode({"code": code.name, "details": error.details() or ""})
    return ProviderError(body, HTTP_STATUS.get(code.name, 500))


def _reach(link: Link) -> dict[str, Any]:
    host = link.base.removeprefix("https://")
    return {
        "api_host": host,
        "use_insecure_channel": not link.secure,
        "timeout": link.timeout,
        "channel_options": _NO_RETRIES,
    }


def _arguments(body: Any) -> dict[str, Any]:
    """Return the request's fields as arguments of ``chat.create``."""
    return {field.name: value for field, value in body.ListFields()}
