"""A running replay server with a few scenarios, and requests to it."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from toolparity.cassettes.emulated.servers import Servers, serving
from toolparity.cassettes.library import load, path_for
from toolparity.cassettes.replay.http import application
from toolparity.cassettes.replay.journal import Journal
from toolparity.cassettes.replay.response_index import ResponseIndex
from toolparity.cassettes.replay.rpc import ReplayedChat

SCENARIOS = ("parallel-three", "single-call", "text-only")


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Server(NamedTuple):
    """A running server and its journal."""

    servers: Servers
    journal: Journal

    @property
    def url(self) -> str:
        return self.servers.http_url

    def request(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        """Send a request on a new connection. Header names have underscores instead of dashes."""
        address = urlsplit(self.url)
        assert address.hostname
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=20)
        try:
            sent = {"content-type": "application/json", **{name.replace("_", "-"): v for name, v in headers.items()}}
            connection.request(method, path, body, sent)
            response = connection.getresponse()
            fields = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, fields, response.read())
        finally:
            connection.close()

    def post(self, path: str, body: bytes, **headers: str) -> Answer:
        return self.request("POST", path, body, **headers)


@contextmanager
def running(index: ResponseIndex, **options: Any) -> Iterator[Server]:
    journal = Journal()
    app = application(index, journal=journal, **options)
    with serving(app, ReplayedChat(index, journal=journal, fault=options.get("fault"))) as servers:
        yield Server(servers, journal)


@pytest.fixture(scope="session")
def index() -> ResponseIndex:
    return ResponseIndex(scenarios=SCENARIOS)


@pytest.fixture
def server(index: ResponseIndex) -> Iterator[Server]:
    with running(index) as server:
        yield server


@pytest.fixture(scope="module")
def served(index: ResponseIndex) -> Iterator[Server]:
    with running(index) as server:
        yield server


def recorded(surface: str, stream: bool, scenario: str = "parallel-three", root: Path | None = None) -> Any:
    """Return the first interaction of a cassette."""
    return load(path_for(surface, scenario, stream, root)).interactions[0]


def sent_body(surface: str, stream: bool, scenario: str = "parallel-three") -> bytes:
    body = recorded(surface, stream, scenario)["request"]["body"]
    return body.encode() if isinstance(body, str) else bytes(body)


def answer_body(surface: str, stream: bool, scenario: str = "parallel-three") -> bytes:
    body = recorded(surface, stream, scenario)["response"]["body"]["string"]
    return body.encode() if isinstance(body, str) else bytes(body)


Running = Callable[..., AbstractContextManager[Server]]
