"""An agent with one defect is convicted of exactly this defect, on every wire."""

from __future__ import annotations

import pytest

from tests.audit.conversations import agents
from tests.audit.conversations.agents import (
    PARALLEL,
    REPEATING,
    SEARCHING,
    THINKING,
    Edit,
    Traffic,
    audited,
    play,
    replay,
    surfaces,
)
from tests.support.thoroughness import is_thorough
from toolparity.audit.conversations import CODES
from toolparity.cassettes.emulated.servers import Servers
from toolparity.cassettes.scripts import Script
from toolparity.cassettes.surfaces import SURFACES, Surface

#: Finding code, script, defect, number of findings.
_DEFECTS: list[tuple[str, Script, Edit, int]] = [
    ("dropped-in-fact", PARALLEL, agents.drop_call, 2),
    ("dropped-in-fact", PARALLEL, agents.drop_results, 2),
    ("answered-twice", PARALLEL, agents.repeat_result, 1),
    ("answered-under-another-id", PARALLEL, agents.use_other_id, 1),
    ("unknown-call-answered", PARALLEL, agents.use_unknown_id, 1),
    ("arguments-altered", PARALLEL, agents.alter_arguments, 1),
    ("server-call-answered", SEARCHING, agents.answer_server_call, 1),
    ("answered-out-of-order", PARALLEL, agents.separate_results, 1),
    ("reasoning-lost", THINKING, agents.lose_reasoning, 1),
    ("history-rewritten", PARALLEL, agents.rewrite_question, 1),
    ("tools-changed", PARALLEL, agents.change_tools, 1),
    ("repeated-call", REPEATING, agents.change_nothing, 1),
]
LACKING = {
    "answered-twice": {"google.gemini"},
    "answered-under-another-id": {"google.gemini"},
    "answered-out-of-order": {"openai.responses", "xai.responses", "xai.grpc", "ollama.chat"}
    | {"google.gemini", "google.interactions"},
    "reasoning-lost": {"openai.chat", "xai.chat", "xai.grpc", "cohere.chat", "ollama.chat"},
}


def carrying(code: str, script: Script) -> list[str]:
    """Return the names of the surfaces that can play a script with a defect."""
    return [name for name in surfaces(script) if name not in LACKING.get(code, ())]


def difference(surface: Surface, traffic: Traffic, code: str, count: int) -> str:
    """Return how the findings differ from this one alone, or ""."""
    report = audited(surface, traffic)
    place = 3 if code == "repeated-call" else 1
    places = [(finding.code, finding.response_place, finding.request_place) for finding in report.findings]
    expected = (code, f"log:{place}", f"log:{place + 1}")
    is_convicted = report.wires[surface.wire].findings == {code: count} and places[0] == expected
    return "" if is_convicted else f"{report.wires[surface.wire].findings} at {places}"


@pytest.mark.parametrize(
    ("code", "script", "edit", "count"),
    [pytest.param(*defect, id=f"{defect[2].__name__}-{defect[0]}") for defect in _DEFECTS],
)
def test_an_agent_is_convicted_of_its_defect_alone(
    servers: Servers, code: str, script: Script, edit: Edit, count: int
) -> None:
    differences = {
        (name, stream): difference(surface, replay(servers, surface, script, stream=stream, edit=edit), code, count)
        for name in carrying(code, script)
        for surface in (SURFACES[name],)
        for stream in ((False, True) if is_thorough() else (False,))
    }
    assert {case: found for case, found in differences.items() if found} == {}


@pytest.mark.thorough(keep=1, per="{name}")
@pytest.mark.parametrize(
    ("code", "script", "edit", "count", "name", "stream"),
    [
        pytest.param(*defect, name, stream, id=f"{defect[2].__name__}-{defect[0]}-{name}-{way}")
        for defect in _DEFECTS
        for name in carrying(defect[0], defect[1])
        for stream, way in ((False, "plain"), (True, "stream"))
    ],
)
def test_a_provider_answers_an_agent_with_a_defect_which_is_convicted(
    servers: Servers, code: str, script: Script, edit: Edit, count: int, name: str, stream: bool
) -> None:
    surface = SURFACES[name]
    assert not difference(surface, play(servers, surface, script, stream=stream, edit=edit), code, count)


def test_every_defect_has_an_agent() -> None:
    assert {code for code, *_ in _DEFECTS} == CODES.keys() - {"calls-differ"}  # which does not accuse
