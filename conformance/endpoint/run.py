"""Runs the probes against an endpoint, on several connections, within a budget of requests."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct

from toolparity import __version__
from toolparity.normalizer import json_codec

from ..raw_client import RawClient, Reply, Unreachable
from .address import Endpoint
from .conversation import Asked, converse, encode, first_request, unstatable
from .forms import FORMS
from .judge import Observation, judge_conversation, judge_pair, judge_response
from .preflight import check_reply, unreachable
from .probes import Probe
from .refusals import malformed, optional, refused, unlisted, unrefused
from .report import Example, Reference, Verification, check_results, compared, trigger

#: HTTP statuses of an overloaded server. The request is sent again, because they say nothing about tool calls.
_OVERLOADED = (429, 503, 529)
#: How often a request is sent at most, and the longest wait before the next attempt, in seconds.
_ATTEMPTS = 3
_LONGEST_WAIT = 30.0
_SHOWN = 2_000
#: HTTP statuses of a server that offers no list of models, or not with this key.
_NOT_OFFERED = (401, 403, 404, 405, 501)


class Settings(Struct, frozen=True):
    """The settings of a run. ``modes``: whether to stream. ``extra``: members added to each request.

    ``max_calls``: the largest number of requests, or None. ``required``: check -> the rate that it needs.
    """

    model: str
    required: Mapping[str, float]
    headers: Mapping[str, str] = {}
    modes: tuple[bool, ...] = (False, True)
    repetitions: int = 5
    jobs: int = 4
    timeout: float = 120.0
    max_calls: int | None = None
    extra: dict[str, Any] = {}


class _BudgetSpent(Exception):
    """The largest number of requests is reached."""


class Planned(Struct, frozen=True):
    """The probes of a run. ``left_out``: probe -> why its requests cannot be written on this wire.

    ``requests``: the number of requests at most. ``characters``: of all first requests, as JSON.
    """

    probes: tuple[Probe, ...]
    left_out: dict[str, str]
    requests: int
    characters: int


def plan(wire: str, probes: Iterable[Probe], settings: Settings) -> Planned:
    """Return which probes can be played on a wire, and what they send."""
    playable, left_out, requests, characters = [], {}, 0, 0
    for probe in probes:
        encoded = encode(first_request(probe, wire, settings.model, stream=False), probe)
        lost = [loss.message for loss in encoded.losses if loss.code not in ("param", "default", "model")]
        lost += filter(None, [unstatable(probe, wire)])
        if lost:
            left_out[probe.id] = lost[0]
            continue
        playable.append(probe)
        times = len(settings.modes) * settings.repetitions
        requests += probe.most_requests * times
        characters += len(json_codec.text(encoded.body)) * times
    if playable:
        opening = _opening(playable[0], wire, settings)
        requests += 2 + len([*malformed(opening, wire), *optional(opening, wire)])
    return Planned(tuple(playable), left_out, requests, characters)


def run(
    target: Endpoint,
    planned: Planned,
    settings: Settings,
    advance: Callable[[int], None] = lambda done: None,
    reference: tuple[Endpoint, Settings] | None = None,
) -> Verification:
    """Run the probes and return the result. ``advance``: called with the number of finished conversations.

    ``reference``: an endpoint that gets the same requests, in turn with the first one. Raises EndpointFailed if one
    cannot be used at all.
    """
    verifier = _Run(target, planned.probes, settings)
    other = None if reference is None else _Run(reference[0], planned.probes, reference[1])
    sides = [side for side in (verifier, other) if side is not None]
    try:
        for side in sides:
            side.preflight()
        for side in sides:
            side.single_requests()
        _conversations(sides, advance)
    finally:
        for side in sides:
            side.close()
    needing = {probe.id for probe in planned.probes if probe.script.rounds[0].calls}
    observed = verifier.observed
    return Verification(
        __version__,
        datetime.now(UTC).isoformat(timespec="seconds"),
        target.url,
        target.wire,
        settings.model,
        settings.repetitions,
        verifier.sent,
        check_results(observed, verifier.examples, settings.required),
        trigger(observed, needing),
        verifier.input_tokens,
        verifier.output_tokens,
        left_out=planned.left_out,
        stopped=verifier.stopped,
        conversations=verifier.conversations_planned,
        unplayed=verifier.conversations_planned - verifier.played,
        scenarios=[probe.id for probe in planned.probes],
        modes=["stream" if stream else "plain" for stream in settings.modes],
        asked=hashlib.sha256(msgspec.json.encode((planned.probes, settings.extra), order="sorted")).hexdigest()[:12],
        reference=None if other is None else other.as_reference(observed),
    )


def _conversations(sides: Sequence[_Run], advance: Callable[[int], None]) -> None:
    """Play every probe in every mode, as often as the settings say. The sides take turns to be the first."""
    settings, probes = sides[0].settings, sides[0].probes
    tasks = [(probe, number) for number in range(1, settings.repetitions + 1) for probe in probes]

    def play(probe: Probe, number: int) -> None:
        for side in sides if number % 2 else reversed(sides):
            side.play(probe, number)

    pool = ThreadPoolExecutor(settings.jobs, thread_name_prefix="verify-endpoint")
    try:
        waiting: set[Future[None]] = {pool.submit(play, probe, number) for probe, number in tasks}
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                future.result()
            advance(len(done))
    finally:
        pool.shutdown(cancel_futures=True)


def _opening(probe: Probe, wire: str, settings: Settings) -> dict[str, Any]:
    return {**encode(first_request(probe, wire, settings.model, stream=False), probe).body, **settings.extra}


class _Run:
    """The state of a run, which its threads share."""

    def __init__(self, target: Endpoint, probes: Sequence[Probe], settings: Settings) -> None:
        self._target = target
        self.probes = probes
        self.settings = settings
        self._lock = threading.Lock()
        self._local = threading.local()
        self._clients: list[RawClient] = []
        self.observed: list[Observation] = []
        self.examples: dict[str, Example] = {}
        self.sent = 0
        self.input_tokens = self.output_tokens = 0
        self.stopped = ""
        self.conversations_planned = len(probes) * len(settings.modes) * settings.repetitions
        self.played = 0

    def preflight(self) -> None:
        """Send one request, so that a wrong address or key ends the run at once. Raises EndpointFailed."""
        if not self.probes:
            return
        body = _opening(self.probes[0], self._target.wire, self.settings)
        try:
            reply = self._attempt(json_codec.encode(body), stream=False)
        except (Unreachable, TimeoutError) as error:
            raise unreachable(self._target, error) from None
        check_reply(reply, self._target, self.settings.model)

    def single_requests(self) -> None:
        """Send the malformed requests, those with an optional parameter, and the one for the list of models."""
        if not self.probes:
            return
        wire = self._target.wire
        body = _opening(self.probes[0], wire, self.settings)
        try:
            for check, requests, failure in (("refusal", malformed, unrefused), ("parameters", optional, refused)):
                for what, data in requests(body, wire):
                    reply = self._send_bytes(data, stream=False)
                    why = failure(reply, wire)
                    reason = f"{what}: {why}" if why else ""
                    self._observe(Observation(check, what, "plain", 1, 1, reason), data.decode(), reply)
            if (path := self._target.models_path) and wire in FORMS:
                reply = self._send_bytes(None, stream=False, path=path)
                if reply.status not in _NOT_OFFERED:
                    reason = unlisted(reply, wire)
                    self._observe(Observation("models", "the list", "plain", 1, 1, reason), None, reply)
        except _BudgetSpent:
            self._stop()

    def as_reference(self, observed: Iterable[Observation]) -> Reference:
        """Return the result of this side as the reference of another one. ``observed``: the other's observations."""
        model, stopped = self.settings.model, self.stopped
        return Reference(self._target.url, model, self.sent, compared(observed, self.observed), stopped)

    def close(self) -> None:
        """Close the connections."""
        for client in self._clients:
            client.close()

    def play(self, probe: Probe, repetition: int) -> None:
        """Play a probe in every mode."""
        firsts: dict[bool, Asked] = {}
        try:
            for stream in self.settings.modes:
                talk = self._converse(probe, repetition, stream=stream)
                firsts[stream] = talk[0]
                with self._lock:
                    self.played += 1
        except _BudgetSpent:
            self._stop()
            return
        if len(firsts) == 2 and not probe.limited:
            for check, reason in judge_pair(firsts[False], firsts[True]):
                self._observe_asked(Observation(check, probe.id, "both", repetition, 1, reason), firsts[True])

    def _converse(self, probe: Probe, repetition: int, *, stream: bool) -> list[Asked]:
        """Play one conversation and judge it. A conversation that the budget ends is not judged as a whole."""
        settings, wire, mode = self.settings, self._target.wire, "stream" if stream else "plain"
        ids: set[str] = set()
        talk: list[Asked] = []

        def send(body: Any) -> Reply:
            return self._send_bytes(json_codec.encode(body), stream=stream)

        for number, asked in enumerate(
            converse(probe, wire, settings.model, send, stream=stream, extra=settings.extra), 1
        ):
            talk.append(asked)
            if probe.allowed and 400 <= asked.reply.status < 500:
                break  # many servers lack this form of tool choice, and say so
            for check, reason in judge_response(asked, ids, wire, stream=stream, limited=probe.limited):
                self._observe_asked(Observation(check, probe.id, mode, repetition, number, reason), asked)
            ids |= {call.id for call in asked.calls}
            self._count(asked)
        for check, reason in judge_conversation(probe, talk):
            self._observe_asked(Observation(check, probe.id, mode, repetition, len(talk), reason), talk[0])
        return talk

    def _send_bytes(self, data: bytes | None, *, stream: bool, path: str = "") -> Reply:
        """Send a body, or get a path, again while the server is overloaded. An unreachable one has no status."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                reply = self._attempt(data, stream=stream, path=path)
            except TimeoutError:
                return Reply(0, b"", f"no byte arrived for {self.settings.timeout:g} seconds")
            except Unreachable as error:
                return Reply(0, b"", f"the server cannot be reached: {error.what}")
            if reply.status not in _OVERLOADED or attempt == _ATTEMPTS:
                return reply
            time.sleep(_wait(reply, attempt))
        raise AssertionError("the last attempt returns")

    def _attempt(self, data: bytes | None, *, stream: bool, path: str = "") -> Reply:
        with self._lock:
            if self.settings.max_calls is not None and self.sent >= self.settings.max_calls:
                raise _BudgetSpent
            self.sent += 1
        path = path or self._target.path(self.settings.model, stream=stream)
        return self._client().request("GET" if data is None else "POST", path, data, {})

    def _client(self) -> RawClient:
        client: RawClient | None = getattr(self._local, "client", None)
        if client is None:
            client = RawClient(self._target.parts, self.settings.headers, timeout=self.settings.timeout)
            self._local.client = client
            with self._lock:
                self._clients.append(client)
        return client

    def _observe_asked(self, observation: Observation, asked: Asked) -> None:
        self._observe(observation, asked.body, asked.reply)

    def _observe(self, observation: Observation, request: Any, reply: Reply) -> None:
        with self._lock:
            self.observed.append(observation)
            if observation.passed or observation.check in self.examples:
                return
            shown = reply.body[:_SHOWN].decode("utf-8", "replace")
            self.examples[observation.check] = Example(
                observation.probe,
                observation.mode,
                observation.repetition,
                observation.round,
                observation.reason,
                request,
                reply.status,
                shown,
            )

    def _count(self, asked: Asked) -> None:
        usage = asked.response.usage if asked.response is not None else None
        if usage is not None:
            with self._lock:
                self.input_tokens += usage.input_tokens or 0
                self.output_tokens += usage.output_tokens or 0

    def _stop(self) -> None:
        self.stopped = f"the budget of {self.settings.max_calls} requests is spent"


def _wait(reply: Reply, attempt: int) -> float:
    """Return the seconds before the next attempt: those of the server, or 1, 2, …"""
    try:
        stated = float(reply.headers.get("retry-after", ""))
    except ValueError:
        stated = float(attempt)
    return min(max(stated, 0.0), _LONGEST_WAIT)
