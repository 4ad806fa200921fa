"""Converse and ConverseStream through `boto3`."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Iterator
from typing import Any
from unittest import mock

from boto3.session import Session
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ClientError, EventStreamError

from toolparity.normalizer import json_codec
from toolparity.turns.clients.bedrock_converse import sdk_arguments

from . import CUT_AT, AsyncSent, Link, ProviderError, RequestSettings, Sent

REFUSALS = (ClientError,)
#: Bedrock sends these members, and botocore's service model does not have them.
UNKNOWN = frozenset(("cacheReadInputTokenCount", "cacheWriteInputTokenCount", "serverToolUsage"))

#: The system tools, which only Nova models have.
HOSTED: dict[str, dict[str, Any]] = {
    "bedrock": {"code_execution": {"systemTool": {"name": "nova_code_interpreter"}}},
}
_NOVA = "us.amazon.nova-2-lite-v1:0"
#: The environment variable with the API key. The SDK has no argument for it.
_KEY = "AWS_BEARER_TOKEN_BEDROCK"
#: Without credentials, the SDK would ask the metadata service of a virtual machine for some.
_UNUSED = {"region_name": "us-east-1", "aws_access_key_id": "unused", "aws_secret_access_key": "unused"}
_BUDGET = 1024  # the minimum of Claude


def settings(wanted: RequestSettings) -> dict[str, Any]:
    """Return the parameters: Nova for system tools, and Claude's thinking if the script contains reasoning."""
    parameters: dict[str, Any] = {}
    if wanted.script.hosted:
        parameters["modelId"] = _NOVA
    if wanted.thinks:
        parameters["additionalModelRequestFields"] = {"thinking": {"type": "enabled", "budget_tokens": _BUDGET}}
    if wanted.cut and not wanted.thinks:  # the limit must exceed the budget
        parameters["inferenceConfig"] = {"maxTokens": CUT_AT}
    return parameters


@contextlib.contextmanager
def client(link: Link) -> Iterator[Any]:
    """Yield a client without retries.

    The SDK sends an API key to addresses with https only, so that for another address it is added to the headers.
    """
    encrypted = link.base.startswith("https:")
    config = Config(
        signature_version="bearer" if encrypted else UNSIGNED,
        retries={"total_max_attempts": 1},
        read_timeout=link.timeout,
        connect_timeout=link.timeout,
    )
    with mock.patch.dict(os.environ, {_KEY: link.key} if encrypted else {}):
        sdk = Session(**_UNUSED).client("bedrock-runtime", endpoint_url=link.base, config=config)
    if not encrypted:
        header = {"Authorization": f"Bearer {link.key}"}
        sdk.meta.events.register("before-call.bedrock-runtime", lambda params, **_: params["headers"].update(header))
    try:
        yield sdk
    finally:
        sdk.close()


@contextlib.asynccontextmanager
async def async_client(link: Link) -> AsyncIterator[Any]:
    """Asynchronous variant of `client`: the same client, whose calls run in threads."""
    with client(link) as sdk:
        yield sdk


def sent(client: Any, body: dict[str, Any], stream: bool) -> Sent:
    """Yield the SDK's response, or its events."""
    arguments = sdk_arguments(client, body)
    if not stream:
        yield client.converse(**arguments)
        return
    with contextlib.closing(client.converse_stream(**arguments)["stream"]) as events:
        yield from events


async def async_sent(client: Any, body: dict[str, Any], stream: bool) -> AsyncSent:
    """Asynchronous variant of `sent`."""
    told: Any = sent(client, body, stream)
    with contextlib.closing(told) as objects:
        while (received := await asyncio.to_thread(next, objects, None)) is not None:
            yield received


def refused(error: BaseException) -> ProviderError | None:
    """Return the provider's error: an error response, or an exception in a stream, which has no status."""
    if not isinstance(error, ClientError):
        return None
    told = error.response["Error"]
    message = {"message": told.get("Message", "")}
    if isinstance(error, EventStreamError):
        return ProviderError({"error": {"type": told.get("Code", ""), **message}})
    # The code that the SDK adds comes from a header.
    return ProviderError(json_codec.encode(message), error.response["ResponseMetadata"]["HTTPStatusCode"])
