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
