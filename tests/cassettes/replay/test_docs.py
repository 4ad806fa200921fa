"""The examples of docs/pages/serve.md run, and its table of faults is that of the code."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.programs import needed
from toolparity.cassettes.replay.response_index import ResponseIndex

from .conftest import Server, running
from .test_sdks import FINAL, codex_events, node_folder, texts_of

DOCS = Path(__file__).resolve().parents[3] / "docs" / "pages"
PAGE = (DOCS / "serve.md").read_text("utf-8")


@pytest.fixture(scope="module")
def server(index: ResponseIndex) -> Iterator[Server]:
    with running(index) as server:
        yield server


def example(language: str, server: Server) -> str:
    """Return the first example in a language that has a base URL, with the address of the server."""
    found = next(text for text in re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL) if "/scenario/" in text)
    return found.replace("http://127.0.0.1:8080", server.url)


def run(command: list[str], **options: object) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60, **options).stdout  # type: ignore[call-overload, no-any-return]


@pytest.mark.page("docs/pages/serve.md")
def test_the_example_for_python_prints_the_calls(server: Server) -> None:
    assert run([sys.executable, "-c", example("python", server)]) == "['get_weather', 'get_weather', 'list_events']\n"


@pytest.mark.page("docs/pages/serve.md")
def test_the_example_for_node_prints_the_number_of_calls(server: Server, tmp_path: Path) -> None:
    (tmp_path / "node_modules").symlink_to(node_folder() / "node_modules")
    program = tmp_path / "example.mjs"
    program.write_text(example("js", server))
    assert run([needed("node", what="Node"), str(program)], cwd=tmp_path) == "3\n"


@pytest.mark.page("docs/pages/serve.md")
def test_the_example_for_curl_gets_the_answer(server: Server) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    assert "The capital of Portugal is Lisbon." in run(["sh", "-c", example("sh", server)])


@pytest.mark.page("docs/pages/serve.md")
def test_the_configuration_of_codex_works(server: Server, tmp_path: Path) -> None:
    events = codex_events(example("toml", server), "STAND_IN_KEY", tmp_path)
    assert texts_of(events)[-1] == FINAL
