"""Releases of a library: what its index lists, and which of them are selected."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from toolparity.conformance.errors import UnknownSubject
from toolparity.conformance.subjects import installers, runtimes
from toolparity.conformance.subjects.peers import Peer
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
