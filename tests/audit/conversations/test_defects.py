"""An agent with one defect is convicted of exactly this defect, on every wire and in every order of its log.

    python -m tests.audit.conversations.test_defects

prints the number of findings for each defect and wire, and counts logs that are varied at random.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import product
from random import Random

import pytest
from msgspec import Struct

from tests.audit.conversations import agents
from tests.audit.conversations.agents import (
    PARALLEL,
    REPEATING,
    SCRIPTS,
    SEARCHING,
    THINKING,
    Edit,
    Traffic,
    audited,
    replay,
    surfaces,
)
from tests.support.thoroughness import is_thorough
from toolparity.audit.conversations import CODES
from toolparity.cassettes.emulated.servers import Servers, running
from toolparity.cassettes.scripts import Script
from toolparity.cassettes.surfaces import SURFACES, Surface

_ALL, _FIRST, _MIDDLE, _LAST = slice(None), slice(1), slice(1, 2), slice(-1, None)


class Defect(Struct, frozen=True):
    """A defect. ``count``: the number of findings. ``round``: whose request has it."""

    code: str
    edit: Edit
    count: int = 1
    round: int = 1
    script: Script = PARALLEL


DEFECTS: dict[str, Defect] = {
    "keeps the first call": Defect("dropped-in-fact", agents.drop_call, 2),
    "drops the first call": Defect("dropped-in-fact", agents.drop(_FIRST, call=True)),
    "drops the second call": Defect("dropped-in-fact", agents.drop(_MIDDLE, call=True)),
    "drops the last call": Defect("dropped-in-fact", agents.drop(_LAST, call=True)),
    "drops a call later": Defect("dropped-in-fact", agents.drop(_LAST, call=True), round=2),
    "keeps the first result": Defect("dropped-in-fact", agents.drop_results, 2),
    "drops the first result": Defect("dropped-in-fact", agents.drop(_FIRST)),
    "drops the second result": Defect("dropped-in-fact", agents.drop(_MIDDLE)),
    "drops the last result": Defect("dropped-in-fact", agents.drop(_LAST)),
    "drops a result later": Defect("dropped-in-fact", agents.drop(_LAST), round=2),
    "sends no result": Defect("dropped-in-fact", agents.drop(_ALL), 3),
    "sends text for results": Defect("dropped-in-fact", agents.drop(_ALL, text="Go on."), 3),
    "repeats the first result": Defect("answered-twice", agents.repeat(_FIRST)),
    "repeats the last result": Defect("answered-twice", agents.repeat(_LAST)),
    "repeats each result": Defect("answered-twice", agents.repeat(_ALL), 3),
    "sends a result three times": Defect("answered-twice", agents.repeat(_LAST, 2)),
    "repeats a result later": Defect("answered-twice", agents.repeat(_LAST), round=2),
    "answers the first for the last": Defect("answered-under-another-id", agents.use_other_id),
    "answers the last for the first": Defect("answered-under-another-id", agents.use_ids(0, "{2}", "{1}", "{2}")),
    "answers the first for all": Defect("answered-under-another-id", agents.use_ids(0, "{0}", "{0}", "{0}"), 2),
    "answers another later": Defect("answered-under-another-id", agents.use_other_id, round=2),
    "makes an id up": Defect("unknown-call-answered", agents.use_ids(-1, "call_unknown")),
    "makes all ids up": Defect("unknown-call-answered", agents.use_ids(0, "call_x", "call_y", "call_z"), 3),
    "cuts an id": Defect("unknown-call-answered", agents.use_ids(-1, "{2:.4}")),
    "extends an id": Defect("unknown-call-answered", agents.use_ids(-1, "{2}_1")),
    "makes an id up later": Defect("unknown-call-answered", agents.use_ids(-1, "call_unknown"), round=2),
    "alters the first arguments": Defect("arguments-altered", agents.alter_arguments),
    "alters the last arguments": Defect("arguments-altered", agents.alter(_LAST)),
    "alters all arguments": Defect("arguments-altered", agents.alter(_ALL), 3),
    "alters arguments later": Defect("arguments-altered", agents.alter(_FIRST), round=2),
    "answers a server call": Defect("server-call-answered", agents.answer_server_call, script=SEARCHING),
    "separates results": Defect("answered-out-of-order", agents.separate_results),
    "separates results later": Defect("answered-out-of-order", agents.separate_results, round=2),
    "loses the reasoning": Defect("reasoning-lost", agents.lose_reasoning, script=THINKING),
    "rewrites the question": Defect("history-rewritten", agents.rewrite_question),
    "rewrites the question later": Defect("history-rewritten", agents.rewrite_question, round=2),
    "changes the tools": Defect("tools-changed", agents.change_tools),
    "changes the tools later": Defect("tools-changed", agents.change_tools, round=2),
    "invents a result": Defect("result-invented", agents.say(_LAST, "[Tool execution was interrupted]")),
    "invents all results": Defect("result-invented", agents.say(_ALL, "No tool result recorded."), 3),
    "sends empty results": Defect("results-empty", agents.say(_ALL, "")),
    "repeats a call": Defect("repeated-call", agents.change_nothing, round=3, script=REPEATING),
}
CLEAN = Defect("", agents.change_nothing, 0)
#: Wires that cannot carry a defect, or where it leaves no trace: by finding code, or by defect.
LACKING = {
    "answered-twice": {"google.gemini"},
    "answered-under-another-id": {"google.gemini"},
    "answered-out-of-order": {"openai.responses", "xai.responses", "xai.grpc", "ollama.chat"}
    | {"google.gemini", "google.interactions"},
    "drops the first call": {"google.gemini"},  # which has the signature of the response
    "cuts an id": {"google.gemini"},
    "extends an id": {"google.gemini"},
    "reasoning-lost": {"openai.chat", "xai.chat", "xai.grpc", "cohere.chat", "ollama.chat"},
}


#: Defects that leave no trace if a request comes before its response, and the ids of the wire are short.
_UNSEEN = {"alters all arguments", "rewrites the question", "rewrites the question later"}
_SHORT = {"xai.grpc", "xai.chat", "google.interactions", "ollama.chat"}


def carrying(name: str) -> list[str]:
    """Return the names of the surfaces that can play a script with a defect."""
    defect = DEFECTS.get(name, CLEAN)
    lacking = LACKING.get(defect.code, set()) | LACKING.get(name, set())
    return [surface for surface in surfaces(defect.script) if surface not in lacking]


def difference(surface: Surface, traffic: Traffic, defect: Defect) -> str:
    """Return how the findings differ from those of a defect alone, or ""."""
    report = audited(surface, traffic)
    places = [(finding.code, finding.response_place, finding.request_place) for finding in report.findings]
    expected = (defect.code, f"log:{defect.round}", f"log:{defect.round + 1}")
    is_convicted = report.wires[surface.wire].findings == {defect.code: defect.count} and places[0] == expected
    return "" if is_convicted else f"{report.wires[surface.wire].findings} at {places}"


@pytest.mark.parametrize("name", DEFECTS)
def test_an_agent_is_convicted_of_its_defect_alone(servers: Servers, name: str) -> None:
    defect = DEFECTS[name]
    differences = {
        (where, stream): difference(surface, played(servers, surface, defect, stream), defect)
        for where in carrying(name)
        for surface in (SURFACES[where],)
        for stream in ((False, True) if is_thorough() else (False,))
    }
    assert {case: found for case, found in differences.items() if found} == {}


def played(servers: Servers, surface: Surface, defect: Defect, stream: bool = False) -> Traffic:
    edit = agents.change_nothing if defect.script is REPEATING else defect.edit
    return replay(servers, surface, defect.script, stream=stream, edit=edit, round=defect.round)


def test_every_defect_has_an_agent() -> None:
    assert {defect.code for defect in DEFECTS.values()} == CODES.keys() - {"calls-differ"}  # which does not accuse


def varied(traffic: Traffic, other: Traffic, random: Random) -> dict[str, Traffic]:
    """Return logs with the same exchanges, and one without one of them. ``other``: those of a correct agent."""
    mixed = [*traffic, *other]
    return {
        "shuffled": random.sample(traffic, len(traffic)),
        "mixed": random.sample(mixed, len(mixed)),
        "repeated": random.sample(mixed * 2, 2 * len(mixed)),
        "sampled": random.sample(traffic, len(traffic) - 1),
    }


def wrong(servers: Servers, names: Iterable[str], seeds: range, counts: Counter[str]) -> list[str]:
    """Return the varied logs with other findings. Count all."""
    found: list[str] = []
    for name, seed in product(names, seeds):
        defect = DEFECTS.get(name, CLEAN)
        expected = {defect.code: defect.count} if defect.count else {}
        for where in carrying(name):
            surface = SURFACES[where]
            other = replay(servers, surface, THINKING if defect.script is PARALLEL else PARALLEL, stream=False)
            logs = varied(played(servers, surface, defect), other, Random(f"{name} {where} {seed}"))
            for way, log in logs.items():
                made = audited(surface, log).wires[surface.wire].findings
                counts[way] += 1
                counts[f"{way} and convicted"] += bool(made)
                unseen = way == "sampled" or (name in _UNSEEN and where in _SHORT)
                if made != expected and not (unseen and made.keys() <= expected.keys()):
                    found.append(f"{name} on {where}, {way}, seed {seed}: {made}")
    return found


def test_the_findings_do_not_depend_on_the_order_of_the_log(servers: Servers) -> None:
    assert wrong(servers, [*DEFECTS, "nothing"], range(10 if is_thorough() else 1), Counter()) == []


if __name__ == "__main__":
    with running(SCRIPTS) as up:
        wires = list(dict.fromkeys(SURFACES[surface].wire for surface in surfaces(PARALLEL)))
        print("".join(f"{text:20}" for text in ("", "finding", *wires)).rstrip())
        for name, defect in DEFECTS.items():
            cells = [
                difference(SURFACES[wire], played(up, SURFACES[wire], defect), defect) or str(defect.count)
                if wire in carrying(name)
                else "-"
                for wire in wires
            ]
            print("".join(f"{text:32}" for text in (name, defect.code)) + "".join(f"{cell:20}" for cell in cells))
        for names in ([*DEFECTS], ["nothing"]):
            counts: Counter[str] = Counter()
            print(f"{len(names)} agents:", *wrong(up, names, range(5), counts), *sorted(counts.items()), sep="\n")
