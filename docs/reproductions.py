"""Writes the reproductions: for each law that a shipped subject breaks, and each reason why, the shortest case.

    toolparity check litellm --policy all --no-baseline --unreleased --json run.json    a real run
    python docs/reproductions.py run.json                                               what it saw, into seen.json
    python docs/reproductions.py                                                        the pages

A page is made of the baseline (the reason), the suite (the wire) and seen.json (both sides of the comparison).
"""

from __future__ import annotations

import shlex
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

import msgspec
from google.protobuf.json_format import MessageToDict
from msgspec import Struct
from msgspec.structs import replace
from xai_sdk.proto import chat_pb2

from toolparity.cassettes.surfaces import SURFACES
from toolparity.conformance.cases.broken import CUTS
from toolparity.conformance.cases.offered import offered_tools
from toolparity.conformance.cases.scenarios import scenarios
from toolparity.conformance.cases.traffic import TrafficResponse, repieced, responses
from toolparity.conformance.laws import LAWS
from toolparity.conformance.runner import baseline
from toolparity.conformance.runner.baseline import BaselineEntry
from toolparity.conformance.subjects.peers import PEERS, Peer
from toolparity.normalizer import json_codec
from toolparity.reports import results
from toolparity.reports.results import Result, SubjectReport, Verdict

HERE = Path(__file__).resolve().parent / "reproductions"
SEEN = HERE / "seen.json"
#: Law about two forms of one response -> the names of the expected form and of the other one.
_PAIRS = {"stream-parity": ("plain", "streamed"), "alike": ("on the other wire", "here")}
#: Texts with which the first call of a response begins.
_MARKS = ('"tool_calls"', '"function_call"', '"type":"tool_use"', "response.output_item.added", '"response.completed"')
#: Maximum characters of a response on a page; a file contains the complete response.
_EXCERPT = 1100


class Case(Struct, frozen=True, order=True):
    """The shortest case in which a subject breaks a law for a reason.

    ``expected``, ``got``: both sides of the comparison, in a word or two. ``cases``: in how many cases it breaks the
    law for this reason. ``cut``: a key of `CUTS`, if the stream breaks.
    """

    subject: str
    law: str
    reason: str
    scenario: str
    surface: str
    mode: str
    round: int
    expected: str
    got: str
    cases: int
    cut: str = ""


class Seen(Struct, frozen=True):
    """``versions``: subject -> the version that was run."""

    versions: dict[str, str]
    cases: list[Case]


def seen() -> Seen:
    """As the last runs left it."""
    return msgspec.json.decode(SEEN.read_bytes(), type=Seen)


def updated(known: Seen, run: results.Run) -> Seen:
    """With a run's subjects anew. Raises ValueError for a failure that no baseline names: it was not looked at."""
    names = {subject.name for subject in run.subjects}
    kept = [case for case in known.cases if case.subject not in names]
    fresh = [case for name in sorted(names) for case in _shortest(name, run)]
    versions = known.versions | {subject.name: subject.version for subject in run.subjects}
    return Seen(dict(sorted(versions.items())), sorted([*kept, *fresh]))


def _shortest(name: str, run: results.Run) -> Iterator[Case]:
    entries = baseline.read(baseline.SHIPPED / f"{name}.yaml")
    found: dict[tuple[str, str], tuple[int, Case]] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for result, verdict in run.verdicts():
        if result.subject != name or verdict.outcome not in ("fail", "new"):
            continue
        entry = next((one for one in entries if one.matches(result, verdict)), None)
        if entry is None:
            raise ValueError(f"{verdict.check} in {result.case} of {name} is in no baseline: {verdict.reason}")
        case = case_of(result, verdict, entry.reason)
        size = sum(map(len, _answer(case).pieces))
        key = (verdict.check, entry.reason)
        counts[key] += 1
        if key not in found or (size, case) < found[key]:
            found[key] = size, case
    return (replace(case, cases=counts[key]) for key, (_, case) in found.items())


def case_of(result: Result, verdict: Verdict, reason: str = "") -> Case:
    """Return the case of one failure."""
    place = (result.scenario, result.surface, result.mode, verdict.round or 0)
    cut = next((cut for cut, where in CUTS.items() if where in verdict.reason), "") * (verdict.check == "any-cut")
    return Case(result.subject, verdict.check, reason, *place, *compared(result, verdict), cases=1, cut=cut)


