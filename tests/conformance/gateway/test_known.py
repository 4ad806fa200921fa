"""Known gateways: configuration, their end whatever happens to the suite, and the page with its table and commands."""

from __future__ import annotations

import json
import os
import re
import select
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from docs.generate import gateways as program
from tests.conformance.pages import DOCS, blocks
from toolparity.cassettes.emulated.servers import Servers, serving
from toolparity.cassettes.replay.http import application
from toolparity.cassettes.replay.response_index import ResponseIndex
from toolparity.cassettes.replay.rpc import ReplayedChat
from toolparity.cassettes.surfaces import SURFACES
from toolparity.cli import main
from toolparity.conformance.gateway.errors import GatewayFailed
from toolparity.conformance.gateway.known import KNOWN, installation, known_gateway, process
from toolparity.conformance.gateway.known.form import KnownGateway
from toolparity.conformance.gateway.known_bad import passing
from toolparity.conformance.gateway.known_bad.passing import Hooks
from toolparity.conformance.runner import baseline

from . import gateways

SERVICE = pytest.mark.service("conformance/gateway")

#: It writes its environment beside its configuration, and serves until it is stopped.
_SERVER = """
import os, pathlib, socket, sys, time
pathlib.Path(sys.argv[1]).with_name("seen").write_text(repr(dict(os.environ)))
listener = socket.create_server(("127.0.0.1", int(sys.argv[2])))
time.sleep(600)
"""


def known(command: Any) -> KnownGateway:
    return KnownGateway("served", "", "pip", "served", "1", lambda http: {}, lambda http: ("settings", http), command)


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KnownGateway:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    gateway = known(lambda home, file, port: [sys.executable, "-c", _SERVER, str(file), str(port)])
    folder = installation.home() / "served"
    folder.mkdir(parents=True)
    (folder / "toolparity-installed").write_text("1")
    return gateway


def answers(url: str) -> bool:
    host, _, port = url.removeprefix("http://").partition(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0


@SERVICE
def test_a_gateway_runs_without_credentials_in_a_private_folder_and_ends(
    served: KnownGateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    with process.running(served, "http://127.0.0.1:1", 2) as urls:
        assert len(set(urls)) == 2
        assert all(map(answers, urls))
        (folder,) = tmp_path.glob("toolparity-gateway-*")
        assert folder.stat().st_mode & 0o777 == 0o700
        assert "sk-secret" not in (folder / "seen").read_text()
        assert (folder / "settings").read_text() == "http://127.0.0.1:1"
    assert not any(map(answers, urls))
    assert not list(tmp_path.glob("toolparity-gateway-*"))


@SERVICE
@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL"])
def test_a_gateway_ends_with_the_process_that_started_it(served: KnownGateway, name: str) -> None:
    port = process._free_port()
    started = (
        "import sys, subprocess, time\n"
        "from pathlib import Path\n"
        "from toolparity.conformance.gateway.known import process\n"
        f"command = [sys.executable, '-c', {_SERVER!r}, {str(installation.home() / 'file')!r}, '{port}']\n"
        f"started = process._start(command, Path({str(installation.home())!r}), Path({os.devnull!r}), {{}})\n"
        f"process._wait_until_ready('served', started, {port}, Path({os.devnull!r}))\n"
        "print('ready', flush=True)\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", started], stdout=subprocess.PIPE) as suite:
        assert suite.stdout is not None
        assert suite.stdout.readline() == b"ready\n"
        guards = _children(suite.pid)
        suite.send_signal(signal.Signals[name])
        suite.wait()
    for guard in guards:
        _wait_for_end(guard)
    assert not answers(f"http://127.0.0.1:{port}")


def _children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in text.split()]


def _wait_for_end(pid: int) -> None:
    """Wait until a process that is not a child of this one has ended."""
    descriptor = os.pidfd_open(pid) if Path(f"/proc/{pid}").exists() else None
    if descriptor is not None:
        assert select.select([descriptor], [], [], 30)[0]
        os.close(descriptor)


@SERVICE
def test_a_gateway_that_ends_at_once_is_an_error_with_its_log(served: KnownGateway) -> None:
    broken = known(lambda home, file, port: [sys.executable, "-c", "raise SystemExit('no licence')"])
    with pytest.raises(GatewayFailed, match=r"ended with code 1: … no licence"), process.running(broken, "", 1):
        pass


@SERVICE
def test_every_known_gateway_has_routes_to_known_surfaces_and_a_pinned_version() -> None:
    for name in KNOWN:
        gateway = known_gateway(name)
        assert (gateway.name, gateway.version in gateway.requirement) == (name, True)
        for routes in gateway.routes("http://127.0.0.1:1").values():
            assert {route.upstream for route in routes} <= set(SURFACES)


