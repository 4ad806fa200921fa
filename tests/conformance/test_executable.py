"""Programs as subjects: what they answer is judged, and what goes wrong with them is reported for them alone."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from toolparity.conformance.cases.case import Case
from toolparity.conformance.errors import InvalidAnswer, UnknownSubject
from toolparity.conformance.runner.judge import CaseFilter, Judge
from toolparity.conformance.subjects import CLAIMS, CallResult, FollowUp, SubjectExchange, process
from toolparity.conformance.subjects.executable import MOST_FAILURES, PATIENCE, Executable

EXAMPLE = Path(__file__).resolve().parents[2] / "conformance" / "examples" / "subject.mjs"
HELLO = """
import json, sys, time, os, signal
hello = json.loads(sys.stdin.readline())
assert hello == {"op": "hello"}
print(json.dumps({"name": "p", "version": "2", "claims": ["select", "answers"], "wires": ["openai.chat"]}), flush=True)
"""
ASK = SubjectExchange(
    wire="openai.chat", provider="openai", stream=False, pieces=[b'{"choices":[]}'], request={"tools": [1]}
)

Program = Callable[..., Executable]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    made: list[Executable] = []

    def make(rest: str, *, timeout: float = 20.0, hello: str = HELLO) -> Executable:
        path = tmp_path / "subject.py"
        path.write_text(hello + rest)
        made.append(Executable([sys.executable, str(path)]))
        made[-1]._timeout = timeout  # a slow machine may take long to start it
        return made[-1]

    yield make  # type: ignore[misc]
    for one in made:
        one.close()


def test_a_program_says_hello_and_answers_line_by_line(program: Program) -> None:
    subject = program(
        """
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"calls": [{"name": asked["wire"], "arguments": asked["tools"]}]}), flush=True)
"""
    )
    assert (subject.name, subject.version) == ("p", "2")
    assert subject.claims == {"select", "answers"}
    assert subject.wires == {"openai.chat"}
    assert subject.read(ASK) == {"calls": [{"name": "openai.chat", "arguments": [1]}]}
    assert subject.read(ASK) == {"calls": [{"name": "openai.chat", "arguments": [1]}]}


def test_a_program_makes_the_next_request(program: Program) -> None:
    subject = program(
        """
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"request": {"results": asked["results"], "to": asked["to"]}}), flush=True)
"""
    )
    asked = FollowUp(
        exchange=ASK, results=[CallResult("c1", "f", "text")], to="anthropic.messages", provider="anthropic"
    )
    given = subject.next_request(asked)
    assert given == {
        "results": [{"call_id": "c1", "name": "f", "content": "text", "is_error": False}],
        "to": "anthropic.messages",
    }


@pytest.mark.thorough(keep=2)
@pytest.mark.parametrize(
    ("rest", "told"),
    [
        ("time.sleep(60)", "no answer within 0.5 s"),
        ("sys.stdin.readline(); sys.exit(3)", "ended with code 3"),
        ("sys.stdin.readline(); os.kill(os.getpid(), 9)", "ended with code -9"),
        ("sys.stdin.readline(); print('no json at all', flush=True); time.sleep(60)", "not JSON"),
        ("sys.stdin.readline(); print('[1, 2]', flush=True); time.sleep(60)", "not a JSON object"),
        ("sys.stdin.readline(); sys.stderr.write('out of cheese'); sys.exit(1)", "out of cheese"),
        ("sys.stdin.readline(); os.close(1); time.sleep(60)", "closed its output"),
        ("signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)", "no answer within 0.5 s"),
        ("while True: print(' ', end='', flush=True); time.sleep(0.05)", "no answer within 0.5 s"),
        ("while True: sys.stderr.write('complaint ' * 10_000)", "no answer within 0.5 s; on stderr: .*complaint"),
        ("sys.stdin.readline(); print('[' * 100_000, flush=True); time.sleep(60)", "nested too deep"),
        (
            "sys.stdin.readline(); sys.stdout.buffer.write(bytes(range(128, 256)) + b'\\n'); sys.stdout.flush()",
            "not JSON",
        ),
        ("print('{}\\n{}', flush=True); time.sleep(60)", "more than one line"),
    ],
    ids=[
        "hangs",
        "exits",
        "is killed",
        "prints garbage",
        "prints a list",
        "complains",
        "closes its output",
        "does not let itself be ended",
        "prints a byte at a time and never a line",
        "floods standard error",
        "nests without end",
        "prints bytes that are no text",
        "prints two lines",
    ],
)
def test_what_goes_wrong_with_a_program_is_a_bad_answer(program: Program, rest: str, told: str) -> None:
    with pytest.raises(InvalidAnswer, match=told):
        program(rest, timeout=0.5 if "within" in told else 10).read(ASK)


def test_a_program_that_floods_is_cut_off(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    assert process.MOST_BYTES >= 1 << 20
    monkeypatch.setattr(process, "MOST_BYTES", 2_000_000)
    subject = program("sys.stdin.readline()\nwhile True: sys.stdout.write('x' * 1_000_000)")
    with pytest.raises(InvalidAnswer, match="longer than 2,000,000 bytes"):
        subject.read(ASK)


def test_a_line_that_comes_after_the_answer_is_taken_for_no_other_answer(program: Program, tmp_path: Path) -> None:
    subject = program(
        """
