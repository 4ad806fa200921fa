"""Scripts: provider-neutral data that says what the user, the model and the tools say in one scenario.

Each script is a TOML file in `cassettes/scenarios/`, named after its id. It holds the user's messages, the offered
tools, the model's output in each round, and the tool results. The expected outcome belongs to the conformance suite.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Any, Literal

import msgspec
from msgspec import Struct

from toolparity.normalizer import json_codec

from .errors import InvalidScript

FaultKind = Literal["rate_limit", "overloaded", "server_error", "authentication", "cut", "reset"]
Ending = Literal["length", "content_filter", "pause"]
Pieces = Literal["tokens", "characters", "whole"]


class _Part(Struct, frozen=True, forbid_unknown_fields=True, tag_field="type", omit_defaults=True):
    pass


class Say(_Part, frozen=True, tag="text"):
    """Words for the user."""

    text: str


class Think(_Part, frozen=True, tag="reasoning"):
    """Reasoning; a provider that shows none counts its tokens only. ``withheld``: only its encrypted form is sent."""

    text: str
    withheld: bool = False


class Refuse(_Part, frozen=True, tag="refusal"):
    """The words with which the model declines."""

    text: str


class Call(_Part, frozen=True, tag="call"):
    """A call that the caller has to execute, and what the tool returns to it.

    ``arguments``, or ``arguments_text``: exactly what the model writes, where that is no JSON object or is spelled
    oddly. ``result``: text, or a value that JSON can say; null: the tool returns nothing. ``failed``: it is the text
    of an error. ``id``: the wire id, where the case is about ids; invented otherwise. ``index``: its place in a
    stream of Chat Completions, where the case is about that.
    """

    tool: str
    arguments: dict[str, Any] | None = None
    arguments_text: str | None = None
    result: Any = None
    failed: bool = False
    id: str | None = None
    index: int | None = None

    @property
    def text(self) -> str:
        """The arguments as the model writes them."""
        if self.arguments_text is not None:
            return self.arguments_text
        return json_codec.text(self.arguments or {})


class Hit(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One thing that a search found."""

    url: str
    title: str
    text: str


class ServerCall(_Part, frozen=True, tag="server_call"):
    """A call that the provider runs itself, and what came of it.

    ``tool``: its canonical name (web_search, x_search, code_execution, …). ``hits``: what a search found; ``output``:
    what code printed. ``failed``: the provider's error code.
    """

    tool: str
    arguments: dict[str, Any] = {}
    hits: list[Hit] = []
    output: str | None = None
    failed: str | None = None


Part = Say | Think | Refuse | Call | ServerCall


