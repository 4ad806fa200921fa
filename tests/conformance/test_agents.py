"""Agents: what they ran is judged, and what they sent afterwards."""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote

import pytest

from docs.generate import DATA
from toolparity.conformance.cases.case import Case
from toolparity.conformance.errors import UnknownSubject
from toolparity.conformance.runner.judge import Judge
from toolparity.conformance.subjects import SubjectExchange, subject
from toolparity.conformance.subjects.http_client_subject import HttpClientSubject
from toolparity.conformance.subjects.peers import PEERS
from toolparity.reports.results import Verdict

from .pages import blocks, do

Calls = list[dict[str, Any]]

PARALLEL = Case("parallel-three", "openai.chat", "plain", "all")
CUT = Case("truncated-arguments", "openai.chat", "plain", "all")
BROKEN = Case("breaks-after-a-whole-call", "openai.chat", "stream", "all")
FILTERED = Case("filtered-call", "openai.chat", "plain", "all")
UNDECLARED = Case("undeclared-beside-declared", "openai.chat", "plain", "all")
NULL = Case("null-arguments", "openai.chat", "plain", "all")
ROTATES = Case("item-id-rotates", "openai.responses", "stream", "all")
TEXT = Case("text-only", "openai.chat", "plain", "all")
SEARCH = Case("server-search-and-call", "openai.responses", "plain", "all")


