"""`toolparity smoke`: who has to look, reported within seconds whatever the subject does."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.support.wires import PLAYED_WIRES as WIRES
from toolparity.cli import main

HELLO = 'print(\'{"name": "p", "claims": ["stream"]}\', flush=True)\n'


def smoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["smoke", *arguments])


def program(folder: Path, text: str) -> str:
    path = folder / "program.py"
    path.write_text(f"import json, os, sys, time\nsys.stdin.readline()\n{text}")
    return f"exec:{sys.executable} {path}"


def test_the_reference_reads_each_wire_plain_and_streamed() -> None:
    result = smoke("normalizer")
    assert result.exit_code == 0
    for wire in WIRES:
        for mode in ("plain", "stream"):
            assert f'ok\t{wire} {mode}\tget_weather({{"city":"Lisbon"}})' in result.output
    assert "The subject is connected and reads a simple call" in result.output


def test_a_program_that_never_says_hello_is_a_broken_plug(tmp_path: Path) -> None:
    result = smoke(program(tmp_path, "time.sleep(60)"), "--timeout", "0.3")
    assert result.exit_code == 4
    assert "connection\thello\tno answer within 0.3 s" in result.output


def test_a_program_that_hangs_is_waited_for_once(tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    counts = f"for line in sys.stdin:\n    open({str(asked)!r}, 'a').write('x')\n    time.sleep(60)\n"
    result = smoke(program(tmp_path, HELLO + counts), "--timeout", "4")
    assert result.exit_code == 4
    assert "connection\tanthropic.messages plain\tno answer within 4 s" in result.output
    assert "is not called again" in result.output
    assert asked.read_text() == "x"


@pytest.mark.parametrize(
    ("rest", "told"),
    [
        ("sys.exit('out of cheese')", "ended with code 1; on stderr: out of cheese"),
        ("print('<html>', flush=True); time.sleep(60)", "the line is not JSON"),
        (
            "print('{}', flush=True)\nfor line in sys.stdin: print('{}', flush=True)",
            "the answer has neither a response nor calls",
        ),
    ],
    ids=["dies", "prints garbage", "gives no calls"],
)
def test_what_cannot_be_read_is_a_broken_plug(tmp_path: Path, rest: str, told: str) -> None:
    result = smoke(program(tmp_path, f"{HELLO}sys.stdin.readline()\n{rest}"), "--timeout", "60")
    assert result.exit_code == 4
    assert told in result.output
    assert "The connection is broken" in result.output


def test_a_program_that_fetches_nothing_is_a_broken_plug(tmp_path: Path) -> None:
    hello = HELLO.replace('"name"', '"input": "base_url", "name"')
    answers = "for line in sys.stdin: print('{\"calls\": []}', flush=True)"
    result = smoke(program(tmp_path, hello + answers))
    assert result.exit_code == 4
    assert "connection\topenai.chat stream\tthe subject sent no request" in result.output


def test_an_interpreter_that_is_not_there_is_a_broken_plug() -> None:
    result = smoke("exec:/nowhere/node subject.mjs")
    assert result.exit_code == 4
    assert "connection\thello\t/nowhere/node cannot be started" in result.output


def test_a_broken_quote_is_a_broken_plug() -> None:
    assert smoke("exec:node 'subject.mjs").exit_code == 4
