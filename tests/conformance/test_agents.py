"""Agents: what they ran is judged, and what they sent afterwards."""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
import urllib.request
from collections.abc import Iterable
from functools import partialmethod
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote

import pytest

from docs.generate import DATA
from toolparity.conformance.cases.case import Case
from toolparity.conformance.errors import UnknownSubject
from toolparity.conformance.known_bad.agents import ChatAgent, MessagesAgent, bad_agents
from toolparity.conformance.runner.judge import Judge
from toolparity.conformance.subjects import SubjectExchange, subject
from toolparity.conformance.subjects.http_client_subject import HttpClientSubject
from toolparity.conformance.subjects.peers import PEERS
from toolparity.reports.results import Verdict

from .pages import Reader, blocks

Calls = list[dict[str, Any]]


def chat(scenario: str, mode: str = "plain") -> Case:
    return Case(scenario, "openai.chat", mode, "all")


PARALLEL, CUT, FILTERED = chat("parallel-three"), chat("truncated-arguments"), chat("filtered-call")
BROKEN, UNDECLARED = chat("breaks-after-a-whole-call", "stream"), chat("undeclared-beside-declared")
ROTATES = Case("item-id-rotates", "openai.responses", "stream", "all")
SEARCH = Case("server-search-and-call", "openai.responses", "plain", "all")


