"""Recording of a scenario on a surface: through the SDK into memory, then into the file after all checks.

The file is replaced atomically. The new recording must be complete (every round of the script, no errors except the
script's own), scrubbed, free of secrets that the scanner finds, and replayable. Any earlier failure, an interrupt
included, leaves the old file unchanged.
"""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct
from vcr.request import Request

from toolparity import __version__
from toolparity.normalizer.errors import MissingKey, ToolparityError
from toolparity.normalizer.model import Response

from ..errors import RecordingFailed
from ..library import files, writing
from ..library.provenance import Origin, Provenance, digest, now
from ..scripts import Round, Script
from ..surfaces import Surface
from .budget import Budget
from .diff import Level, RecordingChange, diff, outline
from .replay import one_line, replay
from .script_driver import play
from .sdks import Link
from .vcr import recording

Plan = Literal["record", "replace", "keep"]
Status = Literal["recorded", "replaced", "same", "kept", "declined"]

#: The API key that an emulated provider accepts.
EMULATED_KEY = "emulated-key"
#: Environment variable -> name of the CI service. A CI run has no user worth naming.
_RUNNERS = {"GITHUB_ACTIONS": "GitHub Actions", "GITLAB_CI": "GitLab CI", "CI": "CI"}


class RecordOutcome(Struct, frozen=True):
    """The result of a recording. With the status "kept" or "same", the file is unchanged.

    ``status``: "kept" (a good cassette existed, and ``again`` was not set), "same" (recorded again with the same
    interactions), "replaced" or "recorded" (written). ``changes``: differences from the previous cassette.
    """

    path: Path
    status: Status
    interactions: int
    changes: list[RecordingChange] = []


class Connection(Struct, frozen=True):
    """How to reach a provider. ``addresses``: see `vcr.recording`."""

    origin: Origin
    link: Link
    addresses: dict[str, str] = {}


#: Asks whether the cassette at a path is replaced by a recording with these differences.
Confirm = Callable[[Path, list[RecordingChange]], bool]
#: A scrubbed recording in memory: vcrpy's pairs of request and response.
Recorded = list[tuple[Request, dict[str, Any]]]


def live(at: Surface, environ: Mapping[str, str] | None = None, timeout: float = 120.0) -> Connection:
    """Return the connection to the real provider. Raises MissingKey."""
    key = (os.environ if environ is None else environ).get(at.key, "").strip()
    if not key:
        raise MissingKey(
            f"{at.name} needs an API key in the environment variable {at.key}",
            hint=f"set {at.key}, or record against the emulated provider with --emulated",
        )
    return Connection("live", Link(at.base, key, timeout=timeout))


def emulated(at: Surface, base: str, timeout: float = 30.0) -> Connection:
    """Return the connection to an emulated provider at ``base`` (`emulated.servers.Servers.base`).

    The recording contains the real provider's address.
    """
    addresses = {base: at.base}
    if at.by_messages:
        addresses = {f"grpc://{base}": "grpc://" + at.base.removeprefix("https://")}
    return Connection("emulated", Link(base, EMULATED_KEY, secure=False, timeout=timeout), addresses)


def record(
    script: Script,
    at: Surface,
    way: Connection,
    *,
    stream: bool,
    root: str | os.PathLike[str],
    model: str | None = None,
    again: bool = False,
    budget: Budget | None = None,
    confirm: Confirm | None = None,
) -> RecordOutcome:
    """Record a scenario into the library at ``root``. ``again``: also if a good cassette of the same script exists.

    ``confirm``: called before a cassette is replaced, with all differences down to the words; False keeps it.

    An emulated recording never replaces a live one, or a file of unknown origin. Raises RecordingFailed, SecretsLeft,
    ReplayFailed, CassetteNotWritten; the old cassette then remains.
    """
    path = files.path_for(at, script.id, stream, root)
    old = _existing(path)
    if old is not None and not again and _is_as_good(old, script, at, way.origin, model):
        return RecordOutcome(path, "kept", len(old.interactions))
    may_replace = None if way.origin == "live" else writing.not_live
    if may_replace is not None:
        may_replace(path)  # checked again when the file is replaced, because recording takes time
    if budget is not None:
        budget.reserve(script, at, model or at.model_of(script), stream=stream)
    data = capture(script, at, way, stream=stream, model=model, budget=budget)
    interactions = [writing.interaction(request, response) for request, response in data]
    if old is not None and digest(interactions) == old.digest and _is_as_good(old, script, at, way.origin, model):
        return RecordOutcome(path, "same", len(interactions))
    changes = _changes(old, data)
    if confirm is not None and path.exists() and not confirm(path, _changes(old, data, "words")):
        return RecordOutcome(path, "declined", len(interactions), changes)
    status: Status = "replaced" if path.exists() else "recorded"
    checks = (writing.scrubbed, writing.scanned, lambda draft: replay(draft, script))
    provenance = _provenance(script, at, way, stream, model)
    writing.save(path, interactions, provenance, checks=checks, may_replace=may_replace)
    return RecordOutcome(path, status, len(interactions), changes)


