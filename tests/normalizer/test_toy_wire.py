"""A third party's wire works everywhere without a change of the product.

`tests/normalizer/toy_wire` is installed as a separate distribution: a copy outside the repository, and metadata with
an entry point. Commands run in one new interpreter that finds it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.reports.test_html import data_of
from tests.support.decoding import codes, triples
from toolparity import check_request, normalize
from toolparity.conformance.oracle import facts
from toolparity.normalizer.errors import AmbiguousBody, UnknownWire
from toolparity.normalizer.wires import registry
from toolparity.normalizer.wires.model_owners import vendor_of

pytestmark = pytest.mark.service("normalizer/wires/registry.py", "tests/normalizer/toy_wire", "cassettes/surfaces.py")

SCENARIOS = ("single-call", "two-rounds", "error-rate-limit")
CALL = {"fn": "weather", "ref": "c1", "args": '{"city":"Porto"}'}
BODY: dict[str, Any] = {"toy_reply": "r1", "model": "toy-1", "steps": [{"text": "So."}, CALL], "end": "calls"}
EVENTS = (
    {"toy_event": "begin", "toy_reply": "r1", "model": "toy-1"},
    *({"toy_event": "step", "step": step} for step in BODY["steps"]),
    {"toy_event": "end", "end": "calls"},
)
STREAM = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in EVENTS)
REQUEST = {"entries": [{"by": "model", "steps": [CALL]}], "functions": [{"fn": "other"}]}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for the import path in which the distribution `toy-wire` is installed."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(Path(__file__).with_name("toy_wire"), folder / "toy_wire")
    _install(folder, "toy-wire", "toy.chat = toy_wire.spec:SPEC\n")
    return folder


def _install(folder: Path, name: str, entry_points: str) -> None:
    """Write the metadata of a distribution that registers wires."""
    metadata = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[toolparity.wires]\n{entry_points}")


@pytest.fixture
def toy(site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Yield the name of the toy wire, which this interpreter finds during the test."""
    monkeypatch.syspath_prepend(site)
    _forget()
    yield "toy.chat"
    _forget()
    for name in [name for name in sys.modules if name.partition(".")[0] == "toy_wire"]:
        del sys.modules[name]


def _forget() -> None:
    registry._registered.cache_clear()
    registry.specs.cache_clear()
    registry._specs.pop("toy.chat", None)


def test_it_is_listed_decoded_and_detected_beside_the_built_in_wires(toy: Any) -> None:
    assert registry.names() == [*registry.WIRES, toy]
    assert registry.spec(toy).owner == vendor_of("toy-2") == "toy"
    for given in (BODY, json.dumps(BODY), STREAM):
        for name in (toy, None):
            response = normalize(given, name, request=REQUEST)
            assert (response.wire, response.text, response.complete) == (toy, "So.", True)
            assert triples(response) == [("c1", "weather", {"city": "Porto"})]
            assert "unknown-tool" in codes(response)
    assert [violation.rule for violation in check_request(REQUEST, toy)] == ["results-follow"]
    assert facts(toy).strict is False
    with pytest.raises(AmbiguousBody) as caught:
        normalize(b'{"error": {"message": "no"}}')
    assert caught.value.candidates[-1] == toy


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("toy_wire.nowhere:SPEC", r"the wire toy\.broken cannot be loaded: ModuleNotFoundError"),
        ("toy_wire.spec:SPEC", r"the wire toy.broken is not its WireSpec: WireSpec\(name='toy.chat'"),
    ],
)
def test_a_broken_registration_and_a_part_that_is_missing_are_named(
    toy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str, reason: str
) -> None:
    _install(tmp_path, "toy-broken", f"toy.broken = {entry}\nopenai.chat = nothing\n")
    monkeypatch.syspath_prepend(tmp_path)
    _forget()
    assert registry.spec("openai.chat").owner == "openai"
    with pytest.raises(UnknownWire, match=reason):
        registry.spec("toy.broken")
    assert not registry.spec(toy).has_part("proto")
    with pytest.raises(UnknownWire, match=r"no narration: there is no module toy_wire\.narration"):
        registry.spec(toy).part("narration", home="toolparity.turns")


