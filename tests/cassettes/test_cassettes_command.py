"""`toolparity cassettes` lists, verifies, shows, compares and imports cassettes, in processes that end with it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.cassettes.library.making import LACKING, interaction, made, rewritten, written
from tests.support.traffic import chat_body
from tests.support.traffic import interaction as recorded
from toolparity.cassettes.emulated.servers import running
from toolparity.cassettes.library import find, forget, path_for
from toolparity.cassettes.recorder import record as recorder
from toolparity.cassettes.recorder import verify
from toolparity.cassettes.scripts import scripts
from toolparity.cassettes.surfaces import SURFACES
from toolparity.cli import main
from toolparity.normalizer.errors import MissingKey


def run(command: str, *args: str | Path, library: Path | None = None) -> Result:
    forget()
    where = [] if library is None else ["--library", str(library)]
    return CliRunner().invoke(main, ["cassettes", command, *map(str, args), *where], env={"COLUMNS": "250"})


def data(command: str, *args: str, library: Path) -> Any:
    return json.loads(run(command, *args, "--json", library=library).stdout)


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """One of each origin; the live one is forty days old."""
    long_ago = (datetime.now(UTC) - timedelta(days=40)).strftime("%Y-%m-%d")
    made(tmp_path, origin="live", scenario="text-only", scenario_hash=scripts()["text-only"].hash, date=long_ago)
    made(tmp_path, date="2020-01-01")
    made(tmp_path, origin="imported", date="2019-01-01", note="theirs", **LACKING)
    return tmp_path


def test_list_begins_each_row_with_the_origin_and_selects_by_path(mixed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run("list", library=mixed)
    assert result.exit_code == 0
    rows = [line.split()[:2] for line in result.stdout.splitlines() if ".yaml" in line]
    assert rows == [
        ["imported", "openai/openai.chat/found.yaml"],
        ["emulated", "openai/openai.chat/single-call.yaml"],
        ["live", "openai/openai.chat/text-only.yaml"],
    ]
    assert result.stdout.startswith("3 cassettes: 1 live, 1 emulated, 1 imported\n")
    found = data("list", "single", library=mixed)
    assert [(one["path"], one["origin"], one["sdk"]) for one in found] == [(rows[1][1], "emulated", "openai")]
    for pattern, count in (("openai", 3), ("*text*", 1), (rows[1][1], 1), ("s?ngle", 1)):
        assert len(data("list", pattern, library=mixed)) == count, pattern
    monkeypatch.setenv("TOOLPARITY_CASSETTES", str(mixed))
    assert "3 cassettes" in run("list").stdout


def test_a_cassette_without_provenance_is_unknown_and_a_fault(mixed: Path) -> None:
    path = mixed / "openai" / "openai.chat" / "bad.yaml"
    path.write_text("interactions: []\n")
    result = run("list", library=mixed)
    assert result.exit_code == 4
    assert "unknown" in next(line for line in result.stdout.splitlines() if "bad.yaml" in line)
    assert result.stderr == (
        f"toolparity: {path}: missing provenance: no metadata under 'toolparity' "
        "(record it with toolparity record, or import it with toolparity cassettes import)\n"
    )


def test_an_empty_library_has_an_exit_code(tmp_path: Path) -> None:
    for command in ("list", "verify", "age", "orphans"):
        result = run(command, library=tmp_path)
        assert (result.exit_code, result.stdout) == (5, "")
        assert "the library has no cassettes" in result.stderr


def test_several_processes_give_the_verdicts_of_one_in_the_same_order(tmp_path: Path) -> None:
    for scenario in list(scripts())[:18]:
        made(tmp_path, scenario=scenario)
    several, one = (data("verify", "--jobs", jobs, library=tmp_path) for jobs in ("2", "1"))
    assert several == one
    assert len(several) == 18
    assert any(verdict["problems"] for verdict in several)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the last step, which needs an SDK."""
    monkeypatch.setattr(verify.verify_one, "__defaults__", (verify.STEPS[:-1],))


