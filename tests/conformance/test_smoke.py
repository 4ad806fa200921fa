"""`toolparity smoke` distinguishes a broken connection from a broken implementation, within seconds."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.support.wires import PLAYED_WIRES
from toolparity.cli import main

HELLO = 'print(\'{"name": "p", "claims": ["stream"]}\', flush=True)\n'
BASE_URL = HELLO.replace('"name"', '"input": "base_url", "name"')
EACH_LINE = "for line in sys.stdin: print('%s', flush=True)"
READ_ONE = "sys.stdin.readline()\n"


def smoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["smoke", *arguments])


def test_the_reference_reads_each_wire_plain_and_streamed() -> None:
    result = smoke("normalizer")
    assert result.exit_code == 0
    for wire in PLAYED_WIRES:
        for mode in ("plain", "stream"):
            assert f'ok\t{wire} {mode}\tget_weather({{"city":"Lisbon"}})' in result.output
    assert "The subject is connected and reads a simple call" in result.output


#: What a program does -> its code, and a part of the output.
BROKEN = {
    "never says hello": ("time.sleep(60)", "connection\thello\tno answer within 0.5 s"),
    "dies": (f"{HELLO}{READ_ONE}sys.exit('no more')", "ended with code 1; on stderr: no more"),
    "prints no JSON": (f"{HELLO}{READ_ONE}print('<html>', flush=True); time.sleep(60)", "the line is not JSON"),
    "returns no calls": (HELLO + EACH_LINE % "{}", "the answer has neither a response nor calls"),
    "fetches nothing": (
        BASE_URL + EACH_LINE % '{"calls": []}',
        "connection\topenai.chat stream\tthe subject sent no request",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_program_that_cannot_be_read_is_a_broken_connection(name: str, tmp_path: Path) -> None:
    code, message = BROKEN[name]
    path = tmp_path / "program.py"
    path.write_text(f"import json, os, sys, time\nsys.stdin.readline()\n{code}")
    result = smoke(f"exec:{sys.executable} {path}", "--timeout", "0.5" if "0.5" in message else "60")
    assert result.exit_code == 4
    assert message in result.output
    assert "The connection is broken" in result.output


def test_a_program_that_hangs_is_waited_for_once(tmp_path: Path) -> None:
    path, requests = tmp_path / "program.py", tmp_path / "requests"
    loop = f"for line in sys.stdin:\n    open({str(requests)!r}, 'a').write('x')\n    time.sleep(60)\n"
    path.write_text(f"import sys, time\n{READ_ONE}{HELLO}{loop}")
    result = smoke(f"exec:{sys.executable} {path}", "--timeout", "4")
    assert result.exit_code == 4
    assert "connection\tanthropic.messages plain\tno answer within 4 s" in result.output
    assert "is not called again" in result.output
    assert requests.read_text() == "x"


def test_a_subject_that_does_not_exist_is_a_broken_connection() -> None:
    started = smoke("exec:/nowhere/node subject.mjs")
    assert (started.exit_code, "connection\thello\t/nowhere/node cannot be started" in started.output) == (4, True)
    assert smoke("exec:node 'subject.mjs").exit_code == 4  # the quote does not close
    imported = smoke("no_such_module:Subject")
    assert (imported.exit_code, "The connection is broken" in imported.output) == (4, True)


#: Answer of a subject -> the exit code, and a part of the output.
ANSWERS = {
    "[{'name': call['function']['name'], 'arguments': call['function']['arguments']} for call in calls]": (
        0,
        "reads a simple call",
    ),
    "[]": (1, "is connected, but its answers differ"),
    "[{'id': str(next(self.count)), 'name': 'f', 'arguments': {}}]": (1, "unstable"),
    "None": (4, "The connection is broken"),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_wrong_answer_is_a_broken_implementation(
    answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, message = ANSWERS[answer]
    name = f"smoked_{list(ANSWERS).index(answer)}"
    (tmp_path / f"{name}.py").write_text(f"""
import itertools, json

class Subject:
    wires = {{"openai.chat"}}
    count = itertools.count()

    def read(self, exchange):
        calls = json.loads(exchange.body)["choices"][0]["message"].get("tool_calls") or []
        return {{"calls": {answer}}}
""")
    monkeypatch.syspath_prepend(tmp_path)
    result = smoke(f"{name}:Subject")
    assert result.exit_code == code, result.output
    assert message in result.output
