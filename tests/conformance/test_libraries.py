"""Libraries as subjects: environments apart from the suite, pinned versions and other ones, pip and npm."""

from __future__ import annotations

import json
import os
import re
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from toolparity.cli import main
from toolparity.conformance.errors import UnknownSubject
from toolparity.conformance.subjects import environments, peers, runtimes, subject
from toolparity.conformance.subjects.peers import HERE, PEERS, Peer
from toolparity.normalizer.errors import MissingExtra

PROGRAM = """
import base64, json, sys

for line in sys.stdin:
    exchange = json.loads(line)
    if exchange["op"] == "hello":
        answer = {"name": "NAME", "version": (*sys.argv, "1.4")[1], "claims": [], "wires": ["openai.chat"]}
    else:
        body = json.loads(b"".join(map(base64.b64decode, exchange["pieces"])))
        calls = body["choices"][0]["message"].get("tool_calls") or []
        answer = {"calls": [{"id": call["id"], **call["function"]} for call in calls]}
    print(json.dumps({"calls": []} | answer), flush=True)
"""


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


# Files of the shipped libraries


@pytest.mark.parametrize("name", sorted(PEERS))
def test_each_library_has_its_program_and_pins_its_packages_with_hashes(name: str) -> None:
    peer = PEERS[name]
    assert peer.program.is_file()
    assert re.fullmatch(r"\d+(\.\w+)+", peer.pinned)
    text = peer.pins.read_text("utf-8")
    assert "://" not in re.sub(r'"url": "https://[^"]*"', "", text), "the settings of pip and npm decide where it is"
    if peer.runtime == "node":
        packages = json.loads(text)["packages"]
        manifest = json.loads((peer.pins.parent / "package.json").read_text("utf-8"))
        assert all(manifest[member] == packages[""][member] for member in ("dependencies", "engines"))
        held = [package for path, package in packages.items() if path]
        assert held
        assert all(one["integrity"].startswith("sha512-") and "resolved" not in one for one in held)
        return
    requirements = text.replace("\\\n", "").splitlines()
    assert requirements
    assert all(re.match(r"[\w.-]+(\[[\w,-]+\])?==\S+ .*--hash=sha256:[0-9a-f]{64}", line) for line in requirements)


def test_programs_import_nothing_of_this_project() -> None:
    for path in peers.HERE.glob("*.py"):
        if path.name != "__init__.py":
            assert not re.search("conformance|normalizer", path.read_text("utf-8")), path


