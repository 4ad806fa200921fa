"""A generated run of the largest size that reports are designed for.

It has 20 subjects x 200 scenarios x 5 surfaces x 2 modes x 3 policies.
"""

from __future__ import annotations

from itertools import product

from toolparity.reports.results import (
    EvidenceSource,
    LawInfo,
    Outcome,
    Result,
    Run,
    ScenarioInfo,
    SubjectInfo,
    SubjectReport,
    Traffic,
    Verdict,
    WireExcerpt,
)

SURFACES = ("openai.chat", "openai.responses", "anthropic.messages", "xai.chat", "xai.grpc")
MODES = ("plain", "stream")
POLICIES = ("first", "all", "batch")
LAWS = tuple(f"law-{number:02}" for number in range(12))


def made_run(subjects: int = 20, scenarios: int = 200) -> Run:
    """Return a run in which subjects and scenarios have different texts and a twentieth of the cases breaks a law."""
    names = [f"subject-{number:02}" for number in range(subjects)]
    ids = [f"scenario-{number:03}" for number in range(scenarios)]
    answers = [(id, *place) for id in ids for place in product(SURFACES, MODES)]
    return Run(
        "0.0.0",
        "2026-01-02T03:04:05+00:00",
        {"python": "3.11", "system": "Linux"},
        [SubjectInfo(name, "1.0", ["stream", "text"], seconds=1.5) for name in names],
        [LawInfo(law, f"What {law} asks of a subject, in one sentence.", "must") for law in LAWS],
        [ScenarioInfo(id, f"The situation of {id}, as a title", "must", [f"ID-{id[-2:]}"]) for id in ids],
        [
            _result(s, n, names[s], ids[n], place)
            for s, n in product(range(subjects), range(scenarios))
            for place in product(SURFACES, MODES, POLICIES)
        ],
        [_traffic(*answer) for answer in answers],
        [
            EvidenceSource(_path(*one), "emulated", "2025-12-31T00:00:00Z", one[1].split(".")[0], "model-1", "sdk 1.0")
            for one in answers
        ],
        seconds=600.0,
    )


def _result(s: int, n: int, subject: str, scenario: str, place: tuple[str, str, str]) -> Result:
    surface, mode, policy = place
    calls = [_call(scenario, 1), _call(scenario, 2)]
    unusual = (s * 7 + n * 3 + SURFACES.index(surface)) % 20 == 0
    verdicts = [Verdict(law, "pass") for law in LAWS[: 6 + n % 6]]
    if unusual:
        outcome: Outcome = "expected" if n % 3 else "fail"
        reason = f"2 calls on the wire, 1 accounted for: {calls[1]} vanished without a word in {subject}"
        verdicts[n % 6] = Verdict(LAWS[n % 6], outcome, reason, 0, ", ".join(calls), calls[0], "lost")
    if s % 4 == 0:
        verdicts[-1] = Verdict(verdicts[-1].check, "unsupported", "it does not claim stop")
    first = policy == "first"
    warning = f"1 of 2 calls is dropped under the policy first: {calls[1]}"
    report = SubjectReport(
        calls[:1] if first or unusual else calls, calls[1:] if first else [], [], [warning] if first else []
    )
    return Result(subject, scenario, surface, mode, policy, verdicts, [report], 0.001)


def _call(scenario: str, number: int) -> str:
    return f'look_up_{number}({{"of":"{scenario}","language":"en"}})'


def _path(scenario: str, surface: str, mode: str) -> str:
    return f"recorded/{surface}/{scenario}.{mode}.yaml"


def _traffic(scenario: str, surface: str, mode: str) -> Traffic:
    """Return as much of an answer as a real run keeps: 600 characters, and 1,200 of its blocks."""
    about = f"{scenario} on {surface}, {mode}"
    excerpt = f'{{"id": "{about}", "choices": [{{"message": {{"content": "' + f"words of {about} " * 20
    blocks = f'[{{"type":"text","text":"{about}"}},{{"type":"tool_call","arguments_text":"' + f"more of {about} " * 40
    return Traffic(
        scenario, surface, mode, [WireExcerpt(excerpt[:600], 2_000, blocks[:1_200])], _path(scenario, surface, mode)
    )