for line in sys.stdin:
    print(json.dumps({"calls": []}), flush=True)
    time.sleep(0.1)
    print(json.dumps({"calls": [{"name": "stray"}]}), flush=True)
    open("MARK", "w").close()
""".replace("MARK", str(tmp_path / "mark"))
    )
    assert subject.read(ASK) == {"calls": []}
    while not (tmp_path / "mark").exists():
        time.sleep(0.01)
    with pytest.raises(InvalidAnswer, match="more than one line"):
        subject.read(ASK)


def test_blank_lines_and_carriage_returns_are_no_answers(program: Program) -> None:
    subject = program(
        """
for line in sys.stdin:
    sys.stdout.write("\\r\\n\\n" + json.dumps({"calls": []}) + "\\r\\n\\n")
    sys.stdout.flush()
"""
    )
    assert [subject.read(ASK), subject.read(ASK)] == [{"calls": []}, {"calls": []}]


def test_a_child_that_holds_the_pipe_open_does_not_speak_for_a_program_that_ended(program: Program) -> None:
    subject = program(
        """
if os.fork() == 0:
    os.setsid()  # out of reach of whoever ends the program's group
    time.sleep(3)
    os._exit(0)
sys.stdin.readline()
sys.exit(7)
"""
    )
    with pytest.raises(InvalidAnswer, match="ended with code 7"):
        subject.read(ASK)
    subject.close()


def test_a_program_that_reads_nothing_does_not_hold_up_who_writes_to_it(program: Program) -> None:
    large = SubjectExchange(wire="openai.chat", provider="openai", stream=False, pieces=[b"x" * 4_000_000])
    with pytest.raises(InvalidAnswer, match=r"no answer within 0.5 s"):
        program("time.sleep(60)", timeout=0.5).read(large)


def test_what_a_program_started_ends_with_it(program: Program, tmp_path: Path) -> None:
    subject = program(
        """
if (child := os.fork()) == 0:
    time.sleep(60)
open("MARK", "w").write(str(child))
for line in sys.stdin:
    print('{"calls": []}', flush=True)