@SERVICE
def test_the_command_lists_configures_and_misses_gateways(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    listed = CliRunner().invoke(main, ["gateway", "list"])
    assert [line.split("\t")[0] for line in listed.output.splitlines()] == list(KNOWN)
    shown = CliRunner().invoke(main, ["gateway", "config", "litellm", "--upstream", "http://127.0.0.1:7"])
    assert (shown.exit_code, "api_base: 'http://127.0.0.1:7/v1'" in shown.output) == (0, True)
    assert all(f"{name}={value}" in shown.output for name, value in known_gateway("litellm").environment.items())
    ended = CliRunner().invoke(main, ["check", "--gateway", "portkey"])
    assert (ended.exit_code, "run toolparity gateway install portkey" in ended.output) == (2, True)


@SERVICE
def test_an_installed_gateway_is_left_alone_because_it_may_run(
    served: KnownGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolparity.conformance.cli.gateway._known", lambda name: served)
    file = installation.home() / served.name / "file"
    file.write_text("in use")
    ended = CliRunner().invoke(main, ["gateway", "install", served.name])
    assert ended.exit_code == 0, ended.output
    assert "remove it first" in ended.output
    assert file.read_text() == "in use"


PAGE = pytest.mark.page("docs/pages/gateways.md", "docs/generate/gateways.py", "conformance/gateway")
SEEN = json.loads(program.SEEN.read_text())
CLASSES = program.read_classes()
BY_NAME = {one.name: one for one in CLASSES.classes}


def entries(gateway: str) -> Iterator[baseline.BaselineEntry]:
    """The expected failures of a gateway, on all client wires."""
    for path in sorted((baseline.SHIPPED / gateway).glob("*.yaml")):
        assert path.stem in known_gateway(gateway).routes("")
        yield from baseline.read(path)


@pytest.mark.parametrize("name", SEEN)
def test_every_expected_failure_has_a_class_that_a_direct_request_confirmed(name: str) -> None:
    seen = SEEN[name]
    assert seen["version"] == known_gateway(name).version, "run the suite against the new version"
    counted = {BY_NAME[one].result: facts for one, facts in seen["classes"].items()}
    assert all(facts["confirmed"] for facts in counted.values())
    assert {entry.reason for entry in entries(name)} == counted.keys()
    for entry in entries(name):
        assert entry.varies or entry.effect in counted[entry.reason]["effects"], entry
    assert [one.name for one in CLASSES.classes if one.gateway == name and one.name not in seen["classes"]] == []


@PAGE
def test_a_correct_gateway_does_not_confirm_a_class() -> None:
    same = [one for one in CLASSES.classes if one.client == one.upstream]
    assert same
    with gateways.running(program.UPSTREAM) as url:
        for one in same:
            command = [sys.executable, "-I", str(program.PROGRAMS / "through.py")]
            done = subprocess.run(
                [*command, *program.arguments(one, CLASSES, url)], capture_output=True, text=True, check=True
            )
            assert f"\nback: {one.status} " in done.stdout, one.name
            assert re.search(one.shows, done.stdout, re.DOTALL) is None, one.name


#: Two scenarios are enough to see that a command works.
FEW = ("--scenario", "parallel-three", "--scenario", "text-only", "--jobs", "2")


def commands(section: str, language: str = "sh") -> list[str]:
    """The commands of a section of the page."""
    texts = [block.text for block in blocks("gateways.md") if (block.section, block.language) == (section, language)]
    return [line for text in texts for line in text.replace("\\\n", " ").splitlines()]


@PAGE
def test_the_commands_of_the_five_minutes_test_a_gateway(port: int) -> None:
    given = commands("Five minutes for your own gateway")
    assert len(given) == 3
    provider = Servers(f"http://127.0.0.1:{port}", f"127.0.0.1:{port + 1}")
    with passing.running(provider, {"": Hooks(upstream="anthropic.messages")}) as url:
        for command in given:
            name, *rest = shlex.split(command.replace("http://127.0.0.1:4000", url))
            assert name == "toolparity"
            ended = CliRunner().invoke(main, [*rest, "--listen", str(port), *FEW])
            assert ended.exit_code == 0, f"{command}\n{ended.output}"


@PAGE
def test_a_request_is_repeated_with_curl_through_a_static_upstream() -> None:
    serve, curl = commands("The result")
    assert serve == "toolparity serve parallel-three --port 8790"

    def to_the_scenario(message: gateways.Message) -> gateways.Message:
        """Send the request to the base URL that the page gives."""
        (base,) = re.findall(
            r"`http://127\.0\.0\.1:8790(/scenario/parallel-three/openai)/v1`", (DOCS / "gateways.md").read_text("utf-8")
        )
        return message._replace(first=message.first.replace(b" /v1/", b" %b/v1/" % base.encode()))

    index = ResponseIndex()
    with (
        serving(application(index), ReplayedChat(index)) as servers,
        gateways.running(servers.http_url, request=to_the_scenario) as url,
    ):
        command = shlex.split(curl.replace("http://127.0.0.1:4000", url))
        assert command[0] == "curl"
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    called = [call["function"]["name"] for call in json.loads(done.stdout)["choices"][0]["message"]["tool_calls"]]
    assert called == ["get_weather", "get_weather", "list_events"]
