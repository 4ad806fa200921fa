"""An agent with one defect is convicted of exactly this defect, on every wire."""

from __future__ import annotations

import pytest

from tests.conversations import agents
from tests.conversations.agents import PARALLEL, REPEATING, SEARCHING, THINKING, Edit, audited, play, surfaces
from toolparity.cassettes.emulated.servers import Servers
from toolparity.cassettes.scripts import Script
from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer.conversations import CODES

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
#: Surfaces without ids of calls, on which a result belongs to the next call, wires on which results need not directly
#: follow their calls, and surfaces without sealed reasoning.
LACKING = {
    "answered-twice": {"google.gemini"},
    "answered-under-another-id": {"google.gemini"},
    "answered-out-of-order": {
        "openai.responses",
        "xai.responses",
        "xai.grpc",
        "google.gemini",
        "google.interactions",
        "ollama.chat",
    },
    "reasoning-lost": {"openai.chat", "xai.chat", "xai.grpc", "cohere.chat", "ollama.chat"},
}
_CASES = [
    pytest.param(
        code, script, edit, count, name, stream, id=f"{edit.__name__}-{code}-{name}-{'stream' if stream else 'plain'}"
    )
    for code, script, edit, count in _DEFECTS
    for name in surfaces(script)
    if name not in LACKING.get(code, ())
    for stream in (False, True)
]


@pytest.mark.parametrize(("code", "script", "edit", "count", "name", "stream"), _CASES)
def test_an_agent_is_convicted_of_its_defect_alone(
    servers: Servers, code: str, script: Script, edit: Edit, count: int, name: str, stream: bool
) -> None:
    surface = SURFACES[name]
    traffic = play(servers, surface, script, stream=stream, edit=edit)
    report = audited(surface, traffic)
    assert report.wires[surface.wire].findings == {code: count}
    finding = report.findings[0]
    place = 3 if code == "repeated-call" else 1
    assert (finding.code, finding.response_place, finding.request_place) == (code, f"log:{place}", f"log:{place + 1}")


def test_every_code_has_an_agent_with_its_defect() -> None:
    assert {code for code, *_ in _DEFECTS} == set(CODES)