# The commands


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A library that pip installs from a folder, without an index and without the network."""
    folder = tmp_path_factory.mktemp("shelf")
    info = "echo_calls-1.4.dist-info"
    with zipfile.ZipFile(folder / "echo_calls-1.4-py3-none-any.whl", "w") as made:
        made.writestr("echo_calls.py", "")
        made.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: echo-calls\nVersion: 1.4\n")
        made.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        made.writestr(f"{info}/RECORD", "")
    (folder / "echo_program.py").write_text(PROGRAM.replace("NAME", "echo"))
    (folder / "echo.txt").write_text("echo-calls==1.4\n")
    (folder / "torn.txt").write_text("not-on-the-shelf==1.0\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIP_NO_INDEX", "1")
        patch.setenv("PIP_FIND_LINKS", str(folder))
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        for name in ("echo", "torn"):
            patch.setitem(PEERS, name, Peer(name, "echo-calls", "echo", folder))
        yield folder


def test_a_library_that_is_not_installed_is_an_error_with_the_command_that_installs_it(shelf: Path) -> None:
    for command in (("check", "torn", "--scenario", "single-call"), ("smoke", "torn")):
        result = run(*command)
        assert (result.exit_code, "toolparity subjects install torn" in result.output) == (4, True)
    with pytest.raises(MissingExtra):
        subject("torn")
    unknown = run("subjects", "install", "nonsense")
    assert (unknown.exit_code, "any-llm" in unknown.output) == (2, True)


@pytest.mark.thorough
def test_an_installation_that_fails_leaves_nothing_behind(shelf: Path) -> None:
    result = run("subjects", "install", "torn")
    assert (result.exit_code, "not-on-the-shelf" in result.output) == (4, True)
    assert environments.installed("torn") is None
    assert not (environments.home() / "torn").exists()


@pytest.mark.page("conformance/subjects", "conformance/cli")
def test_a_library_is_installed_checked_outdated_and_removed(shelf: Path) -> None:
    assert run("subjects", "path", "echo").exit_code == 5
    installed = run("subjects", "install", "echo")
    assert (installed.exit_code, "echo\t1.4" in installed.output) == (0, True), installed.output
    where = run("subjects", "path", "echo").output.strip()
    assert where == str(shelf / "cache" / "toolparity" / "subjects" / "echo")
    assert "echo\tinstalled, 1.4\techo" in run("subjects", "list").output
    smoked = run("smoke", "echo")
    assert (smoked.exit_code, "openai.chat plain" in smoked.output) == (0, True), smoked.output
    checked = run("check", "echo", "--scenario", "parallel-three", "--wire", "openai.chat", "--policy", "all")
    assert checked.exit_code == 0, checked.output
    assert re.search(r"conservation +2/2\b", checked.output)
    (shelf / "echo.txt").write_text("echo-calls==1.5\n")
    assert "outdated" in run("subjects", "list").output
    assert run("subjects", "remove", "echo").exit_code == 0
    assert not Path(where).exists()
    assert run("subjects", "remove", "echo").exit_code == 5


# Environments


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
    (tmp_path / "slow_program.py").write_text(PROGRAM.replace("NAME", "slow"))
    (tmp_path / "slow.txt").write_text("slow==1.0\n")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setitem(PEERS, "slow", Peer("slow", "slow", "slow", tmp_path))
    monkeypatch.setitem(runtimes.RUNTIMES, "python", fake)
    return fake


def left() -> list[str]:
    """The folders of environments, without the lock files."""
    return [path.name for path in (environments.home() / ".environments").iterdir() if path.is_dir()]


def test_another_version_is_a_subject_beside_the_pinned_one(runtime: FakeRuntime) -> None:
    assert "hashes" not in run("subjects", "install", "slow").output
    assert "hashes were not checked" in run("subjects", "install", "slow==0.9").output
    assert environments.installed("slow") == environments.Installed("1.0", "slow==1.0\n")
    assert environments.installed("slow==0.9") == environments.Installed("0.9", "")
    assert environments.other_versions() == ["slow==0.9"]
    listed = run("subjects", "list").output
    assert ("slow\tinstalled, 1.0" in listed, "slow==0.9\tinstalled" in listed) == (True, True)
    with_version = environments.peer("slow==0.9")
    assert (with_version.name, with_version.version, environments.peer("slow").name) == ("slow==0.9", "0.9", "slow")
    assert run("subjects", "remove", "slow==0.9").exit_code == 0
    assert (environments.installed("slow") is None, environments.installed("slow==0.9")) == (False, None)


def test_an_invalid_version_is_refused(runtime: FakeRuntime) -> None:
    for version in ("", "../../tmp", "-r evil.txt", "1.0 other"):
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
    assert (left(), environments.installed("slow") is None) == ([before], False)


def test_an_installation_replaces_the_rest_of_a_killed_one_and_that_of_an_earlier_release(runtime: FakeRuntime) -> None:
    rest, other = (environments.home() / ".environments" / name for name in ("slow-killed", "slow-agents-abc"))
    old = environments.home() / "slow"
    for folder in (rest, other, old):
        folder.mkdir(parents=True)
    (old / "toolparity.json").write_text('{"version": "0.1", "pins": ""}')
    assert environments.outdated("slow")
    environments.install("slow")
    assert environments.installed("slow") == environments.Installed("1.0", "slow==1.0\n")
    assert (rest.exists(), other.exists()) == (False, True), "the other one belongs to another library"


def test_two_installations_at_once_wait_for_each_other(runtime: FakeRuntime) -> None:
    waiting, second = threading.Event(), []

    def report(step: str) -> None:
        if "waiting" in step:
            waiting.set()

    def start_another() -> None:
        runtime.during = lambda: None
        second.append(threading.Thread(target=lambda: environments.install("slow", report)))
        second[0].start()
        assert waiting.wait(30), "the second installation did not wait"
        assert len(runtime.folders) == 1

    runtime.during = start_another
    environments.install("slow")
    second[0].join(30)
    assert (len(runtime.folders), len(left()), environments.installed("slow") is None) == (2, 1, False)


def test_two_subjects_can_share_an_environment(runtime: FakeRuntime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PEERS, "slow-agent", PEERS["slow"]._replace(name="slow-agent", shares="slow"))
    environments.install("slow-agent")
    assert environments.installed("slow") == environments.installed("slow-agent")
    assert (PEERS["slow-agent"].pins, PEERS["slow-agent"].program.name) == (PEERS["slow"].pins, "slow_agent_program.py")


# npm


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A library on npm, and an npm that installs it without the network. The returned file makes npm fail."""
    fail, programs, folder = tmp_path / "fail", tmp_path / "bin", tmp_path / "node-lib"
    programs.mkdir()
    folder.mkdir()
    manifest = {"dependencies": {"echo": "3.2.1", "beside": "3.0.0"}, "engines": {"node": ">=22.15"}}
    (folder / "package.json").write_text(json.dumps(manifest))
    (folder / "package-lock.json").write_text("{}")
    install = f"""echo "$@" > called
if [ -e {fail} ]; then echo "npm error code E404"; exit 1; fi
mkdir -p node_modules/echo
echo '{{"version": "3.2.1"}}' > node_modules/echo/package.json"""
    for name, text in (("npm", install), ("node", "echo v23.1.0")):
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
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


