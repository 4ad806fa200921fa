"""Helpers to run turns: scripts played by the emulated provider of each wire, failing providers, counting tools."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from typing import Any, TypeVar

from tests.conformance.pages import blocks
from tests.support.wires import PLAYED_WIRES as WIRES
from toolparity.cassettes.emulated.provider import EmulatedProvider, call, scripted
from toolparity.cassettes.recorder import script_driver
from toolparity.cassettes.scripts import Fault, Part, Round, Say, Script, ServerCall, Think
from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer import json_codec
from toolparity.normalizer.conversation import Request
from toolparity.normalizer.requests import check_request, write_request
from toolparity.turns import events as turn_events
from toolparity.turns.answer_reader import close
from toolparity.turns.backoff import Backoff
from toolparity.turns.events import TurnEvent
from toolparity.turns.execution.tool import Tool
from toolparity.turns.execution.tools import Tools
from toolparity.turns.machine.state import TurnState, dump
from toolparity.turns.observer import Observer
from toolparity.turns.orchestration import Coordinator
from toolparity.turns.testing import Break, ProviderFault
from toolparity.turns.tool_adapter import ToolAdapter
from toolparity.turns.turn import Turn

__all__ = ["WIRES", "Fault", "Part", "Round", "Say", "ServerCall", "Think", "call"]

_T = TypeVar("_T")
_Test = TypeVar("_Test", bound=Callable[..., None])


def at_once(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine. A task that it leaves behind causes a warning, and warnings are errors."""
    return asyncio.run(work)


def on_every_wire(test: _Test) -> _Test:
    """Run a test on each wire; the plain run keeps three of them."""
    import pytest

    marked: _Test = pytest.mark.thorough(keep=3)(pytest.mark.parametrize("wire", WIRES)(test))
    return marked


# scripts


def script(*rounds: Iterable[Part] | Round, tools: Iterable[str] = ("look", "count", "post"), **more: Any) -> Script:
    """A script of the model's rounds. Its tools accept any arguments."""
    return scripted(*rounds, tools=tools, **more)


#: A turn of three rounds.
LONG = script(
    [Say("First."), call("look", at=1), call("count", of="ducks")],
    [call("post", text="x"), call("look", at=2)],
    [Say("All done.")],
)


def names_of_page(page: str, names: dict[str, Any] | None = None, *, without: str = "") -> dict[str, Any]:
    """The names that the Python blocks of a page define, after these. ``without``: a section that is left out."""
    defined = dict(names or {})
    for block in blocks(page):
        if block.language == "python" and block.section != without:
            exec(compile(block.text, page, "exec", dont_inherit=True), defined)
    return defined


class Emulated(EmulatedProvider):
    """Plays a script, and fails the test if a request is one that the real provider would reject.

    ``fails``: exceptions by number of the request from 0, raised after ``after`` chunks.
    """

    def __init__(
        self,
        wire: str,
        played: Script,
        *,
        fails: dict[int, BaseException] | None = None,
        after: int = 0,
        faults: dict[int, ProviderFault] | None = None,
        in_order: bool = False,
    ) -> None:
        broken = {number + 1: Break(after, error) for number, error in (fails or {}).items()}
        super().__init__(wire, played, in_order=in_order, faults={**broken, **(faults or {})})

    async def ask(self, body: Any) -> AsyncIterator[Any]:
        refused = check_request(body, self._surface.wire, provider=self.name)
        assert refused == [], refused
        answer = super().ask(body)
        try:
            async for chunk in answer:
                yield chunk
        finally:
            await close(answer)


class SameAnswer(Emulated):
    """A model that answers each request with the same text. ``inputs``: the JSON of the last message of each."""

    def __init__(self, text: str, wire: str = "openai.chat", *, thought: str = "", fault: Fault | None = None) -> None:
        parts: list[Part] = [*([Think(thought)] if thought else []), Say(text)]
        super().__init__(wire, script(Round(parts, fault=fault), tools=()))

    @property
    def inputs(self) -> list[Any]:
        messages: list[Any] = [self.asked(number).messages[-1] for number in range(len(self.bodies))]
        return [json_codec.decode(message.parts[0].text) for message in messages]


