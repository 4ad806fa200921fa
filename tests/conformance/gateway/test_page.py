"""The page on gateways: its table and the baselines of known gateways agree, and its commands work."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator

import pytest
from click.testing import CliRunner

from docs.generate import gateways as program
from tests.conformance.pages import DOCS, blocks
from toolparity.cassettes.emulated.servers import Servers, serving
from toolparity.cassettes.replay.http import application
from toolparity.cassettes.replay.response_index import ResponseIndex
from toolparity.cassettes.replay.rpc import ReplayedChat
from toolparity.cli import main
from toolparity.conformance.gateway.known import known_gateway
from toolparity.conformance.runner import baseline

from . import gateways, translating

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
            assert "\nback: 200 " in done.stdout, one.name
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
    with translating.running(provider, "anthropic.messages") as url:
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
