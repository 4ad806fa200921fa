"""`toolparity check --gateway`: what the command prints, and when it ends with exit code 2."""

from __future__ import annotations

import socket

import pytest
from click.testing import CliRunner, Result

from toolparity.cli import main

from . import gateways
from .test_faults import in_message


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
    ],
)
def test_options_that_would_have_no_effect_are_refused(options: list[str], message: str) -> None:
    ended = CliRunner().invoke(main, ["check", *options])
    assert ended.exit_code == 2
    assert message in ended.output
