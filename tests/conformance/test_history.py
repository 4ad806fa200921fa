"""The history of a library: its releases are listed and selected, run once, searched for changes, and renewed."""

from __future__ import annotations

import gzip
import json
import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
import yaml
from click.testing import CliRunner, Result

from tests.conformance import test_libraries as libraries
from tests.reports.golden import result, run, verdict
from tests.support.thoroughness import sampled
from toolparity.cli import main
from toolparity.conformance.errors import UnknownSubject
from toolparity.conformance.runner.history import cache, measurement, measurer
from toolparity.conformance.runner.history.changes import changes_between, differing, search
from toolparity.conformance.runner.history.measurement import Measurement
from toolparity.conformance.runner.history.measurer import Measurer
from toolparity.conformance.runner.history.notes import NOTES
from toolparity.conformance.runner.judge import CaseFilter
from toolparity.conformance.subjects import environments, installers, pin, runtimes
from toolparity.conformance.subjects.peers import PEERS, Peer
from toolparity.conformance.subjects.releases import between, select, spread
from toolparity.normalizer.errors import MissingExtra
from toolparity.reports.files import load_history
from toolparity.reports.version_text import counts_text

#: Drops all calls but the first from 1.2 up to 1.4. Version 1.6 does not start, and 1.7 reads nothing.
PROGRAM = """
import base64, json, os, sys

with open(f"{sys.argv[0]}.pids", "a") as pids:
    print(os.getpid(), file=pids)
version = tuple(map(int, sys.argv[1].split(".")))
if version == (1, 6):
    from echo import gone
for line in sys.stdin:
    ask = json.loads(line)
    if ask["op"] == "hello":
        answer = {"name": "echo", "version": sys.argv[1], "claims": [], "wires": ["openai.chat"]}
    else:
        body = json.loads(b"".join(map(base64.b64decode, ask["pieces"])))
        listed = body["choices"][0]["message"].get("tool_calls") or []
        calls = [{"id": call["id"], **call["function"]} for call in listed]
        answer = {"calls": calls[:1] if (1, 2) <= version <= (1, 4) else calls}
        if version == (1, 7):
            answer = {"calls": []}
    print(json.dumps(answer), flush=True)
"""
CASES = CaseFilter(
    scenarios=("parallel-three", "single-call"), surfaces=("openai.chat",), modes=("plain",), policies=("all",)
)
DROPPED = "parallel-three[openai.chat-plain-all]"


class FakeRuntime(libraries.FakeRuntime):
    """An index of releases, each of which is installed as a file."""

    def __init__(self, releases: Sequence[str]) -> None:
        super().__init__()
        self.listed = list(releases)
        self.installed: list[str] = []
        self.steps = ["collecting packages"]
        self.broken = ""

    def install(self, peer: Peer, version: str, folder: Path, report: Callable[[str], None]) -> None:
        for step in self.steps:
            report(step)
        if version == self.broken:
            raise MissingExtra("No matching distribution", hint="check the version")
        self.installed.append(version)
        super().install(peer, version, folder, report)

    def packages(self, folder: Path) -> dict[str, str]:
        return {"echo": self.version(PEERS["echo"], folder), "sdk": "2.0"}

    def releases(self, peer: Peer) -> list[str]:
        return self.listed


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeRuntime:
    """A library with nine releases, and a cache without environments."""
    fake = FakeRuntime([f"1.{minor}" for minor in range(9)])
    (tmp_path / "echo_program.py").write_text(PROGRAM)
    (tmp_path / "echo.txt").write_text("echo==1.0\n")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setitem(PEERS, "echo", Peer("echo", "echo", "echo", tmp_path))
    monkeypatch.setitem(runtimes.RUNTIMES, "python", fake)
    monkeypatch.setattr(measurer, "CaseFilter", lambda: CASES)
    return fake


def measurer_of_echo(**options: bool) -> Measurer:
    return Measurer("echo", jobs=1, **options)