def compared(result: Result, verdict: Verdict) -> tuple[str, str]:
    """Return both sides of the comparison; of an error its type, and none of its words."""
    report = result.rounds[verdict.round or 0] if result.rounds else SubjectReport()
    expected, got = (side or "nothing" for side in (verdict.expected, verdict.got))
    if verdict.check in _PAIRS:
        expected, got = (f"{name} {side}" for name, side in zip(_PAIRS[verdict.check], (expected, got), strict=True))
    elif verdict.check == "any-cut" and verdict.effect == "misreported":
        expected, got = "an error, complete: false, or an unknown stop reason", f"the stop reason {got}"
    elif verdict.check == "usage" and not got.startswith("{"):
        count = verdict.reason.partition(" ")[0]
        expected, got = f"{count}: {expected}", f"{count}: {got}"
    if report.error and (verdict.effect == "refused" or not report.calls):  # an agent may fail after a run
        got = f"refused with {report.error.partition(':')[0]}"
    return expected, got


def _answer(case: Case) -> TrafficResponse:
    """Return the response of a case, cut if the case is."""
    answer = responses(case.scenario, case.surface, case.mode)[case.round]
    if not case.cut:
        return answer
    pieces = repieced(answer, case.cut, f"{case.scenario}/{case.surface}/{case.round}")
    return replace(answer, pieces=pieces or [])


def files() -> dict[str, bytes]:
    """Name -> content of every page and every body."""
    known = seen()
    made: dict[str, bytes] = {}
    for name, cases in groupby(known.cases, key=lambda case: case.subject):
        of_subject = list(cases)
        made[f"{name}.md"] = "".join(_page(name, known.versions[name], of_subject)).encode()
        for case in of_subject:
            made |= _body(case)
    return made


def _page(name: str, version: str, cases: Sequence[Case]) -> Iterator[str]:
    entries = baseline.read(baseline.SHIPPED / f"{name}.yaml")
    yield f"# Failures of `{name}` {version}\n\n"
    yield "`python docs/reproductions.py` writes this page. [The overview](../peers.md) explains the entries.\n"
    if name in PEERS:
        peer = PEERS[name]
        pins = peer.pins.relative_to(peer.folder)
        install = (
            f"npm ci --ignore-scripts --prefix {pins.parent}" if peer.runtime == "node" else f"pip install -r {pins}"
        )
        yield f"\nTo repeat a case without this project: `{install}` in `conformance/subjects/peers`,\n"
        yield f"then run the command *alone*, which needs {_needed(peer)}"
        yield "in the same folder, and the files of the case.\n"
        yield "It prints what the agent runs of the response, and its requests.\n" * peer.agent
    for law, some in groupby(cases, key=lambda case: case.law):
        yield f"\n## {law}\n\n{LAWS[law].sentence}\n"
        for case in some:
            yield from _section(case, [entry for entry in entries if (entry.check, entry.reason) == (law, case.reason)])


def _section(case: Case, entries: Iterable[BaselineEntry]) -> Iterator[str]:
    scenario = scenarios()[case.scenario]
    names = ", ".join(f"`{name}`" for name in dict.fromkeys(entry.scenario for entry in entries) if "*" not in name)
    count = f"{case.cases} case{'s' * (case.cases != 1)}" + (f" ({names})" if names else "")
    place = f", answer {case.round + 1}" if case.round else ""
    again = Result(case.subject, case.scenario, case.surface, case.mode, "all", []).repeat
    yield f"\n### {case.reason}\n\nIn {count}. The shortest, on {case.surface}, {case.mode}{place}:\n"
    cut = f" The stream breaks {CUTS[case.cut]}." if case.cut else ""
    yield f"{scenario.file.title}.{cut}\n\n"
    yield f"- expected: {_code(case.expected)}\n- got: {_code(case.got)}\n- again: `{again}`\n"
    if case.subject in PEERS:
        yield f"- alone: `{_alone(case)}`\n"
    text = _text(case).decode("utf-8", "replace")
    shown = text if len(text) <= _EXCERPT else f"{_relevant(text, case.law)[:_EXCERPT]}…"
    yield f"\nThe response ([complete](bodies/{_file(case)})):\n\n````text\n{shown.rstrip()}\n````\n"


def _needed(peer: Peer) -> str:
    """Return the files that the command *alone* needs, with a line break."""
    program, node = _program(peer), peer.runtime == "node"
    if peer.agent:
        return f"[`{program}`](programs/agents/{program})\n{'and `modules.mjs` ' * node}"
    shared = "`program.mjs` and `modules.mjs`" if node else "`program.py`, `scope.py` and `stops.py`"
    return f"`{program}`,\n{shared} "


