"""`toolparity audit`: what would each policy do to this traffic?"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.normalizer.recorded.rows import MISFILED, files
from tests.support.events import anthropic_stream, block_start, block_stop, tool_start
from tests.support.programs import interruptible
from tests.support.traffic import chat_body, chat_stream, row, write_rows
from tests.support.wires import WIRES
from toolparity.audit.bulk import parallel
from toolparity.audit.summary import Audit
from toolparity.cassettes.sources import Exchange, decoding
from toolparity.cli import main
from toolparity.normalizer import json_codec
from toolparity.normalizer.findings import CODES
from toolparity.reports.terminal import Lines, StyledText, Table, render

EXAMPLES = Path(__file__).resolve().parents[2] / "cassettes" / "examples"


def run(*args: str | Path, columns: int | None = None) -> Result:
    env = {"COLUMNS": None if columns is None else str(columns)}
    return CliRunner().invoke(main, ["audit", *map(str, args)], env=env)


def data(*args: str | Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(*args, "--json").stdout)
    return found


def mixed(path: Path, times: int = 1) -> Path:
    """Parallel calls, a cut stream, calls that cannot run, unknown traffic, and places without traffic."""
    rows: list[dict[str, Any] | str] = [
        row(chat_body("f", "g", "h")),
        row(chat_stream("f", "g"), stream=True),
        row(chat_stream("f", end=False), stream=True, id="cut"),
        row(chat_body("f", arguments="[1]")),
        row(chat_body("f", arguments='{"a', finish="length")),
        row("<html>", id="page"),
        row(chat_body()),
        row("{}", wire="google", provider="google"),
        "{broken",
    ]
    return write_rows(path, *rows * times)


def test_each_policy_is_weighed_against_the_same_calls(tmp_path: Path) -> None:
    path = mixed(tmp_path / "r.jsonl")
    figures = data(path)["wires"]["openai.chat"]
    expected = {"exchanges": 7, "streamed": 2, "undecoded": 1, "calls": 8, "parallel": 2, "most_calls": 3}
    expected |= {"truncated": 1, "invalid": 1, "unfinished": 1, "incomplete": 1}
    assert {name: figures[name] for name in expected} == expected
    all_kept = {"kept": 5, "dropped": 0, "rejected": 3, "responses": 0}
    first = {"kept": 2, "dropped": 3, "rejected": 3, "responses": 2}
    assert figures["policies"] == {"first": first, "all": all_kept, "batch": all_kept}
    limited = data(path, "--limit", "2")["wires"]["openai.chat"]["policies"]
    kept = {name: (p["kept"], p["dropped"]) for name, p in limited.items()}
    assert kept == {"first": (2, 3), "all": (4, 1), "batch": (4, 1)}


def test_server_calls_are_counted_apart_from_client_calls() -> None:
    figures = data(EXAMPLES / "anthropic.messages.search.yaml")["wires"]["anthropic.messages"]
    assert (figures["calls"], figures["server_calls"]) == (2, 2)


def test_findings_have_their_meaning_and_the_worst_places_come_first(tmp_path: Path) -> None:
    path = mixed(tmp_path / "r.jsonl")
    found = data(path)
    counts = found["wires"]["openai.chat"]["findings"]
    assert (counts["stream-incomplete"], counts["rejected-call"], "dropped-call" in counts) == (1, 3, False)
    assert set(counts) == set(found["codes"])
    assert found["codes"]["stream-incomplete"]["means"] == CODES["stream-incomplete"].means
    worst = found["worst"]
    assert [p["score"] for p in worst] == sorted((p["score"] for p in worst), reverse=True)
    assert {p["place"] for p in worst} == {f"{path}:{n}" for n in (3, 4, 5, 6)}
    cut = next(p for p in worst if p["id"] == "cut")
    assert "stream-incomplete" in cut["codes"]
    assert cut["codes"][-1] == "rejected-call", "the most severe come last"


def test_calls_in_the_text_are_reported_with_their_dialect(tmp_path: Path) -> None:
    leaked = chat_body().replace("hello", "On it. <tool_call>")
    code = chat_body().replace("hello", "Write `<tool_call>` first.")
    found = data(write_rows(tmp_path / "r.jsonl", row(leaked, id="leak"), row(code, id="code"), row(chat_body())))
    assert found["wires"]["openai.chat"]["findings"] == {"leaked-markup": 1}
    (example,) = found["examples"]["leaked-markup"]
    assert (example["id"], example["message"]) == ("leak", "hermes: '<tool_call>'")


def test_an_unreadable_exchange_is_one_line_with_its_place_and_the_rest_continues(tmp_path: Path) -> None:
    (tmp_path / "noise.bin").write_bytes(bytes(range(256)))
    path = mixed(tmp_path / "r.jsonl")
    result = run(tmp_path / "noise.bin", tmp_path / "missing", path)
    noise, missing, broken = result.stderr.splitlines()
    assert noise.startswith(f"{tmp_path / 'noise.bin'}: no traffic")
    assert missing.startswith(f"{tmp_path / 'missing'}: the file does not exist")
    assert broken.startswith(f"{path}:9: invalid JSON")
    assert result.exit_code == 4
    assert "7 exchanges on 1 wire, 1 of wires not yet known, 3 places that could not be read" in result.stdout
    assert re.search(r"^google +1 exchange$", result.stdout, re.MULTILINE)
    one = write_rows(tmp_path / "one.jsonl", row(chat_body("f")))
    assert run(one).stdout.startswith("1 exchange on 1 wire")
    assert CliRunner().invoke(main, ["audit", "-"], input=one.read_bytes()).stdout == run(one).stdout


def test_the_result_is_the_same_for_any_number_of_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "PART_BYTES", 4000)
    paths = [mixed(tmp_path / name, 20) for name in ("0.jsonl", "1.jsonl.gz", "2.jsonl")]
    one, two = (run(*paths, tmp_path / "missing", EXAMPLES, "--json", "--jobs", jobs) for jobs in ("1", "2"))
    assert (one.stdout, one.stderr, one.exit_code) == (two.stdout, two.stderr, 4)
    assert two.exit_code == 4
    assert json.loads(one.stdout)["exchanges"] == 3 * 20 * 8 + 9


def test_few_parts_are_under_way_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The input is read as parts are done, not ahead of them: memory does not grow with it."""
    monkeypatch.setattr(parallel, "PART_BYTES", 300)
    numbers = {"read": 0, "done": 0, "ahead": 0}
    real = parallel.split_files

    def counted(*args: Any, **options: Any) -> Any:
        for piece in real(*args, **options):
            numbers["read"] += 1
            numbers["ahead"] = max(numbers["ahead"], numbers["read"] - numbers["done"])
            yield piece

    monkeypatch.setattr(parallel, "split_files", counted)
    path = str(mixed(tmp_path / "r.jsonl", 30))
    parallel.audit_paths([path], jobs=2, on_progress=lambda _: numbers.update(done=numbers["done"] + 1))
    assert numbers["done"] == numbers["read"] > 50
    assert numbers["ahead"] <= 2 * 4 + 2


