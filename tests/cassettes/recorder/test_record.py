"""A recording takes its place only when it is whole, clean and replayable; otherwise the old file stays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.wires import BYTE_WIRES
from toolparity import Response
from toolparity.cassettes.emulated.servers import Servers, running
from toolparity.cassettes.errors import CassetteNotWritten, RecordingFailed, ReplayFailed, SecretsLeft
from toolparity.cassettes.library import files
from toolparity.cassettes.recorder import record as recorder
from toolparity.cassettes.recorder.record import Connection, capture, drift, emulated, live, record
from toolparity.cassettes.recorder.sdks import Caller, Link
from toolparity.cassettes.scripts import Fault, Round, Say, Script, ScriptedCall, scripts
from toolparity.cassettes.sources.decoding import response_of
from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer.errors import MissingKey, ToolparityError

CHAT = SURFACES["openai.chat"]
SINGLE = scripts()["single-call"]
OTHER = msgspec.structs.replace(SINGLE, system="Be brief.")

MESSAGE = "the old file"


@pytest.fixture
def way(servers: Servers) -> Connection:
    return emulated(CHAT, servers.base(CHAT))


@pytest.fixture
def old(tmp_path: Path, way: Connection) -> bytes:
    """What is in the library before the test: a good cassette of another script with this id."""
    record(OTHER, CHAT, way, stream=False, root=tmp_path)
    return place(tmp_path).read_bytes()


def place(root: Path) -> Path:
    return files.path_for(CHAT, SINGLE.id, False, root)


def stands(root: Path, old: bytes) -> bool:
    """Whether the library holds the old file, and nothing else."""
    return [path for path in root.rglob("*") if path.is_file()] == [place(root)] and place(root).read_bytes() == old


def test_a_first_recording_is_written_with_its_provenance(
    tmp_path: Path, way: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLPARITY_RAN_BY", "A Maintainer")
    outcome = record(SINGLE, CHAT, way, stream=False, root=tmp_path)
    assert (outcome.status, outcome.interactions, outcome.changes) == ("recorded", 2, [])
    assert outcome.path == place(tmp_path)
    told = files.load(outcome.path).provenance
    assert (told.origin, told.provider, told.wire, told.surface, told.stream) == (
        "emulated",
        "openai",
        "openai.chat",
        "openai.chat",
        False,
    )
    assert (told.scenario, told.scenario_hash) == (SINGLE.id, SINGLE.hash)
    assert (told.sdk, told.model, told.ran_by) == ("openai", CHAT.model, "A Maintainer")
    assert told.sdk_version is not None
    assert told.digest == files.load(outcome.path).digest


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("name", list(SURFACES))
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
def test_recording_twice_gives_the_same_interactions(name: str, stream: bool, servers: Servers, tmp_path: Path) -> None:
    at = SURFACES[name]
    script = scripts()["two-rounds"]
    first = record(script, at, emulated(at, servers.base(at)), stream=stream, root=tmp_path / "a")
    with running() as others:
        second = record(script, at, emulated(at, others.base(at)), stream=stream, root=tmp_path / "b")
    assert files.load(first.path).interactions == files.load(second.path).interactions


def test_what_is_recorded_already_is_kept_and_nobody_is_asked(tmp_path: Path, way: Connection) -> None:
    record(SINGLE, CHAT, way, stream=False, root=tmp_path)
    before = place(tmp_path).read_bytes()
    nowhere = emulated(CHAT, "http://127.0.0.1:9/v1")
    assert record(SINGLE, CHAT, nowhere, stream=False, root=tmp_path).status == "kept"
    assert place(tmp_path).read_bytes() == before


def test_it_is_recorded_again_on_demand_and_the_same_leaves_the_file_as_it_is(
    tmp_path: Path, way: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(SINGLE, CHAT, way, stream=False, root=tmp_path)
    before, written = place(tmp_path).read_bytes(), place(tmp_path).stat()
    monkeypatch.setattr(recorder, "now", lambda: "2031-01-02T03:04:05Z")
    outcome = record(SINGLE, CHAT, way, stream=False, root=tmp_path, again=True)
    assert (outcome.status, outcome.changes) == ("same", [])
    assert place(tmp_path).read_bytes() == before
    assert (place(tmp_path).stat().st_mtime_ns, place(tmp_path).stat().st_ino) == (written.st_mtime_ns, written.st_ino)


def test_a_scenario_that_changed_is_recorded_again_unasked(tmp_path: Path, way: Connection, old: bytes) -> None:
    outcome = record(SINGLE, CHAT, way, stream=False, root=tmp_path)
    assert outcome.status == "replaced"
    assert not stands(tmp_path, old)
    assert files.load(place(tmp_path)).provenance.scenario_hash == SINGLE.hash


DAMAGED = {
    "no YAML": lambda content: "!!python/object/apply:os.system [exit]",
    "nothing": lambda content: "",
    "cut in its provenance": lambda content: content[:60],
    "an origin that is none": lambda content: content.replace("origin: live", "origin: lively"),
    "an origin that was changed": lambda content: content.replace("origin: live", "origin: emulated"),
}


@pytest.mark.thorough(keep=2)
@pytest.mark.parametrize("damage", DAMAGED)
def test_a_file_that_does_not_tell_its_origin_is_replaced_by_a_live_recording_only(
    tmp_path: Path, way: Connection, damage: str
) -> None:
    record(SINGLE, CHAT, msgspec.structs.replace(way, origin="live"), stream=False, root=tmp_path)
    place(tmp_path).write_text(DAMAGED[damage](place(tmp_path).read_text()))
    old = place(tmp_path).read_bytes()
    for again in (False, True):
        with pytest.raises(CassetteNotWritten, match="may be a live recording") as raised:
            record(SINGLE, CHAT, way, stream=False, root=tmp_path, again=again)
        assert "delete it first" in raised.value.hint
        assert stands(tmp_path, old)
    outcome = record(SINGLE, CHAT, msgspec.structs.replace(way, origin="live"), stream=False, root=tmp_path, again=True)
    assert files.load(outcome.path).provenance.origin == "live"


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("damaged", [False, True], ids=["whole", "damaged"])
def test_a_live_recording_that_is_finished_meanwhile_is_not_replaced(
    tmp_path: Path, way: Connection, old: bytes, monkeypatch: pytest.MonkeyPatch, damaged: bool
) -> None:
    record(SINGLE, CHAT, msgspec.structs.replace(way, origin="live"), stream=False, root=tmp_path / "other")
    live = place(tmp_path / "other").read_bytes()[: 70 if damaged else None]

    def overtaken(*args: Any, **more: Any) -> Any:
        made = capture(*args, **more)
        place(tmp_path).write_bytes(live)
        return made

    monkeypatch.setattr(recorder, "capture", overtaken)
    with pytest.raises(CassetteNotWritten, match="not replace"):
        record(SINGLE, CHAT, way, stream=False, root=tmp_path)
    assert place(tmp_path).read_bytes() == live


# what leaves the old file


def breaking(monkeypatch: pytest.MonkeyPatch, round: int, error: BaseException) -> None:
    """Let the SDK raise in a round."""
    ask, asked = Caller.send, [0]

    def broken(self: Caller, body: Any) -> Any:
        asked[0] += 1
        if asked[0] == round:
            raise error
        return ask(self, body)

    monkeypatch.setattr(Caller, "send", broken)


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("round", [1, 2])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1), MemoryError()], ids=lambda e: type(e).__name__)
def test_an_interrupt_in_any_round_leaves_the_old_file(
    tmp_path: Path, way: Connection, old: bytes, monkeypatch: pytest.MonkeyPatch, round: int, error: BaseException
) -> None:
    breaking(monkeypatch, round, error)
    with pytest.raises((type(error), RecordingFailed)):
        record(SINGLE, CHAT, way, stream=False, root=tmp_path)
    assert stands(tmp_path, old)


def scripted(servers_of: Script, at: str, root: Path, *, stream: bool = False) -> Callable[[], object]:
    """Record the shipped script against providers that play another one with its beginning."""

    def go() -> object:
        with running({SINGLE.id: servers_of}) as servers:
            surface = SURFACES[at]
            return record(SINGLE, surface, emulated(surface, servers.base(surface)), stream=stream, root=root)

    return go


def rounds(*made: Round) -> Script:
    return msgspec.structs.replace(SINGLE, rounds=list(made))


FIRST = SINGLE.rounds[0]


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("kind", ["overloaded", "server_error", "rate_limit"])
def test_an_error_of_the_provider_in_the_second_round_leaves_the_old_file(
    tmp_path: Path, old: bytes, kind: Any, stream: bool
) -> None:
    broken = rounds(FIRST, Round(fault=Fault(kind)))
    with pytest.raises(RecordingFailed, match="round 2: the provider returned an error"):
        scripted(broken, "openai.chat", tmp_path, stream=stream)()
    assert stands(tmp_path, old)


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("at", BYTE_WIRES)
def test_a_stream_that_is_cut_leaves_the_old_file(tmp_path: Path, old: bytes, at: str) -> None:
    broken = rounds(FIRST, Round([Say("It will")], fault=Fault("cut", after=1)))
    with pytest.raises(RecordingFailed, match="round 2: the response is incomplete"):
        scripted(broken, at, tmp_path, stream=True)()
    assert stands(tmp_path, old)


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("at", list(SURFACES))
def test_a_connection_that_breaks_leaves_the_old_file(tmp_path: Path, old: bytes, at: str) -> None:
    broken = rounds(FIRST, Round([Say("It will")], fault=Fault("reset", after=1)))
    with pytest.raises(RecordingFailed, match="round 2"):
        scripted(broken, at, tmp_path, stream=True)()
    assert stands(tmp_path, old)


def test_a_model_that_ends_too_early_leaves_the_old_file(tmp_path: Path, old: bytes) -> None:
    with pytest.raises(RecordingFailed, match="the model ended after round 1 of 2"):
        scripted(rounds(Round([Say("No idea.")], ask=SINGLE.ask)), "openai.chat", tmp_path)()
    assert stands(tmp_path, old)


def test_nobody_there_leaves_the_old_file(tmp_path: Path, old: bytes) -> None:
    with pytest.raises(RecordingFailed, match="round 1: APIConnectionError"):
        record(SINGLE, CHAT, emulated(CHAT, "http://127.0.0.1:9/v1"), stream=False, root=tmp_path)
    assert stands(tmp_path, old)


def test_a_secret_that_the_scanner_finds_leaves_the_old_file(
    tmp_path: Path, way: Connection, old: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scrubber is switched off; the model sends one of our keys."""
    from toolparity.cassettes.secrets import Scrubber

    key = "sk-proj-Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MGFiY2Rl"
    monkeypatch.setattr(Scrubber, "before_record_request", lambda self, request: request)
    monkeypatch.setattr(Scrubber, "before_record_response", lambda self, response: response)
    told = rounds(FIRST, Round([Say(f"The key is {key}.")]))
    with pytest.raises(SecretsLeft) as raised:
        scripted(told, "openai.chat", tmp_path)()
    assert key not in str(raised.value)
    assert stands(tmp_path, old)


