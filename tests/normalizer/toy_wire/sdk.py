"""The official SDK of the provider of `toy.chat`, as small as one can be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
from msgspec import Struct


class Received(Struct):
    """A whole reply, or one event of a stream."""

    raw: bytes


class ToyError(Exception):
    """An error of the provider."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(f"status {status}: {body.decode()}")
        self.status = status
        self.body = body


class ToyClient:
    """A connection to the provider."""

    def __init__(self, base_url: str, api_key: str, timeout: float = 60.0) -> None:
        self._http = httpx2.Client(base_url=base_url, headers={"authorization": f"Bearer {api_key}"}, timeout=timeout)
        self.close = self._http.close

    def ask(self, body: dict[str, Any]) -> Iterator[Received]:
        with self._http.stream("POST", "replies", json=body) as response:
            if response.status_code >= 400 or not body.get("stream"):
                raw = response.read()
                if response.status_code >= 400:
                    raise ToyError(response.status_code, raw)
                yield Received(raw)
                return
            for line in response.iter_lines():
                if line.startswith("data: "):
                    yield Received(line.removeprefix("data: ").encode())
