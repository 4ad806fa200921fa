"""Headings of the documents, and what their programs share."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from toolparity.turns import Tool, ToolFailed, Tools, Turn, TurnEvent
from toolparity.turns.testing import EmulatedProvider, call, scripted

Program = Callable[[], Awaitable[str]]

#: The wires of the providers that document 000 compares.
WIRES = ("openai.chat", "anthropic.messages", "xai.grpc")


@dataclass(frozen=True)
class Heading:
    """A heading. ``requires``: what the document asks for, or what a heading without a program introduces.

    ``program``: returns what happened, and raises DoesNotHold if that is not what the document asks for.
    """

    title: str
    requires: str
    program: Program | None = None


class Headings(list[Heading]):
    """The headings of a document, in its order."""

    def shows(self, title: str, requires: str) -> Callable[[Program], Program]:
        """Add a heading with the program that shows it."""

        def add(program: Program) -> Program:
            self.append(Heading(title, requires, program))
            return program

        return add

    def introduces(self, title: str, content: str) -> None:
        """Add a heading that requires nothing itself."""
        self.append(Heading(title, content))


class DoesNotHold(Exception):
    """What happened is not what the document requires."""


def holds(condition: Any, what: object) -> None:
    """Raise DoesNotHold with ``what`` unless the condition holds."""
    if not condition:
        raise DoesNotHold(what)


def played(heading: Heading) -> bool | None:
    """Print a heading with what it requires and what happened. Return whether it holds, None if it requires nothing."""
    print(f"\n  {heading.title}")
    if heading.program is None:
        print(f"    introduces: {heading.requires}")
        return None
    print(f"    requires: {heading.requires}")
    logging.getLogger("toolparity").setLevel(logging.CRITICAL)  # a program that looks at the log changes it
    try:
        happened = asyncio.run(_text(heading.program))
    except DoesNotHold as error:
        print(f"    DOES NOT HOLD: {error!s:.500}")
        return False
    except Exception:
        print(f"    DOES NOT HOLD: {traceback.format_exc().rstrip()}")
        return False
    print(f"    happened: {happened}")
    return True


async def _text(program: Program) -> str:
    return await asyncio.wait_for(program(), 60)


class Toolbox:
    """Tools that note their calls in ``ran``. Each result is the name and the arguments; those in ``failing`` fail."""

    def __init__(self, *names: str, failing: tuple[str, ...] = (), **options: dict[str, Any]) -> None:
        self.ran: list[str] = []
        self.arguments: list[dict[str, Any]] = []
        self._failing = failing
        self.tools = Tools([self._tool(name, **options.get(name, {})) for name in names])

    def _tool(self, name: str, **options: Any) -> Tool:
        async def function(**arguments: Any) -> str:
            self.ran.append(name)
            self.arguments.append(arguments)
            await asyncio.sleep(0)
            if name in self._failing:
                raise ToolFailed(f"{name} is closed")
            return f"{name} ran"

        return Tool(name=name, function=options.pop("function", function), description=f"Does {name}.", **options)


class _Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@contextmanager
def logged() -> Iterator[list[str]]:
    """The lines that the library logs meanwhile, which are not printed."""
    log, handler = logging.getLogger("toolparity"), _Lines()
    level, propagates = log.level, log.propagate
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
    try:
        yield handler.lines
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
        log.propagate = propagates


async def events_of(turn: Turn, message: str = "Please help.") -> list[TurnEvent]:
    """Run a turn and return its events."""
    return [event async for event in turn.stream(message)]


def of_type(events: list[TurnEvent], kind: type[Any]) -> list[Any]:
    """Return the events of a type."""
    return [event for event in events if isinstance(event, kind)]


__all__ = [
    "WIRES",
    "EmulatedProvider",
    "Headings",
    "Toolbox",
    "call",
    "events_of",
    "holds",
    "logged",
    "of_type",
    "scripted",
]