def test_a_secret_in_an_answer_is_scrubbed(tmp_path: Path, way: Connection) -> None:
    key = "sk-proj-Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MGFiY2Rl"
    scripted(rounds(FIRST, Round([Say(f"The key is {key}.")])), "openai.chat", tmp_path)()
    text = place(tmp_path).read_text()
    assert key not in text
    assert "The key is " in text


def test_a_recording_that_does_not_replay_leaves_the_old_file(
    tmp_path: Path, way: Connection, old: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*args: Any, **more: Any) -> Any:
        made = capture(*args, **more)
        made[0][0].body = made[0][0].body.replace(b'"tools"', b'"stools"')
        return made

    monkeypatch.setattr(recorder, "capture", lost)
    with pytest.raises(ReplayFailed, match="stools: removed"):
        record(SINGLE, CHAT, way, stream=False, root=tmp_path)
    assert stands(tmp_path, old)


def test_a_live_recording_is_not_replaced_by_an_emulated_one(tmp_path: Path, way: Connection) -> None:
    """The emulated servers replace the real provider: nothing goes out."""
    record(OTHER, CHAT, msgspec.structs.replace(way, origin="live"), stream=False, root=tmp_path)
    old = place(tmp_path).read_bytes()
    with pytest.raises(CassetteNotWritten, match="does not replace a live one"):
        record(SINGLE, CHAT, way, stream=False, root=tmp_path)
    assert stands(tmp_path, old)
    assert record(SINGLE, CHAT, msgspec.structs.replace(way, origin="live"), stream=False, root=tmp_path).status == (
        "replaced"
    )