class Fault(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What goes wrong instead of the answer, or in the midst of it.

    ``after``: how many parts of a streamed answer come before; null: the request is refused at once. "cut" ends the
    stream without its last event; "reset" breaks the connection. ``retry_after`` in seconds.
    """

    kind: FaultKind
    after: int | None = None
    retry_after: int | None = None


class Round(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One answer of the model. ``ask``: what the user says before it (the first round has to have one).

    ``ending``: why it ends, where that is not the end of the turn or its calls. ``pieces``: how streamed text is cut.
    """

    parts: list[Part] = []
    ask: str | None = None
    ending: Ending | None = None
    fault: Fault | None = None
    pieces: Pieces = "tokens"

    @property
    def calls(self) -> list[Call]:
        """The calls for the caller, in order."""
        return [part for part in self.parts if isinstance(part, Call)]


class Offer(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A tool of the caller. ``kind`` "custom": free text in. ``waiting_hint``: what to tell the user meanwhile."""

    name: str
    description: str
    parameters: dict[str, Any] = {}
    kind: Literal["function", "custom"] = "function"
    strict: bool | None = None
    waiting_hint: str | None = None


class Script(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One situation. ``hosted``: canonical names of the tools that the provider is asked to run itself."""

    id: str
    title: str
    rounds: list[Round]
    tools: list[Offer] = []
    hosted: list[str] = []
    system: str | None = None
    parallel: bool | None = None

    @property
    def ask(self) -> str:
        """The user's first message. It is unique among the shipped scripts, so it identifies the script on any wire."""
        return self.rounds[0].ask or ""

    @property
    def needs(self) -> frozenset[str]:
        """The features that a surface needs to play the script."""
        needs = {f"server:{name}" for name in self.hosted}
        for round in self.rounds:
            needs.update(f"server:{part.tool}" for part in round.parts if isinstance(part, ServerCall))
            if round.ending is not None:
                needs.add(f"ending:{round.ending}")
            if any(isinstance(part, Refuse) for part in round.parts):
                needs.add("refusal")
        if any(tool.kind == "custom" for tool in self.tools):
            needs.add("custom")
        return frozenset(needs)

    @property
    def hash(self) -> str:
        """Hash of everything that a recording depends on: all but the title and the waiting hints."""
        bare = msgspec.structs.replace(
            self, title="", tools=[msgspec.structs.replace(tool, waiting_hint=None) for tool in self.tools]
        )
        text = msgspec.json.encode(bare, order="sorted")
        return hashlib.sha256(text).hexdigest()[:16]

    def calls_before(self, round: int) -> list[Call]:
        """Return the calls whose results are part of a round's request. Rounds are counted from 0."""
        return self.rounds[round - 1].calls if round else []


def parse(text: str, name: str) -> Script:
    """Parse a script from TOML. ``name``: its file name without the suffix. Raises InvalidScript with the location."""
    try:
        script = msgspec.convert(tomllib.loads(text), Script)
    except tomllib.TOMLDecodeError as error:
        raise InvalidScript(f"no valid TOML: {error}", where=name) from None
    except msgspec.ValidationError as error:
        raise InvalidScript(str(error), where=name, hint="see cassettes/scenarios/schema.json") from None
    for problem in _problems(script, name):
        raise InvalidScript(problem, where=name)
    return script


def _problems(script: Script, name: str) -> Iterable[str]:
    if script.id != name:
        yield f"its id is {script.id!r}, its file's name is not"
    if not script.rounds or not script.rounds[0].ask:
        yield "its first round has no ask"
    offered = {tool.name: tool for tool in script.tools}
    if len(offered) < len(script.tools):
        yield "two tools have one name"
    for number, round in enumerate(script.rounds):
        place = f"round {number + 1}"
        if not round.parts and round.fault is None:
            yield f"{place} holds neither parts nor a fault"
        if number and round.ask is None and not _goes_on(script.rounds[number - 1]):
            yield f"{place} has no ask, and the round before calls nothing"
        if round.ask is not None and number and script.rounds[number - 1].calls:
            yield f"{place} has an ask, and the calls before it have to be answered first"
        for part in round.parts:
            if isinstance(part, Call) and (part.arguments is not None) == (part.arguments_text is not None):
                yield f"{place}: {part.tool} needs arguments or arguments_text, and not both"
            if isinstance(part, ServerCall) and part.tool not in script.hosted:
                yield f"{place}: {part.tool} is not hosted"
        if round.fault is not None and round.fault.after is not None and round.fault.after > len(round.parts):
            yield f"{place}: its fault comes after more parts than there are"


def _goes_on(round: Round) -> bool:
    return bool(round.calls) or round.ending == "pause"


@cache
def scripts() -> dict[str, Script]:
    """Return the shipped scripts by id, sorted by id. Raises InvalidScript."""
    found: dict[str, Script] = {}
    asks: dict[str, str] = {}
    folder = resources.files(__package__) / "scenarios"
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if not file.name.endswith(".toml"):
            continue
        script = parse(file.read_text("utf-8"), file.name.removesuffix(".toml"))
        if script.ask in asks:
            raise InvalidScript(f"it begins like {asks[script.ask]}", where=script.id, hint="ask something else")
        asks[script.ask] = script.id
        found[script.id] = script
    return found


def schema() -> dict[str, Any]:
    """Return the JSON schema of a script file."""
    made = msgspec.json.schema(Script)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}
