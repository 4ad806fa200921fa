"""Known-bad agents: a correct agent on `openai.chat` or `anthropic.messages`, with one defect each.

Each names a case, and the law that must fail it there.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from urllib.error import HTTPError

from ..cases.case import Case
from ..subjects import SubjectExchange

Json = dict[str, Any]


class ChatAgent:
    """A correct agent on `openai.chat`. Defects change its second request (`second`), or another step."""

    name, version = "agent", "known bad"
    claims = frozenset(("runs", "stream"))
    wires = frozenset(("openai.chat",))
    input = "base_url"
    path = "/chat/completions"
    #: Statuses of errors that are swallowed; whether broken streams are accepted; requests after the last one.
    swallows: tuple[int, ...] = ()
    accepts_breaks = False
    asks_again = False

    def read(self, exchange: SubjectExchange) -> Json:
        """Run the calls of the response, and send their results."""
        body = {**self.opening(exchange), "stream": exchange.stream}
        try:
            message, finish = self.send(exchange, body)
        except HTTPError as error:
            if error.code not in self.swallows:
                raise
            return {} if not self.asks_again else self.send(exchange, body) and {}
        if finish is None and not self.accepts_breaks:
            raise ValueError("the stream ended early")
        if finish in ("tool_calls", "tool_use"):
            tools = {tool.name: tool for tool in exchange.tools}
            results = [self.result(id, tools[name](arguments)) for id, name, arguments in self.calls(message)]
            asked = json.loads(json.dumps({**body, "messages": [*body["messages"], message, *self.grouped(results)]}))
            self.second(asked)
            self.send(exchange, asked)
        elif self.asks_again:
            self.send(exchange, body)
        return {}

    def second(self, body: Json) -> None:
        """Change the second request, as a defect does."""

    def opening(self, exchange: SubjectExchange) -> Json:
        """Return the first request."""
        tools = [{"type": "function", "function": tool.definition} for tool in exchange.tools]
        asked = [{"type": "text", "text": "Hello"}, {"type": "image_url", "image_url": {"url": "data:image/png;,"}}]
        messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": asked}]
        settings = {"temperature": 0.5, "seed": 7, "max_completion_tokens": 900}
        return {"model": "m", "messages": messages, "tools": tools, **settings}

    def send(self, exchange: SubjectExchange, body: Json) -> tuple[Json, str | None]:
        """Send a request, and return the message and its finish reason."""
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(exchange.base_url + self.path, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request) as answer:
            data: bytes = answer.read()
        return self.streamed(data) if exchange.stream else self.plain(json.loads(data))

    def plain(self, body: Json) -> tuple[Json, str | None]:
        """Return the message and the finish reason of a body."""
        choice = body["choices"][0]
        return choice["message"], choice["finish_reason"]

    def streamed(self, data: bytes) -> tuple[Json, str | None]:
        """Return the text of a stream, and its finish reason."""
        events = [json.loads(line[6:]) for line in data.splitlines() if line.startswith(b"data: {")]
        choices = [choice for event in events for choice in event.get("choices") or ()]
        text = "".join(choice["delta"].get("content") or "" for choice in choices)
        finish = next((choice["finish_reason"] for choice in choices if choice.get("finish_reason")), None)
        return {"role": "assistant", "content": text}, finish

    def calls(self, message: Json) -> Iterator[tuple[str, str, str]]:
        """Yield id, name and arguments of each call."""
        for call in message["tool_calls"]:
            yield call["id"], call["function"]["name"], call["function"]["arguments"]

    def result(self, id: str, text: str) -> Json:
        """Return a result."""
        return {"role": "tool", "tool_call_id": id, "content": text}

    def grouped(self, results: list[Json]) -> list[Json]:
        """Return the messages with the results."""
        return results


class MessagesAgent(ChatAgent):
    """A correct agent on `anthropic.messages`, for plain responses."""

    claims = frozenset(("runs",))
    wires = frozenset(("anthropic.messages",))
    path = "/v1/messages"

    def opening(self, exchange: SubjectExchange) -> Json:
        """Return the first request."""
        tools = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
            for tool in exchange.tools
        ]
        messages = [{"role": "user", "content": "Hello"}]
        return {"model": "m", "messages": messages, "tools": tools, "max_tokens": 900, "system": "Be brief."}

    def plain(self, body: Json) -> tuple[Json, str | None]:
        """Return the message and the stop reason of a body."""
        return {"role": "assistant", "content": body["content"]}, body["stop_reason"]

    def calls(self, message: Json) -> Iterator[tuple[str, str, str]]:
        """Yield id, name and arguments of each call."""
        for block in message["content"]:
            if block["type"] == "tool_use":
                yield block["id"], block["name"], json.dumps(block["input"])

    def result(self, id: str, text: str) -> Json:
        """Return a result."""
        return {"type": "tool_result", "tool_use_id": id, "content": text}

    def grouped(self, results: list[Json]) -> list[Json]:
        """Return the messages with the results."""
        return [{"role": "user", "content": results}]


class BadAgent(NamedTuple):
    """``law``: the law that must fail the agent in the case. ``make()`` returns the agent."""

    case: Case
    law: str
    make: Callable[[], ChatAgent]


def _case(scenario: str, mode: str = "plain", surface: str = "openai.chat") -> Case:
    return Case(scenario, surface, mode, "all")


_THREE, _TEXT = _case("parallel-three"), _case("text-then-two-calls")
_CLAUDE, _THOUGHT = (
    _case("parallel-three", surface="anthropic.messages"),
    _case("signed-thinking", surface="anthropic.messages"),
)


def _of(body: Json, role: str) -> list[Json]:
    return [message for message in body["messages"] if message["role"] == role]


#: Defect -> the case, and what it does to the second request. The law is `answered`.
_SECOND: dict[str, tuple[Case, Callable[[Json], Any]]] = {
    "tools-once": (_THREE, lambda body: body.pop("tools")),
    "first-tool-only": (_THREE, lambda body: body["tools"].__delitem__(slice(1, None))),
    "tool-renamed": (_THREE, lambda body: body["tools"][0]["function"].update(name="other")),
    "tool-described-anew": (_THREE, lambda body: body["tools"][0]["function"].update(description="Other.")),
    "schema-lost": (_THREE, lambda body: body["tools"][0]["function"].pop("parameters")),
    "system-prompt-lost": (_THREE, lambda body: body["messages"].pop(0)),
    "system-prompt-changed": (_THREE, lambda body: body["messages"][0].update(content="Be long.")),
    "system-prompt-twice": (_THREE, lambda body: body["messages"].insert(0, body["messages"][0])),
    "images-once": (_THREE, lambda body: body["messages"][1]["content"].pop()),
    "model-changed": (_THREE, lambda body: body.update(model="n")),
    "temperature-lost": (_THREE, lambda body: body.pop("temperature")),
    "temperature-changed": (_THREE, lambda body: body.update(temperature=1)),
    "seed-lost": (_THREE, lambda body: body.pop("seed")),
    "limit-changed": (_THREE, lambda body: body.update(max_completion_tokens=9)),
    "calls-forbidden": (_THREE, lambda body: body.update(tool_choice="none")),
    "call-required": (_THREE, lambda body: body.update(tool_choice="required")),
    "form-required": (_THREE, lambda body: body.update(response_format={"type": "json_object"})),
    "words-put-in": (_THREE, lambda body: body["messages"].append({"role": "user", "content": "More."})),
    "text-beside-calls-lost": (_TEXT, lambda body: _of(body, "assistant")[0].update(content=None)),
    "message-twice": (_THREE, lambda body: body["messages"].insert(2, body["messages"][2])),
    "results-as-words": (_THREE, lambda body: [one.update(role="user") for one in _of(body, "tool")]),
    "second-result-lost": (_THREE, lambda body: body["messages"].remove(_of(body, "tool")[1])),
    "results-before-calls": (_THREE, lambda body: body["messages"].append(body["messages"].pop(2))),
    "result-of-another-id": (_THREE, lambda body: _of(body, "tool")[0].update(tool_call_id="call_other")),
    "result-twice": (_THREE, lambda body: body["messages"].append(body["messages"][-1])),
    "result-cut": (_THREE, lambda body: _of(body, "tool")[0].update(content="result")),
    "results-in-two-messages": (
        _CLAUDE,
        lambda body: body["messages"].extend(
            [
                {"role": "assistant", "content": "…"},
                {"role": "user", "content": [body["messages"][-1]["content"].pop()]},
            ]
        ),
    ),
    "claude-system-lost": (_CLAUDE, lambda body: body.pop("system")),
    "thinking-lost": (_THOUGHT, lambda body: _of(body, "assistant")[0]["content"].pop(0)),
    "signature-lost": (_THOUGHT, lambda body: _of(body, "assistant")[0]["content"][0].update(signature="x")),
}
#: Defect -> the case, the law, and the members of the agent.
_OTHER: dict[str, tuple[Case, str, Json]] = {
    "error-529-swallowed": (_case("overloaded", surface="anthropic.messages"), "incomplete", {"swallows": (529,)}),
    "error-429-swallowed": (_case("error-rate-limit"), "incomplete", {"swallows": (429,)}),
    "break-swallowed": (_case("breaks-off", "stream"), "incomplete", {"accepts_breaks": True}),
    "asks-after-a-text": (_case("text-only"), "conservation", {"asks_again": True}),
    "asks-after-a-refusal": (_case("refusal"), "conservation", {"asks_again": True}),
    "asks-after-a-filter": (_case("filtered-answer"), "conservation", {"asks_again": True}),
}


def _method(second: Callable[[Json], Any]) -> Callable[[ChatAgent, Json], None]:
    return lambda agent, body: second(body)


def bad_agents() -> dict[str, BadAgent]:
    """Return all known-bad agents by name."""
    found: dict[str, BadAgent] = {}
    for name, (case, second) in _SECOND.items():
        base = ChatAgent if case.surface == "openai.chat" else MessagesAgent
        found[name] = BadAgent(case, "answered", type("BadAgent", (base,), {"second": _method(second)}))
    for name, (case, law, members) in _OTHER.items():
        base = ChatAgent if case.surface == "openai.chat" else MessagesAgent
        found[name] = BadAgent(case, law, type("BadAgent", (base,), members))
    return found
