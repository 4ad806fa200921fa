"""A gateway that fails in one case fails that case alone, and what `toolparity check --gateway` prints and refuses."""

from __future__ import annotations

import socket
import time

import pytest
from click.testing import CliRunner, Result

from toolparity.cassettes.surfaces import SURFACES
from toolparity.cli import main
from toolparity.conformance.gateway import run, upstream
from toolparity.conformance.gateway.client import Client, address
from toolparity.conformance.gateway.conversation import Route
from toolparity.conformance.gateway.errors import GatewayFailed
from toolparity.conformance.runner.judge import CaseFilter
from toolparity.reports import results

from . import gateways
from .gateways import Message
from .test_faults import in_message

SERVICE = pytest.mark.service("conformance/gateway")

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


@SERVICE
@pytest.mark.parametrize(("reply", "reason"), [(lambda one: None, "closed the connection without a reply"), (wait, "")])
def test_a_connection_without_a_reply_in_time_or_at_all_fails_its_case_only(
    reply: gateways.Reply, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(Client.__init__.__kwdefaults__, "timeout", 1.0)
    ran = checked(reply)
    assert (outcomes(ran, "fail"), outcomes(ran, "error")) == ({"parallel-three"}, set())
    assert outcomes(ran, "pass") >= {"both-files", "single-call", "text-only"}
    assert any(reason in text for text in reasons(ran, "fail"))


@SERVICE
def test_a_gateway_that_stops_leaves_a_report_in_which_the_rest_are_errors() -> None:
    def stop(reply: Message) -> Message:
        raise gateways.Halt

    ran = checked(stop)
    assert outcomes(ran, "pass") == {"both-files"}
    assert outcomes(ran, "error") >= {"single-call", "text-only"}
    assert all("cannot be reached" in reason for reason in reasons(ran, "error"))


@SERVICE
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


def check(*arguments: str) -> Result:
    few = ("--scenario", "parallel-three", "--mode", "plain", "--no-baseline")
    return CliRunner().invoke(main, ["check", "--gateway", *arguments, *few])


def test_a_correct_gateway_ends_with_0_and_one_with_a_fault_with_1(port: int) -> None:
    with gateways.running(f"http://127.0.0.1:{port}") as url:
        ended = check(url + "/v1", "--listen", str(port))
        assert ended.exit_code == 0, ended.output
        assert f"{url.removeprefix('http://')} as openai.chat" in ended.output
    with gateways.running(f"http://127.0.0.1:{port}", reply=in_message(lambda calls: calls[:1])) as url:
        ended = check(url, "--listen", str(port))
    assert ended.exit_code == 1, ended.output
    assert f"toolparity check --gateway {url} --upstream openai.chat --listen {port}" in ended.output
    assert f"direct:  curl -sN {url}/v1/chat/completions" in ended.output


def test_a_gateway_that_cannot_be_reached_ends_with_2_and_its_credentials_are_not_printed(port: int) -> None:
    ended = check(f"http://user:hunter2@127.0.0.1:{port}", "--listen", str(port + 2))
    assert ended.exit_code == 2
    assert "cannot be reached" in ended.output
    assert "hunter2" not in ended.output


def test_a_used_port_ends_with_2(port: int) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()
        ended = check("http://127.0.0.1:9", "--listen", str(port))
    assert ended.exit_code == 2
    assert f"127.0.0.1:{port}: the upstream cannot start" in ended.output


def test_a_gateway_that_never_asks_the_upstream_ends_with_2(port: int) -> None:
    def elsewhere(message: gateways.Message) -> gateways.Message:
        return message._replace(first=message.first.replace(b"/chat/completions", b"/unknown"))

    with gateways.running(f"http://127.0.0.1:{port}", request=elsewhere) as url:
        ended = check(url, "--listen", str(port))
    assert ended.exit_code == 2
    assert "no request reached the upstream" in ended.output
    assert "HTTP 404" in ended.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--client", "openai.chat"], "need --gateway"),
        (["--listen", "9000"], "--listen need --gateway"),
        (["--gateway", "portkey", "--header", "x-a: b"], "for a gateway at a URL"),
        (["--gateway", "portkey", "--listen", "9000"], "for a gateway at a URL"),
        (["--gateway", "127.0.0.1:4000"], "write http:// or https://"),
        (["--gateway", "http://x", "--as", "codex", "--wire", "openai.chat"], "openai.responses only"),
        (["--gateway", "http://x", "--as", "codex", "--model", "openai.chat=x"], "openai.responses only"),
    ],
)
def test_options_that_would_have_no_effect_are_refused(options: list[str], message: str) -> None:
    ended = CliRunner().invoke(main, ["check", *options])
    assert ended.exit_code == 2
    assert message in ended.output
