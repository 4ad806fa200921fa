"""The official SDKs for Python, Node and Rust against the server, all wires, with and without faults.

The SDKs for Node: npm install --prefix FOLDER with `NODE_SDKS`. For Rust there is OpenAI's own client, Codex, a program
that speaks Responses; its package for npm contains the binary.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.cassettes.recorder.talking import talk
from tests.support.programs import needed
from toolparity.cassettes.recorder.record import emulated
from toolparity.cassettes.replay.response_index import ResponseIndex
from toolparity.cassettes.scripts import Say, ScriptedCall, scripts
from toolparity.cassettes.surfaces import SURFACES
from toolparity.conformance.subjects import environments

from .conftest import Server, running, sent_body

_SERVICE = pytest.mark.service("cassettes/cli/serve.py", "cassettes/replay", "cassettes/emulated")

NODE_SDKS = (
    "openai",
    "@anthropic-ai/sdk",
    "@anthropic-ai/bedrock-sdk",
    "@google/genai",
    "@aws-sdk/client-bedrock-runtime",
    "cohere-ai",
    "ollama",
)
PAGE = (Path(__file__).resolve().parents[3] / "docs/pages/serve.md").read_text("utf-8")
_PAGE = pytest.mark.page("docs/pages/serve.md")
SCRIPT = scripts()["parallel-three"]
#: SDK in `sdks.mjs` -> the surface whose recorded request it sends, and its base below the server's address.
NODE = {
    "openai.chat": ("openai.chat", "/v1"),
    "azure.chat": ("openai.chat", ""),
    "openai.responses": ("openai.responses", "/v1"),
    "anthropic.messages": ("anthropic.messages", ""),
    "bedrock.messages": ("anthropic.messages", ""),
    "google.gemini": ("google.gemini", ""),
    "google.interactions": ("google.interactions", ""),
    "bedrock.converse": ("bedrock.converse", ""),
    "cohere.chat": ("cohere.chat", ""),
    "ollama.chat": ("ollama.chat", ""),
}
#: Faults that every SDK must report in every mode, with the HTTP status that it shows.
REPORTED = {"status=429": 429, "status=500": 500, "html=502": 502, "cut=300": None, "reset=300": None, "reset": None}
#: SDKs that report no error, with the reason.
UNREPORTED = {
    ("google.interactions", "malformed", True): "@google/genai skips an event that is not JSON",
    ("openai.chat", "end=300", True): "the SDK does not require the last event of a stream",
    ("azure.chat", "end=300", True): "the SDK does not require the last event of a stream",
}


@pytest.fixture(scope="module")
def server(index: ResponseIndex) -> Iterator[Server]:
    with running(index) as server:
        yield server


# Python


@_SERVICE
@pytest.mark.thorough(keep=3, per="{name}")
@pytest.mark.parametrize("fault", ["status=400", "html=502;times=9", "cut=200", "reset=200", "reset"])
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("name", [name for name, at in SURFACES.items() if not at.by_messages])
def test_python_sdks_report_faults(server: Server, name: str, stream: bool, fault: str) -> None:
    surface = SURFACES[name]
    link = emulated(surface, f"{server.url}/fault/{fault}{surface.base_path}").link
    try:
        received = talk(SCRIPT, surface, link, stream=stream)
    except Exception:  # each SDK has its own class
        return
    # The recorder returns the provider's errors, and some SDKs end a broken stream without one.
    assert received[0].response.error is not None or not received[0].response.complete


# Node


@cache
def node_folder() -> Path:
    """Return the folder in which the SDKs are installed, or skip the test."""
    folder = environments.cache() / "agents" / "standin-node"
    if not all((folder / "node_modules" / package / "package.json").exists() for package in NODE_SDKS):
        pytest.skip(f"the SDKs for Node are not installed: npm install --prefix {folder} {' '.join(NODE_SDKS)}")
    return folder


def node(server: Server, fault: str | None = None, retries: int = 0) -> dict[tuple[str, bool], dict[str, Any]]:
    """Return what each SDK for Node makes of its response, by SDK and mode."""
    program, folder = Path(__file__).with_name("sdks.mjs"), node_folder()
    start = server.url if fault is None else f"{server.url}/fault/{fault}"
    requests = [
        {
            "sdk": sdk,
            "base": start + base,
            "model": SURFACES["bedrock.converse" if sdk.startswith("bedrock") else surface].model,
            "body": json.loads(sent_body(surface, stream)),
            "stream": stream,
            "retries": retries,
        }
        for sdk, (surface, base) in NODE.items()
        for stream in (False, True)
    ]
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    command = [needed("node", what="Node"), str(program), str(folder)]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True, timeout=300)
    results = [json.loads(line) for line in done.stdout.splitlines()]
    return {(sent["sdk"], sent["stream"]): result for sent, result in zip(requests, results, strict=True)}


@_SERVICE
def test_node_sdks_read_the_recorded_response(server: Server) -> None:
    parts = SCRIPT.rounds[0].parts
    expected = {
        "text": "".join(part.text for part in parts if isinstance(part, Say)),
        "calls": [[part.tool, json.loads(part.text)] for part in parts if isinstance(part, ScriptedCall)],
    }
    assert node(server) == {(sdk, stream): expected for sdk in NODE for stream in (False, True)}


@_SERVICE
@pytest.mark.parametrize("fault", [*REPORTED, "malformed", "end=300", "empty"])
def test_node_sdks_report_faults(server: Server, fault: str) -> None:
    results = node(server, fault)
    silent = {(sdk, fault, stream) for (sdk, stream), result in results.items() if "error" not in result}
    if fault != "empty":  # an empty stream is a response without content for most SDKs
        assert silent == {key for key in UNREPORTED if key[1] == fault}
    if (status := REPORTED.get(fault)) is not None:
        assert {result["status"] for result in results.values()} == {status}
    assert "Expired" not in {result.get("error") for result in results.values()}


@_SERVICE
def test_node_sdks_that_retry_get_the_response_after_a_fault(server: Server) -> None:
    results = node(server, "status=503;retry-after=0;times=1", retries=2)
    retrying = {"openai.chat", "azure.chat", "openai.responses", "anthropic.messages", "bedrock.messages"}
    retrying |= {"bedrock.converse", "cohere.chat"}
    assert {sdk for (sdk, _), result in results.items() if result.get("calls")} >= retrying


# Rust


def codex(server: Server, tmp_path: Path, prefix: str, retries: int = 0) -> list[dict[str, Any]]:
    """Run Codex on one question and return its events."""
    configuration = (
        'model = "gpt-5-mini"\nmodel_provider = "standin"\n[model_providers.standin]\nname = "standin"\n'
        f'base_url = "{server.url}{prefix}/v1"\nwire_api = "responses"\nenv_key = "STANDIN_KEY"\n'
        f"request_max_retries = {retries}\nstream_max_retries = {retries}\n"
    )
    return codex_events(configuration, "STANDIN_KEY", tmp_path)


def codex_events(configuration: str, key: str, tmp_path: Path) -> list[dict[str, Any]]:
    """Run Codex with a configuration. ``key``: the variable with its API key."""
    program = environments.cache() / "agents" / "standin-codex" / "node_modules" / ".bin" / "codex"
    if not program.exists():
        pytest.skip(f"Codex is not installed: npm install --prefix {program.parents[2]} @openai/codex")
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    (home / "config.toml").write_text(configuration)
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "CODEX_HOME": str(home), key: "a-key"}
    command = [str(program), "exec", "--skip-git-repo-check", "--json", "Will it rain?"]
    done = subprocess.run(
        command,
        check=False,  # 1 if the turn fails
        cwd=work,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def texts_of(events: list[dict[str, Any]]) -> list[str]:
    items = [event["item"] for event in events if event["type"] == "item.completed"]
    return [item["text"] for item in items if item["type"] == "agent_message"]


FINAL = SCRIPT.rounds[1].parts[0].text  # type: ignore[union-attr]


@_SERVICE
@pytest.mark.parametrize(
    ("fault", "retries"),
    [
        ("", 0),
        ("/fault/status=503;times=1", 1),
        ("/fault/malformed=2", 0),  # Codex skips an event that is not JSON
    ],
)
def test_codex_has_its_conversation(server: Server, tmp_path: Path, fault: str, retries: int) -> None:
    events = codex(server, tmp_path, f"/scenario/parallel-three{fault}", retries)
    assert texts_of(events)[-1] == FINAL
    assert events[-1]["type"] == "turn.completed"


@_SERVICE
@pytest.mark.parametrize("fault", ["status=429", "html=502", "cut=900", "reset=900", "end=900"])
def test_codex_reports_faults(server: Server, tmp_path: Path, fault: str) -> None:
    events = codex(server, tmp_path, f"/scenario/parallel-three/fault/{fault}")
    assert events[-1]["type"] == "turn.failed"


# The examples of docs/pages/serve.md


def example(language: str, server: Server) -> str:
    """Return the first example in a language that has a base URL, with the address of the server."""
    found = next(text for text in re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL) if "/scenario/" in text)
    return found.replace("http://127.0.0.1:8080", server.url)


def run(command: list[str], **options: object) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60, **options).stdout  # type: ignore[call-overload, no-any-return]


@_PAGE
def test_the_example_for_python_prints_the_calls(server: Server) -> None:
    assert run([sys.executable, "-c", example("python", server)]) == "['get_weather', 'get_weather', 'list_events']\n"


@_PAGE
def test_the_example_for_node_prints_the_number_of_calls(server: Server, tmp_path: Path) -> None:
    (tmp_path / "node_modules").symlink_to(node_folder() / "node_modules")
    program = tmp_path / "example.mjs"
    program.write_text(example("js", server))
    assert run([needed("node", what="Node"), str(program)], cwd=tmp_path) == "3\n"


@_PAGE
def test_the_example_for_curl_gets_the_answer(server: Server) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    assert "The capital of Portugal is Lisbon." in run(["sh", "-c", example("sh", server)])


@_PAGE
def test_the_configuration_of_codex_works(server: Server, tmp_path: Path) -> None:
    events = codex_events(example("toml", server), "STAND_IN_KEY", tmp_path)
    assert texts_of(events)[-1] == FINAL
