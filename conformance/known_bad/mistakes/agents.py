"""Mistakes of agents in what they run; `known_bad.agents` has those in what they send and what their caller sees."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from toolparity.normalizer.errors import ToolparityError
from toolparity.normalizer.model import DEAD_STOPS, Response, ToolCall
from toolparity.normalizer.policies import Selection, selection_of

from ...subjects import SubjectExchange
from ...subjects.reference import read_answer


class Failed(Exception):
    """The turn failed. The caller of the agent gets the text."""


class Agent:
    """A correct agent on every wire, which gets the bytes of the response. `AGENTS` replace one of its steps each."""

    name, version = "agent", "known bad"
    claims = frozenset(("runs", "stream", "select"))
    wires = None

    def __init__(self, steps: Mapping[str, Any] = MappingProxyType({})) -> None:
        for name, step in steps.items():
            setattr(self, name, partial(step, self))

    def read(self, exchange: SubjectExchange) -> dict[str, Any]:
        """Run a turn."""
        self.exchange = exchange
        self.tools = {tool.name: tool for tool in exchange.tools}
        self.unknown: list[dict[str, Any]] = []
        runs = exchange.tools[0].runs if exchange.tools else []
        try:
            self.turn(read_answer(exchange))
        except (Failed, ToolparityError) as error:
            return {"runs": list(runs), "error": str(error)}
        return {"runs": list(runs), "rejected": self.unknown}

    def turn(self, response: Response) -> None:
        """Run the calls of a response."""
        self.check(response)
        if response.choices and response.choices[0].stop.reason not in DEAD_STOPS:
            blocks = [response.choices[0].blocks[ref.block] for ref in self.select(response).kept]
            self.run_all([block for block in blocks if isinstance(block, ToolCall)])

    def check(self, response: Response) -> None:
        """Raise an error if nothing of the response may run."""
        if response.error is not None:
            raise Failed(f"the provider reported {response.error.type}")
        if not response.complete:
            raise Failed("the stream broke")

    def select(self, response: Response) -> Selection:
        return selection_of(response, self.exchange.policy, self.exchange.limit)

    def run_all(self, calls: list[ToolCall]) -> None:
        for call in calls:
            self.run(call)

    def run(self, call: ToolCall) -> None:
        """Run a call, or return it to the caller if the agent does not have its tool."""
        if call.name in self.tools:
            self.tools[call.name](self.arguments(call))
        else:
            self.unknown.append({"name": call.name, "id": call.id, "arguments": call.arguments})

    def arguments(self, call: ToolCall) -> Any:
        return call.arguments


def _coerced(self: Any, call: ToolCall) -> Any:
    return {
        key: int(value) if isinstance(value, str) and value.isdigit() else value
        for key, value in (call.arguments or {}).items()
    }


def _declared(self: Any, call: ToolCall) -> dict[str, Any]:
    tool = self.tools.get(call.name)
    return (tool.parameters.get("properties") or {}) if tool is not None else {}


def _declared_only(self: Any, call: ToolCall) -> Any:
    known = _declared(self, call)
    return {key: value for key, value in (call.arguments or {}).items() if key in known} if known else call.arguments


def _with_nulls(self: Any, call: ToolCall) -> Any:
    return {**dict.fromkeys(_declared(self, call)), **(call.arguments or {})}


def _run_different(self: Any, calls: list[ToolCall]) -> None:
    done: list[Any] = []
    for call in calls:
        if (call.name, call.arguments) not in done:
            done.append((call.name, call.arguments))
            self.run(call)


def _run_until_unknown(self: Any, calls: list[ToolCall]) -> None:
    for call in calls:
        if call.name not in self.tools:
            return
        self.run(call)


def _run_with_arguments(self: Any, call: ToolCall) -> None:
    if call.arguments:
        Agent.run(self, call)


def _run_twice(self: Any, call: ToolCall) -> None:
    Agent.run(self, call)
    Agent.run(self, call)


def _run_of_a_break(self: Any, response: Response) -> None:
    if response.error is None and not response.complete:
        self.run_all([call for call in response.calls if call.status == "complete"])
    Agent.check(self, response)


#: What the agent does -> the step that does it.
AGENTS: dict[str, dict[str, Any]] = {
    "runs the calls of a broken stream, and reports the break": {"check": _run_of_a_break},
    "ignores the policy and the limit": {"select": lambda self, response: selection_of(response)},
    "ends quietly at an unknown tool": {"run_all": _run_until_unknown},
    "does not run calls without arguments": {"run": _run_with_arguments},
    "converts texts in arguments to numbers": {"arguments": _coerced},
    "drops arguments that the schema does not declare": {"arguments": _declared_only},
    "adds null for arguments that are missing": {"arguments": _with_nulls},
    "runs equal calls once": {"run_all": _run_different},
    "runs the calls from the last to the first": {"run_all": lambda self, calls: Agent.run_all(self, calls[::-1])},
    "runs a tool a second time for its message": {"run": _run_twice},
}