def plan(
    script: Script,
    at: Surface,
    origin: Origin,
    *,
    stream: bool,
    root: str | os.PathLike[str],
    model: str | None = None,
    again: bool = False,
) -> Plan:
    """Return what `record` would do with the file: "record" a new one, "replace" it, or "keep" it."""
    path = files.path_for(at, script.id, stream, root)
    if not path.exists():
        return "record"
    old = _existing(path)
    return "keep" if old is not None and not again and _is_as_good(old, script, at, origin, model) else "replace"


def capture(
    script: Script,
    at: Surface,
    way: Connection,
    *,
    stream: bool,
    model: str | None = None,
    budget: Budget | None = None,
) -> Recorded:
    """Record into memory. Raises RecordingFailed if the recording is incomplete."""
    where = f"{script.id} on {at.name}, {'streamed' if stream else 'plain'}"
    rounds = 0
    with recording(way.addresses) as cassette:
        try:
            for received in play(script, at, way.link, stream=stream, model=model, limits=budget):
                rounds += 1
                _accept(received.response, script.rounds[rounds - 1], f"{where}, round {rounds}")
        except ToolparityError:
            raise
        except Exception as error:
            raise RecordingFailed(one_line(error), where=f"{where}, round {rounds + 1}") from error
    data = list(cassette.data)
    if rounds < len(script.rounds):
        raise RecordingFailed(f"the model ended after round {rounds} of {len(script.rounds)}", where=where)
    if len(data) != rounds:
        raise RecordingFailed(f"{rounds} requests were sent and {len(data)} recorded", where=where)
    return data


def drift(path: str | os.PathLike[str], script: Script, at: Surface, way: Connection) -> list[RecordingChange]:
    """Send a cassette's scenario to the provider again and return the differences. The file is not changed.

    Raises RecordingFailed, UnreadableCassette.
    """
    cassette = files.load(path)
    provenance = cassette.provenance
    data = capture(script, at, way, stream=provenance.stream, model=provenance.model)
    return diff(outline(_pairs(cassette)), outline(data))


def _changes(old: files.Cassette | None, data: Recorded, down_to: Level = "shape") -> list[RecordingChange]:
    """Return the differences from the old cassette; none if it cannot be read."""
    if old is None:
        return []
    try:
        before = outline(_pairs(old))
    except (ToolparityError, LookupError, TypeError, ValueError):
        return []
    return diff(before, outline(data), down_to)


def _accept(response: Response, round: Round, where: str) -> None:
    """Refuse an error or an incomplete response, unless the script's round has a fault."""
    if round.fault is not None:
        return
    if response.error is not None:
        raise RecordingFailed(
            f"the provider returned an error: {response.error.type}: {response.error.message}", where=where
        )
    if not response.complete:
        raise RecordingFailed("the response is incomplete", where=where)


def _existing(path: Path) -> files.Cassette | None:
    """Return the existing cassette, or None if there is none or it cannot be read."""
    try:
        return files.load(path) if path.exists() else None
    except ToolparityError:
        return None


def _is_as_good(cassette: files.Cassette, script: Script, at: Surface, origin: Origin, model: str | None) -> bool:
    """Return whether the existing cassette is as good as a new one."""
    try:
        known = cassette.provenance
    except ToolparityError:
        return False
    same_request = known.scenario_hash == script.hash and known.model == (model or at.model_of(script))
    unchanged = (known.digest, known.seal) == (cassette.digest, known.sealing)
    return same_request and unchanged and known.origin in (origin, "live")


def _pairs(cassette: files.Cassette) -> Recorded:
    return list(zip(cassette.requests, cassette.responses, strict=True))


def _provenance(script: Script, at: Surface, way: Connection, stream: bool, model: str | None) -> Provenance:
    return Provenance(
        origin=way.origin,
        date=now(),
        provider=at.provider,
        wire=at.wire,
        stream=stream,
        recorder=f"toolparity {__version__}",
        model=model or at.model_of(script),
        surface=at.name,
        sdk=at.sdk,
        sdk_version=version(at.sdk),
        scenario=script.id,
        scenario_hash=script.hash,
        ran_by=_runner(),
    )


def _runner() -> str:
    """Return who runs this: TOOLPARITY_RAN_BY, else the CI service, else the user."""
    named = os.environ.get("TOOLPARITY_RAN_BY", "").strip()
    return named or next((name for variable, name in _RUNNERS.items() if os.environ.get(variable)), "") or _user()


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # in a container, the user may have no name
        return "unknown"
