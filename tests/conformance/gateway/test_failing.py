"""A gateway that fails in one case fails that case, and the report has all others. Replies show no credentials."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from toolparity.cassettes.surfaces import SURFACES
from toolparity.conformance.gateway import run, upstream
from toolparity.conformance.gateway.client import Client, address
from toolparity.conformance.gateway.conversation import Route
from toolparity.conformance.gateway.errors import GatewayFailed
from toolparity.conformance.runner.judge import CaseFilter
from toolparity.reports import results

pytestmark = pytest.mark.service("conformance/gateway")

SECRET = "sk-0123456789abcdef"
SCENARIOS = ("both-files", "parallel-three", "single-call", "text-only")
#: Gets the body of the upstream's reply. Returns a status and a body, or None to close the connection without a reply.
Behaviour = Callable[[bytes], "tuple[int, bytes] | None"]


@contextmanager
def gateway(target: str, behaviour: Behaviour) -> Iterator[tuple[str, ThreadingHTTPServer]]:
    """Run a gateway that passes on requests, and the reply that ``behaviour`` returns."""
    host = target.removeprefix("http://")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            forwarded = http.client.HTTPConnection(host)
            forwarded.request("POST", self.path, body, {"content-type": "application/json"})
            reply = behaviour(forwarded.getresponse().read())
            forwarded.close()
            if reply is None:
                self.close_connection = True
                return
            self.send_response(reply[0])
            self.send_header("content-length", str(len(reply[1])))
            self.end_headers()
            self.wfile.write(reply[1])

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def checked(behaviour: Behaviour, headers: dict[str, str] | None = None) -> results.Run:
    with upstream.running() as provider:
        assert provider.servers is not None
        with gateway(provider.servers.http_url, behaviour) as (url, _):
            return through(provider, url, headers or {})


def through(provider: upstream.Upstream, url: str, headers: dict[str, str]) -> results.Run:
    routes = {"openai.chat": [Route("openai.chat", SURFACES["openai.chat"].model)]}
    tested = run.Gateway("ours", "1", (address(url),), routes, headers)
    chosen = CaseFilter(scenarios=SCENARIOS, modes=("plain",))
    return run.run(tested, provider, chosen, expected=lambda name: [], unreleased=True, jobs=1)


def outcomes(ran: results.Run, outcome: str) -> set[str]:
    return {one.scenario for one in ran.results if any(verdict.outcome == outcome for verdict in one.verdicts)}


def calls_three(body: bytes) -> bool:
    """Whether a reply is that of the scenario `parallel-three`."""
    return b"Porto" in body and b"list_events" in body


def test_a_connection_without_a_reply_in_time_or_at_all_fails_its_case_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(Client.__init__.__kwdefaults__, "timeout", 1.0)
    over = threading.Event()
    for wait, reason in ((False, "closed the connection without a reply"), (True, "")):

        def behave(body: bytes, wait: bool = wait) -> tuple[int, bytes] | None:
            if not calls_three(body):
                return 200, body
            over.wait(30 if wait else 0)
            return None

        ran = checked(behave)
        assert (outcomes(ran, "fail"), outcomes(ran, "error")) == ({"parallel-three"}, set())
        assert outcomes(ran, "pass") >= {"both-files", "single-call", "text-only"}
        reasons = [verdict.reason for one in ran.results for verdict in one.verdicts if verdict.outcome == "fail"]
        assert any(reason in text for text in reasons), reasons
    over.set()


def test_a_gateway_that_stops_leaves_a_report_in_which_the_rest_are_errors() -> None:
    with upstream.running() as provider:
        assert provider.servers is not None
        running: list[ThreadingHTTPServer] = []

        def stop(body: bytes) -> tuple[int, bytes] | None:
            if calls_three(body):
                running[0].socket.close()
                threading.Thread(target=running[0].shutdown, daemon=True).start()
                return None
            return 200, body

        with gateway(provider.servers.http_url, stop) as (url, server):
            running.append(server)
            ran = through(provider, url, {})
    assert outcomes(ran, "pass") == {"both-files"}
    assert outcomes(ran, "error") >= {"single-call", "text-only"}
    errors = [verdict.reason for one in ran.results for verdict in one.verdicts if verdict.outcome == "error"]
    assert all("cannot be reached" in reason for reason in errors), errors


def test_credentials_that_a_gateway_repeats_are_not_reported() -> None:
    headers = {"authorization": f"Bearer {SECRET}", "x-tenant": "hush-hush"}

    def repeat(body: bytes) -> tuple[int, bytes]:
        if calls_three(body):
            return 401, f'{{"error": {{"message": "bad key {SECRET} of hush-hush"}}}}'.encode()
        return 200, body

    ran = checked(repeat, headers)
    text = results.write(ran).decode()
    assert "bad key [redacted] of [redacted]" in text
    assert SECRET not in text
    assert "hush-hush" not in text
    with pytest.raises(GatewayFailed, match="redacted") as refused:
        checked(lambda body: (401, f"bad key {SECRET}".encode()), headers)
    assert SECRET not in str(refused.value)