@pytest.mark.usefixtures("quick")
def test_a_correct_library_passes_and_a_wrong_cassette_or_a_crash_has_an_exit_code(
    mixed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = run("verify", library=mixed)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.endswith("3 of 3 cassettes passed: 1 live, 1 emulated, 1 imported\n")
    assert "scenario: imported without a scenario  1 cassettes" in result.stdout
    path = path_for("openai.chat", "single-call", False, mixed)
    rewritten(path, lambda content: content["interactions"].append(content["interactions"][0]))
    result = run("verify", library=mixed)
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    line = next(line for line in lines if line.startswith("openai/openai.chat/single-call.yaml"))
    assert "digest: its interactions were changed" in line
    assert "restore it from version control" in line
    row = next(line for line in lines if line.startswith("emulated"))
    assert row.split()[2:] == ["pass", "pass", "pass", "fail", "pass", "pass", "pass", "pass", "open"]
    (one,) = (one for one in data("verify", "single", library=mixed) if one["problems"])
    assert [(p["step"], p["fault"]) for p in one["problems"]] == [("digest", False)]

    def crashes(subject: verify.CassetteCheck) -> Any:
        raise RuntimeError("a mistake")

    steps = (*verify.STEPS[:2], verify.Step("digest", "", crashes))
    monkeypatch.setattr(verify.verify_one, "__defaults__", (steps,))
    result = run("verify", "single", library=mixed)
    assert result.exit_code == 4
    assert "the step failed: RuntimeError: a mistake" in result.stdout


@pytest.fixture(scope="module")
def reachable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Any]]:
    """A library recorded against the emulated providers, and these still up in the place of the real ones."""
    root = tmp_path_factory.mktemp("recorded")
    with running() as servers:
        for name in ("openai.chat", "xai.grpc"):
            at = SURFACES[name]
            way = recorder.emulated(at, servers.base(at))
            recorder.record(scripts()["single-call"], at, way, stream=True, root=root)
        yield root, lambda at: recorder.emulated(at, servers.base(at))


