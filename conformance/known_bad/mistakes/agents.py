"""Mistakes of agents: what they run, what they send afterwards, and what their caller gets to know."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from toolparity.cassettes.scripts import OfferedTool
from toolparity.normalizer.answers import answer
from toolparity.normalizer.conversation import Request, TextPart, ToolResult, ToolResults, User
from toolparity.normalizer.errors import ToolparityError
from toolparity.normalizer.model import DEAD_STOPS, Response, Text, ToolCall
from toolparity.normalizer.policies import Selection, selection_of
from toolparity.normalizer.requests import read_request, write_request

from ...oracle import oracle
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
        self.exchange, self.sent = exchange, list[Any]()
        self.tools = {tool.name: tool for tool in exchange.tools}
        runs = exchange.tools[0].runs if exchange.tools else []
        try:
            self.turn(read_answer(exchange))
        except (Failed, ToolparityError) as error:
            return {"runs": list(runs), "error": str(error)}
        return {"runs": list(runs)}

    def turn(self, response: Response) -> None:
        """Run the calls of a response, and send their results."""
        self.check(response)
        selection = self.select(response)
        if not (selection.kept or selection.dropped or selection.rejected) or not self.continues(response):
            return
        kept = [response.choices[0].blocks[ref.block] for ref in selection.kept]
        results = self.results([call for call in kept if isinstance(call, ToolCall)])
        self.send(self.history(response, selection, results))

    def check(self, response: Response) -> None:
        """Raise an error if nothing of the response may run."""
        if response.error is not None:
            raise Failed(f"the provider reported {response.error.type}")
        if not response.complete:
            raise Failed("the stream broke")

    def select(self, response: Response) -> Selection:
        return selection_of(response, self.exchange.policy, self.exchange.limit)

    def continues(self, response: Response) -> bool:
        """Return whether the conversation continues after the response."""
        return bool(response.choices) and response.choices[0].stop.reason not in DEAD_STOPS

    def results(self, calls: list[ToolCall]) -> list[ToolResult]:
        return [self.result(call) for call in calls]

    def result(self, call: ToolCall) -> ToolResult:
        text = self.run(call)
        failed = text is None
        return ToolResult(call.id, [TextPart("unknown tool" if text is None else text)], failed, call.name)

    def run(self, call: ToolCall) -> str | None:
        tool = self.tools.get(call.name)
        return None if tool is None else tool(self.arguments(call))

    def arguments(self, call: ToolCall) -> Any:
        return call.arguments

    def history(self, response: Response, selection: Selection, results: list[ToolResult]) -> Request:
        request = self.first_request()
        return replace(request, messages=[*request.messages, *answer(response, selection, results)])

    def first_request(self) -> Request:
        """Return the request that the response answers, with the agent's tools."""
        exchange = self.exchange
        body = exchange.request
        if not (isinstance(body, dict) and body.get("tools")):
            offered = [OfferedTool(**tool.definition) for tool in exchange.tools]
            body = oracle(exchange.wire).request_body("Hello", offered, "model", stream=exchange.stream)
        return read_request(body, exchange.wire, provider=exchange.provider)

    def send(self, request: Request) -> None:
        body = write_request(request, self.exchange.wire, provider=self.exchange.provider).body
        if not isinstance(body, dict):
            from google.protobuf.json_format import MessageToDict

            body = MessageToDict(body, preserving_proto_field_name=True)
        self.sent.append(self.body(body))

    def body(self, body: Any) -> Any:
        return body


def _again(self: Any, response: Response) -> bool:
    """Ask the user's question again, if the model declined to answer."""
    if response.choices and response.choices[0].stop.reason in DEAD_STOPS:
        request = self.first_request()
        self.send(replace(request, messages=[*request.messages, User([TextPart("Please answer.")])]))
    return Agent.continues(self, response)


def _swallow(*kinds: str) -> Callable[[Any, Response], None]:
    """Return quietly after an error of the provider, or after a broken stream."""

    def turn(self: Any, response: Response) -> None:
        failed = "error" if response.error is not None else "break" if not response.complete else ""
        if failed not in kinds:
            Agent.turn(self, response)

    return turn