class RecordingSleep:
    """Keeps the seconds that a backoff would have slept."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.sleep(0)

    def backoff(self, **options: Any) -> Backoff:
        return Backoff(**{"jitter": lambda: 1.0, "sleep": self.sleep, **options})


# tools


class Counting:
    """Tools that record their calls. Each can have a custom function."""

    def __init__(self, **functions: Callable[..., Any]) -> None:
        self.ran: list[tuple[str, dict[str, Any]]] = []
        self.functions = functions

    def tools(self, **options: dict[str, Any]) -> Tools:
        """The tools, with ``options`` by tool name."""
        tools = Tools()
        for name in ("look", "count", "post", *(n for n in self.functions if n not in ("look", "count", "post"))):
            tools.add(Tool(**{"name": name, "function": self._counted(name), **options.get(name, {})}))
        return tools

    def _counted(self, name: str) -> Callable[..., Any]:
        async def function(**arguments: Any) -> Any:
            self.ran.append((name, arguments))
            custom = self.functions.get(name)
            if custom is None:
                return f"{name} ran"
            outcome = custom(**arguments)
            return await outcome if asyncio.iscoroutine(outcome) else outcome

        return function

    @property
    def names(self) -> list[str]:
        """The names of the tools that ran, in order."""
        return [name for name, _ in self.ran]


# events


class RecordingObserver(Observer):
    """Keeps the events, and the states as JSON."""

    def __init__(self) -> None:
        self.events: list[TurnEvent] = []
        self.states: list[bytes] = []

    async def event(self, event: TurnEvent) -> None:
        self.events.append(event)

    async def save(self, state: TurnState) -> None:
        self.states.append(dump(state))


#: The events about one block.
BLOCK_EVENTS = tuple(
    getattr(turn_events, f"TurnBlock{name}") for name in ("Start", "Delta", "Reset", "Revised", "Stop")
)


def kinds(events: Iterable[TurnEvent]) -> list[str]:
    """The types of the events, without those of a growing block."""
    return [str(event.__struct_config__.tag) for event in events if not isinstance(event, BLOCK_EVENTS[:-1])]


def rows(events: Iterable[TurnEvent]) -> list[tuple[int, str, str | None, Any]]:
    """The block rows that a log would contain."""
    kept: dict[int, tuple[int, str, str | None, Any]] = {}
    for event in events:
        if isinstance(event, turn_events.RoundStarted):
            kept = {number: row for number, row in kept.items() if number < event.first_block}
        elif isinstance(event, (turn_events.TurnBlockStop, turn_events.TurnBlockRevised)):
            block = event.block
            kept[block.sequence] = (block.sequence, block.block_type, block.text_content, block.content)
    return [kept[number] for number in sorted(kept)]


def only(events: Iterable[TurnEvent], kind: type[_T]) -> list[_T]:
    """The events of a type."""
    return [event for event in events if isinstance(event, kind)]


def finished(turn: Turn, message: Any = "Go.") -> Turn:
    """Run a turn, and return it."""
    at_once(turn.run(message))
    return turn


async def play(
    turn: Turn | Coordinator, message: str | None = "Go.", react: Callable[[Any], object] = lambda event: None
) -> list[TurnEvent]:
    """All events of a turn. ``react`` is called with each of them while the turn runs."""
    events = []
    async for event in turn.stream(message):
        events.append(event)
        react(event)
    return events


def interrupted(turn: Turn, how: str, when: Callable[[Any], Any]) -> None:
    """Run a turn until an event, and then cancel it, leave its stream ("aclose"), or cancel its task ("task")."""

    async def run() -> None:
        stream = turn.stream("Go.")
        task: Any = asyncio.current_task()
        async for event in stream:
            if await when(event):
                if how == "aclose":
                    break
                turn.cancel() if how == "cancel" else task.cancel()
        await stream.aclose()  # type: ignore[attr-defined]

    try:
        at_once(run())
    except asyncio.CancelledError:
        assert how == "task"
    else:
        assert how != "task"


def results(turn: Turn, round: int = 0) -> list[tuple[str, bool]]:
    """The text and the error flag of each result of a round."""
    tool_results = turn.state.rounds[round].tool_results
    return [("".join(getattr(part, "text", "") for part in result.parts), result.is_error) for result in tool_results]


def assert_legal(turn: Turn, *, wires: Iterable[str] = WIRES) -> None:
    """The next request of the conversation, as a turn sends it, is legal on its own wire and on every other one."""
    request: Request = turn.outcome.next("And now?")
    for wire in wires:
        provider = turn.provider.name if wire == turn.provider.wire else None
        encoded = write_request(ToolAdapter(wire, provider).adapt(request), wire, provider=provider)
        assert check_request(encoded.body, wire, provider=provider) == [], wire


def opening(played: Script, wire: str) -> Request:
    """The first request of a script, with its hosted tools and its reasoning."""
    return script_driver.opening(played, SURFACES[wire], stream=True)