def test_live_shows_drift_and_changes_no_file(
    reachable: tuple[Path, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    root, live = reachable
    before = {place.path: place.path.read_bytes() for place in find(root)}
    monkeypatch.setattr(recorder, "live", live)
    result = run("verify", "--live", library=root)
    assert (result.exit_code, result.stderr) == (0, "")
    shown = [f"emulated  {path}/single-call.stream.yaml" for path in ("openai/openai.chat", "xai/xai.grpc")]
    assert result.stdout.splitlines() == [shown[0], "    as recorded", shown[1], "    as recorded"]
    path = path_for("openai.chat", "single-call", True, tmp_path)
    path.parent.mkdir(parents=True)
    path.write_bytes(path_for("openai.chat", "single-call", True, root).read_bytes())
    old = rewritten(path, _older, honest=True).read_bytes()
    result = run("verify", "--live", library=tmp_path)
    assert result.exit_code == 1
    assert "+ field openai.chat event chunk: choices[].finish_reason" in result.stdout
    assert path.read_bytes() == old
    assert {place.path: place.path.read_bytes() for place in find(root)} == before


def _older(content: dict[str, Any]) -> None:
    for one in content["interactions"]:
        body = one["response"]["body"]
        body["string"] = re.sub(r'"finish_reason": ?', '"ended":', body["string"])


def test_live_without_a_key_names_the_key_and_sends_nothing(
    reachable: tuple[Path, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    result = run("verify", "openai", "--live", library=reachable[0])
    assert result.exit_code == 4
    assert "OPENAI_API_KEY" in result.stdout
    with pytest.raises(MissingKey):
        recorder.live(SURFACES["openai.chat"])


def test_showing_begins_with_the_origin_and_ends_with_the_policy(mixed: Path) -> None:
    path = made(mixed, interaction(chat_body("get_weather", "get_news")))
    result = run("show", "single-call", "--policy", "first", library=mixed)
    assert result.exit_code == 0
    assert result.stdout.startswith("emulated: openai/openai.chat/single-call.yaml\n\norigin  emulated\n")
    assert "1. POST https://api.openai.com/v1/chat/completions" in result.stdout
    assert "tool_call  get_news {}" in result.stdout
    assert "policy first  kept get_weather; dropped get_news" in result.stdout
    relative = run("show", path.relative_to(mixed), "--policy", "all", library=mixed)
    assert run("show", path, library=mixed).stdout == relative.stdout
    for name, message in (("zzz", "no cassette is called 'zzz'"), ("openai", "matches 3 cassettes")):
        other = run("show", name, library=mixed)
        assert (other.exit_code, message in other.stderr) == (2, True)
    found = data("show", "single-call", library=mixed)
    assert (found["origin"], found["provenance"]["ran_by"]) == ("emulated", "the tests")
    (one,) = found["interactions"]
    assert one["response"]["choices"][0]["blocks"][0]["name"] == "get_weather"
    assert [ref["name"] for ref in one["selection"]["kept"]] == ["get_weather", "get_news"]


def test_a_diff_names_both_origins_and_the_changed_calls(mixed: Path) -> None:
    made(mixed, interaction(chat_body()))
    result = run("diff", "text-only", "single-call", library=mixed)
    assert result.exit_code == 1
    first, second, *changes = result.stdout.splitlines()
    assert (first.split(",")[0], second.split(",")[0]) == ("live", "emulated")
    assert any(line.startswith("- call exchange 1: get_weather") for line in changes)
    assert run("diff", "single-call", "single-call", library=mixed).exit_code == 0


def test_a_diff_compares_cassettes_without_provenance(tmp_path: Path) -> None:
    plain, call = (written(tmp_path / f"{body}.yaml", recorded(chat_body(*body))) for body in ("", "f"))
    result = run("diff", plain, call)
    first, second, *changes = result.stdout.splitlines()
    assert (result.exit_code, first, second) == (1, str(plain), str(call))
    assert any(line.startswith("+ call exchange 1: f") for line in changes)


def test_only_live_cassettes_age_and_too_old_ones_fail(mixed: Path) -> None:
    result = run("age", "--warn", "30", "--fail", "90", library=mixed)
    assert result.exit_code == 0
    assert result.stderr.splitlines() == [
        "1 live, 1 emulated, 1 imported; limits apply to live ones only",
        "openai/openai.chat/text-only.yaml: live, 40 days old: old",
    ]
    rows = [line.split()[0] for line in result.stdout.splitlines() if ".yaml" in line]
    assert rows == ["imported", "emulated", "live"], "the oldest first"
    failed = run("age", "--fail", "39", library=mixed)
    assert (failed.exit_code, failed.stderr.endswith("text-only.yaml: live, 40 days old: too old\n")) == (1, True)
    assert run("age", "--fail", "40", library=mixed).exit_code == 0
    emulated = run("age", "single", "--fail", "0", library=mixed)
    assert emulated.stderr == "1 emulated; none is live, so no limit applies\n"


def test_orphans_of_both_kinds_fail(mixed: Path) -> None:
    made(mixed, scenario="gone", scenario_hash="x")
    made(mixed, scenario="server-search", scenario_hash="x")
    result = run("orphans", library=mixed)
    assert result.exit_code == 1
    assert re.search(r"^emulated +openai/openai\.chat/gone\.yaml +unknown scenario: 'gone'$", result.stdout, re.M)
    assert "openai.chat cannot play server-search" in result.stdout
    found = data("orphans", library=mixed)
    there = [f"openai/openai.chat/{name}.yaml" for name in ("gone", "server-search", "single-call", "text-only")]
    assert [one["path"] for one in found["cassettes"]] == there[:2]
    missing = {one["path"] for one in found["scenarios"]}
    assert not missing & set(there)
    assert missing >= {"openai/openai.chat/single-call.stream.yaml", "xai/xai.grpc/server-search.yaml"}


def test_a_complete_library_has_no_orphans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = {"single-call": scripts()["single-call"]}
    monkeypatch.setattr("toolparity.cassettes.library.inventory.scripts", lambda: one)
    for surface in SURFACES.values():
        for stream in (False, True):
            made(tmp_path, surface=surface.name, provider=surface.provider, wire=surface.wire, stream=stream)
    result = run("orphans", library=tmp_path)
    assert (result.exit_code, result.stdout) == (0, "0 cassettes without a scenario, 0 missing recordings\n")


def test_an_imported_cassette_is_listed_as_imported_and_replaced_with_force_only(tmp_path: Path) -> None:
    source, into = written(tmp_path / "a.yaml", recorded(chat_body("f"))), tmp_path / "into"
    result = run("import", source, "--into", into, "--note", "theirs, MIT")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "imported  openai/openai.chat/a.yaml  1 interactions of a.yaml\n"
    assert data("list", library=into)[0]["note"] == "theirs, MIT"
    (path,) = (place.path for place in find(into))
    before = path.read_bytes()
    written(source, recorded(chat_body("other")))
    again = run("import", source, "--into", into)
    assert (again.exit_code, "replace it with --force" in again.stderr, path.read_bytes()) == (4, True, before)
    assert run("import", source, "--into", into, "--force").exit_code == 0
    assert b"other" in path.read_bytes()
    nothing = written(tmp_path / "b.yaml", recorded("{}", url="https://api.openai.com/v1/embeddings"))
    result = run("import", nothing, "--into", into)
    assert (result.exit_code, "nothing was imported" in result.stderr) == (5, True)


_PARENT = """
import sys, time
sys.path.insert(0, sys.argv[1])
from toolparity.cassettes.workers import in_order
import slow_work
if __name__ == "__main__":
    list(in_order(slow_work.work, range(100), 2, "slow_work"))
"""
_WORK = """
import os, sys, time
from toolparity.conformance.subjects.process import Process
def work(item):
    program = Process([sys.executable, "-c", "import time; time.sleep(300)"])
    os.write(1, b"%d %d\\n" % (os.getpid(), program._process.pid))  # one line at once
    time.sleep(300)
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads the states of processes from /proc")
@pytest.mark.parametrize("how", ["SIGTERM", "SIGKILL"])
def test_workers_and_their_programs_end_with_a_killed_parent(tmp_path: Path, how: str) -> None:
    (tmp_path / "slow_work.py").write_text(_WORK)
    (tmp_path / "parent.py").write_text(_PARENT)
    command = [sys.executable, str(tmp_path / "parent.py"), str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as parent:
        assert parent.stdout is not None
        started = [int(pid) for _ in range(2) for pid in parent.stdout.readline().split()]
        assert all(map(_runs, started))
        parent.send_signal(signal.Signals[how])
        parent.wait()
    assert len(started) == 4
    deadline = time.monotonic() + 60
    while left := [pid for pid in started if _runs(pid)]:
        assert time.monotonic() < deadline, f"processes {left} outlived the parent"
        time.sleep(0.05)


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"  # a zombie has ended