def _coerced(self: Any, call: ToolCall) -> Any:
    """Convert arguments to the types that are usual for their names."""
    return {
        key: int(value) if isinstance(value, str) and value.isdigit() else value
        for key, value in (call.arguments or {}).items()
    }


def _declared_only(self: Any, call: ToolCall) -> Any:
    tool = self.tools.get(call.name)
    known = (tool.parameters.get("properties") or {}) if tool is not None else {}
    return {key: value for key, value in (call.arguments or {}).items() if key in known} if known else call.arguments


def _with_defaults(self: Any, call: ToolCall) -> Any:
    """Add null for each parameter that the model left out."""
    tool = self.tools.get(call.name)
    known = (tool.parameters.get("properties") or {}) if tool is not None else {}
    return {**dict.fromkeys(known), **(call.arguments or {})}


def _cached(self: Any, calls: list[ToolCall]) -> list[ToolResult]:
    """Run equal calls once, and give both the same result."""
    done: dict[str, ToolResult] = {}
    for call in calls:
        key = f"{call.name} {json.dumps(call.arguments, sort_keys=True)}"
        done.setdefault(key, self.result(call))
    found = [done[f"{call.name} {json.dumps(call.arguments, sort_keys=True)}"] for call in calls]
    return [replace(result, call_id=call.id) for result, call in zip(found, calls, strict=True)]


def _empty_is_invalid(self: Any, call: ToolCall) -> str | None:
    return Agent.run(self, call) if call.arguments else "the arguments are missing"


def _unknown_ends(self: Any, call: ToolCall) -> str | None:
    text = Agent.run(self, call)
    if text is None:
        raise _Ended
    return text


class _Ended(Exception):
    """The turn ends quietly."""


def _until_unknown(self: Any, response: Response) -> None:
    try:
        Agent.turn(self, response)
    except _Ended:
        return


def _stop_decides(self: Any, response: Response) -> bool:
    return bool(response.choices) and response.choices[0].stop.reason == "tool_calls"


def _unwrapped(self: Any, response: Response, selection: Selection, results: list[ToolResult]) -> Request:
    """Send the results as a message of the user."""
    request = Agent.history(self, response, selection, results)
    text = "\n".join(part.text for result in results for part in result.parts if isinstance(part, TextPart))
    return replace(request, messages=[*request.messages[:-1], User([TextPart(text)])])


def _with_blocks(keep: Callable[[Any], bool]) -> Callable[..., Request]:
    """Send only some blocks of the model's message back."""

    def history(self: Any, response: Response, selection: Selection, results: list[ToolResult]) -> Request:
        request = Agent.history(self, response, selection, results)
        told = request.messages[-2]
        choice = replace(response.choices[0], blocks=[block for block in response.choices[0].blocks if keep(block)])
        told = replace(told, response=replace(response, choices=[choice]))
        return replace(request, messages=[*request.messages[:-2], told, request.messages[-1]])

    return history


def _without_dropped(self: Any, response: Response, selection: Selection, results: list[ToolResult]) -> Request:
    """Send the calls that ran, and their results."""
    ran = {result.call_id for result in results}
    choice = response.choices[0]
    blocks = [block for block in choice.blocks if not isinstance(block, ToolCall) or block.id in ran]
    shorter = replace(response, choices=[replace(choice, blocks=blocks)])
    return Agent.history(self, shorter, selection_of(shorter), results)


def _twice_told(self: Any, response: Response, selection: Selection, results: list[ToolResult]) -> Request:
    """Send the model's message twice."""
    request = Agent.history(self, response, selection, results)
    return replace(request, messages=[*request.messages[:-2], request.messages[-2], *request.messages[-2:]])


def _changed(**members: Any) -> Callable[..., Request]:
    """Change members of the request that the agent sends."""

    def history(self: Any, response: Response, selection: Selection, results: list[ToolResult]) -> Request:
        request = Agent.history(self, response, selection, results)
        new = {name: change(request) for name, change in members.items()}
        return replace(request, **new)

    return history


