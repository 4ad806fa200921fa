"""The examples of the page about MCP servers."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.pages import DOCS, blocks
from tests.support.optional import package
from tests.turns.playing import Emulated, Say, at_once, call, script

from .scenarios import FAILING, SCENARIOS
from .serving import PROGRAM

pytestmark = pytest.mark.service("turns/mcp")

package("mcp", extra="mcp")

PAGE = "mcp.md"
COMMAND = shlex.join([sys.executable, PROGRAM])


@pytest.fixture
def names() -> dict[str, Any]:
    """The names that the page defines."""
    namespace: dict[str, Any] = {}
    for block in blocks(PAGE):
        exec(compile(block.text, PAGE, "exec", dont_inherit=True), namespace)
    return namespace


def test_the_page_example_uses_a_function_and_a_server(names: dict[str, Any]) -> None:
    calls = [call("find_boat", harbour="Horta"), call("look")]
    provider = Emulated("anthropic.messages", script(calls, [Say("Ana is free.")], tools=("find_boat", "look")))
    outcome = at_once(names["charter"](provider, "Go.", COMMAND))
    assert outcome.text == "Ana is free."
    assert [result.is_error for result in outcome.state.rounds[0].tool_results] == [False, False]


def test_the_page_example_of_a_rule_asks_for_approval(names: dict[str, Any]) -> None:
    asked: list[str] = []

    def approve(block: Any) -> bool:
        asked.append(block.name)
        return False

    provider = Emulated("openai.chat", script([call("look"), call("destroy")], [Say("Done.")], tools=("look",)))
    outcome = at_once(names["tidy"](provider, "Go.", COMMAND, approve))
    assert asked == ["destroy"]
    assert [result.is_error for result in outcome.state.rounds[0].tool_results] == [False, True]


@pytest.mark.page("docs/pages/mcp.md")
def test_the_page_example_reviews_only_what_changed(
    names: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("builtins.input", lambda _: "y")
    file = tmp_path / "approved.json"
    at_once(names["review"](COMMAND, file))
    first = json.loads(file.read_text())
    assert len(first) > 20
    capsys.readouterr()
    at_once(names["review"](f"{COMMAND} redefined", file))
    assert capsys.readouterr().out.splitlines() == [
        "look Looks twice. {'type': 'object', 'properties': {'text': {'type': 'string'}}}"
    ]
    changed = {name for name, digest in json.loads(file.read_text()).items() if digest != first[name]}
    assert changed == {"look"}


def test_the_page_has_the_figures_of_the_conformance_suite() -> None:
    page = " ".join((DOCS / PAGE).read_text("utf-8").split())
    total = len(SCENARIOS) + len(FAILING)
    assert f"Of the {total} client scenarios" in page
    assert f"{len(SCENARIOS)} pass, all of their {sum(SCENARIOS.values())} checks" in page
    assert all(f"`{scenario}`" in page for scenario in FAILING)
