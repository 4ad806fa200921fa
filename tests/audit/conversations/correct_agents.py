"""Random logs of agents that make no mistake: no audit may accuse them.

Agents ask few questions, and models make few different calls, so that conversations resemble each other. Ids of calls
are drawn, or counted, named, or made from a date or the content, or missing. Agents trim histories, retry, and continue
an answer twice. Logs are interleaved, sampled and shuffled, and tools that convert logs, or some conversations in them,
write other ids into them, or results as text.

    python -m tests.audit.conversations.correct_agents 100000

audits that many logs and prints each accusation.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from random import Random
from typing import Any, Literal
from uuid import NAMESPACE_URL, uuid5

from msgspec.structs import replace

from tests.support.emit import edited, emit_body, say, scripted_call, think
from toolparity import Wire, normalize
from toolparity.audit.conversations import ConversationAudit, ConversationReport
from toolparity.audit.conversations.records import ExchangeRecord, record
from toolparity.normalizer.conversation import Assistant, Message, Request, TextPart, ToolResult, ToolResults, User
from toolparity.normalizer.model import Reasoning, Response, ToolCall
from toolparity.normalizer.requests import read_request, write_request
from toolparity.normalizer.wires.calls import is_synthetic
from toolparity.normalizer.wires.registry import WIRES

Ids = Literal["drawn", "counted in a conversation", "counted in a response", "named", "dated", "of content", "missing"]
#: The formats of ids. Counted ids begin again with each conversation or response; a test server has constant ones.
_FORMATS: dict[Ids, tuple[str, ...]] = {
    "drawn": ("call_{drawn}{number}zZ", "call_{drawn}aB9{drawn:.6}", "toolu_{drawn}aB9{drawn:.6}"),
    "counted in a conversation": ("call_{number}", "chatcmpl-tool-1730000001{number:03}"),
    "counted in a response": ("call_{number}", "call_abc123def456_{number}"),
    "named": ("functions.base64decode:{number}",),
    "dated": ("call_20251015_{number}", "call_20251015T010203Z{number}"),
    "of content": ("{content}",),
}
#: What a tool that converts logs does with the ids of calls in histories. "results": only those of results.
Conversion = Literal["", "calls", "results", "empty", "text"]
#: What is done with the logs, by their seeds. Most are not converted.
_CONVERSIONS: tuple[Conversion, ...] = ("", "", "", "", "calls", "results", "empty", "text", "text")
#: The wires whose calls can lack ids.
WITHOUT_IDS = ("google.gemini", "ollama.chat")

_QUESTIONS = ("Is it dry?", "Is it dry in the north?")
_CITIES = ("Faro", "Porto", "Braga")
_RESULTS = ("dry", "wet")


#: The messages of a request, the response, and what a tool did with the ids.
_Sent = tuple[list[Message], Response, Conversion]


class _Agent:
    """Plays one conversation, and keeps its exchanges."""

    def __init__(self, log: CorrectLog, random: Random) -> None:
        self._log, self._random = log, random
        self._counted = 0
        self._conversion = log.conversion if not log.mixed or random.random() < 0.5 else ""
        self.exchanges: list[_Sent] = []

    def play(self) -> None:
        random = self._random
        messages: list[Message] = []
        for _ in range(random.choice((1, 1, 2))):
            messages = self._turn([*messages, User([TextPart(random.choice(_QUESTIONS))])])

    def _turn(self, messages: list[Message]) -> list[Message]:
        random = self._random
        rounds = random.randint(1, 4)
        for number in range(rounds):
            response = self._send(messages, 0 if number == rounds - 1 else random.choice((1, 1, 2, 3)))
            if random.random() < self._log.retries:
                response = self._send(messages, 0 if number == rounds - 1 else random.choice((1, 1, 2, 3)))
            if not response.calls:
                return [*messages, Assistant(response)]
            if random.random() < self._log.forks:
                self._send([*messages, Assistant(response), self._results(response)], random.choice((0, 1)))
            messages = self._trimmed([*messages, Assistant(response), self._results(response)])
        return messages

    def _results(self, response: Response) -> ToolResults:
        calls = response.choices[0].calls
        return ToolResults([ToolResult(call.id, [TextPart(self._random.choice(_RESULTS))]) for call in calls])

    def _trimmed(self, messages: list[Message]) -> list[Message]:
        """Return a history whose first messages are removed, with or without its question, but no part of a round."""
        if self._random.random() >= self._log.trims:
            return messages
        starts = [n for n, message in enumerate(messages) if not isinstance(message, ToolResults)]
        start = self._random.choice(starts)
        asked = isinstance(messages[0], User) and not isinstance(messages[start], User)
        question = messages[:1] if asked and self._random.random() < 0.7 else []
        return [*question, *messages[start:]]

    def _send(self, messages: list[Message], calls: int) -> Response:
        response = self._log.answer(self._random, [self._random.choice(_CITIES) for _ in range(calls)], self._counted)
        if self._log.ids != "counted in a response":
            self._counted += calls
        self.exchanges.append((messages, response, self._conversion))
        return response


class CorrectLog:
    """A random log, decided by a seed. ``records``: its exchanges, in the order of the log. ``bodies``: its requests.

    ``wire``, ``ids`` and ``conversion`` are chosen by the seed unless they are given.
    """

    def __init__(
        self, seed: int, wire: Wire | None = None, ids: Ids | None = None, conversion: Conversion = ""
    ) -> None:
        random = Random(seed)
        chosen: list[Wire] = [*WIRES]
        self.wire: Wire = random.choice(chosen) if wire is None else wire
        kinds: list[Ids] = ["drawn", "drawn", *_FORMATS]
        if self.wire in WITHOUT_IDS:
            kinds += ["missing", "missing"]
        self.ids: Ids = random.choice(kinds) if ids is None else ids
        self.conversion, self.mixed = conversion, random.random() < 0.5
        self._format = random.choice(_FORMATS.get(self.ids, ("",)))
        self.thinks = random.random() < 0.4
        self.left_out = self.wire == "ollama.chat" and random.random() < 0.5
        self.trims, self.retries, self.forks = (random.choice((0, 0, 0.3)) for _ in range(3))
        agents = [_Agent(self, random) for _ in range(random.randint(1, 4))]
        for agent in agents:
            agent.play()
        self.bodies: list[Any] = []
        self.records = [self._record(n, *sent) for n, sent in enumerate(_interleaved(agents, random), 1)]

    def answer(self, random: Random, cities: list[str], counted: int) -> Response:
        """Return a response with calls. ``counted``: how many calls the conversation had."""
        made = _answer(self.wire, tuple(cities), self.thinks, self.ids == "missing")
        drawn = f"{random.getrandbits(60):015x}"
        choice = made.choices[0]
        blocks: list[Any] = []
        for block in choice.blocks:
            if isinstance(block, ToolCall):
                number = counted + sum(isinstance(b, ToolCall) for b in blocks)
                content = uuid5(NAMESPACE_URL, f"{block.arguments_text} {number - counted}")
                unique = f"{drawn}{number}" if "number" not in self._format else drawn
                id = self._format.format(number=number, drawn=unique, content=content)
                if is_synthetic(block.id):
                    id = f"call_{drawn[:8]}{block.id[13:]}"
                extra = {k: f"{drawn}{v}" if k == "thoughtSignature" else v for k, v in block.extra.items()}
                wire_id = block.wire_id and f"fc_{drawn}{number}"
                name = "base64decode" if self.ids == "named" else block.name
                blocks.append(replace(block, id=id, name=name, wire_id=wire_id, extra=extra))
            elif isinstance(block, Reasoning):
                seals = {k: f"{drawn}{v}" for k in ("signature", "encrypted") if (v := getattr(block, k))}
                blocks.append(replace(block, **seals))
            else:
                blocks.append(block)
        response_id = None if self.wire == "ollama.chat" else f"response-{drawn}"
        return replace(made, id=response_id, choices=[replace(choice, blocks=blocks)])

    def _record(
        self, number: int, messages: list[Message], response: Response, conversion: Conversion
    ) -> ExchangeRecord:
        request = Request(self.wire, "m", messages)
        body = write_request(request, self.wire).body
        self.bodies.append(body)
        if self.ids not in ("counted in a response", "of content"):  # the writer would give different ids to equal ones
            request = read_request(body, self.wire)
        if self.left_out:
            request = read_request(json.loads(json.dumps(body), object_hook=_without_id), self.wire)
        if conversion:
            request = replace(request, messages=[_converted(m, conversion) for m in request.messages])
        return record(f"log:{number}", self.wire, request, response)


def _without_id(value: dict[str, Any]) -> dict[str, Any]:
    return {key: member for key, member in value.items() if key not in ("id", "tool_call_id")}


def _converted(message: Message, conversion: Conversion) -> Message:
    if isinstance(message, Assistant) and conversion == "calls":
        choice = message.response.choices[0]
        blocks: list[Any] = [
            replace(b, id=f"fc_{b.id}", wire_id=None) if isinstance(b, ToolCall) else b for b in choice.blocks
        ]
        return replace(message, response=replace(message.response, choices=[replace(choice, blocks=blocks)]))
    if isinstance(message, ToolResults):
        if conversion == "text":
            return User([part for result in message.results for part in result.parts])
        ids = {"results": "other_{}", "empty": ""}.get(conversion, "{}")
        return replace(message, results=[replace(r, call_id=ids.format(r.call_id)) for r in message.results])
    return message


def _interleaved(agents: list[_Agent], random: Random) -> list[_Sent]:
    """Return the exchanges as a log has them: in turns, or one agent after another, as a sample, or shuffled."""
    left = [list(agent.exchanges) for agent in agents]
    log: list[_Sent] = []
    while left := [one for one in left if one]:
        log.append(random.choice(left).pop(0))
    if random.random() < 0.5:
        log = [sent for sent in log if random.random() < random.choice((0.5, 0.8))]
    if random.random() < 0.25:
        random.shuffle(log)
    return log


@cache
def _answer(wire: Wire, cities: tuple[str, ...], thinks: bool, without_ids: bool) -> Response:
    parts: list[Any] = [think("Hm.")] if thinks and cities else []
    parts += [scripted_call(json.dumps({"city": city}), f"call_{n}") for n, city in enumerate(cities)] or [say("Done.")]
    body = emit_body(wire, parts)
    return normalize(edited(wire, body, _calls_without_ids) if without_ids else body, wire)


def _calls_without_ids(body: dict[str, Any]) -> Any:
    return json.loads(json.dumps(body), object_hook=_without_call_id)


def _without_call_id(value: dict[str, Any]) -> dict[str, Any]:
    return {key: member for key, member in value.items() if key != "id"}


def report(log: CorrectLog) -> ConversationReport:
    """Audit a log."""
    audit = ConversationAudit()
    for one in log.records:
        audit.add(one)
    return audit.finish()


def accusations(seeds: range) -> list[str]:
    """Return the accusations in the logs of these seeds, each with its seed, and counts that do not add up.

    A model may repeat its calls.
    """
    found: list[str] = []
    for seed in seeds:
        log = CorrectLog(seed, conversion=_CONVERSIONS[seed % len(_CONVERSIONS)])
        audited = report(log)
        for wire, one in audited.wires.items():
            if one.accused < 0 or one.calls != one.answered + one.accused + sum(one.unjudged.values()):
                found.append(f"{seed} ({wire}): the counts of calls do not add up: {one}")
        found += [
            f"{seed} ({log.wire}, ids {log.ids}, conversion {log.conversion!r}): {finding.code}: {finding.message}"
            for finding in audited.findings
            if finding.severity != "info" and finding.code != "repeated-call"
        ]
    return found


if __name__ == "__main__":
    number = int(sys.argv[1])
    found = accusations(range(number))
    print(*found, f"{number:,} logs, {len(found)} accusations", sep="\n")
