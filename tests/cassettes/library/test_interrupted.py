"""A recording that ends at any point leaves the old cassette or the new one, whole."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from vcr import VCR
from vcr.request import Request

from tests.cassettes.library.making import PROVENANCE, interaction, made
from toolparity.cassettes.errors import CassetteNotWritten
from toolparity.cassettes.library import Persister, forget, load, save

pytestmark = pytest.mark.service("cassettes/library", "cassettes/recorder")

ROOT = Path(__file__).parents[3]
#: For each number that it is sent, a fork saves once, and kills itself just before the n-th system call of that.
STEPPER = """
import os, signal, sys
from pathlib import Path
from msgspec.structs import replace
from toolparity.cassettes.library import save
from tests.cassettes.library.making import PROVENANCE, interaction
path, asked = Path(sys.argv[1]), 0
def counted(real, whole):
    def call(*args):
        global asked
        asked += 1
        if asked == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args) if whole else real(args[0], bytes(args[1][:1000]))
    return call
for name in ("open", "write", "fsync", "replace", "unlink", "close"):
    setattr(os, name, counted(getattr(os, name), name != "write"))
for line in sys.stdin:
    number = int(line)
    writer = os.fork()
    if not writer:
        asked = 0
        save(path, [interaction("9" * 5000)], replace(PROVENANCE, note="9 5000"))
        os._exit(0)
    print(os.WIFSIGNALED(os.waitpid(writer, 0)[1]), flush=True)
"""


def whole(path: Path) -> int:
    """The version of the cassette, which must be whole."""
    forget()
    loaded = load(path)
    assert loaded.digest == loaded.provenance.digest
    version, size = map(int, str(loaded.provenance.note).split())
    assert loaded.responses[0]["body"]["string"] == f"{version % 10}".encode() * size
    return version


def test_a_recorder_killed_before_each_single_step_leaves_one_whole_version(tmp_path: Path) -> None:
    path = made(tmp_path, interaction("1" * 2000), note="1 2000")
    old = path.read_bytes()
    seen = []
    command, environment = [sys.executable, "-c", STEPPER, str(path)], {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as forker:
        assert forker.stdin is not None
        assert forker.stdout is not None
        for step in range(1, 100):
            print(step, file=forker.stdin, flush=True)
            killed = forker.stdout.readline() == "True\n"
            seen.append(whole(path))
            if not killed:
                break
            path.write_bytes(old)
    assert forker.returncode == 0
    assert len(seen) > 10, "opened, written in pieces, synchronised, replaced, closed"
    assert seen == sorted(seen), "the old one up to a step, the new one from there"
    assert (seen[0], seen[-1]) == (1, 9)
    assert os.listdir(path.parent) == [path.name]


def test_a_draft_in_the_hands_of_another_recorder_is_left_alone(tmp_path: Path) -> None:
    path = made(tmp_path)
    held: list[Path] = []

    def meanwhile(draft: Path) -> None:
        held.append(draft)
        save(path, [interaction("of the other")], PROVENANCE)
        assert draft.exists()

    save(path, [interaction("of the first")], PROVENANCE, checks=[meanwhile])
    assert load(path).responses[0]["body"]["string"] == b"of the first"
    assert os.listdir(path.parent) == [path.name]


@pytest.fixture
def old(tmp_path: Path) -> Iterator[Path]:
    """The path of a cassette that the test must leave unchanged, with nothing beside it."""
    path = made(tmp_path)
    before = path.read_bytes()
    yield path
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("room", [0, 1, 100, 1500])
def test_a_full_disk_leaves_the_old_cassette(old: Path, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    real, left = os.write, room

    def write(descriptor: int, data: Any) -> int:
        nonlocal left
        if not left:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        taken = min(left, len(data))
        left -= taken
        return real(descriptor, bytes(data[:taken]))

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(CassetteNotWritten) as caught:
        save(old, [interaction("new" * 1000)], PROVENANCE)
    monkeypatch.undo()
    reason = "cannot be written: No space left on device (an existing cassette is unchanged)"
    assert str(caught.value) == f"{old}: {reason}"


@pytest.mark.parametrize("step", ["fsync", "replace", "open"])
def test_a_step_that_the_disk_refuses_leaves_the_old_cassette(
    old: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def refuse(*args: Any, **options: Any) -> Any:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, step, refuse)
    with pytest.raises(CassetteNotWritten, match="Input/output error"):
        save(old, [interaction("new")], PROVENANCE)
    monkeypatch.undo()


def test_all_is_written_and_on_disk_before_it_takes_the_place_of_the_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def noted(name: str, real: Any) -> Any:
        def call(*args: Any) -> Any:
            done.append(name)
            return real(*args)

        return call

    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, bytes(data[:7])))
    for name in ("fsync", "replace"):
        monkeypatch.setattr(os, name, noted(name, getattr(os, name)))
    path = made(tmp_path, interaction("new" * 1000))
    monkeypatch.undo()
    assert load(path).responses[0]["body"]["string"] == b"new" * 1000
    assert done == ["fsync", "replace", "fsync"], "the content, the name, and the folder that holds the name"


def test_an_error_of_the_provider_leaves_the_old_cassette(old: Path) -> None:
    vcr = VCR(record_mode="all", record_on_exception=False)
    vcr.register_persister(Persister(provenance=PROVENANCE))
    with pytest.raises(ConnectionResetError), vcr.use_cassette(str(old)) as cassette:  # noqa: PT012 (the error is ours)
        cassette.append(Request("POST", "https://a.example/", b"{}", {}), interaction()["response"])
        raise ConnectionResetError