def test_the_outcome_of_a_version_is_its_cases_by_law_and_its_packages(runtime: FakeRuntime, tmp_path: Path) -> None:
    found = measurer_of_echo().measure("1.3")
    assert found is not None
    assert (found.cases, found.laws["conservation"]) == ((1, 2), (1, 2))
    assert (found.failing("conservation"), found.failing("order")) == (frozenset({DROPPED}), frozenset())
    assert found.packages == {"echo": "1.3", "sdk": "2.0"}
    started = [int(pid) for pid in (tmp_path / "echo_program.py.pids").read_text().split()]
    assert len(started) >= 2
    for pid in started:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_the_environment_of_a_version_is_removed_unless_it_is_kept_or_existed(runtime: FakeRuntime) -> None:
    measurer_of_echo().measure("1.0")
    assert environments.other_versions() == []
    measurer_of_echo(keep=True).measure("1.1")
    environments.install("echo==1.2")
    measurer_of_echo().measure("1.2")
    assert environments.other_versions() == ["echo==1.1", "echo==1.2"]
    assert runtime.installed == ["1.0", "1.1", "1.2"]


def test_a_version_is_run_again_if_its_outcome_is_cut_or_something_that_decides_a_verdict_changed(
    runtime: FakeRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = measurer_of_echo().measure("1.3")
    assert (measurer_of_echo().measure("1.3"), runtime.installed) == (first, ["1.3"])
    (path,) = (environments.cache() / "history" / "echo").iterdir()
    path.write_bytes(path.read_bytes()[:-20])
    assert (measurer_of_echo().measure("1.3"), runtime.installed) == (first, ["1.3"] * 2)
    monkeypatch.setattr(cache, "suite_digest", lambda name: "0" * 64)
    assert (measurer_of_echo().measure("1.3"), runtime.installed) == (first, ["1.3"] * 3)


def test_the_program_of_a_library_decides_its_verdicts_only() -> None:
    names = sampled([name for name in PEERS if name != "echo"], 3)
    assert len({cache.suite_digest(name) for name in names}) == len(names)
    assert cache.suite_digest(names[0]) == cache.suite_digest.__wrapped__(names[0])


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        ("1.5", "No matching distribution"),
        ("1.6", "cannot import name 'gone'|No module named 'echo'"),
        ("1.7", "an easy call is not read: openai.chat plain: conservation: "),
    ],
)
def test_a_version_that_cannot_be_tested_has_a_reason_and_no_figures(
    runtime: FakeRuntime, version: str, reason: str
) -> None:
    runtime.broken = "1.5"
    tested = measurer_of_echo()
    assert tested.measure(version) is None
    assert re.search(reason, tested.refused[version])
    assert environments.other_versions() == []
    assert measurer_of_echo().measure("1.0") is not None, "the next version is tested"


def test_a_run_that_was_given_up_or_not_decided_is_not_a_test() -> None:
    gave_up = verdict("fail", reason="python failed 3 times in a row: it is not called again")
    for bad, reason in (
        (gave_up, "python failed 3 times"),
        (verdict("error", reason="no traffic"), r"one-call\[.+\] cannot be judged by order: no"),
    ):
        with pytest.raises(measurement.NotTested, match=reason):
            measurement.measurement_of(run(result(verdict()), result(bad)), "1.0", {})
    folder = environments.home() / "echo==1.6"
    trace = f"on stderr: Traceback (most recent call last): File x\n  KeyError: 1 ImportError: {folder}"
    assert str(measurement.NotTested(trace)) == "ImportError: ~/.cache/toolparity/subjects/echo==1.6"


def test_a_yanked_version_is_not_tested(runtime: FakeRuntime) -> None:
    runtime.steps = []
    line = "WARNING: The candidate selected for download or install is a yanked version: 'echo' candidate (version 1)"
    runtimes._report_pip(line, runtime.steps.append)
    tested = measurer_of_echo()
    assert tested.measure("1.0") is None
    assert (tested.refused, runtime.installed) == ({"1.0": "the release was yanked"}, [])


# The search


def measured(version: str, failing: Sequence[str] = (), passing: Sequence[str] = (), **packages: str) -> Measurement:
    return Measurement(version, (0, 0), {}, {"order": {"fail": [*failing], "pass": [*passing]}}, packages)


class Index:
    """Forty releases. ``broken``: the first and the last one that fails, by number. ``untestable``: by number."""

    def __init__(self, broken: Sequence[tuple[int, int]], untestable: Sequence[int] = ()) -> None:
        self.releases = [f"1.{number}" for number in range(40)]
        self.broken, self.untestable = broken, untestable
        self.runs: list[str] = []

    def outcome(self, number: int) -> Measurement:
        return measured(f"1.{number}", ["a"] if any(first <= number <= last for first, last in self.broken) else [])

    def measure(self, version: str) -> Measurement | None:
        number = self.releases.index(version)
        self.runs.append(version)
        return None if number in self.untestable else self.outcome(number)

    def search(self, first: int = 0, last: int = 39) -> list[str]:
        """The numbers of the releases that were tested, in the order in which the search gives them."""
        found = search(self.releases, self.measure, self.outcome(first), self.outcome(last), ())
        return [measurement.version for measurement in found]


