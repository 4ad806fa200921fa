"""Libraries as subjects: installed apart from the suite, found by their names, and never mistaken for a pass."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from toolparity.cassettes.cli import exits
from toolparity.cli import main
from toolparity.conformance.subjects import environments, peers, subject
from toolparity.conformance.subjects.peers import PEERS, Peer
from toolparity.normalizer.errors import MissingExtra

PROGRAM = """
import json, sys
from importlib import metadata
import echo_calls

for line in sys.stdin:
    asked = json.loads(line)
    if asked["op"] == "hello":
        given = {"name": "echo", "version": metadata.version("echo-calls"), "claims": [], "wires": ["openai.chat"]}
    else:
        given = echo_calls.read(asked)
    print(json.dumps(given), flush=True)
"""
LIBRARY = """
import base64, json

def read(asked):
    body = json.loads(b"".join(map(base64.b64decode, asked["pieces"])))
    calls = body["choices"][0]["message"].get("tool_calls") or []
    return {"calls": [{"id": c["id"], **c["function"]} for c in calls]}
"""


def wheel(folder: Path, version: str) -> None:
    """A distribution of one module, as pip takes it."""
    info = f"echo_calls-{version}.dist-info"
    with zipfile.ZipFile(folder / f"echo_calls-{version}-py3-none-any.whl", "w") as made:
        made.writestr("echo_calls.py", LIBRARY)
        made.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: echo-calls\nVersion: {version}\n")
        made.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        made.writestr(f"{info}/RECORD", "")


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A library that is installed from a folder, with no index and no network."""
    folder = tmp_path_factory.mktemp("shelf")
    wheel(folder, "1.4")
    (folder / "echo_program.py").write_text(PROGRAM)
    (folder / "echo.txt").write_text("echo-calls==1.4\n")
    (folder / "torn.txt").write_text("not-on-the-shelf==1.0\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIP_NO_INDEX", "1")
        patch.setenv("PIP_FIND_LINKS", str(folder))
        patch.setenv("PIP_DISABLE_PIP_VERSION_CHECK", "1")
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        for name in ("echo", "torn"):
            patch.setitem(PEERS, name, Peer(name, "echo-calls", "echo", folder))
        yield folder


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def test_a_library_that_is_not_installed_is_an_error_that_says_how_to_install_it(shelf: Path) -> None:
    result = run("check", "torn", "--scenario", "single-call")
    assert result.exit_code == 4
    assert "toolparity subjects install torn" in result.output
    with pytest.raises(MissingExtra):
        subject("torn")


def test_smoke_says_how_to_install_a_library_that_is_missing(shelf: Path) -> None:
    result = run("smoke", "torn")
    assert result.exit_code == 4
    assert "toolparity subjects install torn" in result.output


@pytest.mark.thorough
def test_an_installation_that_fails_leaves_nothing_behind(shelf: Path) -> None:
    result = run("subjects", "install", "torn")
    assert result.exit_code == 4
    assert "not-on-the-shelf" in result.output
    assert environments.installed("torn") is None
    assert not (environments.home() / "torn").exists()


@pytest.mark.page("conformance/subjects", "conformance/cli")
def test_a_library_is_installed_checked_outdated_and_removed(shelf: Path) -> None:
    assert run("subjects", "path", "echo").exit_code == 5
    installed = run("subjects", "install", "echo")
    assert installed.exit_code == 0, installed.output
    assert "echo\t1.4" in installed.output

    where = run("subjects", "path", "echo")
    assert where.output.strip() == str(shelf / "cache" / "toolparity" / "subjects" / "echo")
    assert "echo\tinstalled, 1.4\techo" in run("subjects", "list").output

    smoked = run("smoke", "echo")
    assert smoked.exit_code == 0, smoked.output
    assert "openai.chat plain" in smoked.output
    assert "stream" not in smoked.output.replace("claims nothing more", "")

    checked = run("check", "echo", "--scenario", "parallel-three", "--wire", "openai.chat", "--policy", "all")
    assert checked.exit_code == 0, checked.output
    assert re.search(r"conservation +2/2\b", checked.output)

    (shelf / "echo.txt").write_text("echo-calls==1.5\n")
    assert "outdated" in run("subjects", "list").output

    assert run("subjects", "remove", "echo").exit_code == 0
    assert not Path(where.output.strip()).exists()
    assert run("subjects", "remove", "echo").exit_code == 5


def test_what_is_no_library_cannot_be_installed() -> None:
    result = run("subjects", "install", "nonsense")
    assert result.exit_code == 2
    assert "litellm" in result.output


