"""`toolparity verify-endpoint`: options, messages, exit codes, and no key in any output."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.conformance.gateway.gateways import Message
from toolparity.cli import main
from toolparity.conformance.endpoint import history, llm_comply
from toolparity.conformance.endpoint.rates import Pairs

from .defects import DEFECTS, Defect, serving_with

pytestmark = pytest.mark.service("conformance/endpoint")

_KEY = "sk-very-secret-0123456789"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving_with(None) as endpoint_of:
        yield endpoint_of("openai.chat").url


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_KEY", _KEY)
    monkeypatch.delenv("NO_KEY", raising=False)


def _run(url: str, *options: str, key: str | None = "THE_KEY", model: str | None = "gpt-5-mini") -> Result:
    given = ["verify-endpoint", url, "--wire", "openai.chat", *options]
    given += ["--api-key-env", key] if key else []
    given += ["--model", model] if model else []
    result = CliRunner().invoke(main, given, env={"COLUMNS": None})  # no table is folded
    assert _KEY not in result.output
    return result


def test_a_correct_endpoint_exits_with_0_and_shows_each_rate(url: str) -> None:
    result = _run(url, "--repetitions", "2", "--scenario", "one-call", "--scenario", "three-calls")
    assert result.exit_code == 0, result.output
    assert "parallel" in result.output
    assert "100.0%" in result.output
    assert "95 % interval" in result.output


def test_a_defect_exits_with_1_unless_a_lower_rate_is_accepted() -> None:
    options = ["--repetitions", "1", "--scenario", "three-calls"]
    with serving_with(DEFECTS["drops the second call"]) as endpoint_of:
        target = endpoint_of("openai.chat").url
        result = _run(target, *options)
        assert result.exit_code == 1, result.output
        assert "2 of 3 calls in the response" in result.output
        assert "Check whether the server's tool parser returns more than the first call" in result.output
        assert _run(target, *options, "--at-least", "0").exit_code == 0
        assert _run(target, *options, "--at-least", "parallel=0").exit_code == 1
        assert _run(target, *options, "--at-least", "parallel=0", "--at-least", "calls=0").exit_code == 0


def test_the_result_as_json_has_counts_intervals_and_the_first_failure(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    with serving_with(DEFECTS["breaks the schema"]) as endpoint_of:
        options = ["--repetitions", "2", "--scenario", "one-call", "--stream", "--json", str(file)]
        result = _run(endpoint_of("openai.chat").url, *options)
    assert result.exit_code == 1, result.output
    assert _KEY not in file.read_text()
    written = json.loads(file.read_text())
    schema = next(check for check in written["checks"] if check["check"] == "schema")
    assert (schema["passed"], schema["judged"], schema["rate"], schema["failed"]) == (0, 2, 0.0, True)
    assert schema["high"] == pytest.approx(0.658, abs=0.001)
    assert schema["counted"] == [{"probe": "one-call", "mode": "stream", "passed": 0, "judged": 2}]
    assert schema["example"]["request"]["messages"][-1]["content"] == "Set the bedroom to 19 degrees."
    assert written["trigger"] == {"precision": 1.0, "recall": 1.0, "f1": 1.0}
    assert written["input_tokens"] > 0


def test_a_lower_rate_than_the_references_fails_and_the_history_keeps_both(url: str, tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    options = ["--scenario", "three-calls", "--repetitions", "5", "--at-least", "0", "--history", str(file)]
    file.write_bytes(b'{"date": "torn')  # by a writer that was killed
    assert "always 100 %  answered" in _run(url, *options).output
    whole = file.read_bytes()
    for damaged in (b"not a run", re.sub(rb'"judged":\d+', b'"judged":0', whole)):
        file.write_bytes(damaged + b"\n")
        assert "is not a history" in _run(url, *options).output
    file.write_bytes(whole)
    assert "1 that asked the same" in _run(url, *options, "--extra-body", '{"temperature": 1}').output
    with serving_with(DEFECTS["drops the second call"]) as endpoint_of:
        result = _run(endpoint_of("openai.chat").url, *options, "--against", url, "--against-key-env", "THE_KEY")
    assert result.exit_code == 1, result.output
    assert re.search(r"parallel \(fails\) +10 +0.0% +100.0% +-100.0% \(.* lower", result.output), result.output
    assert _KEY not in file.read_text()
    assert history.read(file)[-1].pairs["parallel"] == Pairs(0, 0, 10, 0)


def test_two_writers_of_one_history_lose_nothing(tmp_path: Path) -> None:
    run = history.Run("now", "1", "http://a.example", "openai.chat", "m", [], [], {})
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: history.append(tmp_path / "runs.jsonl", run), range(80)))
    assert history.read(tmp_path / "runs.jsonl") == [run] * 80


_COMPLY = """import json, sys
def main(given):
    missing = "choices.0: 'logprobs' is a required property"
    lists = [[], [missing], [missing, f"key {given[-2]}, {sys.argv}"]]
    words = ["passed", "failed", "error"]
    cases = [{"id": f"c{len(e)}", "name": "", "status": words[len(e)], "errors": e} for e in lists]
    print(json.dumps({"results": cases}))
