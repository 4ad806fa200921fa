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

from tests.cassettes.sources.logs.make_samples import WRITERS
from toolparity.cassettes.sources import Exchange, read
from toolparity.cassettes.sources.logs import FORMATS
from toolparity.cli import main

SAMPLES = Path(__file__).parent / "samples"
#: Name -> its format, the tool that wrote it, and what the writer counted: exchanges, calls, and lost calls.
MANIFEST: dict[str, dict[str, Any]] = json.loads((SAMPLES / "samples.json").read_text("utf-8"))
#: Conversations whose agent lost the second and the third of the first three calls.
_LOSSY = [name for name, sample in MANIFEST.items() if sample["lost"]]
_EACH = pytest.mark.parametrize("name", MANIFEST)


def audit(path: Path, *args: str) -> dict[str, Any]:
    result = CliRunner().invoke(main, ["audit", str(path), "--json", *args])
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    data: dict[str, Any] = json.loads(result.stdout)
    return data


def test_every_sample_states_its_writer() -> None:
    assert {path.name for path in SAMPLES.iterdir()} == {*MANIFEST, "samples.json"}
    written_by_tools = {name for name, sample in MANIFEST.items() if sample["written_by"] != "by hand"}
    assert written_by_tools == set(WRITERS)
    assert all(MANIFEST[name]["format"] == writer.format for name, writer in WRITERS.items())


@pytest.mark.parametrize("name", WRITERS)
def test_a_writer_names_the_versions_that_it_ran_with(name: str) -> None:
    for tool, version in MANIFEST[name]["written_by"].items():
        assert f"{tool}=={version}" in WRITERS[name].requirements
    assert (Path(__file__).parent / "writers" / f"{WRITERS[name].program}_writer.py").exists()


def test_every_format_has_a_sample() -> None:
    assert {sample["format"] for sample in MANIFEST.values()} >= set(FORMATS) - {"langfuse"}


@_EACH
def test_every_exchange_and_call_that_the_writer_counted_is_read(name: str) -> None:
    data = audit(SAMPLES / name)
    assert data["exchanges"] == MANIFEST[name]["exchanges"]
    assert sum(figures["calls"] for figures in data["wires"].values()) == MANIFEST[name]["calls"]


@_EACH
def test_every_call_is_counted_once_by_the_audit_of_conversations(name: str) -> None:
    wires = audit(SAMPLES / name)["conversations"]["wires"].values()
    assert sum(figures["calls"] for figures in wires) == MANIFEST[name]["calls"]
    assert sum(figures["accused"] for figures in wires) == MANIFEST[name]["lost"]


@pytest.mark.parametrize("name", _LOSSY)
def test_the_lost_calls_are_found(name: str) -> None:
    findings = audit(SAMPLES / name)["conversations"]["findings"]
    assert [(finding["code"], json.loads(lost(finding))) for finding in findings] == [
        ("dropped-in-fact", arguments(name, "Porto")),
        ("dropped-in-fact", arguments(name, "Faro")),
    ]


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


@_EACH
def test_a_format_that_is_named_gives_the_same(name: str) -> None:
    assert audit(SAMPLES / name, "--format", MANIFEST[name]["format"]) == audit(SAMPLES / name)


@pytest.mark.parametrize("name", ["litellm.jsonl", "langsmith.jsonl", "openllmetry.jsonl"])
def test_an_array_of_the_entries_is_read_like_its_lines(name: str, tmp_path: Path) -> None:
    entries = [json.loads(line) for line in (SAMPLES / name).read_text("utf-8").splitlines()]
    path = tmp_path / "export.json"
    path.write_text(json.dumps(entries, indent=1), "utf-8")
    bodies = [item.body for item in read(SAMPLES / name) if isinstance(item, Exchange)]
    assert [item.body for item in read(path) if isinstance(item, Exchange)] == bodies
    assert bodies


def test_a_cut_file_of_flows_is_read_up_to_the_cut_and_fails(tmp_path: Path) -> None:
    path = tmp_path / "cut.flows"
    path.write_bytes((SAMPLES / "mitmproxy.flows").read_bytes()[:-500])
    result = CliRunner().invoke(main, ["audit", str(path), "--json"])
    assert result.exit_code == 4
    assert json.loads(result.stdout)["exchanges"] == MANIFEST["mitmproxy.flows"]["exchanges"] - 1
    assert "the file ends within a flow" in result.stderr
