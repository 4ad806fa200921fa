"""The workflow that renews the publication: each of its steps names commands, options, modules and files that exist."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from toolparity.cli import main
from toolparity.conformance.cli.publish import FOLDER, HISTORY
from toolparity.conformance.subjects import pin
from toolparity.conformance.subjects.peers import PEERS, Peer

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


def test_its_scripts_are_shell_scripts_and_its_tools_are_pinned() -> None:
    for script in SCRIPTS:
        done = subprocess.run(["bash", "-n", "-c", script], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), script
    assert WORKFLOW[True].keys() == {"schedule", "workflow_dispatch"}  # YAML 1.1 reads the key "on" as true
    assert WORKFLOW["permissions"] == {"contents": "write", "pull-requests": "write"}
    assert {step["uses"].partition("/")[0] for step in JOB["steps"] if "uses" in step} == {"actions"}
    (create,) = (words for words in commands("gh") if words[:2] == ["pr", "create"])
    assert (ROOT / create[create.index("--body-file") + 1]).is_file()
    installed = [words[1:] for words in commands("pip") if words[0] == "install"]
    tools = [word for words in installed for word in words if not any(one.startswith("-") for one in words)]
    assert tools
    assert all("==" in tool for tool in tools)


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


def test_its_modules_libraries_and_files_exist() -> None:
    modules = [words[words.index("-m") + 1] for words in commands("python")]
    assert modules == ["toolparity.conformance.subjects.pin", "toolparity.conformance.cli.publish"]
    assert all(find_spec(module) for module in modules)
    (loop,) = (line for script in SCRIPTS for line in script.splitlines() if line.startswith("for library in "))
    looped = loop.removeprefix("for library in ").removesuffix("; do").split()
    called = [words for words in commands("toolparity") if words[0] == "history"]
    written = {words[1]: Path(words[words.index("--json") + 1]) for words in called}
    libraries = {*looped, *(name for name in written if not name.startswith("$"))}
    assert libraries <= set(PEERS)
    assert {path.stem for path in (FOLDER / HISTORY).glob("*.json")} <= libraries, "each history is renewed"
    assert all(path.name == f"{name}.json" for name, path in written.items())
    assert {ROOT / path.parent for path in written.values()} == {FOLDER / HISTORY}
    (added,) = (words[1:] for words in commands("git") if words[0] == "add")
    assert all((ROOT / path).exists() for path in added)


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