def _program(peer: Peer) -> str:
    """Return the file name of a program: of an agent the direct one, which the suite does not use."""
    return f"{peer.name.replace('-', '_')}{peer.program.suffix}" if peer.agent else peer.program.name


def _alone(case: Case) -> str:
    """The command that asks the library's own program, without the suite."""
    answer = _answer(case)
    surface = SURFACES[case.surface]
    if PEERS[case.subject].agent:
        expected = scenarios()[case.scenario].expected(case.surface, case.round, stream=answer.stream)
        tools = [tool.name for tool in offered_tools(answer.request, expected)]
        place = [_file(case), surface.wire, answer.provider or surface.provider, case.mode]
        return f"{_command(case.subject)} {shlex.join([*place, *tools])}"
    parts = [f"{_command(case.subject)} {_file(case)} --wire {surface.wire}"]
    parts += [f"--provider {answer.provider or surface.provider}"] + ["--stream"] * answer.stream
    parts += [f"--status {answer.status}"] * (answer.status != 200) + [f"--tools {_stem(case)}.tools.json"] * _declares(
        case
    )
    return " ".join(parts)


def _command(name: str) -> str:
    """The command that starts the program of a library, in its folder."""
    peer = PEERS[name]
    if peer.runtime == "python":
        return f"python {_program(peer)}"
    return f'node --import "./modules.mjs?folder=file://$PWD/{peer.shares or name}" {_program(peer)}'


def _declares(case: Case) -> bool:
    return case.subject in PEERS and not PEERS[case.subject].agent and bool(_tools(case))


def _tools(case: Case) -> object:
    request = _answer(case).request
    return request.get("tools") if isinstance(request, dict) else None


def _body(case: Case) -> dict[str, bytes]:
    made = {f"bodies/{_file(case)}": _text(case)}
    if _declares(case):
        made[f"bodies/{_stem(case)}.tools.json"] = json_codec.encode(_tools(case)) + b"\n"
    return made


def _text(case: Case) -> bytes:
    """Return the response on the wire; gRPC messages in protobuf's JSON, one per line."""
    answer = _answer(case)
    if SURFACES[case.surface].wire != "xai.grpc":
        return b"".join(answer.pieces)
    made = chat_pb2.GetChatCompletionChunk if answer.stream else chat_pb2.GetChatCompletionResponse
    messages = (MessageToDict(made.FromString(piece), preserving_proto_field_name=True) for piece in answer.pieces)
    return b"".join(json_codec.encode(message) + b"\n" for message in messages)


def _stem(case: Case) -> str:
    place = f".{case.round + 1}" if case.round else ""
    cut = f".{case.cut.replace(':', '-')}" if case.cut else ""
    return f"{case.scenario}.{case.surface}.{case.mode}{place}{cut}"


def _file(case: Case) -> str:
    kind = "jsonl" if SURFACES[case.surface].wire == "xai.grpc" else "sse" if case.mode == "stream" else "json"
    return f"{_stem(case)}.{kind}"


def _relevant(text: str, law: str) -> str:
    """Return the lines from the first call on, or those with the usage."""
    if law == "usage":
        return "\n".join(line for line in text.splitlines() if '"usage":{' in line) or text
    at = min((place for mark in _MARKS if (place := text.find(mark)) >= 0), default=0)
    start = text.rfind("\n", 0, at) + 1
    return text if start == 0 else f"…\n{text[start:]}"


def _code(text: str) -> str:
    """As code in one line, whatever is in it."""
    shown = " ".join(text.split())
    fence = "``" if "`" in shown else "`"
    return f"{fence}{shown}{fence}" if fence == "`" else f"{fence} {shown} {fence}"


def main(paths: Sequence[str]) -> None:
    if paths:
        known = seen() if SEEN.exists() else Seen({}, [])
        for path in paths:
            known = updated(known, results.read(Path(path).read_bytes()))
        HERE.mkdir(exist_ok=True)
        SEEN.write_bytes(msgspec.json.format(msgspec.json.encode(known), indent=1) + b"\n")
        return
    shutil.rmtree(HERE / "bodies", ignore_errors=True)
    for name, content in files().items():
        (HERE / name).parent.mkdir(parents=True, exist_ok=True)
        (HERE / name).write_bytes(content)


if __name__ == "__main__":
    main(sys.argv[1:])
