"""Every block of the README and of the pages is run, or at least parsed, or says why not."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from docs.generate import install
from tests.conformance.pages import DOCS, Block, Reader, blocks, commands
from toolparity.cli import main

ROOT = DOCS.parents[1]
PAGES = {path.name: path for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md")))}
SHOWN = {name: list(blocks(str(path))) for name, path in PAGES.items()}
#: The pages whose Python needs objects that their own tests make.
TESTED = {
    "agents.md": "tests/conformance/test_agents.py",
    "bulk.md": "tests/audit/bulk/test_parts.py",
    "ci.md": "tests/conformance/test_ci.py",
    "manager.md": "tests/turns/manager/test_app.py",
    "mcp.md": "tests/turns/mcp/test_server.py",
    "orchestration.md": "tests/turns/orchestration/test_logged.py",
    "scenarios.md": "tests/cassettes/scenarios/test_scenario_folders.py",
    "serve.md": "tests/cassettes/replay/test_sdks.py",
    "subjects.md": "tests/conformance/test_ci.py",
    "telemetry.md": "tests/turns/telemetry/test_spans.py",
    "textmode.md": "tests/normalizer/textmode/test_tool_parsers.py",
    "turn-log.md": "tests/turns/log/test_page.py",
    "turn-testing.md": "tests/turns/testing/test_injected_faults.py",
    "turns.md": "tests/turns/test_page.py",
}
#: The pages that a reader can follow from an empty folder.
FOLLOWED = ["README.md", *(name for name in SHOWN if name.startswith("tutorial-"))]
PYTHON = [
    name
    for name, shown in SHOWN.items()
    if name not in (*TESTED, *FOLLOWED) and any(block.language == "python" for block in shown)
]
LANGUAGES = {"console", "js", "json", "mermaid", "python", "sh", "text", "toml", "yaml"}
#: What the Python of a page has in an application: run before it.
SETUP = {
    "README.md": """
from contextlib import asynccontextmanager
import json, yaml
from tests.support.decoding import traffic
from tests.turns.playing import Emulated, Round, Say, call, script
from toolparity.turns import clients
recorded = ROOT / "cassettes/recorded/anthropic/anthropic.messages/parallel-three.yaml"
body = yaml.safe_load(recorded.read_text())["interactions"][0]["response"]["body"]["string"]
calls = [("call_1", "weather", '{"city":"Turin"}'), ("call_2", "weather", '{"city":"Milan"}')]
streamed = b"".join(traffic("openai.chat", True, calls))
class http_response:
    iter_bytes = lambda: (streamed[at : at + 7] for at in range(0, len(streamed), 7))
tool = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
request_body = {"model": "m", "messages": [{"role": "user", "content": "How warm?"}], "tools": [tool]}
asked = Round([call("open_invoices", customer="c1")], "What do I owe?")
played = script(asked, [Say("You owe 20.")], tools=["open_invoices"])
@asynccontextmanager
async def client(wire, model):
    yield Emulated(wire, played)
monkeypatch.setattr(clients, "client", client)
""",
    "audit.md": """
said = {"object": "chat.completion", "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello."}}]}
traffic = [("log:1", {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}, said)]
""",
    "proxy.md": "monkeypatch.setenv('OPENAI_API_KEY', 'any')",
    "sessions.md": """
from tests.normalizer.test_sessions import WHOLE
class Connection(list):
    async def __aiter__(self):
        for message in WHOLE:
            yield message
    async def send(self, reply):
        self.append(reply)
connection, run = Connection(), lambda call: "done"
""",
    "tool-schemas.md": """
from toolparity import ToolCall
document = {"tools": [{"name": "get_weather", "input_schema": {"type": "object", "properties": {}}}]}
call = ToolCall("call_1", "get_weather", {}, "{}")
""",
}


def environment() -> dict[str, str]:
    """The commands of this environment first on the path, and nothing of the run of the tests."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "TOOLPARITY"))}
    return {**kept, "PATH": path, "PYTHONPATH": str(ROOT), "COLUMNS": "120"}