def test_an_emulated_recording_makes_room_for_a_live_one(tmp_path: Path, way: Connection) -> None:
    record(SINGLE, CHAT, way, stream=False, root=tmp_path)
    outcome = record(SINGLE, CHAT, msgspec.structs.replace(way, origin="live"), stream=False, root=tmp_path)
    assert files.load(outcome.path).provenance.origin == "live"


# live


@pytest.mark.parametrize("at", SURFACES.values(), ids=list(SURFACES))
def test_a_live_recording_needs_the_providers_key_and_says_which(at: Any) -> None:
    for environ in ({}, {at.key: " "}):
        with pytest.raises(MissingKey, match=at.key):
            live(at, environ)
    way = live(at, {at.key: "k"})
    assert way == Connection("live", Link(at.base, "k", timeout=120.0))


# drift


def test_a_provider_that_still_answers_alike_has_not_drifted(tmp_path: Path, way: Connection) -> None:
    path = record(SINGLE, CHAT, way, stream=False, root=tmp_path).path
    before = path.read_bytes()
    assert drift(path, SINGLE, CHAT, way) == []
    assert path.read_bytes() == before


def test_a_provider_that_answers_otherwise_has_drifted_and_the_file_is_not_touched(
    tmp_path: Path, way: Connection
) -> None:
    path = record(SINGLE, CHAT, way, stream=False, root=tmp_path).path
    before = path.read_bytes()
    call = FIRST.parts[0]
    assert isinstance(call, ScriptedCall)
    twice = rounds(msgspec.structs.replace(FIRST, parts=[call, call]), SINGLE.rounds[1])
    with running({SINGLE.id: twice}) as servers:
        changes = drift(path, SINGLE, CHAT, emulated(CHAT, servers.base(CHAT)))
    assert "+ call exchange 1: get_weather (function)" in map(str, changes)
    assert path.read_bytes() == before


