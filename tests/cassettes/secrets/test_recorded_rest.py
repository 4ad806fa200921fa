"""A recording remembers what the answers held before they were scrubbed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
import requests

from tests.cassettes.secrets.cassettes import answer
from tests.cassettes.secrets.fakes import fake
from toolparity.cassettes.errors import SecretsLeft
from toolparity.cassettes.recorder.vcr import recording
from toolparity.cassettes.secrets import Scrubber


class _Echo(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = answer(f"it is {fake('openai')}")
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        return


@pytest.fixture
def address() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), _Echo)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_scrubber_that_takes_out_a_piece_only_is_found_out(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scrubber, "body", lambda self, body: body.replace(b"sk-proj-", b"REDACTED"))
    with pytest.raises(SecretsLeft, match="rest of a secret"), recording({}):
        requests.get(address, timeout=10)


def test_a_secret_that_was_removed_whole_leaves_no_rest(address: str) -> None:
    with recording({}) as cassette:
        requests.get(address, timeout=10)
    assert len(cassette.responses) == 1
