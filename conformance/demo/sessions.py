"""Starts, resumes and cancels the turns of the demo. The page reads their events from the log only."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Coroutine
from typing import Any

from msgspec import Struct

from toolparity.cassettes.emulated.servers import Servers
from toolparity.cassettes.recorder.script_driver import opening as scripted
from toolparity.cassettes.scripts import Script
from toolparity.cassettes.surfaces import Surface, surface, surface_of
from toolparity.normalizer.conversation import Request, TextPart, User
from toolparity.normalizer.turns.clients import SdkClient, client
from toolparity.normalizer.turns.errors import TurnMisused
from toolparity.normalizer.turns.events import TurnEvent
from toolparity.normalizer.turns.log import Log
from toolparity.normalizer.turns.narration.acknowledge import acknowledge
from toolparity.normalizer.turns.narration.narrating_provider import NarratingProvider
from toolparity.normalizer.turns.narration.narrator import Narrator
from toolparity.normalizer.turns.observer import Observer
from toolparity.normalizer.turns.outcome import outcome_of
from toolparity.normalizer.turns.provider import Provider
from toolparity.normalizer.turns.request import opening
from toolparity.normalizer.turns.turn import Turn

from .narrator import NarratorScriptProvider, ScriptLibrary, last_words
from .tools import ScriptedTools, Throttle
from .wire_log import LoggingProvider, WireExchange

_log = logging.getLogger("toolparity")

#: The number of turns whose wire excerpts are stored.
_STORED = 200
_CANCELLED = "the user cancelled"
_NO_SCRIPT = Script("none", "What no script knows", [])


class TurnRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The request of the page to start a turn.

    ``after``: the turn whose conversation continues. ``approval``: require approval of every call.
    """

    message: str
    surface: str = "openai.chat"
    policy: str = "all"
    limit: int | None = None
    approval: bool = False
    narrator: bool = False
    after: str | None = None


