"""Logs that the real tools wrote are read completely, and the calls that the agent lost are found in them.

`make_samples` runs the tools. What no tool here can write is written by hand, and `samples.json` says so.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from anthropic.types.messages import MessageBatchIndividualResponse
from click.testing import CliRunner
from openai.types.chat import ChatCompletion

from tests.cassettes.sources.logs.make_samples import WRITERS, versions_of
from toolparity.cassettes.sources import Exchange, read
from toolparity.cassettes.sources.logs import FORMATS
from toolparity.cli import main

SAMPLES = Path(__file__).parent / "samples"
#: Name -> its format, the tool that wrote it, and what the writer counted: exchanges, calls, and lost calls.
MANIFEST: dict[str, dict[str, Any]] = json.loads((SAMPLES / "samples.json").read_text("utf-8"))
_EACH = pytest.mark.parametrize("name", MANIFEST)


def audit(path: Path, *args: str) -> dict[str, Any]:
    result = CliRunner().invoke(main, ["audit", str(path), "--json", *args])
    assert result.exit_code == MANIFEST.get(path.name, {}).get("exit_code", 0), result.stderr
    assert (result.stderr == "") == (result.exit_code == 0)
    data: dict[str, Any] = json.loads(result.stdout)
    return data


def test_every_sample_states_its_writer() -> None:
    assert {path.name for path in SAMPLES.iterdir()} == {*MANIFEST, "samples.json"}
    written_by_tools = {name for name, sample in MANIFEST.items() if sample["written_by"] != "by hand"}
    assert written_by_tools == set(WRITERS)
    assert {sample["format"] for sample in MANIFEST.values()} >= set(FORMATS) - {"langfuse"}
    for name, writer in WRITERS.items():
        assert MANIFEST[name]["format"] == writer.format
        assert MANIFEST[name]["written_by"].items() <= versions_of(writer).items()
        assert (Path(__file__).parent / "writers" / f"{writer.program}_writer.py").exists()


@_EACH
def test_every_call_that_the_writer_counted_is_read_once_and_the_lost_ones_are_found(name: str) -> None:
    counted = MANIFEST[name]
    data = audit(SAMPLES / name)
    assert data["exchanges"] == counted["exchanges_read"]
    assert sum(figures["calls"] for figures in data["wires"].values()) == counted["calls_read"]
    unread = [counted[what] - counted[f"{what}_read"] for what in ("exchanges", "calls")]
    assert (unread == [0, 0]) == (counted["exit_code"] == 0)
    wires = data["conversations"]["wires"].values()
    assert sum(figures["calls"] for figures in wires) == counted["calls_read"]
    assert sum(figures["accused"] for figures in wires) == counted["lost"]
    if counted["lost"]:  # the second and the third of the first three calls
        findings = data["conversations"]["findings"]
        cities = [("dropped-in-fact", arguments(name, city)) for city in ("Porto", "Faro")]
        assert [(finding["code"], json.loads(lost(finding))) for finding in findings] == cities
    assert audit(SAMPLES / name, "--format", counted["format"]) == data


@pytest.mark.parametrize("name", ["openai-batch.jsonl", "anthropic-batch.jsonl"])
def test_the_lines_of_a_batch_fit_the_types_of_the_sdk(name: str) -> None:
    for line in (SAMPLES / name).read_text("utf-8").splitlines():
        if name.startswith("anthropic"):
            MessageBatchIndividualResponse.model_validate_json(line, strict=True)
        elif (response := json.loads(line)["response"])["status_code"] == 200:
            ChatCompletion.model_validate(response["body"], strict=True)


def lost(finding: dict[str, Any]) -> str:
    """Return the arguments of the call that a finding marks."""
    (line,) = (line for line in finding["lines"] if line["mark"] == "subject")
    return str(line["text"]).partition(" ")[2]


def arguments(name: str, city: str) -> dict[str, str]:
    return {} if "without-contents" in name else {"city": city}


@pytest.mark.parametrize("name", ["litellm.jsonl", "langsmith.jsonl", "openllmetry.jsonl"])
def test_an_array_or_export_of_the_entries_is_read_like_its_lines(name: str, tmp_path: Path) -> None:
    entries = [json.loads(line) for line in (SAMPLES / name).read_text("utf-8").splitlines()]
    path = tmp_path / "export.json"
    bodies = [item.body for item in read(SAMPLES / name) if isinstance(item, Exchange)]
    assert bodies
    for export in (entries, {"data": entries, "meta": {"page": 1}}):
        path.write_text(json.dumps(export, indent=1), "utf-8")
        assert [item.body for item in read(path) if isinstance(item, Exchange)] == bodies


def test_a_cut_file_of_flows_is_read_up_to_the_cut_and_fails(tmp_path: Path) -> None:
    path = tmp_path / "cut.flows"
    path.write_bytes((SAMPLES / "mitmproxy.flows").read_bytes()[:-500])
    result = CliRunner().invoke(main, ["audit", str(path), "--json"])
    assert result.exit_code == 4
    assert json.loads(result.stdout)["exchanges"] == MANIFEST["mitmproxy.flows"]["exchanges"] - 1
    assert "the file ends within a flow" in result.stderr
