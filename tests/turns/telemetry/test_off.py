"""Without the option ``telemetry``, a turn imports nothing of OpenTelemetry and does nothing for it."""

from __future__ import annotations

import subprocess
import sys

_TURN = """
import asyncio, sys
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
outcome = asyncio.run(Agent(Provider(), [look]).run("Go."))
assert outcome.text == "Done.", outcome
"""


def _run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_turn_without_telemetry_imports_no_module_of_opentelemetry() -> None:
    assert _run(_TURN + "print([name for name in sys.modules if name.startswith('opentelemetry')])") == "[]\n"


def test_without_the_package_a_turn_runs_and_the_module_names_the_extra() -> None:
    missing = """
import importlib.util, sys
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name.startswith("opentelemetry") else found(name, *more)
sys.modules["opentelemetry"] = None
"""
    tried = """
try:
    import toolparity.turns.telemetry
except ImportError as error:
    print(error)
"""
    assert "toolparity[otel]" in _run(missing + _TURN + tried)


def test_the_api_alone_is_enough() -> None:
    alone = """
import sys
sys.modules["opentelemetry.sdk"] = None
from toolparity.turns.telemetry import Telemetry
"""
    measured = _TURN.replace("Agent(Provider(), [look])", "Agent(Provider(), [look], telemetry=Telemetry())")
    assert _run(alone + measured + "print(outcome.state.trace)") == "UNSET\n"
