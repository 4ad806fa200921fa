"""The comparison of agents in agents.md: its program of this project, and that agent on every wire."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from docs.generate import agent_trials
from toolparity.cassettes.emulated.servers import Servers, running
from toolparity.turns import Agent
from toolparity.turns.outcome import Outcome

from .playing import WIRES, Say, at_once, call, script
from .test_clients import reach

SEEN = json.loads(agent_trials.SEEN.read_text())
CALLS = [call(name, **arguments) for name, arguments in agent_trials.CALLS]
SCRIPT = script(CALLS, [Say("Done.")], tools=[name for name, _ in agent_trials.CALLS])


@pytest.mark.page("docs/generate/agent_trials.py", "docs/data/agent_trials.json", "docs/programs/agents")
def test_the_program_of_this_project_does_what_the_table_says() -> None:
    published = {name: result for name, result in SEEN["with_toolparity"].items() if name != "version"}
    played = agent_trials.measure(sys.executable, "with_toolparity")
    assert played["parallel"]["seconds"] < 2 * published["parallel"]["seconds"]  # one after the other, it is more
    for results in (*played.values(), *published.values()):
        results.pop("seconds", None)
    assert played == published


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with running({"made": SCRIPT}) as up:
        yield up


@pytest.mark.thorough(keep=4)
@pytest.mark.parametrize("wire", WIRES)
def test_the_agent_of_at_most_twelve_lines_runs_on_every_wire(wire: str, servers: Servers) -> None:
    assert agent_trials.lines_of("with_toolparity") <= 12
    ran: list[str] = []

    def work(name: str, result: Any) -> Any:
        ran.append(name)
        return result

    async def work_async(name: str, result: Any) -> Any:
        return work(name, result)

    names: dict[str, Any] = {"work": work, "work_async": work_async, "URL": "http://127.0.0.1:1"}
    exec(agent_trials.agent_of("with_toolparity"), names)

    async def run() -> Outcome:
        async with reach(servers, wire) as provider:
            agent = Agent(provider, list(names["agent"].tools.values()), instructions="You let boats.")
            return await agent.run("Go.")  # the message that the script expects

    outcome = at_once(run())
    assert (outcome.text, sorted(ran)) == ("Done.", ["book", "find_boat", "price"])
    [first, *_] = outcome.state.rounds
    assert "Friday" in str(first.tool_results[1].parts)