class Sessions:
    """Holds the clients and the running turns. Create, use and close it in one event loop."""

    def __init__(self, servers: Servers, log: Log, library: ScriptLibrary, throttle: Throttle) -> None:
        self.log = log
        self._servers = servers
        self._library = library
        self._throttle = throttle
        self._clients: dict[str, SdkClient] = {}
        self._turn_requests: dict[str, TurnRequest] = {}
        self._wires: dict[str, list[WireExchange]] = {}
        self._turns: dict[str, Turn] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._decided: set[str] = set()

    async def start(self, turn_request: TurnRequest) -> str:
        """Start a turn. Return its id as soon as the log has its first event. Raises ToolparityError."""
        at = surface(turn_request.surface)
        request = await self._request(turn_request, at)
        id = uuid.uuid4().hex
        self._store_request(id, turn_request)
        started = _Started()

        def make(recorder: Observer) -> Turn:
            settings: dict[str, Any] = {"policy": turn_request.policy, "limit": turn_request.limit}
            if turn_request.narrator:
                settings["on_all_failed"] = "answer"  # the narrator reports the failure, too
            return self._turn(id, request, recorder, started, **settings)

        self._spawn(id, self._first(id, make, request), started)
        await started.wait()
        return id

    async def decide(self, id: str, call_id: str, approved: bool, reason: str | None = None) -> None:
        """Approve or deny a call of a turn; a turn that is not running is resumed. Raises ToolparityError."""
        self._decided.add(id)
        if id in self._turns:
            self._turns[id].decide(call_id, approved, reason)
        else:
            await self.resume(id, (call_id, approved, reason))

    async def resume(self, id: str, decision: tuple[str, bool, str | None] | None = None) -> None:
        """Resume a turn that waits for a decision, or that a crash interrupted. Raises ToolparityError."""
        if id in self._tasks:
            await asyncio.wait([self._tasks[id]])
        logged = await self.log.turn(id)
        if logged.state is None or logged.status == "over":
            raise TurnMisused("the turn is over", where=id)
        waiting = [call.id for call in logged.state.waiting]
        if decision is not None and decision[0] not in waiting:
            raise TurnMisused(f"the call {decision[0]!r} does not wait for a decision", where=id)
        started = _Started()
        self._spawn(id, self._again(id, decision, started), started)
        await started.wait()

    async def cancel(self, id: str) -> bool:
        """Cancel a turn; every call gets a result. Return False if the turn is over. Raises ToolparityError."""
        turn = self._turns.get(id)
        if turn is None:  # it waits, or a crash interrupted it
            if id in self._tasks:
                await asyncio.wait([self._tasks[id]])
            if (await self.log.turn(id)).status == "over":
                return False
            await self.log.close(id, _CANCELLED)
            return True
        if turn.state.phase == "over":
            return False
        turn.cancel(_CANCELLED)
        return True

    def wire(self, id: str) -> list[WireExchange] | None:
        """Return the wire excerpts of a turn, or None if they are no longer stored."""
        return self._wires.get(id)

    async def aclose(self) -> None:
        """Cancel the running turns, and close the clients."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for one in self._clients.values():
            await one.aclose()

    # running turns

    async def _first(self, id: str, make: Callable[[Observer], Turn], request: Request) -> None:
        async with self.log.record() as recorder:
            await self._run(id, make(recorder), request)

    async def _again(self, id: str, decision: tuple[str, bool, str | None] | None, started: Observer) -> None:
        async with self.log.take(id) as recorder:
            state = recorder.state
            assert state is not None  # `take` raises otherwise
            turn = self._turn(id, state.request, recorder, started, state=state)
            if decision is not None:
                turn.decide(*decision)
            await self._run(id, turn, None)

    async def _run(self, id: str, turn: Turn, request: Request | None) -> None:
        """Run the turn until it is over, or waits and no decision arrived in the meantime."""
        self._turns[id] = turn
        try:
            while True:
                self._decided.discard(id)
                outcome = await turn.run(request)
                request = None
                if not outcome.waiting or id not in self._decided:
                    return
        finally:
            del self._turns[id]

    def _spawn(self, id: str, work: Coroutine[Any, Any, None], started: _Started) -> None:
        task = self._tasks[id] = asyncio.create_task(work, name=f"turn {id}")

        def done(task: asyncio.Task[None]) -> None:
            if self._tasks.get(id) is task:
                del self._tasks[id]
            error = None if task.cancelled() else task.exception()
            if error is not None:
                _log.error("turn %s stopped", id, exc_info=error)
            started.over(error)

        task.add_done_callback(done)

    def _turn(self, id: str, request: Request, *observers: Observer, **settings: Any) -> Turn:
        turn_request = self._turn_requests.get(id) or _request_of_logged_turn(request)
        at = surface(turn_request.surface)
        script = self._script(request) or _NO_SCRIPT
        tools = ScriptedTools(script, self._throttle, approval=turn_request.approval).tools
        exchanges = self._wires.setdefault(id, [])
        reached = self._client(at)
        provider: Provider = LoggingProvider(reached, exchanges, self._throttle)
        if turn_request.narrator:
            text = last_words(script) or "That is all."
            narrator = LoggingProvider(NarratorScriptProvider(reached, self._library, text), exchanges, self._throttle)
            provider = NarratingProvider(provider, Narrator(narrator), tools)
        return Turn(provider, tools, acknowledge=acknowledge, id=id, observers=observers, **settings)

    def _client(self, at: Surface) -> SdkClient:
        found = self._clients.get(at.name)
        if found is None:
            base = self._servers.base(at)
            options: dict[str, Any] = {"base_url": base, "max_retries": 0}
            if at.by_messages:
                options = {"api_host": base, "use_insecure_channel": True}
            new_client = client(at.wire, at.model, provider=at.provider, api_key="emulated", **options)
            found = self._clients[at.name] = new_client
        return found

    # requests

    async def _request(self, turn_request: TurnRequest, at: Surface) -> Request:
        if turn_request.after is not None:
            logged = await self.log.turn(turn_request.after)
            if logged.state is None or logged.status != "over":
                raise TurnMisused("the previous turn is not over", where=turn_request.after)
            return outcome_of(logged.state).next(turn_request.message)
        script = self._script(turn_request.message)
        if script is not None and at.plays(script):
            return scripted(script, at, stream=True)
        return opening(turn_request.message, self._client(at))

    def _script(self, message: Request | str) -> Script | None:
        """Return the script that begins with this message, or with the first message of the conversation."""
        text = message if isinstance(message, str) else _first_user_text(message)
        return next((script for script in self._library.values() if script.ask == text), None)

    def _store_request(self, id: str, turn_request: TurnRequest) -> None:
        self._turn_requests[id] = turn_request
        self._wires[id] = []
        for stored in (self._turn_requests, self._wires):
            while len(stored) > _STORED:
                del stored[next(iter(stored))]


class _Started(Observer):
    """Signals that the log has the first event of a turn.

    Observers run in order, and the log's recorder comes first.
    """

    def __init__(self) -> None:
        self._started: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def event(self, event: TurnEvent) -> None:
        self.over(None)

    def over(self, error: BaseException | None) -> None:
        """Resolve the signal, with the error if there is one."""
        if self._started.done():
            return
        if error is None:
            self._started.set_result(None)
        else:
            self._started.set_exception(error)

    async def wait(self) -> None:
        """Wait for the first event. Raises the error that prevented the turn from starting."""
        await self._started


def _first_user_text(request: Request) -> str:
    user = next((turn for turn in request.messages if isinstance(turn, User)), None)
    return "".join(part.text for part in user.parts if isinstance(part, TextPart)) if user is not None else ""


def _request_of_logged_turn(request: Request) -> TurnRequest:
    """Return the settings of a turn that another process started."""
    at = surface_of(request.provider, request.wire)
    return TurnRequest(_first_user_text(request), at.name if at is not None else request.wire)