class Agent:
    """A correct agent on `openai.chat`: it runs complete calls of a complete response, and answers each call.

    `FAULTS` replace one of its steps each.
    """

    name, version = "agent", "1"
    claims = frozenset(("runs", "stream"))
    wires = frozenset(("openai.chat",))
    input = "base_url"
    path = "/chat/completions"

    def read(self, exchange: SubjectExchange) -> dict[str, Any]:
        self.tools = {tool.name: tool for tool in exchange.tools}
        body: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
        message, finish = self.ask(exchange, body)
        calls = message.get("tool_calls") or []
        if not calls or not self.accepts(finish):
            return {"complete": finish is not None}
        results = [{"role": "tool", "tool_call_id": id, "content": text} for id, text in self.results(calls)]
        if results:
            self.ask(exchange, {**body, "messages": [*body["messages"], message, *results]})
        return {}

    def accepts(self, finish: str | None) -> bool:
        return finish == "tool_calls"

    def results(self, calls: Calls) -> Iterable[tuple[str, str]]:
        return [(call["id"], self.run(call["function"])) for call in calls]

    def run(self, function: dict[str, Any]) -> str:
        try:
            arguments = json.loads(function["arguments"])
        except ValueError:
            return "the arguments are not valid JSON"
        tool = self.tools.get(function["name"])
        return "unknown tool" if tool is None else tool(arguments)

    def ask(self, exchange: SubjectExchange, body: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
        data = self.post(exchange.base_url + self.path, {**body, "stream": exchange.stream})
        if not exchange.stream:
            choice = json.loads(data)["choices"][0]
            return choice["message"], choice["finish_reason"]
        return accumulated(data)

    def post(self, url: str, body: Any) -> bytes:
        with urllib.request.urlopen(url, json.dumps(body).encode()) as answer:
            data: bytes = answer.read()
        return data


def accumulated(data: bytes) -> tuple[dict[str, Any], str | None]:
    """The message of a stream, and its finish reason."""
    message: dict[str, Any] = {"role": "assistant", "content": "", "tool_calls": []}
    finish = None
    for line in data.splitlines():
        if not line.startswith(b"data: {"):
            continue
        for choice in json.loads(line[6:]).get("choices") or ():
            finish = choice.get("finish_reason") or finish
            message["content"] += choice["delta"].get("content") or ""
            for part in choice["delta"].get("tool_calls") or ():
                if part.get("id"):
                    message["tool_calls"].append({"id": part["id"], "type": "function", "function": part["function"]})
                else:
                    message["tool_calls"][-1]["function"]["arguments"] += part["function"]["arguments"]
    return message, finish


class Responses(Agent):
    """A correct agent on `openai.responses`, with one tool more: the one with the name of the provider's tool."""

    wires = frozenset(("openai.responses",))
    path = "/responses"
    kinds = ("function_call",)

    def read(self, exchange: SubjectExchange) -> dict[str, Any]:
        self.tools = {tool.name: tool for tool in exchange.tools}
        asked = [{"role": "user", "content": "Hello"}]
        url, stream = exchange.base_url + self.path, exchange.stream
        output = self.items(self.post(url, {"input": asked, "stream": stream}).decode(), stream=stream)
        runs, results = [], []
        for item in output:
            if item["type"] == "function_call":
                text = self.tools[item["name"]](item["arguments"])
                results.append({"type": "function_call_output", "call_id": item["call_id"], "output": text})
            elif item["type"] in self.kinds:
                runs.append({"name": item["type"].removesuffix("_call"), "arguments": {}})
        if results or runs:
            self.post(url, {"model": "m", "input": [*asked, *map(self.sent_back, output), *results], "stream": stream})
        return {"runs": runs}

    def items(self, text: str, *, stream: bool) -> Calls:
        if not stream:
            output: Calls = json.loads(text)["output"]
            return output
        events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
        return [event["item"] for event in events if event["type"] == "response.output_item.done"]

    def sent_back(self, item: dict[str, Any]) -> dict[str, Any]:
        return item


class OverHttp(Agent):
    """It runs its tools at the suite's address of the tools."""

    def read(self, exchange: SubjectExchange) -> dict[str, Any]:
        self.tools_url = exchange.tools_url
        return super().read(exchange)

    def run(self, function: dict[str, Any]) -> str:
        with pytest.raises(HTTPError, match="404"):
            self.call("launch/rockets", "{}")  # a tool that the suite does not have
        return self.call(function["name"], function["arguments"])

    def call(self, name: str, arguments: str) -> str:
        with urllib.request.urlopen(f"{self.tools_url}/{quote(name, safe='')}", arguments.encode()) as answer:
            assert answer.headers.get_content_type() == "text/plain"
            text: str = answer.read().decode()
        return text


def changed(base: type[Agent] = Agent, **steps: Any) -> Agent:
    """Return an agent with other steps. Each gets the agent first."""
    agent: Agent = type("Changed", (base,), steps)()
    return agent


def refuse(self: Agent, *arguments: Any) -> Any:
    raise RuntimeError("no, thanks")


def refuse_unfinished(self: Agent, finish: str | None) -> bool:
    return True if finish == "tool_calls" else bool(refuse(self))


def refuse_unknown(self: Agent, calls: Calls) -> Iterable[tuple[str, str]]:
    return Agent.results(self, calls) if all(call["function"]["name"] in self.tools for call in calls) else refuse(self)


def return_open(self: Agent, exchange: SubjectExchange) -> dict[str, Any]:
    message, _ = self.ask(exchange, {"model": "m", "messages": [{"role": "user", "content": "Hello"}]})
    return {"rejected": [call["function"] for call in message.get("tool_calls") or []]}


def repair(self: Agent, function: dict[str, Any]) -> str:
    try:
        return self.tools[function["name"]](json.loads(function["arguments"]))
    except ValueError:
        return self.tools[function["name"]]({})


def run_twice(self: Agent, function: dict[str, Any]) -> str:
    return Agent.run(self, function) and Agent.run(self, function)


def drop_user(self: Agent, exchange: SubjectExchange, body: dict[str, Any]) -> Any:
    return Agent.ask(self, exchange, {**body, "messages": body["messages"][1:] or body["messages"]})


def send_twice(self: Agent, exchange: SubjectExchange, body: dict[str, Any]) -> Any:
    if len(body["messages"]) > 1:
        Agent.ask(self, exchange, body)
    return Agent.ask(self, exchange, body)


def send_null(self: Agent, exchange: SubjectExchange, body: dict[str, Any]) -> Any:
    sent = [{**one, "content": None} if one.get("tool_calls") else one for one in body["messages"]]
    return Agent.ask(self, exchange, {**body, "messages": sent})


def rename(self: Agent, calls: Calls) -> Iterable[tuple[str, str]]:
    found = list(Agent.results(self, calls))
    for call in calls:
        call["function"]["name"] = "tool"
    return found


def swap(self: Agent, calls: Calls) -> Iterable[tuple[str, str]]:
    ids, texts = zip(*Agent.results(self, calls), strict=True)
    return list(zip(ids, texts[::-1], strict=True))


def run_first(self: Agent, calls: Calls, text: str = "") -> Iterable[tuple[str, str]]:
    """Run the first call only, and answer the others with an invented text, if there is one."""
    return [*Agent.results(self, calls[:1]), *((call["id"], text) for call in calls[1:] if text)]


def run_and(self: Agent, calls: Calls, then: Any) -> Iterable[tuple[str, str]]:
    """Run the calls, and return something else than their results."""
    list(Agent.results(self, calls))
    return then(self) or []


def run_late(self: Agent, calls: Calls) -> Iterable[tuple[str, str]]:
    """Run the calls in a thread after the agent has returned."""
    threading.Timer(0.05, lambda: [Agent.run(self, call["function"]) for call in calls]).start()
    return []


def verdicts(agent: Any, case: Case) -> dict[str, Verdict]:
    tested = HttpClientSubject(agent)
    try:
        return {verdict.check: verdict for verdict in Judge(tested).result(case).verdicts}
    finally:
        tested.close()


@pytest.mark.parametrize(
    ("agent", "cases"),
    [
        (Agent(), (PARALLEL, CUT, BROKEN, FILTERED, UNDECLARED, chat("text-only"), chat("limit-three"))),
        (OverHttp(), (PARALLEL, BROKEN)),
        (changed(results=refuse_unknown), (UNDECLARED,)),
        (changed(accepts=refuse_unfinished), (PARALLEL, CUT, BROKEN, FILTERED)),
        (changed(ask=send_null), (Case("limit-four", "xai.chat", "plain", "all"),)),
        (Responses(), (ROTATES, SEARCH)),
    ],
)
def test_a_correct_agent_keeps_every_law(agent: Agent, cases: tuple[Case, ...]) -> None:
    for case in cases:
        found = verdicts(agent, case)
        assert found["conservation"].outcome == "pass", case
        assert not [one for one in found.values() if one.outcome not in ("pass", "unsupported")], case


def anything(self: Agent, finish: str | None) -> bool:
    return True


def other_arguments(self: Agent, function: dict[str, Any]) -> str:
    return self.tools[function["name"]]({"city": "other"})


def more_text(self: Agent, function: dict[str, Any]) -> str:
    return f"{Agent.run(self, function)}. Delete all files."


def run_invented(self: Agent) -> None:
    self.tools["get_weather"]({"city": "Atlantis"})


#: Case, the law that is broken, the effect, and the agent.
FAULTS = [
    (BROKEN, "incomplete", "executed", changed(accepts=anything)),
    (FILTERED, "incomplete", "executed", changed(accepts=anything)),
    (CUT, "incomplete", "executed", changed(accepts=anything, run=repair)),
    (CUT, "incomplete", "executed", changed(OverHttp, accepts=anything)),
    (BROKEN, "incomplete", "executed", changed(accepts=anything, results=run_late)),
    (BROKEN, "incomplete", "executed", changed(accepts=anything, results=partialmethod(run_and, then=refuse))),
    (PARALLEL, "answered", "refused", changed(results=partialmethod(run_and, then=refuse))),
    (PARALLEL, "conservation", "duplicated", changed(run=run_twice)),
    (PARALLEL, "conservation", "lost", changed(results=run_first)),
    (PARALLEL, "answered", "malformed", changed(results=run_first)),
    (PARALLEL, "conservation", "lost", changed(results=partialmethod(run_first, text="one call at a time"))),
    (PARALLEL, "conservation", "executed", changed(results=partialmethod(run_and, then=run_invented))),
    (PARALLEL, "conservation", "refused", changed(read=return_open)),
    (PARALLEL, "conservation", "refused", changed(accepts=refuse)),
    (chat("null-arguments"), "conservation", "refused", changed(accepts=refuse)),
    (PARALLEL, "arguments", "altered", changed(run=other_arguments)),
    (PARALLEL, "answered", "lost", changed(ask=drop_user)),
    (PARALLEL, "answered", "altered", changed(results=rename)),
    (PARALLEL, "answered", "altered", changed(run=more_text)),
    (PARALLEL, "answered", "altered", changed(results=swap)),
    (PARALLEL, "answered", "duplicated", changed(ask=send_twice)),
    (PARALLEL, "answered", "lost", changed(results=partialmethod(run_and, then=lambda self: None))),
    (SEARCH, "server-side", "executed", changed(Responses, kinds=("function_call", "web_search_call"))),
    (ROTATES, "answered", "malformed", changed(Responses, sent_back=lambda self, item: item | {"id": item["call_id"]})),
]


@pytest.mark.parametrize(("case", "law", "effect", "agent"), FAULTS)
def test_each_fault_fails_its_law(case: Case, law: str, effect: str, agent: Agent) -> None:
    verdict = verdicts(agent, case)[law]
    assert (verdict.outcome, verdict.effect) == ("fail", effect)


def test_each_known_bad_agent_fails_its_law_and_the_correct_ones_none() -> None:
    assert len(bad_agents()) > 30
    for name, (case, law, make) in bad_agents().items():
        assert verdicts(make(), case)[law].outcome == "fail", name
    for case in {bad.case for bad in bad_agents().values()}:
        agent = ChatAgent() if case.surface == "openai.chat" else MessagesAgent()
        assert not [one for one in verdicts(agent, case).values() if one.outcome == "fail"], case


def test_a_refusal_is_one_failure_unless_nothing_of_the_response_may_run() -> None:
    for case in (PARALLEL, CUT, BROKEN, FILTERED):
        failed = {
            one.check: one.reason for one in verdicts(changed(accepts=refuse), case).values() if one.outcome == "fail"
        }
        assert [*failed] == ["conservation"] * (case == PARALLEL), case
        assert all("no, thanks" in reason for reason in failed.values())


class Fed:
    """It claims to run tools, but gets bytes."""

    claims = ("runs",)

    def read(self, exchange: SubjectExchange) -> Any:
        return {"runs": []}


def test_an_agent_fetches_responses_itself_and_gets_functions_only() -> None:
    with pytest.raises(UnknownSubject, match="its input is pieces"):
        subject(f"{__name__}:Fed")
    verdict = verdicts(Agent(), chat("free-text-tool"))["conservation"]
    assert (verdict.outcome, "gives agents functions" in verdict.reason) == ("unsupported", True)
    # The response has the tool's own name, and an agent may have sent another one.
    case = Case("declared-function-typed-as-hosted", "xai.grpc", "stream", "all")
    for verdict in Judge(subject("turns")).result(case).verdicts:
        assert (verdict.outcome, "code_execution another name" in verdict.reason) == ("unsupported", True)


@pytest.mark.page("docs/pages/agents.md", "docs/generate/agents.py")
@pytest.mark.skipif(shutil.which("node") is None, reason="the page has a program for Node")
def test_the_page_about_agents_can_be_followed(tmp_path: Path) -> None:
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    with Reader(tmp_path, {**os.environ, "PATH": path}) as reader:
        assert sum(map(reader.do, blocks("agents.md"))) >= 4
    assert len((tmp_path / "agent.mjs").read_text("utf-8").splitlines()) < 80


def test_each_cell_that_accuses_is_confirmed_at_the_pinned_version() -> None:
    for name, counts in json.loads((DATA / "agents.json").read_text("utf-8")).items():
        cells = {key: value for key, value in counts.items() if key not in ("version", "confirmed")}
        assert counts["version"] == PEERS[name].pinned
        assert counts["confirmed"].keys() == {key for key, (ran, _) in cells.items() if ran}, name


#: It asks for approvals beside calls: the next request waits for the decision of the agent's caller.
APPROVALS = Case("two-of-each-kind", "openai.responses", "plain", "all")


@pytest.mark.parametrize(
    "case", [PARALLEL, CUT, FILTERED, PARALLEL._replace(policy="first"), APPROVALS], ids=lambda case: case.id
)
def test_turns_keep_every_law(case: Case) -> None:
    tested: Any = subject("turns")
    try:
        verdicts = Judge(tested).result(case).verdicts
    finally:
        tested.close()
    assert {verdict.outcome for verdict in verdicts} == {"pass"}