def test_another_version_on_npm_needs_packages_of_the_same_major_version_and_no_lock_file(npm: Path) -> None:
    environments.install("node-lib==3.1.0")
    link = environments.known("node-lib==3.1.0").link
    assert (link / "called").read_text().startswith("install --ignore-scripts")
    assert json.loads((link / "package.json").read_text())["dependencies"] == {"echo": "3.1.0", "beside": "3.0.0"}
    assert not (link / "package-lock.json").exists()
    with pytest.raises(MissingExtra, match=r"choose a version 3\.x"):
        environments.install("node-lib==2.0.0")


def test_an_error_of_an_installer_begins_with_the_line_for_which_there_is_advice(tmp_path: Path) -> None:
    installer = tmp_path / "installer"
    versions = ", ".join(f"1.{number}" for number in range(500))
    installer.write_text(
        f"#!/bin/sh\necho 'ERROR: Could not find a version (from versions: {versions})'\n"
        "echo 'ERROR: No matching distribution found for slow==9'\nexit 1\n"
    )
    installer.chmod(0o755)
    with pytest.raises(MissingExtra, match=r"^No matching distribution found for slow==9 \(check the version"):
        runtimes.run_installer([str(installer)])


def test_an_npm_that_fails_or_does_not_exist_is_an_error_with_advice(
    npm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    npm.touch()
    result = run("subjects", "install", "node-lib")
    assert result.exit_code == 4
    assert "E404" in result.output
    assert "npm config get registry" in result.output
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingExtra, match=r"install Node\.js"):
        environments.install("node-lib")
    assert environments.installed("node-lib") is None


def test_the_version_of_node_is_compared_as_numbers(npm: Path) -> None:
    node = npm.parent / "bin" / "node"
    assert not runtimes._new_enough(None, ">=22")
    for found, enough in (("v22.15.0", True), ("v22.9.1", False), ("v20.20.2", False), ("", False)):
        node.write_text(f"#!/bin/sh\necho {found}\n")
        assert runtimes._new_enough(str(node), ">=22.15") is enough
