"""Releases of a library: what its index lists, which are selected, and the workflow that renews the publication."""

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
from toolparity.conformance.errors import UnknownSubject
from toolparity.conformance.subjects import installers, pin, runtimes
from toolparity.conformance.subjects.peers import PEERS, Peer
from toolparity.conformance.subjects.releases import between, newest_series, select, spread

RELEASES = ["0.9.0", "0.10.0", "0.10.1", "1.0.0", "1.2.0", "1.2.9", "1.2.10", "1.10.0"]


def test_a_bound_includes_every_release_that_begins_with_it() -> None:
    assert between(RELEASES, "", "") == RELEASES
    assert between(RELEASES, "1.2", "") == ["1.2.0", "1.2.9", "1.2.10", "1.10.0"]
    assert between(RELEASES, "1.2.9", "1.2.10") == ["1.2.9", "1.2.10"]
    assert between(RELEASES, "", "0.10") == ["0.9.0", "0.10.0", "0.10.1"]
    assert between(RELEASES, "0.10.1", "1") == RELEASES[2:]
    with pytest.raises(UnknownSubject, match=r"no release from 1\.3 to 1\.9 \(there are 8 from 0\.9\.0 to 1\.10\.0"):
        between(RELEASES, "1.3", "1.9")


def test_the_newest_series_are_counted_as_numbers_and_give_their_last_release() -> None:
    assert newest_series(RELEASES, 3) == ["1.0.0", "1.2.10", "1.10.0"]
    assert newest_series(RELEASES, 99) == ["0.9.0", "0.10.1", "1.0.0", "1.2.10", "1.10.0"]


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
