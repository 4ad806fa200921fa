"""A recording replaces a file only if it is complete, clean and replayable; otherwise the old file stays."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.wires import BYTE_WIRES
from toolparity.cassettes.emulated.servers import Servers, running
from toolparity.cassettes.errors import CassetteNotWritten, RecordingFailed, ReplayFailed, SecretsLeft
from toolparity.cassettes.library import files
from toolparity.cassettes.recorder import record as recorder
from toolparity.cassettes.recorder.record import Connection, capture, emulated, live, record
from toolparity.cassettes.recorder.sdks import Link
from toolparity.cassettes.scripts import Fault, Round, Say, Script, scripts
from toolparity.cassettes.secrets import Scrubber
from toolparity.cassettes.sources.decoding import response_of
from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer.errors import MissingKey
from toolparity.normalizer.model import Response

CHAT = SURFACES["openai.chat"]
SINGLE = scripts()["single-call"]
OTHER = msgspec.structs.replace(SINGLE, system="Be brief.")
FIRST = SINGLE.rounds[0]
KEY = "sk-proj-Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MGFiY2Rl"
NOWHERE = emulated(CHAT, "http://127.0.0.1:9/v1")
each_surface = pytest.mark.parametrize("at", SURFACES.values(), ids=list(SURFACES))


@pytest.fixture
def way(servers: Servers) -> Connection:
    return emulated(CHAT, servers.base(CHAT))


@pytest.fixture
def live_way(way: Connection) -> Connection:
    """The emulated servers replace the real provider: nothing leaves the machine."""
    return msgspec.structs.replace(way, origin="live")


@pytest.fixture
def old(tmp_path: Path, way: Connection) -> bytes:
    """The library's file before the test: a good cassette of another script with this id."""
    record(OTHER, CHAT, way, stream=False, root=tmp_path)
    return place(tmp_path).read_bytes()


def place(root: Path) -> Path:
    return files.path_for(CHAT, SINGLE.id, False, root)


def unchanged(root: Path, old: bytes) -> bool:
    """Whether the library holds the old file, and nothing else."""
    return [path for path in root.rglob("*") if path.is_file()] == [place(root)] and place(root).read_bytes() == old


def record_from(script: Script, root: Path, at: str = "openai.chat", *, stream: bool = False) -> None:
    """Record the shipped script against providers that play another one with its beginning."""
    with running({SINGLE.id: script}) as servers:
        surface = SURFACES[at]
        record(SINGLE, surface, emulated(surface, servers.base(surface)), stream=stream, root=root)


def rounds(*made: Round) -> Script:
    return msgspec.structs.replace(SINGLE, rounds=list(made))


def responses(path: Path, at: Any) -> list[Response]:
    return [response_of(exchange, at.wire, at.provider) for exchange in files.load(path).exchanges]


