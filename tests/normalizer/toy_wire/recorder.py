"""Requests of the recorder through the SDK of `toy.chat`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from toolparity.cassettes.recorder.sdks import Link, ProviderError, RequestSettings

from .sdk import ToyClient, ToyError

REFUSALS = (ToyError,)
HOSTED: dict[str, dict[str, Any]] = {}


def settings(asking: RequestSettings) -> dict[str, Any]:
    return {"stream": True} if asking.stream else {}


def client(link: Link) -> contextlib.closing[ToyClient]:
    return contextlib.closing(ToyClient(link.base, link.key, link.timeout))


def sent(client: ToyClient, body: dict[str, Any], stream: bool) -> Iterator[Any]:
    return client.ask(body)


def refused(error: ToyError) -> ProviderError:
    return ProviderError(error.body, error.status)
