"""Environments of libraries: another version, an interrupted installation, two at once, and npm."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from toolparity.cli import main
from toolparity.conformance.errors import UnknownSubject
from toolparity.conformance.subjects import environments, runtimes
from toolparity.conformance.subjects.peers import HERE, PEERS, Peer
from toolparity.normalizer.errors import MissingExtra

PROGRAM = """
import json, sys

for line in sys.stdin:
    print(json.dumps({"name": "slow", "version": sys.argv[1], "claims": [], "wires": [], "calls": []}), flush=True)
"""


class FakeRuntime:
    """Installs a file. ``during`` runs in the middle of each installation."""

    def __init__(self) -> None:
        self.during: Callable[[], object] = lambda: None
        self.folders: list[Path] = []

    def install(self, peer: Peer, version: str, folder: Path, report: runtimes.Report) -> None:
        self.folders.append(folder)
        report("installing")
        self.during()
        (folder / "version").write_text(version or "1.0")

    def version(self, peer: Peer, folder: Path) -> str:
        return (folder / "version").read_text()

    def command(self, peer: Peer, folder: Path) -> list[str]:
        return ["python3", str(peer.program), self.version(peer, folder)]


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeRuntime:
    """A library whose installation writes a file."""
    fake = FakeRuntime()
    (tmp_path / "slow_program.py").write_text(PROGRAM)
    (tmp_path / "slow.txt").write_text("slow==1.0\n")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setitem(PEERS, "slow", Peer("slow", "slow", "slow", tmp_path))
    monkeypatch.setitem(runtimes.RUNTIMES, "python", fake)
    return fake


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def left() -> list[str]:
    """The folders of environments, without the lock files."""
    return [path.name for path in (environments.home() / ".environments").iterdir() if path.is_dir()]


def test_another_version_is_a_subject_beside_the_pinned_one(runtime: FakeRuntime) -> None:
    assert run("subjects", "install", "slow", "slow==0.9").exit_code == 0
    assert (environments.installed("slow"), environments.installed("slow==0.9")) == (
        environments.Installed("1.0", "slow==1.0\n"),
        environments.Installed("0.9", ""),
    )
    assert environments.other_versions() == ["slow==0.9"]
    listed = run("subjects", "list").output
    assert "slow\tinstalled, 1.0" in listed
    assert "slow==0.9\tinstalled" in listed
    tested = environments.peer("slow==0.9")
    assert (tested.name, tested.version) == ("slow==0.9", "0.9")
    assert environments.peer("slow").name == "slow"
    assert run("subjects", "remove", "slow==0.9").exit_code == 0
    assert environments.installed("slow") is not None
    assert environments.installed("slow==0.9") is None


def test_another_version_says_that_its_hashes_were_not_checked(runtime: FakeRuntime) -> None:
    assert "hashes were not checked" in run("subjects", "install", "slow==0.9").output
    assert "hashes" not in run("subjects", "install", "slow").output


@pytest.mark.parametrize("version", ["", "../../tmp", "-r evil.txt", "1.0 other"])
def test_a_version_that_is_none_is_refused(runtime: FakeRuntime, version: str) -> None:
    with pytest.raises(UnknownSubject, match="not a version"):
        environments.install(f"slow=={version}")
    assert run("subjects", "install", f"slow=={version}").exit_code == 2
    assert runtime.folders == []


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MissingExtra("pip failed"), OSError("disk full")])
def test_an_interrupted_installation_leaves_the_earlier_one_in_use(runtime: FakeRuntime, error: BaseException) -> None:
    environments.install("slow")
    (before,) = left()

    def fail() -> None:
        assert environments.installed("slow") is not None, "the earlier one is used meanwhile"
        raise error

    runtime.during = fail
    with pytest.raises(type(error) if not isinstance(error, OSError) else MissingExtra):
        environments.install("slow")
    assert left() == [before]
    assert environments.installed("slow") is not None


def test_the_rest_of_a_killed_installation_is_never_used_and_is_removed_by_the_next(runtime: FakeRuntime) -> None:
    rest = environments.home() / ".environments" / "slow-killed"
    rest.mkdir(parents=True)
    other = environments.home() / ".environments" / "slow-agents-abc"
    other.mkdir()
    assert environments.installed("slow") is None
    environments.install("slow")
    assert not rest.exists()
    assert other.exists(), "it belongs to another library"


def test_an_environment_of_an_earlier_release_is_replaced(runtime: FakeRuntime) -> None:
    old = environments.home() / "slow"
    old.mkdir(parents=True)
    (old / "toolparity.json").write_text('{"version": "0.1", "pins": ""}')
    assert environments.outdated("slow")
    environments.install("slow")
    assert environments.installed("slow") == environments.Installed("1.0", "slow==1.0\n")


def test_two_installations_at_once_wait_for_each_other(runtime: FakeRuntime) -> None:
    waiting, second = threading.Event(), []

    def report(step: str) -> None:
        if "waiting" in step:
            waiting.set()

    def start_another() -> None:
        runtime.during = lambda: None
        thread = threading.Thread(target=lambda: environments.install("slow", report))
        second.append(thread)
        thread.start()
        assert waiting.wait(30), "the second installation did not wait"
        assert len(runtime.folders) == 1

    runtime.during = start_another
    environments.install("slow")
    second[0].join(30)
    assert len(runtime.folders) == 2
    assert len(left()) == 1
    assert environments.installed("slow") is not None


def test_two_subjects_can_share_an_environment(runtime: FakeRuntime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PEERS, "slow-agent", PEERS["slow"]._replace(name="slow-agent", shares="slow"))
    environments.install("slow-agent")
    assert environments.installed("slow") == environments.installed("slow-agent")
    assert PEERS["slow-agent"].pins == PEERS["slow"].pins
    assert PEERS["slow-agent"].program.name == "slow_agent_program.py"


NPM = """#!/bin/sh
echo "$@" > called
if [ -e {fail} ]; then echo "npm error code E404"; exit 1; fi
mkdir -p node_modules/echo
echo '{{"version": "3.2.1"}}' > node_modules/echo/package.json
"""


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A library on npm, and an npm that installs it without the network. The returned file makes npm fail."""
    fail, programs = tmp_path / "fail", tmp_path / "bin"
    (tmp_path / "node-lib").mkdir()
    manifest = {"dependencies": {"echo": "3.2.1", "beside": "3.0.0"}, "engines": {"node": ">=22.15"}}
    (tmp_path / "node-lib" / "package.json").write_text(json.dumps(manifest))
    (tmp_path / "node-lib" / "package-lock.json").write_text("{}")
    programs.mkdir()
    for name, text in (("npm", NPM.format(fail=fail)), ("node", "#!/bin/sh\necho v23.1.0\n")):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setitem(PEERS, "node-lib", Peer("node-lib", "echo", "echo", tmp_path, runtime="node"))
    return fail


