"""Packages that are optional: none is imported before it is needed, and one that is missing is named with its extra."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from toolparity.turns.log import upgrade

OPTIONAL = {"openai", "anthropic", "xai_sdk", "grpc", "httpx", "jsonschema", "sqlalchemy", "alembic", "psycopg"}
OPTIONAL |= {"mcp", "mcp_types", "anyio", "opentelemetry", "starlette"}
TURN = """
import asyncio
from toolparity import Response
from toolparity.normalizer.model import Choice, Stop, Text, ToolCall
from toolparity.turns import Agent
class Provider:
    wire, name, model = "openai.chat", "openai", "m"
    async def ask(self, body):
        call = ToolCall("c", "look", {}, "{}")
        block, stop = (call, "tool_calls") if len(body["messages"]) == 1 else (Text("Done."), "end_turn")
        yield Response("openai.chat", "openai", None, "m", [Choice(0, [block], Stop(stop))])
def look() -> str: return "seen"
def run(**options):
    outcome = asyncio.run(Agent(Provider(), [look], **options).run("Go."))
    assert outcome.text == "Done.", outcome
    return outcome.state.trace
run()
"""


def printed(program: str, *, without: str = "") -> str:
    """What a program prints in a process in which this package is not installed."""
    prelude = f"""
import importlib.util, sys
found = importlib.util.find_spec
gone = lambda name: {without!r} != "" and f"{{name}}.".startswith({without + "."!r})
importlib.util.find_spec = lambda name, *more: None if gone(name) else found(name, *more)
sys.modules[{without or "no package"!r}] = None
"""
    done = subprocess.run([sys.executable, "-c", prelude + program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_the_normalizer_does_not_import_turns_nor_does_a_turn_import_an_optional_package() -> None:
    normalizer = printed("from toolparity import normalize, select\nprint(*sys.modules)").split()
    assert not [name for name in normalizer if name.startswith(("toolparity.turns", "asyncio", "jsonschema"))]
    imports = "import toolparity.turns.clients as c, toolparity.turns.sse\nfrom toolparity.turns import clients"
    ends = "assert clients is c\nMcpServer('program')\nprint(*sys.modules)"
    turns = printed(f"{TURN}\n{imports}, McpServer\n{ends}").split()
    assert "toolparity.turns.machine.table" in turns
    assert not OPTIONAL & {name.partition(".")[0] for name in turns}


def test_a_turn_with_telemetry_needs_only_the_api_of_opentelemetry() -> None:
    program = TURN + "from toolparity.turns.telemetry import Telemetry\nprint(run(telemetry=Telemetry()))"
    assert printed(program, without="opentelemetry.sdk") == "UNSET\n"


def test_a_log_that_is_up_to_date_is_opened_without_alembic(tmp_path: Path) -> None:
    upgrade(tmp_path / "turns.db")
    program = f"from toolparity.turns.log import Log\nLog({f'sqlite:///{tmp_path}/turns.db'!r}).dispose()"
    assert printed(f"{program}\nprint('alembic' in sys.modules)") == "False\n"


@pytest.mark.parametrize(
    ("package", "program", "named"),
    [
        ("sqlalchemy", "import toolparity.turns.log", "toolparity[log]"),
        ("opentelemetry", f"{TURN}\nimport toolparity.turns.telemetry", "toolparity[otel]"),
        ("starlette", "from toolparity.turns.manager import TurnManager, turns_app", "toolparity[server]"),
    ],
)
def test_a_missing_package_is_named_when_it_is_needed(package: str, program: str, named: str) -> None:
    caught = f"try:\n    exec({program!r})\nexcept ImportError as error:\n    print(type(error).__name__, error)"
    output = printed(caught, without=package)
    assert output.startswith("MissingExtra")
    assert named in output
