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
def run(**options):
    outcome = asyncio.run(Agent(Provider(), [look], **options).run("Go."))
    assert outcome.text == "Done.", outcome
    return outcome.state.trace
run()
"""
_MISSING = """
import importlib.util, sys
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name.startswith("opentelemetry") else found(name, *more)
sys.modules["opentelemetry"] = None
"""
_NAMES_THE_EXTRA = """
try:
    import toolparity.turns.telemetry
except ImportError as error:
    print(error)
"""
_API_ALONE = """
print([name for name in sys.modules if name.startswith('opentelemetry')])
sys.modules["opentelemetry.sdk"] = None
from toolparity.turns.telemetry import Telemetry
print(run(telemetry=Telemetry()))
"""


def _run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_turn_without_telemetry_imports_no_opentelemetry_and_one_with_it_needs_only_the_api() -> None:
    assert _run(_TURN + _API_ALONE) == "[]\nUNSET\n"


def test_without_the_package_a_turn_runs_and_the_module_names_the_extra() -> None:
    assert "toolparity[otel]" in _run(_MISSING + _TURN + _NAMES_THE_EXTRA)