"""


def test_a_case_of_llm_comply_fails_unless_the_provider_fails_it(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("--scenario", "one-call", "--repetitions", "1", "--llm-comply", "--junit", str(tmp_path / "junit.xml"))
    with monkeypatch.context() as patched:
        patched.setattr(llm_comply, "_PACKAGE", "absent-package")
        assert "pip install absent-package" in _run(url, *options).output
    for name, text in (("llm_comply/cli.py", _COMPLY), ("llm_comply-9.dist-info/METADATA", "Version: 9")):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    result = _run(url, *options)
    assert result.exit_code == 1, result.output
    assert "llm-comply 9, openai-chat: 1 passed, 1 differs, 1 error" in result.output
    assert "c2  key --api-key=Bearer [redacted], ['-c']" in result.output
    xml = (tmp_path / "junit.xml").read_text()
    assert (_KEY in xml, xml.count("<failure"), xml.count("<skipped")) == (False, 1, xml.count("nothing to judge") + 1)
    monkeypatch.setattr(llm_comply, "_MOST_CASES", 0.01)  # of 120 seconds each
    failures = ("raise KeyError(given[-2])", "[redacted]"), ("import time; time.sleep(60)", "within 1 s")
    for line, text in (*failures, ("print('{\"results\": []}')", "without a result")):
        (tmp_path / "llm_comply/cli.py").write_text(f"def main(given): {line}")
        result, failed = _run(url, *options), (tmp_path / "junit.xml").read_text().count("<failure")
        assert (result.exit_code, failed, text in result.output, "95 %" in result.output) == (4, 1, True, True)


def test_a_dry_run_sends_nothing_and_needs_no_server() -> None:
    result = _run("http://127.0.0.1:9/v1", "--dry-run", model=None)
    assert result.exit_code == 0, result.output
    assert "at most 470" in result.output
    assert "Nothing was sent" in result.output


def test_a_budget_of_requests_that_leaves_checks_unjudged_is_not_a_success(url: str) -> None:
    within = _run(url, "--max-calls", "7", "--jobs", "3")
    assert "the budget of 7 requests is spent" in within.output
    assert "requests  7" in within.output
    stopped = _run(url, "--max-calls", "12", "--jobs", "1")
    assert stopped.exit_code == 4, stopped.output
    assert re.search(r"not judged\s+\d+ of \d+ conversations, history, models, triggered", stopped.output)
    for options, code in (
        (("12", "--jobs", "1", "--allow-incomplete"), 0),
        (("1", "--jobs", "1"), 4),
        (("1", "--jobs", "1", "--allow-incomplete"), 5),
        (("100000", "--repetitions", "1"), 0),
    ):
        assert _run(url, "--max-calls", *options).exit_code == code, options


JSON = b"application/json"
#: The key, as a server repeats it.
_REPEATED = _KEY.encode()


@pytest.mark.parametrize(
    ("status", "kind", "body", "model", "messages"),
    [
        (401, JSON, b'{"error": {"message": "no %s"}}' % _REPEATED, "m", ("refuses the key", "--api-key-env")),
        (404, JSON, b'{"error": "no"}', "m", ("does not know this address or model", "/v1/chat/completions")),
        (200, b"text/html", b"<!DOCTYPE html><p>Welcome</p>", "m", ("web page", "base URL of the API")),
        (302, b"text/plain", b"", "m", ("redirects to https://elsewhere/[redacted]", "pass the address")),
        (200, JSON, b'{"data": [{"id": "one"}, {"id": "two"}]}', None, ("2 models: one, two", "--model")),
        (200, JSON, b"{}", None, ("lists no model", "--model")),
    ],
)
def test_an_endpoint_that_cannot_be_judged_ends_the_run_with_advice(
    status: int, kind: bytes, body: bytes, model: str | None, messages: tuple[str, str]
) -> None:
    location = [(b"location", b"https://elsewhere/" + _REPEATED)] * (status == 302)
    reply = Message(
        b"HTTP/1.1 %d It" % status,
        [(b"content-type", kind), *location],
        body,
    )
    with serving_with(Defect("form", "one-call", reply=lambda _: reply)) as endpoint_of:
        result = _run(endpoint_of("openai.chat").url, model=model)
    assert result.exit_code == 4, result.output
    assert [message for message in messages if message not in result.output] == []


def test_an_endpoint_that_cannot_be_reached_or_never_replies_is_named() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        closed = _run(url)
        silent.listen()
        waited = _run(url, "--timeout", "0.2")
    for result, messages in (
        (closed, ("cannot be reached", "is it running?")),
        (waited, ("no reply arrived in time", "--timeout")),
        *(
            (_run(other), ("the URL needs http or https and a host",))
            for other in ("127.0.0.1:8000", "ftp://a.example", "http://")
        ),
    ):
        assert result.exit_code == 4, result.output
        assert [message for message in messages if message not in result.output] == []


def test_a_wrong_option_is_a_usage_error() -> None:
    for options, message in (
        (["--api-key-env", "NO_KEY"], "the environment variable NO_KEY is not set"),
        (["--at-least", "2"], "'2' is not a rate from 0 to 1"),
        (["--at-least", "paralel=1"], "did you mean parallel?"),
        (["--scenario", "tree-calls"], "did you mean three-calls"),
        (["--extra-body", "[]"], "it must be a JSON object"),
        (["--header", "name"], "write 'NAME: VALUE'"),
        (["--against-key-env", "NO_KEY"], "need --against"),
        (["--against", "http://127.0.0.1:9", "--against-key-env", "NO_KEY"], "--against-key-env: the environment"),
        (["--history", "-"], "name a file"),
        (["--json", "-", "--junit", "-"], "only one of"),
    ):
        result = CliRunner().invoke(main, ["verify-endpoint", "http://127.0.0.1:9", "--wire", "openai.chat", *options])
        assert (result.exit_code, message in result.output) == (2, True), result.output
