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
from tests.support.decoding import codes, feed, triples
from toolparity import answer, check_request, normalize, read_request, select, write_request
from toolparity.conformance.oracle import facts
from toolparity.conformance.oracle.settings import is_comparable
from toolparity.conformance.oracle.words import unknown_words
from toolparity.normalizer.errors import AmbiguousBody, UnknownWire
from toolparity.normalizer.wires import registry
from toolparity.normalizer.wires.model_owners import vendor_of
from toolparity.turns.clients import client

pytestmark = pytest.mark.service("normalizer/wires/registry.py", "tests/normalizer/toy_wire", "cassettes/surfaces.py")

SCENARIOS = ("single-call", "two-rounds", "error-rate-limit")
BODY: dict[str, Any] = {
    "toy_reply": "r1",
    "model": "toy-1",
    "steps": [{"text": "Let me see."}, {"fn": "weather", "ref": "c1", "args": '{"city":"Porto"}'}],
    "end": "calls",
    "spent": {"in": 5, "out": 7},
}
EVENTS = (
    {"toy_event": "begin", "id": "r1", "model": "toy-1"},
    {"toy_event": "text", "add": "Let me "},
    {"toy_event": "text", "add": "see."},
    {"toy_event": "call", "fn": "weather", "ref": "c1"},
    {"toy_event": "args", "add": '{"city":'},
    {"toy_event": "args", "add": '"Porto"}'},
    {"toy_event": "end", "why": "calls", "spent": {"in": 5, "out": 7}},
)
STREAM = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in EVENTS)
REQUEST: dict[str, Any] = {
    "model": "toy-1",
    "entries": [{"by": "user", "text": "What is the weather in Porto?"}],
    "functions": [{"fn": "weather", "about": "The weather of a city.", "takes": {"type": "object"}}],
}


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


#: What an interpreter does where the toy wire is installed, step by step. It prints what each step gave, as JSON.
PROGRAM = """
import asyncio, json, sys
from click.testing import CliRunner
from toolparity import normalize

scenarios, page, results = json.loads(sys.argv[1]), "page.html", "run.json"
given = {}

def command(name, *arguments):
    ended = CliRunner().invoke(main, arguments)
    given[name] = {"code": ended.exit_code, "out": ended.stdout, "err": f"{ended.stderr}{ended.exception or ''}"}

normalize(b'{"choices": []}', "openai.chat")
given["loaded"] = [name for name in sys.modules if name.startswith(("toy_wire", "importlib.metadata"))]

from toolparity.cassettes.emulated.servers import running
from toolparity.cassettes.scripts import scripts
from toolparity.cassettes.surfaces import SURFACES
from toolparity.cli import main
from toolparity.turns import Tool, Turn
from toolparity.turns.clients import client

command("record", "record", *scenarios, "--emulated", "--wire", "toy.chat", "--into", "toy_wire/recorded")
command("verify", "cassettes", "verify", "--library", "toy_wire/recorded")
command("normalize", "normalize", "toy_wire/recorded")
command("audit", "audit", "toy_wire/recorded", "--json")
chosen = [option for id in scenarios for option in ("--scenario", id)]
outputs = ("--json", results, "--html", page)
command("check", "check", "--wire", "toy.chat", "--unreleased", "--once", "--jobs", "1", *chosen, *outputs)
command("report", "report", results, "--markdown", "-")

script = scripts()["single-call"]
call = script.rounds[0].calls[0]
[offer] = script.tools
tools = [Tool(name=offer.name, function=lambda **arguments: call.result, parameters=offer.parameters)]

async def turn():
    with running() as servers:
        base_url = servers.base(SURFACES["toy.chat"])
        async with client("toy.chat", "toy-1", base_url=base_url, api_key="any") as provider:
            outcome = await Turn(provider, tools).run(script.ask)
    return [outcome.text, script.rounds[-1].parts[-1].text]

given["turn"] = asyncio.run(turn())
print(json.dumps(given))
"""


@pytest.fixture(scope="module")
def given(site: Path) -> dict[str, Any]:
    """The results of the steps of the program."""
    path = os.pathsep.join((str(site), os.environ.get("PYTHONPATH", "")))
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(SCENARIOS)],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        cwd=site,
    )
    assert ended.returncode == 0, ended.stderr + ended.stdout
    steps: dict[str, Any] = json.loads(ended.stdout)
    return steps


def printed(given: dict[str, Any], name: str) -> str:
    """The standard output of a command, which must end with 0."""
    assert given[name]["code"] == 0, given[name]
    return str(given[name]["out"])


def test_it_is_listed_beside_the_built_in_wires(toy: Any) -> None:
    assert registry.names() == [*registry.WIRES, "toy.chat"]
    assert registry.spec(toy).owner == vendor_of("toy-2") == "toy"
    assert not registry.spec(toy).has_part("proto")


def test_without_the_distribution_the_name_is_unknown() -> None:
    with pytest.raises(UnknownWire, match=r"unknown wire: 'toy\.chat'"):
        normalize(b"{}", "toy.chat")  # type: ignore[arg-type]


