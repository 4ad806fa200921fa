"""Recording a scenario on a surface: through the SDK, into memory, and into the file once all is well.

The file is replaced in one step, and only by a recording that is whole (every round of the script, no error but the
script's own), scrubbed, without a secret that the scanner finds, and that replays. Whatever happens before, an
interrupt included, leaves the old file as it is.
"""

from __future__ import annotations

import getpass
import os
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct
from vcr.request import Request

from toolparity import __version__
from toolparity.normalizer.errors import MissingKey, RecordingFailed, ToolparityError
from toolparity.normalizer.model import Response

from ..library import files, write_checks, writing
from ..library.digest import digest
from ..library.provenance import Origin, Provenance, now
from ..scripts import Round, Script
from ..surfaces import Surface
from .diff import Change, diff, outline
from .replay import replay, words
from .script_driver import conversation
from .sdks import Caller, Link
from .vcr import recording

Status = Literal["recorded", "replaced", "same", "kept"]

#: What an emulated provider takes as a key.
EMULATED_KEY = "emulated-key"
#: Who ran it, where the environment says so: a CI run has no user worth naming.
_RUNNERS = {"GITHUB_ACTIONS": "GitHub Actions", "GITLAB_CI": "GitLab CI", "CI": "CI"}


class Outcome(Struct, frozen=True):
    """The result of a recording. ``status``: "kept" where a good cassette was there and no other was asked for; "same"
    where it was recorded again with the same interactions. In both cases the file is as it was before.

    ``changes`` against the cassette that stood there before.
    """

    path: Path
    status: Status
    interactions: int
    changes: list[Change] = []


class Way(Struct, frozen=True):
    """How to reach a provider. ``places``: see `vcr.recording`."""

    origin: Origin
    link: Link
    places: dict[str, str] = {}


class Recorded(Struct, frozen=True):
    """A recording in memory: vcrpy's pairs, scrubbed, and what the SDK gave."""

    data: list[tuple[Request, dict[str, Any]]]
    heard: list[Response]


def live(at: Surface, environ: Mapping[str, str] | None = None, timeout: float = 120.0) -> Way:
    """The real provider. Raises MissingKey."""
    key = (os.environ if environ is None else environ).get(at.key, "").strip()
    if not key:
        raise MissingKey(
            f"{at.name} needs a key in the environment variable {at.key}",
            hint=f"set {at.key}, or record against the emulated provider with --emulated",
        )
    return Way("live", Link(at.base, key, timeout=timeout))


def emulated(at: Surface, base: str, timeout: float = 30.0) -> Way:
    """An emulated provider at ``base`` (`emulated.servers.Servers.base`). What is recorded names the real address."""
    places = {base: at.base}
    if at.wire == "xai.grpc":
        places = {f"grpc://{base}": "grpc://" + at.base.removeprefix("https://")}
    return Way("emulated", Link(base, EMULATED_KEY, secure=False, timeout=timeout), places)


def record(
    script: Script,
    at: Surface,
    way: Way,
    *,
    stream: bool,
    root: str | os.PathLike[str],
    model: str | None = None,
    again: bool = False,
) -> Outcome:
    """Record into the library at ``root``. ``again``: also where a good cassette of the same script stands.

    An emulated recording never takes the place of a live one, nor of a file that does not tell its origin. Raises
    RecordingFailed, SecretsLeft, ReplayFailed, CassetteNotWritten; the old cassette stands then.
    """
    path = files.path_for(at, script.id, stream, root)
    old = _standing(path)
    if old is not None and not again and _fits(old, script, at, way, model):
        return Outcome(path, "kept", len(old.interactions))
    standing = None if way.origin == "live" else write_checks.makes_room
    if standing is not None:
        standing(path)  # and again when the file is replaced: recording takes its time
    made = capture(script, at, way, stream=stream, model=model)
    pairs = [writing.interaction(request, response) for request, response in made.data]
    if old is not None and digest(pairs) == old.digest and _fits(old, script, at, way, model):
        return Outcome(path, "same", len(pairs))
    told = _provenance(script, at, way, stream, model)
    changes = _changes(old, made)
    stood = path.exists()
    passing = (write_checks.scrubbed, write_checks.scanned, lambda draft: replay(draft, script))
    writing.save(path, pairs, told, gates=passing, standing=standing)
    return Outcome(path, "replaced" if stood else "recorded", len(pairs), changes)


