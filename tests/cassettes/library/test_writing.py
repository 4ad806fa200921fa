"""A cassette is written readably, for plain vcrpy too, and only if it passes every check. A recording that ends at any
point leaves the old cassette or the new one, whole."""

from __future__ import annotations

import errno
import importlib
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from vcr import VCR
from vcr.persisters.filesystem import CassetteNotFoundError, FilesystemPersister
from vcr.request import Request
from vcr.serializers import yamlserializer

from tests.cassettes.library.making import PROVENANCE, interaction, made
from toolparity.cassettes.errors import CassetteNotWritten, InvalidProvenance, SecretsLeft, UnreadableCassette
from toolparity.cassettes.library import Persister, forget, load, locks, path_for, safe_yaml, save, writing
from toolparity.cassettes.library import interaction as plain_interaction
from toolparity.normalizer.errors import ToolparityError

_BODIES = (
    st.text() | st.binary() | st.sampled_from(["a\r\nb\r\n\r\n", "\n\na\n", " a\n b", "a \n", "\t\n", "x" * 5000, ""])
)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_text_has_one_order_and_readable_ascii_blocks(tmp_path: Path) -> None:
    shuffled = interaction('data: {"a": "it\'s"}\n\ndata: grüße 👋\n\n')
    shuffled["response"] = dict(reversed(list({**shuffled["response"], "grpc": {}, "extra": 1}.items())))
    shuffled["request"] = dict(reversed(list(shuffled["request"].items())))
    shuffled["request"]["headers"] = {"b": ["2"], "A": ["1"]}
    path = made(tmp_path, shuffled, interaction(b"\xff"), digest="sha256:" + "0" * 64)
    content = yaml.safe_load(path.read_bytes())
    assert list(content) == ["metadata", "version", "interactions"]
    first = content["interactions"][0]
    assert list(first["request"]) == ["method", "uri", "headers", "body"]
    assert list(first["request"]["headers"]) == ["A", "b"]
    assert list(first["response"]) == ["status", "headers", "extra", "grpc", "body"]
    assert load(path).provenance.digest == load(path).digest, "a claimed digest is replaced"
    text = path.read_text("ascii")
    assert '    body: |-\n      {"model": "m", "messages": [{"role": "user", "content": "hello?"}]}\n' in text
    assert made(tmp_path / "again", shuffled, interaction(b"\xff")).read_text() == text
    stream = 'data: {"a": "it\'s"}\n\ndata: [DONE]\n\n'
    text = made(tmp_path, interaction(stream)).read_text("ascii")
    assert '      string: |+\n        data: {"a": "it\'s"}\n\n        data: [DONE]\n' in text


@given(answer=_BODIES, asked=st.none() | _BODIES)
def test_every_body_comes_back_through_plain_vcrpy(tmp_path_factory: Any, answer: Any, asked: Any) -> None:
    one = interaction(answer)
    one["request"]["body"] = asked
    path = made(tmp_path_factory.mktemp("library"), one)
    (request,), (response,), metadata = FilesystemPersister.load_cassette(path, yamlserializer)
    assert response["body"]["string"] == (answer.encode() if isinstance(answer, str) else answer)
    assert request.body == (asked.encode() if isinstance(asked, str) else asked)
    assert metadata == load(path).metadata
    assert [one._to_dict() for one in load(path).requests] == [request._to_dict()]
    assert load(path).responses == [response]