def test_every_error_of_a_recording_is_one_of_ours() -> None:
    for error in (RecordingFailed, SecretsLeft, ReplayFailed, MissingKey):
        assert issubclass(error, ToolparityError)


# errors that the script wants: the SDK, on replay, is held to what was recorded


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("at", SURFACES.values(), ids=list(SURFACES))
def test_a_refusal_that_the_script_wants_is_recorded_and_replays(
    at: Any, stream: bool, servers: Servers, tmp_path: Path
) -> None:
    outcome = record(scripts()["error-rate-limit"], at, emulated(at, servers.base(at)), stream=stream, root=tmp_path)
    (said,) = responses(outcome.path, at)
    assert said.error is not None
    assert (said.error.status, said.error.retryable, said.choices) == (429, True, [])


@pytest.mark.thorough(keep=2)
@pytest.mark.parametrize("kind", ["overloaded", "server_error", "cut"])
@pytest.mark.parametrize("at", SURFACES.values(), ids=list(SURFACES))
def test_what_the_script_breaks_in_mid_stream_is_recorded_and_replays(at: Any, kind: Any, tmp_path: Path) -> None:
    call = FIRST.parts[0]
    broken = rounds(msgspec.structs.replace(FIRST, parts=[Say("Let me look."), call], fault=Fault(kind, after=1)))
    with running({SINGLE.id: broken}) as servers:
        outcome = record(broken, at, emulated(at, servers.base(at)), stream=True, root=tmp_path)
    (said,) = responses(outcome.path, at)
    assert (said.complete, said.text) == (False, "Let me look.")
    assert (said.error is not None) == (kind != "cut")


def responses(path: Path, at: Any) -> list[Response]:
    loaded = files.load(path)
    return [response_of(exchange, at.wire, at.provider) for exchange in loaded.exchanges]