def reader(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Reader:
    """A reader of a page, in a folder, with what the page's Python needs."""
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {"__name__": "page", "ROOT": ROOT, "monkeypatch": monkeypatch}
    exec(SETUP.get(name, ""), names)
    return Reader(folder, environment(), names)


@pytest.mark.parametrize("name", PYTHON)
def test_the_python_of_a_page_runs_and_prints_what_the_page_shows(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with reader(name, tmp_path, monkeypatch) as does:
        before = ""
        for block in SHOWN[name]:
            if block.language == "python" or (before, block.language) == ("python", "text"):
                does.do(block)
            before = block.language


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.page(str(PAGES[name].relative_to(ROOT)), "tests/conformance/pages.py"))
        for name in FOLLOWED
    ],
)
def test_a_page_can_be_followed_from_an_empty_folder(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    if name == "README.md":  # its reader has a checkout
        (folder / "cassettes").symlink_to(ROOT / "cassettes")
    with reader(name, folder, monkeypatch) as does:
        assert sum(does.do(block) for block in SHOWN[name]) > 5


def lines(text: str) -> Iterator[list[str]]:
    """The command lines of ``toolparity`` in shell text, without redirections and variables before them."""
    for line in text.replace("\\\n", " ").splitlines():
        for part in re.split(r"(?:^| )(?:&&|\|\|?|;|&)(?: |$)", line):
            if found := re.match(r"(?:\w+=\S+ )*toolparity (.*)", part.strip()):
                words = shlex.split(found[1], comments=True)
                yield words[: next((at for at, word in enumerate(words) if re.match(r"\d?[<>]", word)), len(words))]


def accept(words: list[str]) -> None:
    """Raise click.UsageError for a command line with an unknown command, option or name."""
    command: click.Command = main
    context = click.Context(main, info_name="toolparity")
    with ExitStack() as opened:  # a context can change the scenarios of the process until it is closed
        while isinstance(command, click.Group):
            _, found, words = command.resolve_command(context, words)
            assert found is not None
            command, context = found, found.make_context(found.name, words, parent=context)
            opened.callback(context.close)
            words = [*context._protected_args, *context.args]


def test_each_block_that_is_not_run_is_parsed_or_says_why_not(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("tests/scenarios", "reports/published/history"):  # other paths need not exist
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "tests" / "scenarios" / "refund.toml").write_text(SHOWN["scenarios.md"][0].text)
    monkeypatch.setattr(click.Path, "convert", lambda self, value, param, ctx: self.coerce_path_result(value))
    wrong, count = [], Counter[str]()
    parsers = {"json": json.loads, "toml": tomllib.loads, "yaml": lambda text: list(yaml.safe_load_all(text))}
    for name, shown in SHOWN.items():
        fences = sum(line.startswith("```") for line in PAGES[name].read_text("utf-8").splitlines())
        if fences != 2 * len(shown):
            wrong.append(f"{name}: a block without a language")
        for block in shown:
            count["not run" if block.mark.startswith("not run: ") else block.language] += 1
            try:
                check(block, parsers)
                if block.language in ("console", "text") and name not in (*TESTED, *FOLLOWED, *PYTHON):
                    assert block.mark.startswith("not run: "), "nothing compares it"
            except (ValueError, click.UsageError, AssertionError) as error:
                wrong.append(f"{name}: {block.text.splitlines()[0]}: {error}")
    with capsys.disabled():
        print(f"\nblocks of the documentation: {', '.join(f'{many} {what}' for what, many in sorted(count.items()))}")
    assert not wrong, "\n".join(wrong)


def check(block: Block, parsers: Any) -> None:
    assert block.language in LANGUAGES, "unknown language"
    if block.language in parsers:
        parsers[block.language](block.text)
    if block.language == "python":
        compile(block.text, "page", "exec", 0x2000)
    if block.language in ("sh", "console"):
        text = block.text if block.language == "sh" else "\n".join(command for command, _ in commands(block))
        for words in lines(text):
            accept(words)


def test_each_page_with_its_own_test_is_named_there() -> None:
    for page, test in TESTED.items():
        assert page in (ROOT / test).read_text("utf-8"), test


def test_one_value_decides_which_install_lines_the_pages_show(monkeypatch: pytest.MonkeyPatch) -> None:
    page = "pip install 'toolparity[html]' or .venv/bin/pip install 'toolparity[html] @ git+https://old'"
    assert install.shown(page).count("'toolparity[html] @ git+https://github.com/") == 2
    assert install.shown("- uses: OWNER/toolparity@v1") == "- uses: toolparity/toolparity@v1"
    monkeypatch.setattr(install, "PUBLISHED", True)
    assert install.shown(page) == "pip install 'toolparity[html]' or .venv/bin/pip install 'toolparity[html]'"
