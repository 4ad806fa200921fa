"""What is missing or broken is a fault of the run: a recording, a package, a subject, or its connection in `smoke`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.support.wires import PLAYED_WIRES
from toolparity.cli import main
from toolparity.conformance.cases import traffic
from toolparity.conformance.errors import UnknownSubject
from toolparity.conformance.runner import baseline
from toolparity.conformance.subjects import SUBJECTS, subject
from toolparity.normalizer.errors import MissingExtra

READ = "    def read(self, exchange): return {'calls': []}\n"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def module(folder: Path, name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Write a module with a subject. Return the name of the subject."""
    monkeypatch.syspath_prepend(folder)
    (folder / f"{name}.py").write_text(text)
    return f"{name}:Subject"


@pytest.fixture
def _without_cassettes(tmp_path: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(traffic, "path_for", lambda surface, scenario, *, stream: tmp_path / f"{scenario}.yaml")
        patch.setattr(traffic, "RECORDED", tmp_path)
        traffic.responses.cache_clear()
        yield
    traffic.responses.cache_clear()


@pytest.mark.usefixtures("_without_cassettes")
def test_a_cassette_that_is_missing_ends_a_run_with_4_also_with_a_baseline(tmp_path: Path) -> None:
    (tmp_path / "known.yaml").write_text("- {check: '*'}\n")
    check = ("check", "normalizer", "--scenario", "single-call")
    for command in (check, ("smoke", "normalizer"), (*check, "--baseline", str(tmp_path / "known.yaml"))):
        result = run(*command)
        assert result.exit_code == 4, command
        output = " ".join(result.output.split())  # a long path wraps the lines
        assert "no cassette of this scenario" in output
        assert re.search("toolparity record single-call --provider [a-z]+ --wire", output)


@pytest.mark.parametrize("name", ["openai-sdk", "anthropic-sdk", "xai-sdk", "cohere-sdk", "ollama-sdk", "boto3"])
def test_an_sdk_that_is_not_installed_ends_a_run_with_4(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sdk = name.replace("-sdk", "") if name != "xai-sdk" else "xai_sdk"
    of_subject = f"toolparity.conformance.subjects.{SUBJECTS[name].partition(':')[0]}"
    monkeypatch.delitem(sys.modules, of_subject, raising=False)
    for loaded in [sdk, *(one for one in sys.modules if one.partition(".")[0] == sdk)]:
        monkeypatch.setitem(sys.modules, loaded, None)
    with pytest.raises(MissingExtra, match=f"{name} needs a package that is not installed"):
        subject(name)
    assert run("check", name).exit_code == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import nothing_of_the_kind", "ModuleNotFoundError"),
        ("def f(:", "SyntaxError"),
        ("raise RuntimeError('no key')", "RuntimeError: no key"),
        ("", "has no attribute 'Subject'"),
        ("class Subject:\n    def __init__(self): raise KeyError('token')", "cannot be instantiated: KeyError"),
        ("Subject = 5", "cannot be instantiated"),
        ("class Subject: ...", "has no method read"),
        (f"class Subject:\n    claims = ['answers']\n{READ}", "has no method next_request"),
        (f"class Subject:\n    claims = ['magic']\n{READ}", "has unknown claims: magic"),
        (f"class Subject:\n    wires = ['openai']\n{READ}", "has unknown wires: openai"),
        (f"class Subject:\n    providers = 'openai'\n{READ}", "a list of names"),
        (f"class Subject:\n    input = 'ether'\n{READ}", "has an unknown input: 'ether'"),
    ],
)
def test_an_invalid_subject_ends_every_command_with_4(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    name = module(tmp_path, f"invalid_{message.encode().hex()}", text, monkeypatch)
    with pytest.raises(UnknownSubject):
        subject(name)
    result = run("check", name, "--scenario", "single-call")
    assert result.exit_code == 4
    assert message in result.output
    assert run("smoke", name).exit_code == 4


def test_a_subject_is_found_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "found_here.py").write_text(f"class Subject:\n    wires = []\n{READ}")
    monkeypatch.setattr("sys.path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    assert subject("found_here:Subject").name == "found_here:Subject"
    assert run("smoke", "found_here:Subject").exit_code == 5


def test_a_run_without_a_case_does_not_pass() -> None:
    assert run("check", "normalizer", "--scenario", "no-such-scenario").exit_code == 2
    for name in ("xai-sdk", "anthropic-sdk"):
        assert run("check", name, "--scenario", "single-call", "--wire", "openai.chat", "--jobs", "1").exit_code == 5
    for wrong in (("--wire", "openai.chatt"), ("--provider", "unknown")):
        ended = run("check", "--wire", "openai.chat", *wrong)
        assert (ended.exit_code, wrong[1] in ended.output) == (2, True)


def test_the_known_failures_of_a_private_subject_are_written_to_the_named_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = module(tmp_path, "one_of_ours", f"class Subject:\n    wires = ['openai.chat']\n{READ}", monkeypatch)
    chosen, file = (name, "--scenario", "single-call", "--update-baseline"), tmp_path / "known.yaml"
    nowhere = run("check", *chosen)
    assert nowhere.exit_code == 2
    assert f"--update-baseline needs --baseline FILE for {name}" in nowhere.output
    assert run("check", *chosen, "--baseline", str(file)).exit_code == 0
    assert run("check", "normalizer", *chosen, "--baseline", str(file)).exit_code == 2
    assert "check: conservation" in file.read_text()


def test_a_subject_with_the_name_of_a_library_does_not_get_its_baseline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = baseline.read(baseline.SHIPPED / "openai-sdk.yaml")
    scenario = next(one.scenario for one in known if one.check == "conservation")
    text = f"class Subject:\n    name = 'openai-sdk'\n    claims = ['stream']\n{READ}"
    result = run("check", module(tmp_path, "borrower", text, monkeypatch), "--scenario", scenario)
    assert result.exit_code == 1
    assert "expected" not in result.output.rpartition("verdicts in")[2]


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


#: The code of a program, and a part of the output. `test_executable.py` has the other ways to fail.
BROKEN = [
    ("time.sleep(60)", "connection\thello\tno answer within 0.5 s"),
    (HELLO + EACH_LINE % "{}", "the answer has neither a response nor calls"),
    (BASE_URL + EACH_LINE % '{"calls": []}', "connection\topenai.chat stream\tthe subject sent no request"),
]


def test_a_program_that_cannot_be_read_is_a_broken_connection(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    for code, message in BROKEN:
        path.write_text(f"import sys, time\nsys.stdin.readline()\n{code}")
        result = smoke(f"exec:{sys.executable} {path}", "--timeout", "0.5" if "0.5" in message else "60")
        assert result.exit_code == 4
        assert (message in result.output, "The connection is broken" in result.output) == (True, True), result.output


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
