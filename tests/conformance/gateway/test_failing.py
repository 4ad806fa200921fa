"""A gateway that fails in one case fails that case, and the report has all others. Replies show no credentials."""

from __future__ import annotations

import time

import pytest

from toolparity.cassettes.surfaces import SURFACES
from toolparity.conformance.gateway import run, upstream
from toolparity.conformance.gateway.client import Client, address
from toolparity.conformance.gateway.conversation import Route
from toolparity.conformance.gateway.errors import GatewayFailed
from toolparity.conformance.runner.judge import CaseFilter
from toolparity.reports import results

from . import gateways
from .gateways import Message

pytestmark = pytest.mark.service("conformance/gateway")

SECRET = "sk-0123456789abcdef"
SCENARIOS = ("both-files", "parallel-three", "single-call", "text-only")


def checked(reply: gateways.Reply, headers: dict[str, str] | None = None, only: bytes = b"Porto") -> results.Run:
    """The run against a gateway that changes the replies with a text: those of `parallel-three`."""
    with upstream.running() as provider:
        assert provider.servers is not None
        with gateways.running(
            provider.servers.http_url, reply=lambda one: reply(one) if only in one.body else one
        ) as url:
            routes = {"openai.chat": [Route("openai.chat", SURFACES["openai.chat"].model)]}
            tested = run.Gateway("ours", "1", (address(url),), routes, headers or {})
            chosen = CaseFilter(scenarios=SCENARIOS, modes=("plain",))
            return run.run(tested, provider, chosen, expected=lambda name: [], unreleased=True, jobs=1)


def outcomes(ran: results.Run, outcome: str) -> set[str]:
    return {one.scenario for one in ran.results if any(verdict.outcome == outcome for verdict in one.verdicts)}


def reasons(ran: results.Run, outcome: str) -> list[str]:
    return [one.reason for result in ran.results for one in result.verdicts if one.outcome == outcome]


def wait(reply: Message) -> None:
    time.sleep(2)


@pytest.mark.parametrize(("reply", "reason"), [(lambda one: None, "closed the connection without a reply"), (wait, "")])
def test_a_connection_without_a_reply_in_time_or_at_all_fails_its_case_only(
    reply: gateways.Reply, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(Client.__init__.__kwdefaults__, "timeout", 1.0)
    ran = checked(reply)
    assert (outcomes(ran, "fail"), outcomes(ran, "error")) == ({"parallel-three"}, set())
    assert outcomes(ran, "pass") >= {"both-files", "single-call", "text-only"}
    assert any(reason in text for text in reasons(ran, "fail"))


def test_a_gateway_that_stops_leaves_a_report_in_which_the_rest_are_errors() -> None:
    def stop(reply: Message) -> Message:
        raise gateways.Stop

    ran = checked(stop)
    assert outcomes(ran, "pass") == {"both-files"}
    assert outcomes(ran, "error") >= {"single-call", "text-only"}
    assert all("cannot be reached" in reason for reason in reasons(ran, "error"))


def test_credentials_that_a_gateway_repeats_are_not_reported() -> None:
    headers = {"authorization": f"Bearer {SECRET}", "x-tenant": "hush-hush"}

    def repeat(reply: Message) -> Message:
        body = f'{{"error": {{"message": "bad key {SECRET} of hush-hush"}}}}'.encode()
        return reply._replace(first=b"HTTP/1.1 401 Unauthorized", body=body)

    text = results.write(checked(repeat, headers)).decode()
    assert "bad key [redacted] of [redacted]" in text
    assert SECRET not in text
    assert "hush-hush" not in text
    with pytest.raises(GatewayFailed, match="redacted") as refused:
        checked(repeat, headers, only=b"")
    assert SECRET not in str(refused.value)