@pytest.mark.parametrize("first", [1, 2, 19, 20, 38, 39])
def test_the_release_that_changed_a_law_is_found_with_a_run_for_each_halving(first: int) -> None:
    index = Index([(first, 39)])
    found = index.search()
    assert {f"1.{first - 1}", f"1.{first}"} <= {"1.0", *found, "1.39"}
    assert found == sorted(found, key=index.releases.index)
    assert len(index.runs) <= 6


def test_only_the_releases_between_two_versions_that_differ_are_searched() -> None:
    assert {"1.29", "1.30"} <= {*Index([(7, 12), (30, 39)]).search()}
    assert {"1.6", "1.7"} <= {*Index([(7, 12), (30, 39)]).search(0, 10)}
    agreeing = Index([(7, 12)])
    assert (agreeing.search(), agreeing.runs) == ([], [])
    first, second = measured("1.0"), measured("1.1", ["a"])
    assert differing(first, second, ()) == differing(first, second, {"order"}) == {"a"}
    assert differing(first, second, {"stop"}) == set()


def test_a_release_that_cannot_be_tested_is_replaced_by_the_nearest_one() -> None:
    index = Index([(18, 39)], untestable=[18, 19, 20])
    assert {"1.17", "1.21"} <= {*index.search()}
    assert {"1.18", "1.19", "1.20"} <= {*index.runs}, "each of them may be the release, so each is tried"


def test_a_change_lists_broken_and_fixed_cases_apart_from_those_that_were_not_judged() -> None:
    before = measured("1.0", failing=["fixed", "kept", "refused"], passing=["broken"], echo="1.0", sdk="1", old="1")
    after = measured("1.3", failing=["broken", "kept", "new"], passing=["fixed"], echo="1.3", sdk="2")
    (change,) = changes_between(before, after, untested=2, seen="1.4")
    assert (change.law, change.before, change.after, change.seen) == ("order", "1.0", "1.3", "1.4")
    assert change.between == 2
    assert (change.broken, change.fixed, change.judged, change.unjudged) == (
        ["broken"],
        ["fixed"],
        ["new"],
        ["refused"],
    )
    assert counts_text(change) == "1 case broken, 1 case fixed, 1 case newly judged, 1 case no longer judged"
    assert change.packages == {"sdk": ("1", "2"), "old": ("1", "")}


# The command


def history(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["history", *arguments])