def test_without_the_distribution_the_name_is_unknown() -> None:
    with pytest.raises(UnknownWire, match=r"unknown wire: 'toy\.chat'"):
        normalize(b"{}", "toy.chat")  # type: ignore[arg-type]


#: What an interpreter does where the toy wire is installed. It prints what was loaded before, and its turn's text.
PROGRAM = """
import asyncio, json, sys
from click.testing import CliRunner
from toolparity import normalize

def run(*arguments):
    ended = CliRunner().invoke(main, arguments)
    assert ended.exit_code == 0, (ended.output, ended.exception)
    return ended.stdout

normalize(b'{"choices": []}', "openai.chat")
loaded = [name for name in sys.modules if name.startswith(("toy_wire", "importlib.metadata"))]

from toolparity.cassettes.emulated.servers import running
from toolparity.cassettes.surfaces import SURFACES
from toolparity.cli import main
from toolparity.turns import Tool, Turn
from toolparity.turns.clients import client

scenarios, folder = sys.argv[1:], "toy_wire/recorded"
chosen = [option for id in scenarios for option in ("--scenario", id)]
outputs = ("--json", "run.json", "--html", "page.html")
run("record", *scenarios, "--emulated", "--wire", "toy.chat", "--into", folder)
run("cassettes", "verify", "--library", folder)
run("check", "--wire", "toy.chat", "--unreleased", "--once", "--jobs", "1", *chosen, *outputs)
printed = [run("normalize", folder), run("audit", folder, "--json"), run("report", "run.json", "--markdown", "-")]
tools = [Tool(name="get_weather", function=lambda **arguments: "sunny", parameters={"type": "object"})]

async def turn(ask):
    with running() as servers:
        base_url = servers.base(SURFACES["toy.chat"])
        async with client("toy.chat", "toy-1", base_url=base_url, api_key="any") as provider:
            return (await Turn(provider, tools).run(ask)).text

from toolparity.cassettes.scripts import scripts
script = scripts()["single-call"]
print(json.dumps([loaded, asyncio.run(turn(script.ask)), script.rounds[-1].parts[-1].text, *printed]))
"""


def test_commands_and_turns_use_it_and_a_built_in_wire_does_not_load_it(site: Path) -> None:
    path = os.pathsep.join((str(site), os.environ.get("PYTHONPATH", "")))
    command = [sys.executable, "-c", PROGRAM, *SCENARIOS]
    ended = subprocess.run(
        command, check=False, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}, cwd=site
    )
    assert ended.returncode == 0, ended.stderr + ended.stdout
    loaded, text, expected, lines, audit, report = json.loads(ended.stdout)
    assert (loaded, text) == ([], expected)
    names = sorted(path.name for path in (site / "toy_wire" / "recorded").rglob("*.yaml"))
    assert names == sorted(f"{id}{mode}.yaml" for id in SCENARIOS for mode in ("", ".stream"))
    assert {json.loads(line)["wire"] for line in lines.splitlines()} == {"toy.chat"}
    assert {wire: counts["undecoded"] for wire, counts in json.loads(audit)["wires"].items()} == {"toy.chat": 0}
    results = json.loads((site / "run.json").read_bytes())["results"]
    verdicts = [verdict for result in results for verdict in result["verdicts"]]
    assert {verdict["outcome"] for verdict in verdicts} == {"pass"}
    laws = {name for verdict in verdicts for name in verdict.values()}
    assert {"conservation", "stream-parity", "any-split", "answered", "replay", "handoff", "usage"} <= laws
    assert "toy.chat" in json.dumps(data_of((site / "page.html").read_text()))
    assert "through `toy-wire 1.0`" in report