@pytest.mark.parametrize("name", sorted(PEERS))
def test_each_library_has_its_program_and_pins_its_own_version(name: str) -> None:
    peer = PEERS[name]
    assert peer.program.is_file()
    assert re.fullmatch(r"\d+(\.\w+)+", peer.pinned)


@pytest.mark.parametrize("name", sorted(PEERS))
def test_each_pinned_file_has_a_hash_and_no_address(name: str) -> None:
    peer = PEERS[name]
    text = peer.pins.read_text("utf-8")
    assert "://" not in re.sub(r'"url": "https://[^"]*"', "", text), "the settings of pip and npm decide where it is"
    if peer.runtime == "node":
        packages = {path: held for path, held in json.loads(text)["packages"].items() if path}
        assert packages
        assert all(held["integrity"].startswith("sha512-") and "resolved" not in held for held in packages.values())
        return
    requirements = text.replace("\\\n", "").splitlines()
    assert requirements
    assert all(re.match(r"[\w.-]+(\[[\w,-]+\])?==\S+ .*--hash=sha256:[0-9a-f]{64}", line) for line in requirements)


def test_the_packages_of_a_node_library_are_those_of_its_lock_file() -> None:
    for peer in PEERS.values():
        if peer.runtime == "node":
            manifest = json.loads((peer.pins.parent / "package.json").read_text("utf-8"))
            lock = json.loads(peer.pins.read_text("utf-8"))["packages"][""]
            assert manifest["dependencies"] == lock["dependencies"]
            assert manifest["engines"] == lock["engines"]


def test_programs_import_nothing_of_this_project() -> None:
    for path in peers.HERE.glob("*.py"):
        if path.name != "__init__.py":
            text = path.read_text("utf-8")
            assert "conformance" not in text
            assert "normalizer" not in text


SUBJECTS = {
    "right": "[{'id': 'c', 'name': c['function']['name'], 'arguments': c['function']['arguments']} for c in calls]",
    "wrong": "[]",
    "formless": "None",
}


@pytest.mark.parametrize(
    ("kind", "code", "said"),
    [
        ("right", 0, "reads a simple call"),
        ("wrong", 1, "is connected, but its answers differ"),
        ("formless", 4, "The connection is broken"),
    ],
)
def test_smoke_tells_a_broken_plug_from_a_broken_implementation(
    kind: str, code: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / f"smoked_{kind}.py").write_text(
        f"""
import json

class Subject:
    wires = {{"openai.chat"}}

    def read(self, ask):
        calls = json.loads(ask.body)["choices"][0]["message"].get("tool_calls") or []
        return {{"calls": {SUBJECTS[kind]}}}
"""
    )
    monkeypatch.syspath_prepend(tmp_path)
    result = run("smoke", f"smoked_{kind}:Subject")
    assert result.exit_code == code, result.output
    assert said in result.output


def test_smoke_blames_an_implementation_that_changes_its_mind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "smoked_fickle.py").write_text(
        """
import itertools

class Subject:
    wires = {"openai.chat"}
    count = itertools.count()

    def read(self, ask):
        return {"calls": [{"id": str(next(self.count)), "name": "f", "arguments": {}}]}
"""
    )
    monkeypatch.syspath_prepend(tmp_path)
    result = run("smoke", "smoked_fickle:Subject")
    assert result.exit_code == 1
    assert "unstable" in result.output


def test_smoke_blames_the_plug_where_the_subject_cannot_be_had() -> None:
    result = run("smoke", "no_such_module:Subject")
    assert result.exit_code == 4
    assert "The connection is broken" in result.output


def test_smoke_of_a_subject_that_reads_no_wire_ran_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "smoked_idle.py").write_text("class Subject:\n    wires = []\n    def read(self, ask): ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert run("smoke", "smoked_idle:Subject").exit_code == 5


def test_a_wire_that_is_misspelled_is_no_wire_that_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "smoked_slip.py").write_text("class Subject:\n    wires = {'openai'}\n    def read(self, ask): ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    result = run("check", "smoked_slip:Subject")
    assert result.exit_code == 4
    assert "smoked_slip:Subject has unknown wires: openai" in result.output


@pytest.mark.parametrize("wrong", [("--wire", "openai.chatt"), ("--provider", "nobody")])
def test_a_wire_or_a_provider_that_is_misspelt_is_told_and_not_passed_over(wrong: tuple[str, str]) -> None:
    told = CliRunner().invoke(main, ["check", "--wire", "openai.chat", *wrong])
    assert told.exit_code == exits.USAGE
    assert wrong[1] in told.output