def test_the_command_finds_the_releases_that_changed_a_law(
    runtime: FakeRuntime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(NOTES, "echo", {"1.2": "the cause", "1.3": "the cause of no change"})
    file = tmp_path / "echo.json"
    done = history("echo", "--from", "1.0", "--to", "1.6", "--versions", "3", "--bisect", "all", "--json", str(file))
    assert done.exit_code == 0, done.output
    written = load_history(file)
    assert [(version.version, version.cases) for version in written.tested] == [("1.0", (2, 2)), ("1.3", (1, 2))]
    assert [version.version for version in written.searched] == ["1.1", "1.2"]
    assert [(version.version, bool(version.not_tested)) for version in written.versions] == [
        *((version, False) for version in ("1.0", "1.1", "1.2", "1.3")),
        ("1.6", True),
    ]
    changes = [change for change in written.changes if change.law == "conservation"]
    assert [(change.before, change.after, change.seen, change.broken, change.between) for change in changes] == [
        ("1.1", "1.2", "1.3", [DROPPED], 0)
    ]
    assert (written.notes, written.newest) == ({"1.2": "the cause"}, "1.8")
    assert re.search(r"conservation +2/2 +1/2", done.output)
    assert "1.2 conservation  1 case broken" in done.output
    assert "1.6" in done.output.partition("not tested")[2]
    kept = [msgspec.json.decode(gzip.decompress(path.read_bytes())) for path in tmp_path.rglob("*.json.gz")]
    cases = {
        outcome["version"]: {
            case for by_outcome in outcome["verdicts"].values() for listed in by_outcome.values() for case in listed
        }
        for outcome in kept
    }
    assert len(cases["1.0"]) == len(cases["1.3"]) == 2
    assert cases["1.1"] == cases["1.2"] == {DROPPED}, "a search runs only the scenarios that differ"


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize(
    ("law", "neighbours"), [("conservation", ("1.1", "1.2")), ("stop", ("1.0", "1.3")), ("", ("1.0", "1.3"))]
)
def test_a_search_for_one_law_leaves_the_changes_of_others_where_they_are_seen(
    runtime: FakeRuntime, tmp_path: Path, law: str, neighbours: tuple[str, str]
) -> None:
    file, search = tmp_path / "echo.json", ["--bisect", law] if law else []
    history("echo", "--from", "1.0", "--to", "1.3", "--versions", "2", *search, "--json", str(file))
    changes = {change.law: change for change in load_history(file).changes}
    assert (changes["conservation"].before, changes["conservation"].after) == neighbours
    assert all(other.between == 2 for name, other in changes.items() if name != law)


def test_the_default_is_the_last_release_of_each_of_the_newest_series(runtime: FakeRuntime) -> None:
    runtime.listed = ["0.9", "1.0", "1.0.1", "1.1", "1.1.1"]
    written = json.loads(history("echo", "--versions", "2", "--json", "-").stdout)
    assert [version["version"] for version in written["versions"]] == ["1.0.1", "1.1.1"]
    assert (written["releases"], "changes" in written) == (3, True)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nothing"], 2, "unknown library"),
        (["echo", "--bisect", "ordr"], 2, "did you mean order?"),
        (["echo", "--versions", "0"], 2, "--versions"),
        (["echo", "--at", "1.0", "--from", "1.0"], 2, "omit --from and --to"),
        (["echo", "--from", "2"], 4, "no release from 2 to 1.8"),
        (["echo", "--from", "1.6", "--to", "1.7"], 5, "not tested"),
    ],
)
def test_a_history_without_a_tested_version_is_not_a_success(
    runtime: FakeRuntime, arguments: list[str], code: int, message: str
) -> None:
    done = history(*arguments)
    assert (done.exit_code, message in done.output) == (code, True), done.output


RELEASES = ["0.9.0", "0.10.0", "0.10.1", "1.0.0", "1.2.0", "1.2.9", "1.2.10", "1.10.0"]


def test_a_bound_includes_every_release_that_begins_with_it() -> None:
    assert between(RELEASES, "", "") == RELEASES
    assert between(RELEASES, "1.2", "") == ["1.2.0", "1.2.9", "1.2.10", "1.10.0"]
    assert between(RELEASES, "1.2.9", "1.2.10") == ["1.2.9", "1.2.10"]
    assert between(RELEASES, "", "0.10") == ["0.9.0", "0.10.0", "0.10.1"]
    assert between(RELEASES, "0.10.1", "1") == RELEASES[2:]
    with pytest.raises(UnknownSubject, match=r"no release from 1\.3 to 1\.9 \(there are 8 from 0\.9\.0 to 1\.10\.0"):
        between(RELEASES, "1.3", "1.9")


def test_spread_releases_are_different_ones_in_order_with_both_ends() -> None:
    assert spread(RELEASES, 1) == ["1.10.0"]
    assert spread(RELEASES, 9) == RELEASES
    for count in range(2, len(RELEASES) + 1):
        chosen = spread(RELEASES, count)
        assert (chosen[0], chosen[-1], len(set(chosen))) == ("0.9.0", "1.10.0", count)
        assert chosen == sorted(chosen, key=RELEASES.index)


def test_named_releases_are_tested_in_their_order_over_the_range_between_them() -> None:
    selection = select(RELEASES, 6, at=["1.2.9", "0.10.1"])
    assert (selection.selected, selection.range) == (["0.10.1", "1.2.9"], RELEASES[2:6])
    with pytest.raises(UnknownSubject, match=r"no release 1\.2\.8 "):
        select(RELEASES, 6, at=["1.2.9", "1.2.8"])