def test_npm_installs_from_the_lock_file_and_runs_no_scripts(npm: Path) -> None:
    assert environments.install("node-lib").version == "3.2.1"
    link = environments.known("node-lib").link
    assert (link / "called").read_text().startswith("ci --ignore-scripts")
    assert (link / "package-lock.json").exists()
    node, flag, hook, program = runtimes.RUNTIMES["node"].command(PEERS["node-lib"], link)
    assert (Path(node).name, flag, Path(program).name) == ("node", "--import", "node_lib_program.mjs")
    assert hook == f"{(HERE / 'modules.mjs').as_uri()}?folder={link.as_uri()}"


def test_another_version_is_installed_without_the_lock_file_and_only_if_the_packages_beside_it_fit(npm: Path) -> None:
    environments.install("node-lib==3.1.0")
    link = environments.known("node-lib==3.1.0").link
    assert (link / "called").read_text().startswith("install --ignore-scripts")
    assert json.loads((link / "package.json").read_text())["dependencies"] == {"echo": "3.1.0", "beside": "3.0.0"}
    assert not (link / "package-lock.json").exists()
    with pytest.raises(MissingExtra, match=r"choose a version 3\.x"):
        environments.install("node-lib==2.0.0")


def test_an_error_begins_with_the_line_for_which_there_is_advice(tmp_path: Path) -> None:
    installer = tmp_path / "installer"
    versions = ", ".join(f"1.{number}" for number in range(500))
    installer.write_text(
        f"#!/bin/sh\necho 'ERROR: Could not find a version (from versions: {versions})'\n"
        "echo 'ERROR: No matching distribution found for slow==9'\nexit 1\n"
    )
    installer.chmod(0o755)
    with pytest.raises(MissingExtra, match=r"^No matching distribution found for slow==9 \(check the version"):
        runtimes.run_installer([str(installer)])


def test_an_error_of_npm_is_reported_with_what_to_do(npm: Path) -> None:
    npm.touch()
    result = run("subjects", "install", "node-lib")
    assert result.exit_code == 4
    assert "E404" in result.output
    assert "npm config get registry" in result.output
    assert environments.installed("node-lib") is None


def test_a_machine_without_npm_gets_an_error_that_says_what_to_install(
    npm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingExtra, match=r"install Node\.js"):
        environments.install("node-lib")


@pytest.mark.parametrize(
    ("found", "range_", "enough"),
    [("v22.15.0", ">=22.15", True), ("v22.9.1", ">=22.15", False), ("v20.20.2", ">=22", False), ("", ">=22", False)],
)
def test_the_version_of_node_is_compared_as_numbers(tmp_path: Path, found: str, range_: str, enough: bool) -> None:
    node = tmp_path / "node"
    node.write_text(f"#!/bin/sh\necho {found}\n")
    node.chmod(0o755)
    assert runtimes._new_enough(str(node), range_) is enough
    assert not runtimes._new_enough(None, range_)