@pytest.mark.parametrize("named", [True, False])
def test_bodies_and_streams_are_decoded_named_or_detected(toy: Any, named: bool) -> None:
    name = toy if named else None
    for body in (BODY, json.dumps(BODY), json.dumps(BODY).encode(), STREAM):
        response = normalize(body, name, request=REQUEST)
        assert (response.wire, response.text, response.complete) == ("toy.chat", "Let me see.", True)
        assert triples(response) == [("c1", "weather", {"city": "Porto"})]
        assert response.usage is not None
        assert response.usage.output_tokens == 7
        assert codes(response) in (["arguments-reencoded"], ["stream-body"], [])
    bytewise = [STREAM[at : at + 1] for at in range(len(STREAM))]
    response, _ = feed(name, bytewise, request={**REQUEST, "functions": [{"fn": "other"}]})
    assert (response.choices, codes(response)) == (normalize(BODY, toy).choices, ["unknown-tool"])


def test_the_laws_have_the_facts_of_its_oracle_and_errors_name_it(toy: Any) -> None:
    assert (facts(toy).strict, is_comparable("parallel calls", {}, toy)) == (False, False)
    assert list(unknown_words({"messages": [{"by": "user"}, {"by": "robot"}]}, toy)) == ['by "robot"']
    with pytest.raises(AmbiguousBody) as caught:
        normalize(b'{"error": {"message": "no"}}')
    assert caught.value.candidates[-1] == "toy.chat"


@pytest.mark.parametrize("other", registry.WIRES)
def test_requests_are_read_written_and_checked(toy: Any, other: Any) -> None:
    request = read_request(REQUEST, toy)
    response = normalize(BODY, toy)
    request.messages.extend(answer(response, select(response), {"c1": "sunny"}))
    encoded = write_request(request)
    assert encoded.losses == []
    assert check_request(encoded.body, toy) == []
    assert encoded.body["entries"][1:] == [
        {"by": "model", "steps": BODY["steps"]},
        {"by": "tool", "ref": "c1", "output": "sunny"},
    ]
    there = write_request(request, other)
    assert check_request(there.body, other) == []
    back = write_request(read_request(there.body, other), toy)
    assert back.body["entries"] == encoded.body["entries"]
    del encoded.body["entries"][2]
    assert [violation.rule for violation in check_request(encoded.body, toy)] == ["results-follow"]


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("toy_wire.nowhere:SPEC", r"the wire toy\.broken cannot be loaded: ModuleNotFoundError"),
        ("toy_wire.spec:SPEC", r"the wire toy.broken is not its WireSpec: WireSpec\(name='toy.chat'"),
    ],
)
def test_a_broken_registration_is_named(
    toy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str, reason: str
) -> None:
    _install(tmp_path, "toy-broken", f"toy.broken = {entry}\nopenai.chat = nothing\n")
    monkeypatch.syspath_prepend(tmp_path)
    _forget()
    assert registry.spec("openai.chat").owner == "openai"
    with pytest.raises(UnknownWire, match=reason):
        registry.spec("toy.broken")


def test_a_part_that_is_missing_is_named(toy: Any, site: Path) -> None:
    with pytest.raises(UnknownWire, match=r"no narration: there is no module toy_wire\.narration"):
        registry.spec(toy).part("narration", home="toolparity.turns")
    assert client(toy, base_url="http://127.0.0.1:9", api_key="any").name == "toy"


def test_commands_and_turns_use_it_and_a_built_in_wire_does_not_load_it(site: Path, given: dict[str, Any]) -> None:
    assert given["loaded"] == []
    text, expected = given["turn"]
    assert text == expected
    printed(given, "record")
    names = sorted(path.name for path in (site / "toy_wire" / "recorded").rglob("*.yaml"))
    assert names == sorted(f"{id}{mode}.yaml" for id in SCENARIOS for mode in ("", ".stream"))
    printed(given, "verify")
    lines = printed(given, "normalize").splitlines()
    assert {json.loads(line)["wire"] for line in lines} == {"toy.chat"}
    audit = json.loads(printed(given, "audit"))
    assert list(audit["wires"]) == ["toy.chat"]
    assert audit["wires"]["toy.chat"]["undecoded"] == 0


def test_the_suite_checks_it_and_reports_it(site: Path, given: dict[str, Any]) -> None:
    printed(given, "check")
    results = json.loads((site / "run.json").read_bytes())["results"]
    verdicts = [verdict for result in results for verdict in result["verdicts"]]
    assert {verdict["outcome"] for verdict in verdicts} == {"pass"}
    laws = {name for verdict in verdicts for name in verdict.values()}
    assert {"conservation", "stream-parity", "any-split", "answered", "replay", "handoff", "usage"} <= laws
    assert "toy.chat" in json.dumps(data_of((site / "page.html").read_text()))
    assert "through `toy-wire 1.0`" in printed(given, "report")