""".replace("MARK", str(tmp_path / "mark"))
    )
    subject.read(ASK)
    child = int((tmp_path / "mark").read_text())
    os.kill(child, 0)
    subject.close()
    while _runs(child):
        time.sleep(0.01)


def _runs(process: int) -> bool:
    """Whether it is there and no mere entry of a table that no one has read."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_program_that_fails_now_and_then_is_not_asked_for_ever(program: Program, tmp_path: Path) -> None:
    subject = program(
        """
import pathlib
mark = pathlib.Path("MARK")
for line in sys.stdin:
    odd = mark.exists()
    mark.unlink() if odd else mark.touch()
    print('{"calls": []}' if odd else "garbage", flush=True)
""".replace("MARK", str(tmp_path / "mark"))
    )
    subject._failures = MOST_FAILURES - 2
    for _ in range(2):
        with pytest.raises(InvalidAnswer, match="not JSON"):
            subject.read(ASK)
        if subject._failures < MOST_FAILURES:
            assert subject.read(ASK) == {"calls": []}
    with pytest.raises(InvalidAnswer, match=f"failed {MOST_FAILURES} times: it is not called again"):
        subject.read(ASK)


def test_a_program_that_died_is_started_again(program: Program, tmp_path: Path) -> None:
    subject = program(
        """
for line in sys.stdin:
    if os.path.exists("MARK"):
        print('{"calls": []}', flush=True)
    else:
        open("MARK", "w").close()
        sys.exit(1)
""".replace("MARK", str(tmp_path / "mark"))
    )
    with pytest.raises(InvalidAnswer, match="ended with code 1"):
        subject.read(ASK)
    assert subject.read(ASK) == {"calls": []}


def test_a_program_that_fails_again_and_again_is_not_asked_again(program: Program) -> None:
    subject = program("sys.stdin.readline(); sys.exit(1)")
    for _ in range(PATIENCE):
        with pytest.raises(InvalidAnswer, match="ended with code 1"):
            subject.read(ASK)
    with pytest.raises(InvalidAnswer, match="not called again"):
        subject.read(ASK)


def test_a_program_that_is_not_there_or_claims_the_unknown_is_no_subject(program: Program) -> None:
    with pytest.raises(UnknownSubject, match="cannot be started"):
        Executable(["/nowhere/at/all"])


@pytest.mark.parametrize(
    ("hello", "told"),
    [
        ({"claims": ["magic"]}, "has unknown claims: magic"),
        ({"claims": [["stream"]]}, "a list of names"),
        ({"claims": "stream"}, "a list of names"),
        ({"claims": ["handoff"]}, "claims handoff, but not answers"),
        ({"wires": ["openai.caht"]}, "has unknown wires: openai.caht"),
        ({"wires": "openai.chat"}, "a list of names"),
        ({"input": "telepathy"}, "has an unknown input: 'telepathy'"),
    ],
)
def test_a_program_that_tells_nonsense_of_itself_is_no_subject(
    program: Program, hello: dict[str, object], told: str
) -> None:
    with pytest.raises(UnknownSubject, match=told):
        program("", hello=f"input(); print({json.dumps(json.dumps(hello))}, flush=True)")


def test_the_bench_contains_a_program_that_hangs(program: Program) -> None:
    bench = Judge(program("time.sleep(60)", timeout=0.3), twice=False)
    (verdict,) = bench.result(Case("single-call", "openai.chat", "plain", "all")).verdicts
    assert (verdict.outcome, verdict.check) == ("fail", "conservation")
    assert "no answer within 0.3 s" in verdict.reason


@pytest.mark.skipif(shutil.which("node") is None, reason="the example is for Node, which is not installed")
def test_the_example_in_another_language_keeps_the_laws_on_ordinary_answers() -> None:
    subject = Executable(["node", str(EXAMPLE)])
    try:
        bench = Judge(subject)
        choice = CaseFilter(scenarios=("single-call", "parallel-three", "two-rounds", "text-only", "refusal"))
        verdicts = [v for case in choice.cases() for v in bench.result(case).verdicts]
    finally:
        subject.close()
    assert subject.claims <= CLAIMS.keys()
    assert [v for v in verdicts if v.outcome in ("fail", "error")] == []
    assert sum(v.outcome == "pass" for v in verdicts) > 200