def test_an_audit_does_not_grow_with_what_it_counts() -> None:
    audit = Audit()
    sizes = []
    for n in range(2000):
        body = chat_body("f", arguments="[1]").encode()
        wire = "openai.chat" if n % 2 else f"wire-{n}"
        audit.count(Exchange(source=f"r#{n}", line=n, wire=wire, stream=False, body=body), policy="all", limit=None)
        sizes.append(len(json_codec.encode(audit)))
    assert sizes[-1] < sizes[500] * 1.1
    assert sum(audit.unknown.values()) == 1000
    assert [place.source for place in audit.worst] == [f"r#{n}" for n in range(1, 21, 2)], "the first of equals"


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ([], 0),
        (["rejected-call"], 1),
        (["warning"], 1),
        (["dropped-call"], 0),
        (["dropped-call", "--policy", "first"], 1),
        (["dropped-call", "--limit", "1"], 1),
        (["dropped-call", "--fail-on", "error"], 1),
    ],
)
def test_fail_on_fails_for_findings_of_a_code_or_severity(options: list[str], code: int) -> None:
    result = run(EXAMPLES, *(["--fail-on", *options] if options else []))
    assert (result.exit_code, "--fail-on" in result.stderr) == (code, code == 1)


def test_fail_on_counts_findings_by_their_own_severity(tmp_path: Path) -> None:
    """A repeated end is an error for a call, and a warning for a text."""
    for call in (False, True):
        block = tool_start(0, "a", "f") if call else block_start(0, type="text", text="")
        body = anthropic_stream(block, block_stop(0), block_stop(0), stop="tool_use" if call else "end_turn").decode()
        path = write_rows(tmp_path / "r.jsonl", row(body, wire="anthropic.messages", provider="anthropic", stream=True))
        assert run(path, "--fail-on", "error").exit_code == int(call)
        assert run(path, "--fail-on", "warning").exit_code == 1