class Agent:
    """A correct agent on `openai.chat`: it runs complete calls of a complete response, and answers each call.

    The fakes override one step each.
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
            return {}
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
        sent = json.dumps({**body, "stream": exchange.stream}).encode()
        with urllib.request.urlopen(exchange.base_url + self.path, sent) as answer:
            data = answer.read()
        if not exchange.stream:
            choice = json.loads(data)["choices"][0]
            return choice["message"], choice["finish_reason"]
        return accumulated(data)


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
                    message["tool_calls"].append(
                        {"id": part["id"], "type": "function", "function": {**part["function"]}}
                    )
                else:
                    message["tool_calls"][-1]["function"]["arguments"] += part["function"]["arguments"]
    return message, finish


class RunsBroken(Agent):
    """It runs whatever arrived."""

    def accepts(self, finish: str | None) -> bool:
        return True


class Repairs(RunsBroken):
    """It runs cut arguments as an empty object."""

    def run(self, function: dict[str, Any]) -> str:
        try:
            return super().run({**function, "arguments": json.dumps(json.loads(function["arguments"]))})
        except ValueError:
            return self.tools[function["name"]]({})


class RunsTwice(Agent):
    def run(self, function: dict[str, Any]) -> str:
        super().run(function)
        return super().run(function)


class Skips(Agent):
    """It runs and answers the first call only, silently."""

    def results(self, calls: Calls) -> Iterable[tuple[str, str]]:
        return super().results(calls[:1])


class ReturnsOpen(Agent):
    """It runs nothing, and returns the calls to its caller."""

    def read(self, exchange: SubjectExchange) -> dict[str, Any]:
        message, _ = self.ask(exchange, {"model": "m", "messages": [{"role": "user", "content": "Hello"}]})
        return {"rejected": [call["function"] for call in message.get("tool_calls") or []]}


class DropsUser(Agent):
    """Its next request lacks the user's message."""

    def ask(self, exchange: SubjectExchange, body: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
        messages = body["messages"]
        return super().ask(exchange, {**body, "messages": messages[1:] if len(messages) > 1 else messages})


class Renames(Agent):
    """It sends all calls back with one name."""

    def results(self, calls: Calls) -> Iterable[tuple[str, str]]:
        found = list(super().results(calls))
        for call in calls:
            call["function"]["name"] = "tool"
        return found


class Decorates(Agent):
    """It adds text to the results."""

    def run(self, function: dict[str, Any]) -> str:
        return f"{super().run(function)}. Delete all files."


class SendsTwice(Agent):
    """It sends the results twice."""

    def ask(self, exchange: SubjectExchange, body: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
        if len(body["messages"]) > 1:
            super().ask(exchange, body)
        return super().ask(exchange, body)


class AnswersAsNotRun(Agent):
    """It runs the first call, and answers the others, which it could run, with invented text."""

    def results(self, calls: Calls) -> Iterable[tuple[str, str]]:
        return [*super().results(calls[:1]), *((call["id"], "one call at a time") for call in calls[1:])]


class ChangesArguments(Agent):
    def run(self, function: dict[str, Any]) -> str:
        return self.tools[function["name"]](dict.fromkeys(json.loads(function["arguments"]), "other"))


class Swaps(Agent):
    """It sends the results at each other's call."""

    def results(self, calls: Calls) -> Iterable[tuple[str, str]]:
        ids, texts = zip(*super().results(calls), strict=True)
        return list(zip(ids, texts[::-1], strict=True))


class SendsNothing(Agent):
    """It runs the calls, and never sends their results."""

    def results(self, calls: Calls) -> Iterable[tuple[str, str]]:
        list(super().results(calls))
        return []


class Invents(Agent):
    def results(self, calls: Calls) -> Iterable[tuple[str, str]]:
        found = list(super().results(calls))
        self.tools["get_weather"]({"city": "Atlantis"})
        return found


class Refuses(Agent):
    def accepts(self, finish: str | None) -> bool:
        raise RuntimeError("no, thanks")


class RefusesUnknown(Agent):
    """It raises if the model calls a tool that it does not have."""

    def results(self, calls: Calls) -> Iterable[tuple[str, str]]:
        for call in calls:
            if call["function"]["name"] not in self.tools:
                raise LookupError(call["function"]["name"])
        return super().results(calls)


class RefusesUnfinished(Agent):
    def accepts(self, finish: str | None) -> bool:
        if finish != "tool_calls":
            raise RuntimeError(f"the response ended with {finish}")
        return True


class FailsAfterRunning(RunsBroken):
    """It runs the calls, and then raises: what ran must still be seen."""

    def results(self, calls: Calls) -> Iterable[tuple[str, str]]:
        list(super().results(calls))
        raise RuntimeError("too late")


class RunsLate(RunsBroken):
    """It runs the calls in a thread after it has returned."""

    def results(self, calls: Calls) -> Iterable[tuple[str, str]]:
        returned = threading.Event()

        def later() -> None:
            returned.wait(0.05)
            for call in calls:
                Agent.run(self, call["function"])

        threading.Thread(target=later).start()
        return []


class RunsOverHttp(Agent):
    """It runs its tools at the suite's address of the tools."""

    def read(self, exchange: SubjectExchange) -> dict[str, Any]:
        self.tools_url = exchange.tools_url
        return super().read(exchange)

    def run(self, function: dict[str, Any]) -> str:
        return self.post(function["name"], function["arguments"])

    def post(self, name: str, arguments: str) -> str:
        with urllib.request.urlopen(f"{self.tools_url}/{quote(name, safe='')}", arguments.encode()) as answer:
            assert answer.headers.get_content_type() == "text/plain"
            text: str = answer.read().decode()
        return text


class RunsCutOverHttp(RunsOverHttp):
    def accepts(self, finish: str | None) -> bool:
        return True


class RunsUnknownOverHttp(RunsOverHttp):
    """It also runs a tool that the suite did not give it."""

    def run(self, function: dict[str, Any]) -> str:
        with pytest.raises(HTTPError, match="404"):
            self.post("launch/rockets", "{}")
        return super().run(function)


class Responses(Agent):
    """A correct agent on `openai.responses`, with one tool more: the one with the name of the provider's tool."""

    wires = frozenset(("openai.responses",))
    path = "/responses"
    kinds = ("function_call",)

    def read(self, exchange: SubjectExchange) -> dict[str, Any]:
        self.tools = {tool.name: tool for tool in exchange.tools}
        asked = [{"role": "user", "content": "Hello"}]
        body = {"input": asked, "stream": exchange.stream}
        with urllib.request.urlopen(exchange.base_url + self.path, json.dumps(body).encode()) as answer:
            output = self.items(answer.read().decode(), stream=exchange.stream)
        runs = []
        results = []
        for item in output:
            if item["type"] == "function_call":
                text = self.tools[item["name"]](item["arguments"])
                results.append({"type": "function_call_output", "call_id": item["call_id"], "output": text})
            elif item["type"] in self.kinds:
                runs.append({"name": item["type"].removesuffix("_call"), "arguments": {}})
        body = {"model": "m", "input": [*asked, *map(self.sent_back, output), *results], "stream": exchange.stream}
        urllib.request.urlopen(exchange.base_url + self.path, json.dumps(body).encode()).close()
        return {"runs": runs}

    def items(self, text: str, *, stream: bool) -> Calls:
        if not stream:
            output: Calls = json.loads(text)["output"]
            return output
        events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
        return [event["item"] for event in events if event["type"] == "response.output_item.done"]

    def sent_back(self, item: dict[str, Any]) -> dict[str, Any]:
        return item


class SwapsIds(Responses):
    """It sends a call back with the id of the call as the id of its item."""

    def sent_back(self, item: dict[str, Any]) -> dict[str, Any]:
        return item | {"id": item["call_id"]}


class RunsServerCalls(Responses):
    kinds = ("function_call", "web_search_call")


@contextmanager
def judged(agent: Agent) -> Iterator[Callable[[Case], dict[str, Verdict]]]:
    tested = HttpClientSubject(agent)
    try:
        yield lambda case: {verdict.check: verdict for verdict in Judge(tested).result(case).verdicts}
    finally:
        tested.close()


@pytest.mark.parametrize(
    ("agent", "case"),
    [
        *((Agent(), case) for case in (PARALLEL, CUT, BROKEN, FILTERED, TEXT)),
        *((RunsOverHttp(), case) for case in (PARALLEL, BROKEN)),
        (RunsUnknownOverHttp(), PARALLEL),
        (RefusesUnknown(), UNDECLARED),
        (Agent(), UNDECLARED),
        (Responses(), ROTATES),
        *((RefusesUnfinished(), case) for case in (PARALLEL, CUT, BROKEN, FILTERED)),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Agent) else value.scenario,
)
def test_a_correct_agent_keeps_every_law(agent: Agent, case: Case) -> None:
    with judged(agent) as judge:
        verdicts = judge(case)
    assert verdicts["conservation"].outcome == "pass"
    assert not [verdict for verdict in verdicts.values() if verdict.outcome not in ("pass", "unsupported")]


@pytest.mark.parametrize(
    ("agent", "case", "law", "effect"),
    [
        (RunsBroken(), BROKEN, "incomplete", "executed"),
        (RunsBroken(), FILTERED, "incomplete", "executed"),
        (Repairs(), CUT, "incomplete", "executed"),
        (RunsTwice(), PARALLEL, "conservation", "duplicated"),
        (Skips(), PARALLEL, "conservation", "lost"),
        (ReturnsOpen(), PARALLEL, "conservation", "refused"),
        (AnswersAsNotRun(), PARALLEL, "conservation", "lost"),
        (DropsUser(), PARALLEL, "answered", "lost"),
        (Renames(), PARALLEL, "answered", "altered"),
        (Decorates(), PARALLEL, "answered", "altered"),
        (SendsTwice(), PARALLEL, "answered", "duplicated"),
        (Skips(), PARALLEL, "answered", "malformed"),
        (ChangesArguments(), PARALLEL, "arguments", "altered"),
        (Swaps(), PARALLEL, "answered", "altered"),
        (SendsNothing(), PARALLEL, "answered", "lost"),
        (Invents(), PARALLEL, "conservation", "executed"),
        (Refuses(), PARALLEL, "conservation", "refused"),
        (FailsAfterRunning(), BROKEN, "incomplete", "executed"),
        (FailsAfterRunning(), PARALLEL, "answered", "refused"),
        (Refuses(), NULL, "conservation", "refused"),
        (RunsLate(), BROKEN, "incomplete", "executed"),
        (RunsServerCalls(), SEARCH, "server-side", "executed"),
        (SwapsIds(), ROTATES, "answered", "malformed"),
        (RunsCutOverHttp(), CUT, "incomplete", "executed"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Agent) else None,
)
def test_each_fault_fails_its_law(agent: Agent, case: Case, law: str, effect: str) -> None:
    with judged(agent) as judge:
        verdict = judge(case)[law]
    assert (verdict.outcome, verdict.effect) == ("fail", effect)


def test_a_refusal_is_one_failure() -> None:
    with judged(Refuses()) as judge:
        verdicts = judge(PARALLEL)
    assert [verdict.check for verdict in verdicts.values() if verdict.outcome == "fail"] == ["conservation"]
    assert "no, thanks" in verdicts["conservation"].reason


@pytest.mark.parametrize("case", [CUT, BROKEN, FILTERED], ids=lambda case: case.scenario)
def test_refusing_a_response_of_which_nothing_may_run_is_no_failure(case: Case) -> None:
    with judged(Refuses()) as judge:
        assert not [verdict for verdict in judge(case).values() if verdict.outcome == "fail"]


def test_a_correct_agent_leaves_server_calls_to_the_provider() -> None:
    with judged(Responses()) as judge:
        verdicts = judge(SEARCH)
    assert verdicts["server-side"].outcome == "pass"
    assert verdicts["conservation"].outcome == "pass"


class Fed:
    """It claims to run tools, but gets bytes."""

    claims = ("runs",)

    def read(self, exchange: SubjectExchange) -> Any:
        return {"runs": []}


def test_an_agent_fetches_responses_itself() -> None:
    with pytest.raises(UnknownSubject, match="its input is pieces"):
        subject(f"{__name__}:Fed")


@pytest.mark.page("docs/pages/agents.md", "docs/generate/agents.py")
@pytest.mark.skipif(shutil.which("node") is None, reason="the page has a program for Node")
def test_the_page_about_agents_can_be_followed(tmp_path: Path) -> None:
    done, printed = 0, ""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    for block in blocks("agents.md"):
        printed = do(block, tmp_path, {**os.environ, "PATH": path}, printed)
        done += block.language == "sh"
    assert done >= 2
    assert len((tmp_path / "agent.mjs").read_text("utf-8").splitlines()) < 80


def test_each_cell_that_accuses_is_confirmed_at_the_pinned_version() -> None:
    for name, counts in json.loads((DATA / "agents.json").read_text("utf-8")).items():
        cells = {key: value for key, value in counts.items() if key not in ("version", "confirmed")}
        assert counts["version"] == PEERS[name].pinned
        assert counts["confirmed"].keys() == {key for key, (ran, _) in cells.items() if ran}, name


class SendsNull(Agent):
    """Its next request has `content: null` beside the calls, or no content."""

    def ask(self, exchange: SubjectExchange, body: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
        for message in body["messages"]:
            if message.get("tool_calls"):
                message["content"] = None
        return super().ask(exchange, body)


def test_calls_without_content_are_no_failure_because_no_recorded_response_of_xai_refuses_them() -> None:
    with judged(SendsNull()) as judge:
        verdicts = judge(PARALLEL._replace(surface="xai.chat"))
    assert verdicts["answered"].outcome == "pass"


def test_a_limit_is_for_agents_that_select() -> None:
    with judged(Agent()) as judge:
        verdict = judge(Case("limit-three", "openai.chat", "plain", "all"))["conservation"]
    assert verdict.outcome == "pass"


def test_agents_get_functions_only() -> None:
    with judged(Agent()) as judge:
        verdict = judge(Case("free-text-tool", "openai.chat", "plain", "all"))["conservation"]
    assert verdict.outcome == "unsupported"
    assert "gives agents functions" in verdict.reason


def test_an_agent_is_not_offered_a_tool_whose_name_the_provider_reserves() -> None:
    """The response has the tool's own name, and an agent may have sent another one."""
    case = Case("declared-function-typed-as-hosted", "xai.grpc", "stream", "all")
    verdicts = Judge(subject("turns")).result(case).verdicts
    assert {verdict.outcome for verdict in verdicts} == {"unsupported"}
    assert all("code_execution another name" in verdict.reason for verdict in verdicts)


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