def _called_tools(request: Request) -> list[Any]:
    made = {
        call.name for message in request.messages if hasattr(message, "response") for call in message.response.calls
    }
    return [tool for tool in request.tools if tool.name in made]


def _all_policies(self: Any, response: Response) -> Selection:
    return selection_of(response)


def _until_the_limit(self: Any, calls: list[ToolCall]) -> list[ToolResult]:
    """Run all calls, and send one result."""
    return Agent.results(self, calls)[:1]


def _with_progress(self: Any, call: ToolCall) -> ToolResult:
    return replace(Agent.result(self, call), parts=[TextPart(f"Done: {self.run(call)}")])


def _failed_as_success(self: Any, call: ToolCall) -> ToolResult:
    return replace(Agent.result(self, call), is_error=False)


def _json_twice(self: Any, call: ToolCall) -> ToolResult:
    result = Agent.result(self, call)
    return replace(
        result,
        parts=[TextPart(json.dumps({"output": part.text[:9]})) for part in result.parts if isinstance(part, TextPart)],
    )


def _backwards(self: Any, calls: list[ToolCall]) -> list[ToolResult]:
    return Agent.results(self, calls[::-1])[::-1]


def _retries_break(self: Any, response: Response) -> None:
    """Run the calls of a broken stream, if their arguments are whole."""
    if response.error is None and not response.complete:
        for call in response.calls:
            if call.status == "complete":
                self.run(call)
    Agent.check(self, response)


def _quiet_rejection(self: Any, response: Response, selection: Selection, results: list[ToolResult]) -> Request:
    """Leave the calls that cannot run without a result."""
    request = Agent.history(self, response, selection, results)
    rejected = {ref.id for ref in selection.rejected}
    messages = [
        replace(message, results=[one for one in message.results if one.call_id not in rejected])
        if isinstance(message, ToolResults)
        else message
        for message in request.messages
    ]
    return replace(request, messages=messages)


#: What the agent does -> the step that does it.
AGENTS: dict[str, dict[str, Any]] = {
    "returns quietly after an error of the provider": {"turn": _swallow("error")},
    "returns quietly after a broken stream": {"turn": _swallow("break")},
    "asks again after a refusal": {"continues": _again},
    "runs the calls of a broken stream, and reports the break": {"check": _retries_break},
    "sends no tools with the results": {"history": _changed(tools=lambda request: [])},
    "sends the called tools with the results": {"history": _changed(tools=_called_tools)},
    "loses the settings of the first request": {"history": _changed(params=lambda request: {})},
    "loses the tool choice of the first request": {"history": _changed(tool_choice=lambda request: None)},
    "asks another model for the next answer": {"history": _changed(model=lambda request: "other")},
    "loses the system message in the next request": {
        "history": _changed(
            messages=lambda request: [one for one in request.messages if type(one).__name__ != "System"]
        )
    },
    "sends the model's message twice": {"history": _twice_told},
    "sends the results as a message of the user": {"history": _unwrapped},
    "loses the text beside calls in the history": {"history": _with_blocks(lambda block: not isinstance(block, Text))},
    "loses the reasoning in the history": {"history": _with_blocks(lambda block: type(block).__name__ != "Reasoning")},
    "removes calls that did not run from the history": {"history": _without_dropped},
    "leaves broken calls without a result": {"history": _quiet_rejection},
    "ignores the policy and the limit": {"select": _all_policies},
    "continues only after the stop reason for calls": {"continues": _stop_decides},
    "ends quietly at an unknown tool": {"run": _unknown_ends, "turn": _until_unknown},
    "does not run calls without arguments": {"run": _empty_is_invalid},
    "converts texts in arguments to numbers": {"arguments": _coerced},
    "drops arguments that the schema does not declare": {"arguments": _declared_only},
    "adds null for arguments that are missing": {"arguments": _with_defaults},
    "runs equal calls once": {"results": _cached},
    "runs the calls from the last to the first": {"results": _backwards},
    "sends the first result only": {"results": _until_the_limit},
    "runs a tool a second time for its message": {"result": _with_progress},
    "reports an unknown tool as a success": {"result": _failed_as_success},
    "cuts results": {"result": _json_twice},
}
