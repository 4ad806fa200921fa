"""`toolparity tools check`: what it prints, what it reads, and its exit codes."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.support.optional import package
from toolparity.cassettes.cli import exits
from toolparity.cli import main
from toolparity.schemas import TARGETS

_UNION = {
    "name": "move",
    "description": "Move something.",
    "inputSchema": {"type": "object", "properties": {"x": {"type": "integer"}}, "anyOf": [{"required": ["x"]}]},
}
_PLAIN = {"name": "now", "description": "The time.", "inputSchema": {"type": "object", "properties": {}}}

#: An MCP server with two pages of tools, which prints a line that is not JSON and asks its client for something.
_SERVER = """
import json, sys
pages = {None: (%(first)s, "2"), "2": (%(second)s, None)}
print("starting", flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if "method" not in message or "id" not in message:
        continue
    result = {}
    if message["method"] == "initialize":
        info = {"name": "made", "version": "1"}
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
    if message["method"] == "tools/list":
        tools, cursor = pages[message.get("params", {}).get("cursor")]
        result = {"tools": tools, **({"nextCursor": cursor} if cursor else {})}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "method": "ping"}), flush=True)
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


def _run(*arguments: str, document: Any = None) -> Result:
    return CliRunner().invoke(main, ["tools", "check", *arguments], input=json.dumps(document))


def _server(folder: Path, text: str) -> str:
    program = folder / "server.py"
    program.write_text(text)
    return shlex.join([sys.executable, str(program)])


def test_a_refused_tool_is_printed_with_its_place_in_the_file_and_the_source() -> None:
    result = _run("-", "--wire", "anthropic.messages", "--wire", "ollama.chat", document={"tools": [_PLAIN, _UNION]})
    first, *others = result.output.splitlines()
    assert result.exit_code == exits.FAILED
    assert first.startswith("anthropic.messages: move: /tools/1/inputSchema/anyOf: anyOf is refused [keyword, refused]")
    assert others == ["anthropic.messages: 1 of 2 tools refused", "ollama.chat: 0 of 2 tools refused"]


def test_without_a_wire_all_targets_check_the_tools_and_an_empty_list_is_nothing_to_check() -> None:
    result = _run("-", document=[_PLAIN])
    assert result.exit_code == exits.ALL_WELL
    assert result.output.splitlines() == [f"{target}: 0 of 1 tools refused" for target in TARGETS]
    result = _run("-", "--wire", "openai.chat", document={"tools": []})
    assert result.output.splitlines() == ["openai.chat: 0 of 0 tools refused"]
    assert result.exit_code == exits.NOTHING_RAN


def test_json_lines_have_the_members_of_a_violation() -> None:
    result = _run("-", "--json", "--ignored", "--wire", "ollama.chat", document=[_UNION])
    row = json.loads(result.output.splitlines()[0])
    assert (row["target"], row["pointer"], row["effect"]) == ("ollama.chat", "/0/inputSchema/anyOf", "ignored")
    assert result.exit_code == exits.ALL_WELL, "the server drops the keyword and accepts the tool"


def test_strict_checks_every_tool_as_strict() -> None:
    assert _run("-", "--wire", "openai.chat", document=[_PLAIN]).exit_code == exits.ALL_WELL
    result = _run("-", "--wire", "openai.chat", "--strict", document=[_PLAIN])
    assert "additionalProperties is missing" in result.output
    assert result.exit_code == exits.FAILED


def test_all_pages_of_an_mcp_server_are_checked(tmp_path: Path) -> None:
    package("mcp", extra="mcp")
    server = _server(tmp_path, _SERVER % {"first": repr([_PLAIN]), "second": repr([_UNION])})
    result = _run("--mcp", server, "--wire", "anthropic.messages")
    assert result.output.splitlines()[-1] == "anthropic.messages: 1 of 2 tools refused"
    assert result.exit_code == exits.FAILED


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("print('hello')", "the MCP server cannot be used: it ended with exit code 0"),
        ("import sys; sys.exit('no licence')", "it ended with exit code 1: no licence"),
    ],
)
def test_a_server_that_does_not_list_its_tools_is_a_fault(tmp_path: Path, program: str, message: str) -> None:
    package("mcp", extra="mcp")
    result = _run("--mcp", _server(tmp_path, program))
    assert message in result.output
    assert result.exit_code == exits.FAULT


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), exits.USAGE, "either FILE or --mcp SERVER"),
        (("-", "--mcp", "server"), exits.USAGE, "either FILE or --mcp SERVER"),
        (("-", "--wire", "openai"), exits.USAGE, "did you mean openai."),
        (("-",), exits.FAULT, "the document contains no tool definition"),
        (("--mcp", "/no/such/program"), exits.FAULT, "the MCP server cannot be reached: No such file"),
        (("--mcp", ""), exits.FAULT, "the command is empty"),
    ],
)
def test_input_that_cannot_be_checked_is_one_line_and_an_exit_code(
    arguments: tuple[str, ...], code: int, message: str
) -> None:
    if "--mcp" in arguments:
        package("mcp", extra="mcp")
    result = _run(*arguments, document={"messages": []})
    assert message in result.output
    assert result.exit_code == code