def test_a_range_without_a_start_begins_with_the_oldest_selected_series() -> None:
    selection = select(RELEASES, 2, until="1.2")
    assert (selection.selected, selection.range) == (["1.0.0", "1.2.10"], RELEASES[3:7])
    assert select(RELEASES, 2, since="1.2").selected == ["1.2.0", "1.10.0"]
    assert select(RELEASES, 2, since="1.2").rule == "spread evenly over the releases"
    assert select(RELEASES, 99, since="1.2").rule == "all of the range"
    assert select(RELEASES, 99).selected == ["0.9.0", "0.10.1", "1.0.0", "1.2.10", "1.10.0"]


def test_pip_and_npm_list_releases_without_warnings_and_pre_releases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "echo").mkdir()
    (tmp_path / "echo" / "package.json").write_text(json.dumps({"dependencies": {"echo-calls": "7.1.0"}}))
    versions = json.dumps(["6.9.0", "7.0.0-beta.1", "7.0.0", "7.1.0", "70.0.0"])
    for name, text in {
        "python3": "echo 'WARNING: experimental' >&2; echo 'Available versions: 1.10.0, 1.9.1, 1.9.0'",
        "npm": f"echo 'npm warn' >&2; echo '{versions}'",
        "missing": "echo 'npm error code E404' >&2; exit 1",
    }.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(runtimes.sys, "executable", str(tmp_path / "python3"))
    assert runtimes.Python().releases(Peer("echo", "echo-calls", "")) == ["1.9.0", "1.9.1", "1.10.0"]
    assert runtimes.Node().releases(Peer("echo", "echo-calls", "", tmp_path, runtime="node")) == ["7.0.0", "7.1.0"]
    (tmp_path / "missing").rename(tmp_path / "npm")
    with pytest.raises(installers.MissingExtra, match="npm config get registry"):
        installers.query(["npm", "view", "echo-calls"])


ROOT = Path(__file__).resolve().parents[2]
WORKFLOW: dict[Any, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / "published.yml").read_text("utf-8"))
(JOB,) = WORKFLOW["jobs"].values()
SCRIPTS = [step["run"] for step in JOB["steps"] if "run" in step]


def commands(program: str) -> Iterator[list[str]]:
    """The arguments of each call of a program in the scripts, up to the end of the command."""
    for line in "\n".join(SCRIPTS).splitlines():
        for part in line.replace("&&", "|").split("|"):
            words = shlex.split(part.strip().removesuffix("; then").rstrip(";"))
            while words and words[0] in ("xargs", "do", "then", "if"):
                words = words[1:]
            if words and words[0] == program:
                yield words[1:]


def test_its_scripts_are_shell_scripts_and_its_modules_exist() -> None:
    for script in SCRIPTS:
        done = subprocess.run(["bash", "-n", "-c", script], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), script
    assert WORKFLOW["permissions"] == {"contents": "write", "pull-requests": "write"}
    assert all(find_spec(words[words.index("-m") + 1]) for words in commands("python"))
    (added,) = (words[1:] for words in commands("git") if words[0] == "add")
    assert all((ROOT / path).exists() for path in added)


def test_its_toolparity_commands_exist_with_these_options() -> None:
    called = list(commands("toolparity"))
    assert {words[0] for words in called} == {"subjects", "history"}
    for words in called:
        command: click.Command | None = main
        while isinstance(command, click.Group):
            with click.Context(command) as context:
                command = command.get_command(context, words.pop(0))
        assert command is not None
        options = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= options


def test_pinning_without_a_name_pins_the_newest_packages_of_every_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("uv", "npm"):
        (tmp_path / name).write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/{name}.called\n')
        (tmp_path / name).chmod(0o755)
    (tmp_path / "node-lib").mkdir()
    (tmp_path / "node-lib" / "package.json").write_text(json.dumps({"dependencies": {"echo": "1.0.0", "at": "2.0.0"}}))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    peers = (
        Peer("lib", "lib", "", tmp_path),
        Peer("lib-agent", "lib", "", tmp_path, shares="lib"),
        Peer("node-lib", "echo", "", tmp_path, runtime="node"),
    )
    for name in list(PEERS):
        monkeypatch.delitem(PEERS, name)
    for peer in peers:
        monkeypatch.setitem(PEERS, peer.name, peer)
    pin.main([])
    assert (tmp_path / "uv.called").read_text().count("pip compile") == 1
    assert (tmp_path / "npm.called").read_text().endswith("--save-exact echo@latest at@latest\n")
    pin.main(["node-lib==1.5.0"])
    assert (tmp_path / "npm.called").read_text().endswith("--save-exact echo@1.5.0\n")