def capture(script: Script, at: Surface, way: Way, *, stream: bool, model: str | None = None) -> Recorded:
    """Record into memory. Raises RecordingFailed where it does not become whole."""
    where = f"{script.id} on {at.name}, {'streamed' if stream else 'plain'}"
    heard: list[Response] = []
    talk = conversation(script, at, stream=stream, model=model)
    with recording(way.places) as cassette:
        try:
            with Caller(at, way.link, stream) as caller:
                body = next(talk)
                while True:
                    heard.append(caller.ask(body).response)
                    _accept(heard[-1], script.rounds[len(heard) - 1], f"{where}, round {len(heard)}")
                    body = talk.send(heard[-1])
        except StopIteration:
            pass
        except ToolparityError:
            raise
        except Exception as error:
            raise RecordingFailed(words(error), where=f"{where}, round {len(heard) + 1}") from error
    data = list(cassette.data)
    if len(heard) < len(script.rounds):
        raise RecordingFailed(f"the model ended after round {len(heard)} of {len(script.rounds)}", where=where)
    if len(data) != len(heard):
        raise RecordingFailed(f"{len(heard)} requests were sent and {len(data)} recorded", where=where)
    return Recorded(data, heard)


def drift(path: str | os.PathLike[str], script: Script, at: Surface, way: Way) -> list[Change]:
    """Ask the provider again what a cassette holds, and say what is different now. The file is not touched.

    Raises RecordingFailed, UnreadableCassette.
    """
    loaded = files.load(path)
    told = loaded.provenance
    made = capture(script, at, way, stream=told.stream, model=told.model)
    return diff(outline(_pairs(loaded)), outline(made.data))


def _changes(old: files.Loaded | None, made: Recorded) -> list[Change]:
    """Against what stood there; nothing where that cannot be read."""
    if old is None:
        return []
    try:
        before = outline(_pairs(old))
    except (ToolparityError, LookupError, TypeError, ValueError):
        return []
    return diff(before, outline(made.data))


def _accept(said: Response, round: Round, where: str) -> None:
    """An error or an answer that was cut is part of a recording only where the script wants it."""
    if round.fault is not None:
        return
    if said.error is not None:
        raise RecordingFailed(
            f"the provider answered with an error: {said.error.type}: {said.error.message}", where=where
        )
    if not said.complete:
        raise RecordingFailed("the answer ended before it was complete", where=where)


def _standing(path: Path) -> files.Loaded | None:
    """The cassette that stands there; null also where what stands there cannot be read."""
    try:
        return files.load(path) if path.exists() else None
    except ToolparityError:
        return None


def _fits(old: files.Loaded, script: Script, at: Surface, way: Way, model: str | None) -> bool:
    """Whether the cassette that stands there is as good as a new one."""
    try:
        told = old.provenance
    except ToolparityError:
        return False
    alike = told.scenario_hash == script.hash and told.model == (model or at.model)
    return alike and (told.digest, told.seal) == (old.digest, told.sealing) and told.origin in (way.origin, "live")


def _pairs(loaded: files.Loaded) -> list[tuple[Request, dict[str, Any]]]:
    return list(zip(loaded.requests, loaded.responses, strict=True))


def _provenance(script: Script, at: Surface, way: Way, stream: bool, model: str | None) -> Provenance:
    return Provenance(
        origin=way.origin,
        date=now(),
        provider=at.provider,
        wire=at.wire,
        stream=stream,
        recorder=f"toolparity {__version__}",
        model=model or at.model,
        surface=at.name,
        sdk=at.sdk,
        sdk_version=version(at.sdk),
        scenario=script.id,
        scenario_hash=script.hash,
        ran_by=_runner(),
    )


def _runner() -> str:
    """Who runs this: as TOOLPARITY_RAN_BY says, the CI service, or the user."""
    told = os.environ.get("TOOLPARITY_RAN_BY", "").strip()
    return told or next((name for variable, name in _RUNNERS.items() if os.environ.get(variable)), "") or _user()


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container's user without a name
        return "unknown"
