"""The manager: conversations, decisions, turns that are left and resumed, old turns, and one reader for subscribers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest
from sqlalchemy import URL

from tests.turns.log.shared import BEGAN, TWO_ROUNDS, Clock, assert_whole, killed, recorded, stored_whole
from tests.turns.playing import Counting, Emulated, Say, call, script
from toolparity.normalizer.conversation import User
from toolparity.turns import Agent, sse
from toolparity.turns.errors import LogFailed, TurnHeld, TurnMisused, UnknownTurn
from toolparity.turns.events import TurnBlockDelta, TurnComplete
from toolparity.turns.execution.tool import Tool
from toolparity.turns.log import Log, LogObserver, Page
from toolparity.turns.manager import TurnManager, TurnOrigin
from toolparity.turns.manager import hub as hubs
from toolparity.turns.manager.hub import Hub

pytestmark = [pytest.mark.service("turns/manager", "turns/log"), pytest.mark.thorough(keep=1)]

WIRE = "anthropic.messages"
ONE_CALL = script([call("look")], [Say("Done.")])
APPROVED = script([call("post"), call("look")], [Say("Posted.")])
ANSWER = script([Say("Hello.")])


class Gate:
    """A tool that waits until it is opened. ``entered``: it runs."""

    def __init__(self) -> None:
        self.entered, self.opened = asyncio.Event(), asyncio.Event()

    async def __call__(self, **arguments: Any) -> str:
        self.entered.set()
        await self.opened.wait()
        return "passed"


def agent(played: Any = TWO_ROUNDS, counting: Counting | None = None, **tools: dict[str, Any]) -> Agent:
    return Agent(Emulated(WIRE, played), (counting or Counting()).tools(**tools))


async def ended(manager: TurnManager, id: str) -> list[bytes]:
    """The events of the turn, once it is over and this process has released it."""
    pieces = [piece async for piece in manager.subscribe(id)]
    while (await manager.status(id)).running:
        await asyncio.sleep(0.001)
    return pieces


@asynccontextmanager
async def at_the_gate(log: Log) -> AsyncIterator[tuple[TurnManager, str, Gate]]:
    """A manager and its turn, whose call runs until the gate is opened."""
    gate = Gate()
    async with TurnManager(log, agent(ONE_CALL, Counting(look=gate))) as manager:
        id = await manager.start("Go.")
        await gate.entered.wait()
        yield manager, id, gate


async def waiting(manager: TurnManager, id: str) -> list[str]:
    """The ids of the calls that wait, once the turn waits."""
    while not (status := await manager.status(id)).waiting or status.running:
        await asyncio.sleep(0.001)
    assert (await manager.log.row(id)).status == "waiting"
    return [call.id for call in status.waiting]


async def test_a_conversation_continues_the_history_of_its_last_turn(log: Log) -> None:
    provider = Emulated(WIRE, ANSWER)
    async with TurnManager(log, Agent(provider)) as manager:
        await ended(manager, first := await manager.start("Go.", user="ana"))
        await ended(manager, second := await manager.start("Go on.", conversation=first, user="ana"))
        await ended(manager, third := await manager.start("And?", conversation="c", user="ben"))
        rows = {row.id: (row.conversation, row.position, row.user) for row in await manager.turns()}
        assert rows == {first: (first, 0, "ana"), second: (first, 1, "ana"), third: ("c", 0, "ben")}
        state = (await log.turn(second)).state
        assert state is not None
        users = [message.parts[0].text for message in state.request.messages if isinstance(message, User)]
        assert users == ["Go.", "Go on."]
        await ended(manager, fourth := await manager.start("x", conversation="c", user="ana"))
        assert (await log.row(fourth)).position == 0
        with pytest.raises(TurnMisused, match="several users"):
            await manager.start("x", conversation="c")


async def test_a_conversation_waits_for_the_end_of_its_last_turn(log: Log) -> None:
    async with at_the_gate(log) as (manager, id, gate):
        with pytest.raises(TurnMisused, match="is not over"):
            await manager.start("x", conversation=id)
        with pytest.raises(TurnMisused, match="is running"):
            await manager.resume(id)
        gate.opened.set()
        await ended(manager, id)
        with pytest.raises(TurnMisused, match="must be text"):
            await manager.start([{"role": "user", "content": "x"}], conversation=id)
        assert await log.turns() == [id]


async def test_of_two_turns_that_continue_the_same_one_only_the_first_begins(log: Log) -> None:
    async with TurnManager(log, agent(ANSWER)) as manager:
        await ended(manager, await manager.start("Go.", conversation="c"))
        several = [manager.start(f"{number}", conversation="c") for number in range(5)]
        started = await asyncio.gather(*several, return_exceptions=True)
        ids = [id for id in started if isinstance(id, str)]
        assert len(ids) == 1
        assert {type(other) for other in started if not isinstance(other, str)} <= {TurnHeld, TurnMisused}
        assert sorted(row.position or 0 for row in await manager.turns(conversation="c")) == [0, 1]
        with pytest.raises(TurnHeld, match="already has turn"):
            await manager.start("x", id=ids[0])


async def test_decisions_and_answers_reach_a_turn_of_another_process(url: URL) -> None:
    counting = Counting()
    tools = counting.tools(post={"approval": True})
    tools.add(Tool(name="mail"))
    played = script([call("post"), call("mail")], [Say("Done.")], tools=("post", "mail"))
    of_all = Agent(Emulated(WIRE, played), tools)
    with Log(url) as first_log, Log(url) as second_log:
        async with TurnManager(first_log, of_all) as first, TurnManager(second_log, of_all) as second:
            id = await first.start("Go.")
            post, mail = await waiting(first, id)
            with pytest.raises(TurnMisused):
                await second.decide(id, mail, True)
            await asyncio.gather(second.decide(id, post, True), second.answer(id, mail, "sent"))
            await ended(second, id)
            stored = await second_log.turn(id)
            assert_whole(stored)
            assert {one.name: one.outcome for one in stored.calls} == {"post": "returned", "mail": "returned"}
            with pytest.raises(TurnMisused, match="is over"):
                await first.decide(id, post, True)
    assert counting.ran == [("post", {})]


async def test_a_running_turn_is_cancelled_by_its_process_and_held_for_others(url: URL) -> None:
    with Log(url) as log, Log(url) as other_log:
        async with at_the_gate(log) as (manager, id, _), TurnManager(other_log, agent(ONE_CALL)) as other:
            for operation in (other.resume(id), other.cancel(id)):
                with pytest.raises(TurnHeld):
                    await operation
            assert await other.resume_left() == []
            assert await manager.cancel(id, "not needed")
            await ended(manager, id)
            await stored_whole(log, id, "cancelled")
            assert not await manager.cancel(id)


@pytest.mark.thorough(keep=1, per="{on_exit}")
@pytest.mark.parametrize("on_exit", ["cancel", "leave"])
async def test_the_exit_cancels_running_turns_or_leaves_them(log: Log, on_exit: Any) -> None:
    counting = Counting(count=(gate := Gate()))
    async with TurnManager(log, agent(counting=counting), on_exit=on_exit) as manager:
        id = await manager.start("Go.")
        await gate.entered.wait()
        while not any(one.name == "look" and one.status == "done" for one in (await log.turn(id)).calls):
            await asyncio.sleep(0.001)
    with pytest.raises(TurnMisused, match="closed"):
        await manager.start("x")
    row, leave = await log.row(id), on_exit == "leave"
    assert (row.status, row.held) == ("open" if leave else "over", False)
    if leave:
        gate.opened.set()
        async with TurnManager(log, agent(counting=counting)) as next_one:
            assert await next_one.resume_left() == [id]
            await ended(next_one, id)
    stored = await log.turn(id)
    assert_whole(stored)
    later = {"count": "unknown_outcome", "post": "returned"} if leave else {"count": "cancelled"}
    assert {one.name: one.outcome for one in stored.calls} == {"look": "returned", **later}
    assert counting.names.count("count") == 1


async def test_the_turns_of_a_killed_process_are_resumed(log: Log, clock: Clock) -> None:
    ids = [await killed(log, steps) or "" for steps in (3, 9, 20)]
    async with TurnManager(log, agent(), resume_every=0.01) as manager:
        assert await manager.resume_left() == []  # their leases have not expired
        clock.now += 61
        for id in ids:
            await ended(manager, id)
            await stored_whole(log, id, "natural_completion")


async def test_a_turn_that_cannot_be_resumed_is_tried_once(log: Log, clock: Clock) -> None:
    asked: list[TurnOrigin] = []

    async def refuse(origin: TurnOrigin) -> Agent:
        asked.append(origin)
        raise RuntimeError("no agent for this user")

    id = await killed(log, 9) or ""
    clock.now += 61
    async with TurnManager(log, refuse) as manager:
        for _ in range(2):
            assert await manager.resume_left() == []
        with pytest.raises(RuntimeError, match="no agent"):
            await manager.start("x", user="ana", conversation="c", id="new")
        with pytest.raises(UnknownTurn):
            await log.row("new")
    assert (asked[0].id, asked[0].state is not None) == (id, True)
    assert asked[1:] == [TurnOrigin("new", "c", "ana", None)]


async def test_a_caller_that_disconnects_does_not_end_the_turn(log: Log) -> None:
    gate = Gate()
    async with TurnManager(log, agent(ONE_CALL, Counting(look=gate))) as manager:
        starting = asyncio.create_task(manager.start("Go.", id="turn"))
        await asyncio.sleep(0)
        while "turn" not in manager._runs:
            await asyncio.sleep(0)
        starting.cancel()
        await gate.entered.wait()
        gate.opened.set()
        await ended(manager, "turn")
        assert (await log.row("turn")).termination == "natural_completion"


@pytest.mark.thorough(keep=2)
async def test_the_list_is_filtered_and_read_page_by_page(log: Log, clock: Clock) -> None:
    async with TurnManager(log, agent(ANSWER)) as manager:
        ids = []
        for number in range(7):
            clock.now += number % 2  # some began in the same second
            ids.append(await manager.start("Go.", user=("ana", "ben")[number % 2], id=f"t{number}"))
            await ended(manager, ids[-1])
        pages: list[list[str]] = []
        while not pages or pages[-1]:
            before = pages[-1][-1] if pages else None
            pages.append([row.id for row in await manager.turns(before=before, limit=3)])
        assert pages == [ids[:3:-1], ids[3:0:-1], ids[:1], []]
        assert [row.id for row in await manager.turns(user="ben")] == ["t5", "t3", "t1"]
        assert [row.id for row in await manager.turns(user="ben", status="open")] == []
        assert await log.turns("over", user="ana") == ["t0", "t2", "t4", "t6"]


@pytest.mark.thorough(keep=2)
async def test_old_turns_that_are_over_are_deleted(log: Log, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolparity.turns.log.store._DELETED_AT_ONCE", 2)
    async with TurnManager(log, agent(APPROVED, None, post={"approval": True})) as manager:
        for id in ("waits", "a", "b", "c", "young"):
            clock.now += 100 if id == "young" else 0
            await manager.start("Go.", id=id)
            await waiting(manager, id)
            if id != "waits":
                await manager.cancel(id)
        assert sorted(await manager.clean_up(older_than=60)) == ["a", "b", "c"]
        assert sorted(await log.turns()) == ["waits", "young"]


WRITES = 20


class CountingLog:
    """A log that counts the reads of events, and fails on demand."""

    def __init__(self, log: Log) -> None:
        self.reads = 0
        self.fails = False
        self._log = log
        self.listen = log.listen

    async def events(self, turn: str, after: int = -1, *, limit: int = 500) -> Page:
        self.reads += 1
        if self.fails:
            raise LogFailed("the database has not answered")
        return await self._log.events(turn, after, limit=limit)


def hub_of(log: Any, poll: float = 3600.0) -> Hub:
    return Hub(log, poll=poll)


async def write(recorder: LogObserver, count: int) -> None:
    """Write so many deltas and the end of the turn."""
    for seq in range(1, count):
        await recorder.event(TurnBlockDelta(seq, 1, 0, str(seq)))
        await asyncio.sleep(0.005)
    await recorder.event(TurnComplete(count, "natural_completion", "Done."))


async def follow(hub: Hub, last_event_id: int | None = None) -> list[bytes]:
    return [piece async for piece in sse.events(hub, "turn", last_event_id, poll=3600.0, retry=None)]


def numbers(pieces: list[bytes]) -> list[int]:
    return [int(piece.split(b"\n")[0][4:]) for piece in pieces]


async def test_a_write_causes_one_read_for_all_subscribers(log: Log) -> None:
    counting = CountingLog(log)
    hub = hub_of(counting)
    async with log.record() as recorder:
        await recorder.event(BEGAN)
        subscribers = [asyncio.create_task(follow(hub)) for _ in range(200)]
        await write(recorder, WRITES)
    for pieces in await asyncio.gather(*subscribers):
        assert numbers(pieces) == list(range(WRITES + 1))
    assert counting.reads < 4 * WRITES  # 200 subscribers would read at least 200 * WRITES times


async def test_a_subscriber_behind_the_feed_reads_on_from_the_log(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hubs, "_ROWS", 3)
    hub = hub_of(log)
    async with log.record() as recorder:
        await recorder.event(BEGAN)
        async with aclosing(sse.events(hub, "turn", poll=3600.0, retry=None)) as slow:
            pieces = [await anext(slow)]
            fast = asyncio.create_task(follow(hub))
            await write(recorder, 30)
            assert numbers(await fast) == list(range(31))
            assert len(hub._feeds["turn"]._rows) == 3
            pieces += [piece async for piece in slow]
    assert numbers(pieces) == list(range(31))


async def test_a_subscriber_ahead_of_the_feed_gets_no_event_again(log: Log) -> None:
    """Another process wrote the events that the subscriber has seen, and the feed has not read them yet."""
    await recorded(log, id="turn")
    last = (await log.events("turn")).seq - 1
    hub = hub_of(log)
    with hub.listen("turn"):
        feed = hub._feeds["turn"]
        feed.task.cancel()
        feed._seq = 2  # as far as it has read
        assert await follow(hub, last) == []
        assert numbers(await follow(hub, last - 1)) == [last]


async def test_a_feed_ends_with_its_last_subscriber(log: Log) -> None:
    with pytest.raises(UnknownTurn):
        await follow(hub_of(log))
    await recorded(log, id="turn")
    hub = hub_of(log)
    await asyncio.gather(*(follow(hub) for _ in range(5)))
    assert (hub._feeds, hub._reads) == ({}, {})
    while any(task.get_name() == "feed of turn turn" for task in asyncio.all_tasks()):
        await asyncio.sleep(0.001)  # its task has been cancelled


async def test_subscribers_get_the_error_of_the_log_and_later_ones_continue(log: Log) -> None:
    counting = CountingLog(log)
    hub = hub_of(counting, 0.01)
    async with log.record() as recorder:
        await recorder.event(BEGAN)
        with hub.listen("turn"):
            broken = asyncio.create_task(follow(hub, 0))
            await asyncio.sleep(0.05)
            counting.fails = True
            with pytest.raises(LogFailed):
                await broken
            counting.fails = False
            healed = asyncio.create_task(follow(hub, 0))
            await write(recorder, 1)
            assert numbers(await healed) == [1]