def test_a_first_recording_is_written_with_its_provenance_and_kept_later(
    tmp_path: Path, way: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLPARITY_RAN_BY", "A Maintainer")
    outcome = record(SINGLE, CHAT, way, stream=False, root=tmp_path)
    assert (outcome.status, outcome.interactions, outcome.changes) == ("recorded", 2, [])
    assert outcome.path == place(tmp_path)
    loaded = files.load(outcome.path)
    found = loaded.provenance
    assert (found.origin, found.provider, found.wire, found.surface) == ("emulated", "openai", *["openai.chat"] * 2)
    assert (found.stream, found.scenario, found.scenario_hash) == (False, SINGLE.id, SINGLE.hash)
    assert (found.sdk, found.model, found.ran_by) == ("openai", CHAT.model, "A Maintainer")
    assert (found.sdk_version is not None, found.digest) == (True, loaded.digest)
    before, written = place(tmp_path).read_bytes(), place(tmp_path).stat()
    monkeypatch.setattr(recorder, "now", lambda: "2031-01-02T03:04:05Z")
    assert record(SINGLE, CHAT, NOWHERE, stream=False, root=tmp_path).status == "kept"
    again = record(SINGLE, CHAT, way, stream=False, root=tmp_path, again=True)
    assert (again.status, again.changes) == ("same", [])
    assert place(tmp_path).read_bytes() == before
    assert (place(tmp_path).stat().st_mtime_ns, place(tmp_path).stat().st_ino) == (written.st_mtime_ns, written.st_ino)


DAMAGED: dict[str, Callable[[str], str]] = {
    "no YAML": lambda content: "!!python/object/apply:os.system [exit]",
    "nothing": lambda content: "",
    "cut in its provenance": lambda content: content[:60],
    "an unknown origin": lambda content: content.replace("origin: live", "origin: lively"),
    "an origin that was changed": lambda content: content.replace("origin: live", "origin: emulated"),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_file_without_a_sure_origin_is_replaced_by_a_live_recording_only(
    tmp_path: Path, way: Connection, live_way: Connection, damage: str
) -> None:
    record(SINGLE, CHAT, live_way, stream=False, root=tmp_path)
    place(tmp_path).write_text(DAMAGED[damage](place(tmp_path).read_text()))
    old = place(tmp_path).read_bytes()
    for again in (False, True):
        with pytest.raises(CassetteNotWritten, match="may be a live recording") as raised:
            record(SINGLE, CHAT, way, stream=False, root=tmp_path, again=again)
        assert "delete it first" in raised.value.hint
        assert unchanged(tmp_path, old)
    outcome = record(SINGLE, CHAT, live_way, stream=False, root=tmp_path, again=True)
    assert files.load(outcome.path).provenance.origin == "live"


def test_a_changed_scenario_is_recorded_again_and_live_over_a_live_recording_only(
    tmp_path: Path, way: Connection, live_way: Connection, old: bytes
) -> None:
    assert record(SINGLE, CHAT, way, stream=False, root=tmp_path).status == "replaced"
    assert files.load(place(tmp_path)).provenance.scenario_hash == SINGLE.hash
    assert record(SINGLE, CHAT, live_way, stream=False, root=tmp_path).status != "kept"
    live_bytes = place(tmp_path).read_bytes()
    with pytest.raises(CassetteNotWritten, match="does not replace a live one"):
        record(OTHER, CHAT, way, stream=False, root=tmp_path)
    assert unchanged(tmp_path, live_bytes)
    assert record(OTHER, CHAT, live_way, stream=False, root=tmp_path).status == "replaced"


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("length", [None, 70], ids=["whole", "damaged"])
def test_a_live_recording_that_is_finished_meanwhile_is_not_replaced(
    tmp_path: Path, way: Connection, live_way: Connection, monkeypatch: pytest.MonkeyPatch, length: int | None
) -> None:
    record(SINGLE, CHAT, live_way, stream=False, root=tmp_path / "other")
    live = place(tmp_path / "other").read_bytes()[:length]

    def overtaken(*args: Any, **options: Any) -> Any:
        made = capture(*args, **options)
        place(tmp_path).parent.mkdir(parents=True, exist_ok=True)
        place(tmp_path).write_bytes(live)
        return made

    monkeypatch.setattr(recorder, "capture", overtaken)
    with pytest.raises(CassetteNotWritten, match="not replace"):
        record(SINGLE, CHAT, way, stream=False, root=tmp_path)
    assert place(tmp_path).read_bytes() == live


_CUT, _RESET = (Round([Say("It will")], fault=Fault(kind, after=1)) for kind in ("cut", "reset"))
_ERROR = "round 2: the provider returned an error"
#: The rounds that the provider plays, the surfaces, plain or streamed, and the reason of the failure.
FAILURES: list[tuple[list[Round], str, bool, str]] = [
    *(([FIRST, Round(fault=Fault(kind))], "openai.chat", stream, _ERROR)
      for kind in ("overloaded", "server_error", "rate_limit") for stream in (False, True)),
    *(([FIRST, _CUT], at, True, "round 2: the response is incomplete") for at in BYTE_WIRES),
    *(([FIRST, _RESET], at, True, "round 2") for at in SURFACES),
]  # fmt: skip


@pytest.mark.thorough(keep=4)
@pytest.mark.parametrize(("played", "at", "stream", "reason"), FAILURES)
def test_an_error_or_break_in_the_second_round_leaves_the_old_file(
    tmp_path: Path, old: bytes, played: list[Round], at: str, stream: bool, reason: str
) -> None:
    with pytest.raises(RecordingFailed, match=reason):
        record_from(rounds(*played), tmp_path, at, stream=stream)
    assert unchanged(tmp_path, old)


@pytest.mark.parametrize("scrubs", [True, False], ids=["scrubbed", "not scrubbed"])
def test_a_secret_in_an_answer_is_scrubbed_or_the_old_file_stays(
    tmp_path: Path, old: bytes, monkeypatch: pytest.MonkeyPatch, scrubs: bool
) -> None:
    if not scrubs:
        monkeypatch.setattr(Scrubber, "before_record_request", lambda self, request: request)
        monkeypatch.setattr(Scrubber, "before_record_response", lambda self, response: response)
    refused: AbstractContextManager[Any] = nullcontext() if scrubs else pytest.raises(SecretsLeft)
    with refused as raised:
        record_from(rounds(FIRST, Round([Say(f"The key is {KEY}.")])), tmp_path)
    assert KEY not in place(tmp_path).read_text() + str(raised and raised.value)
    assert ("The key is " in place(tmp_path).read_text()) == scrubs == (not unchanged(tmp_path, old))


def test_a_provider_that_is_down_or_ends_early_and_a_failed_replay_leave_the_old_file(
    tmp_path: Path, way: Connection, old: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def changed(*args: Any, **options: Any) -> Any:
        made = capture(*args, **options)
        made[0][0].body = made[0][0].body.replace(b'"tools"', b'"stools"')
        return made

    with pytest.raises(RecordingFailed, match="the model ended after round 1 of 2"):
        record_from(rounds(Round([Say("No idea.")], ask=SINGLE.ask)), tmp_path)
    with pytest.raises(RecordingFailed, match="round 1: APIConnectionError"):
        record(SINGLE, CHAT, NOWHERE, stream=False, root=tmp_path)
    monkeypatch.setattr(recorder, "capture", changed)
    with pytest.raises(ReplayFailed, match="stools: removed"):
        record(SINGLE, CHAT, way, stream=False, root=tmp_path)
    assert unchanged(tmp_path, old)


def test_a_live_recording_needs_the_key_of_its_provider() -> None:
    for at in SURFACES.values():
        with pytest.raises(MissingKey, match=at.key):
            live(at, {at.key: " "})
        assert live(at, {at.key: "k"}) == Connection("live", Link(at.base, "k", timeout=120.0))


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@each_surface
def test_a_script_and_a_scripted_refusal_are_recorded_alike_from_other_servers(
    at: Any, stream: bool, servers: Servers, tmp_path: Path
) -> None:
    with running() as others:
        for id in ("two-rounds", "error-rate-limit"):
            one, other = (
                record(scripts()[id], at, emulated(at, each.base(at)), stream=stream, root=tmp_path / str(number)).path
                for number, each in enumerate((servers, others))
            )
            assert files.load(one).interactions == files.load(other).interactions
    (response,) = responses(one, at)
    assert response.error is not None
    assert (response.error.status, response.error.retryable, response.choices) == (429, True, [])


@pytest.mark.thorough(keep=2)
@pytest.mark.parametrize("kind", ["overloaded", "server_error", "cut"])
@each_surface
def test_a_scripted_break_of_a_stream_is_recorded_and_replays(at: Any, kind: Any, tmp_path: Path) -> None:
    parts = [Say("Let me look."), FIRST.parts[0]]
    broken = rounds(msgspec.structs.replace(FIRST, parts=parts, fault=Fault(kind, after=1)))
    with running({SINGLE.id: broken}) as servers:
        outcome = record(broken, at, emulated(at, servers.base(at)), stream=True, root=tmp_path)
    (response,) = responses(outcome.path, at)
    assert (response.complete, response.text) == (False, "Let me look.")
    assert (response.error is not None) == (kind != "cut")
