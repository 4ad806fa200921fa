"""Runs that are made, not measured: one with every outcome, every member and hostile content, and one that is large."""

from __future__ import annotations

from itertools import product
from typing import Any

from msgspec.structs import replace

from toolparity.reports.results import (
    OUTCOMES,
    EvidenceSource,
    Kill,
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

#: What a model, a library or a person could put into a text, each to break another format.
HOSTILE = {
    "markup": "<script>alert('x')</script><img src=x onerror=alert(1)></td></table><!-- ]]>",
    "markdown": "| a `b` ``c`` **d** [e](javascript:f) ![g](http://h.example/i.png) ~~~ ``` \\ # @everyone <!--",
    "control": "nul \x00, bell \x07, escape \x1b[31mred\x1b[0m, delete \x7f, next line \x85, not a character \uffff",
    "bidi": "user\u202etxt.exe\u2066 mark\u200f zero\u200bwidth\ufeff tag\U000e0041",
    "lines": "one\ntwo\r\nthree\u2028four\n| five | six |\n\n## seven",
    "half": "half \ud83d of a pair",
}
ORIGINS = ("live", "emulated", "imported", "written", "emulated", "live")


def verdict(outcome: str = "pass", check: str = "order", **members: Any) -> Verdict:
    """A verdict of a law; one that is not a pass has a reason."""
    if outcome != "pass":
        members.setdefault("reason", f"because of {outcome}")
    return Verdict(check, outcome, **members)  # type: ignore[arg-type]


def result(*verdicts: Verdict, **place: Any) -> Result:
    """A case of the subject "mine", placed where it is reported."""
    fields = {"subject": "mine", "scenario": "one-call", "surface": "openai.chat", "mode": "plain", "policy": "all"}
    return Result(**fields | place, verdicts=[*verdicts])


def run(*results: Result, **members: Any) -> Run:
    """A run of these results, with the subjects, laws and scenarios that they name."""
    names = dict.fromkeys(one.subject for one in results)
    checks = dict.fromkeys(verdict.check for one in results for verdict in one.verdicts)
    scenarios = dict.fromkeys(one.scenario for one in results)
    defaults: dict[str, Any] = {
        "toolparity": "1.2.3",
        "date": "2026-01-02T03:04:05+00:00",
        "environment": {"python": "3.11.7", "system": "Linux"},
        "subjects": [SubjectInfo(name, "1.0") for name in names],
        "laws": [LawInfo(check, f"The law {check} is kept.", "must") for check in checks],
        "scenarios": [ScenarioInfo(id, f"What {id} is about", "must") for id in scenarios],
        "results": [*results],
        "seconds": 12.345,
    }
    return Run(**{**defaults, **members})


def golden() -> Run:
    """Every outcome on two surfaces, and each hostile text in each place of a text."""
    results = [
        result(verdict(pair[0], "order"), verdict(pair[1], "stop"), scenario=f"case-{'-'.join(pair)}", surface=surface)
        for surface, pair in product(("openai.chat", "xai.grpc"), product(OUTCOMES, ("pass", "fail")))
    ]
    for name, text in HOSTILE.items():
        report = SubjectReport([f"{text}({text})"], [text], [text], [text], [text], text, text)
        bad = verdict("fail", "order", reason=text, round=0, expected=text, got=text, effect="altered")
        case = result(bad, verdict("error", "stop"), scenario=f"hostile-{name}", mode="stream", policy="first")
        results.append(replace(case, rounds=[report]))
    results.append(result(verdict("expected", reason=HOSTILE["markdown"]), subject=HOSTILE["markup"]))
    versions = {"mine": "1.0", HOSTILE["markup"]: HOSTILE["bidi"]}
    made = run(*results)
    return replace(
        made,
        environment={**made.environment, "hostile": HOSTILE["markup"]},
        subjects=[SubjectInfo(name, version, ["calls"], ["openai.chat"]) for name, version in versions.items()],
        scenarios=[ScenarioInfo(one.id, HOSTILE["lines"], "must", ["IDX-01"]) for one in made.scenarios],
        traffic=[
            Traffic(f"hostile-{name}", "openai.chat", "stream", [excerpt], name)
            for name, text in HOSTILE.items()
            for excerpt in [WireExcerpt(text, len(text), f'[{{"text":"{name}"}}]')]
        ],
        sources=[
            EvidenceSource(name, origin, "2025-12-31", HOSTILE["markdown"], HOSTILE["bidi"], "openai 3.52")
            for name, origin in zip(HOSTILE, ORIGINS, strict=True)
        ],
        kills=[
            Kill("swaps-calls", "order", HOSTILE["markup"], {"order": 4, "stop": 1}),
            Kill("never-stops", "stop", "It never stops.", {"order": 2}),
        ],
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