def test_exit_codes_of_undecodable_unknown_and_faulty_traffic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_rows(tmp_path / "r.jsonl", row("<html>"), row("{}", wire="google"))
    for options, code in (((), 4), (("--fail-on", "malformed-body"), 1), (("--fail-on", "unknown-wire"), 1)):
        assert run(path, *options).exit_code == code
    nothing = run(write_rows(tmp_path / "unknown.jsonl", row("{}", wire="google")))
    assert (nothing.exit_code, "nothing was audited" in nothing.stderr) == (5, True)

    def faulty(*args: Any, **options: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(decoding, "normalize", faulty)
    fault = run(write_rows(tmp_path / "fault.jsonl", row(chat_body())))
    assert (fault.exit_code, "decoder-fault" in fault.stdout) == (4, True)


def test_fail_on_with_an_unknown_code_is_a_usage_error_with_a_hint() -> None:
    result = run(EXAMPLES, "--fail-on", "dropped")
    assert result.exit_code == 2
    assert "did you mean dropped-call" in result.stderr
    assert max(map(len, run(EXAMPLES, "--fail-on", "xyzzy").stderr.splitlines())) < 200
    assert run(EXAMPLES, "--jobs", "0").exit_code == 2
    assert run().exit_code == 2


def wait_for_workers(process: subprocess.Popen[str], count: int) -> None:
    """Wait until the workers of a command leave interrupts to it, as the two processes of multiprocessing do."""
    if not Path("/proc/self/status").exists():
        time.sleep(1.5)
        return
    deadline = time.monotonic() + 60
    while process.poll() is None and sum(map(ignores_interrupts, group_of(process.pid))) < count + 2:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def group_of(leader: int) -> Iterator[int]:
    """The processes of a group."""
    for pid in [int(path.name) for path in Path("/proc").glob("[0-9]*")]:
        with suppress(ProcessLookupError):
            if os.getpgid(pid) == leader:
                yield pid


def ignores_interrupts(pid: int) -> bool:
    with suppress(OSError):
        (mask,) = re.findall(r"^SigIgn:\s+(\w+)$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
        return bool(int(mask, 16) & 1 << (signal.SIGINT - 1))
    return False


@pytest.mark.service("audit")
def test_an_interrupt_ends_the_workers(tmp_path: Path) -> None:
    path = mixed(tmp_path / "r.jsonl")
    path.write_bytes(path.read_bytes() * 80_000)
    program = "from toolparity.cli import main; main()"
    with interruptible([sys.executable, "-c", program, "audit", "--jobs", "2", str(path)]) as process:
        wait_for_workers(process, 2)
        assert process.poll() is None, process.communicate()
        os.killpg(process.pid, signal.SIGINT)
        _, stderr = process.communicate(timeout=20)
    assert (process.returncode, stderr.splitlines()[-1]) == (130, "interrupted")
    assert "Traceback" not in stderr


def test_tables_fit_the_width_and_have_no_colour_without_a_terminal() -> None:
    for columns in (60, 80, 120):
        shown = run(EXAMPLES, columns=columns).stdout
        tables, _, _ = shown.partition("The worst places")
        assert max(len(line) for line in tables.splitlines()) <= columns
        assert shown.count("openai.responses") >= 3
        assert "\x1b" not in shown


def test_a_table_is_split_by_columns_and_keeps_its_labels_and_colour_changes_nothing_else() -> None:
    columns = ["", *(letter * 10 for letter in "abcd")]
    sections: list[Table | Lines] = [
        Table("T", columns, [["row", 1, 2000, 0, StyledText("x", "bad")]]),
        Lines("L", [(StyledText("head", "warning"), "tail " * 30)]),
        Table("empty", ["a"], []),
    ]
    whole, split, coloured = (
        render(sections, width=width, colour=colour) for width, colour in ((80, False), (40, False), (40, True))
    )
    assert [len(re.findall("^row", text, re.MULTILINE)) for text in (whole, split)] == [1, 2]
    assert ("2,000" in whole, "empty" in whole) == (True, False)
    assert max(map(len, split.splitlines())) <= 40
    assert "\x1b[31mx" in coloured
    assert re.sub(r"\x1b\[\d*m", "", coloured) == split


@pytest.mark.thorough
def test_all_recordings_are_audited_without_a_fault(recordings: Path) -> None:
    found = data(*files(recordings, "*"))
    assert found["audited"] >= 12500
    misfiled = dict.fromkeys(MISFILED, 2)  # answers in the format of another wire, which the audit reports
    assert found["faults"] == sum(misfiled.values())
    assert found["problems"] == 0
    assert {name: w["undecoded"] for name, w in found["wires"].items()} == dict.fromkeys(WIRES, 0) | misfiled
    assert found["unknown"]