def test_classes_of_other_libraries_and_vcrpys_own_become_plain_data(tmp_path: Path) -> None:
    class Text(str):
        pass

    one = interaction()
    one["response"]["status"] = {"code": HTTPStatus.OK, "message": Text("OK")}
    one["response"]["headers"] = {Text("a"): ("b",)}
    content = yaml.safe_load(made(tmp_path, one).read_bytes())["interactions"][0]["response"]
    assert content["status"] == {"code": 200, "message": "OK"}
    assert content["headers"] == {"a": ["b"], "x-toolparity-origin": ["emulated"]}
    request = Request("POST", "https://a.example/", iter([b"a", b"b"]), {"B": "2", "a": ["1"]})
    response = {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": b"\xff"}}
    one = plain_interaction(request, response)
    headers = {"a": ["1"], "B": ["2"]}
    assert one["request"] == {"method": "POST", "uri": "https://a.example/", "headers": headers, "body": "ab"}
    assert one["response"]["body"] == response["body"] == {"string": b"\xff"}, "the given one is unchanged"


def test_data_that_a_cassette_cannot_hold_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ({1, 2}, object(), {1: 2}):
        one = interaction()
        one["response"]["more"] = value
        with pytest.raises(CassetteNotWritten, match=r"unsupported type|must be text"):
            made(tmp_path, one)
    with pytest.raises(InvalidProvenance, match="sdk is missing"):
        made(tmp_path, sdk=None)
    monkeypatch.setattr(safe_yaml, "MAX_BYTES", 1000)
    with pytest.raises(UnreadableCassette, match="the limit of 1,000"):
        made(tmp_path, interaction("x" * 2000))
    assert list(tmp_path.rglob("*.yaml")) == []


def test_checks_read_the_new_cassette_before_it_replaces_the_old_one_which_every_user_may_read(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        path = made(tmp_path)
    finally:
        os.umask(before)
    assert (names(path.parent), stat.S_IMODE(path.stat().st_mode)) == ([path.name], 0o644)
    old = path.read_bytes()
    seen: list[str] = []

    def gate(draft: Path) -> None:
        assert draft.parent == path.parent
        assert load(draft).provenance.note == "new"
        assert path.read_bytes() == old
        seen.append("asked")

    save(path, [interaction()], replace(PROVENANCE, note="new"), checks=[gate, gate])
    assert (seen, load(path).provenance.note, names(path.parent)) == (["asked"] * 2, "new", [path.name])


@pytest.fixture
def old(tmp_path: Path) -> Iterator[Path]:
    """The path of a cassette that the test must leave unchanged, with nothing beside it."""
    path = made(tmp_path)
    before = path.read_bytes()
    yield path
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("error", [SecretsLeft("a key"), KeyboardInterrupt(), RuntimeError("a fault")])
def test_a_check_that_refuses_leaves_the_old_cassette(old: Path, error: BaseException) -> None:
    asked: list[Path] = []

    def refuse(draft: Path) -> None:
        if isinstance(error, ToolparityError):
            error.where = f"{draft}#1"
        raise error

    with pytest.raises(type(error)):
        save(old, [interaction("new")], PROVENANCE, checks=[refuse, asked.append])
    assert asked == []
    if isinstance(error, ToolparityError):
        assert error.where == f"{old}#1", "the name of the draft means nothing to users"


def test_a_text_that_reads_back_as_other_data_is_not_written(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = writing.text_of
    monkeypatch.setattr(writing, "text_of", lambda *given: real(*given).replace(b"hello", b"hallo"))
    with pytest.raises(CassetteNotWritten, match="reads back as other data"):
        save(old, [interaction("new")], PROVENANCE)


def recorder() -> VCR:
    vcr = VCR(record_mode="once")
    vcr.register_persister(Persister(provenance=PROVENANCE))
    return vcr


def test_vcrpy_records_and_plays_through_the_persister_and_may_bring_the_provenance(tmp_path: Path) -> None:
    path = path_for("openai.chat", "single-call", False, tmp_path)
    request = Request("POST", "https://api.openai.com/v1/chat/completions", b"{}", {"accept": "x"})
    response = {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": b"{}"}}
    with recorder().use_cassette(str(path)) as cassette:
        cassette.append(request, response)
    assert load(path).provenance.origin == "emulated"
    for vcr in (recorder(), VCR()):
        with vcr.use_cassette(str(path), record_mode="none") as cassette:
            assert cassette.play_response(request)["body"]["string"] == b"{}"
    other = path.with_name("other.yaml")
    vcr = VCR()
    vcr.register_persister(Persister())
    with vcr.use_cassette(str(other)) as cassette:
        cassette.get_metadata("toolparity", PROVENANCE.as_metadata())
        cassette.get_metadata("theirs", {"a": 1})
        cassette.append(request, response)
    assert (load(other).provenance.scenario, load(other).metadata["theirs"]) == (PROVENANCE.scenario, {"a": 1})


def test_vcrpy_filters_change_nothing_that_is_shared(tmp_path: Path) -> None:
    def spoil(request: Request) -> Request:
        request.body = b"spoiled"
        request.headers["x"] = "y"
        return request

    path = made(tmp_path)
    vcr = VCR(filter_headers=["content-type"], before_record_request=spoil)
    vcr.register_persister(Persister())
    before = load(path).requests[0]._to_dict()
    with vcr.use_cassette(str(path), record_mode="none"):
        pass
    assert load(path).requests[0]._to_dict() == before


def test_a_missing_cassette_is_missing_and_a_damaged_one_is_not_recorded_over(tmp_path: Path) -> None:
    with pytest.raises(CassetteNotFoundError):
        Persister().load_cassette(tmp_path / "no.yaml")
    path = made(tmp_path)
    path.write_text("interactions: [")
    with pytest.raises(UnreadableCassette), recorder().use_cassette(str(path)):
        pass
    assert path.read_text() == "interactions: ["


@pytest.mark.parametrize("name", ["a" * 250 + ".yaml", "é" * 125 + ".yaml"])
def test_a_name_that_just_fits_has_drafts_that_fit_and_are_swept(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    stale = tmp_path / f"{writing._draft_prefix(path)}x.tmp"
    stale.write_text("")
    save(path, [interaction()], PROVENANCE)
    save(path, [interaction("new")], PROVENANCE)
    assert os.listdir(tmp_path) == [name]


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


@pytest.mark.service("cassettes/library", "cassettes/recorder")
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


@pytest.mark.skipif(sys.platform != "linux", reason="looks for open files in /proc")
def test_writers_on_windows_lose_nothing_and_sweep_drafts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fcntl = importlib.import_module("fcntl")

    def locking(descriptor: int, mode: int, size: int) -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PermissionError from None

    def opened() -> Iterator[str]:
        for number in os.listdir("/proc/self/fd"):
            with suppress(FileNotFoundError):  # another thread closes files meanwhile
                yield os.readlink(f"/proc/self/fd/{number}")

    def refusing(step: str, path: Any, *rest: Any, real: Any) -> Any:
        if os.path.isdir(path) if step == "open" else os.path.realpath(path) in opened():
            raise PermissionError(errno.EACCES, "used by another process", os.fspath(path))
        return real(path, *rest)

    def add(_: int) -> None:
        with locks.locked(tmp_path):
            writing.replace(path, (path.read_bytes() if path.exists() else b"") + b"x")

    path = tmp_path / "counts.yaml"
    (tmp_path / f"{writing._draft_prefix(path)}x.tmp").write_text("half")
    monkeypatch.setattr(locks, "_fcntl", None)
    monkeypatch.setattr(locks, "_msvcrt", SimpleNamespace(locking=locking, LK_NBLCK=2))
    for step in ("open", "replace", "unlink"):
        monkeypatch.setattr(os, step, partial(refusing, step, real=getattr(os, step)))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(40)))
    assert (path.read_bytes(), os.listdir(tmp_path)) == (b"x" * 40, [path.name])


@pytest.mark.parametrize(
    ("step", "room", "error"),
    [
        *(("write", room, errno.ENOSPC) for room in (0, 1, 100, 1500)),
        *((step, 0, errno.EIO) for step in ("fsync", "replace", "open")),
    ],
)
def test_a_full_disk_and_a_step_that_the_disk_refuses_leave_the_old_cassette(
    old: Path, monkeypatch: pytest.MonkeyPatch, step: str, room: int, error: int
) -> None:
    real, left = getattr(os, step), room

    def refuse(*args: Any, **options: Any) -> Any:
        nonlocal left
        if not left:
            raise OSError(error, os.strerror(error))
        taken = min(left, len(args[1]))
        left -= taken
        return real(args[0], bytes(args[1][:taken]))

    monkeypatch.setattr(os, step, refuse)
    with pytest.raises(CassetteNotWritten) as caught:
        save(old, [interaction("new" * 1000)], PROVENANCE)
    monkeypatch.undo()
    reason = f"cannot be written: {os.strerror(error)} (an existing cassette is unchanged)"
    assert str(caught.value) == f"{old}: {reason}"


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
