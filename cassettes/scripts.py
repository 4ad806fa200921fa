"""Scenario files and their scripts.

Each scenario is one TOML file in `cassettes/scenarios/`, named after its id. Most files hold a script: the user's
messages, the offered tools, the model's output in each round, and the tool results. The others hold response bodies
that no provider produces on demand. This module reads the files. The expected results in them belong to
`toolparity.conformance.cases.scenarios`.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, Literal

import msgspec
from msgspec import Struct

from toolparity.normalizer import json_codec

from .errors import InvalidScenario

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


class ScriptedCall(_Part, frozen=True, tag="call"):
    """A call that the caller has to execute, and what the tool returns to it.

    ``arguments``, or ``arguments_text``: exactly what the model writes, where that is not a JSON object or is spelled
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
    """A call that the provider runs itself, and its result.

    ``tool``: its canonical name (web_search, x_search, code_execution, …). ``hits``: what a search found; ``output``:
    what code printed. ``failed``: the provider's error code.
    """

    tool: str
    arguments: dict[str, Any] = {}
    hits: list[Hit] = []
    output: str | None = None
    failed: str | None = None


Part = Say | Think | Refuse | ScriptedCall | ServerCall


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
    def calls(self) -> list[ScriptedCall]:
        """The calls for the caller, in order."""
        return [part for part in self.parts if isinstance(part, ScriptedCall)]


class OfferedTool(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A tool of the caller. ``kind`` "custom": free text in. ``waiting_hint``: what the user sees meanwhile."""

    name: str
    description: str
    parameters: dict[str, Any] = {}
    kind: Literal["function", "custom"] = "function"
    strict: bool | None = None
    waiting_hint: str | None = None


class Script(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The script of one scenario. ``hosted``: canonical names of the tools that the provider is asked to run itself."""

    id: str
    title: str
    rounds: list[Round]
    tools: list[OfferedTool] = []
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


class WrittenBody(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A response body: ``text``, or the content of ``file`` in `cassettes/scenarios/`.

    For `xai.grpc`: one message per line, in protobuf's JSON or in base64. ``request``: the request body, if it is not
    the one made from the scenario's ``ask``. ``provider``: the provider, if it is not the surface's own.
    """

    surface: str
    stream: bool = False
    text: str | None = None
    file: str | None = None
    status: int = 200
    request: dict[str, Any] | None = None
    provider: str | None = None

    @property
    def data(self) -> bytes:
        """The bytes of the body."""
        return (FOLDER / str(self.file)).read_bytes() if self.text is None else self.text.encode()


class ScenarioFile(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One scenario file: a script with ``rounds``, or ``bodies`` with the ``expected`` result.

    ``guards``: ids of the failures that the scenario guards against. ``limit``: how many calls may be kept. ``bodies``
    answer ``ask``, with ``tools`` declared; with ``continues``, the results of the calls are sent back. ``exceptions``:
    members of the expected result that differ, by surface and round (``"openai.chat/0"``) or by surface and mode
    (``"anthropic.messages/plain"``).
    """

    title: str
    guards: list[str] = []
    level: Literal["must", "should"] = "must"
    limit: int | None = None
    tools: list[OfferedTool] = []
    rounds: list[Round] = []
    hosted: list[str] = []
    system: str | None = None
    parallel: bool | None = None
    ask: str = ""
    continues: bool = False
    bodies: list[WrittenBody] = []
    exceptions: dict[str, dict[str, Any]] = {}
    #: Checked in `toolparity.conformance.cases.scenarios`.
    expected: Any = None

    def script(self, id: str) -> Script | None:
        """Return the script of the scenario, or None if the file holds bodies."""
        if self.bodies:
            return None
        return Script(id, self.title, self.rounds, self.tools, self.hosted, self.system, self.parallel)


FOLDER = resources.files(__package__) / "scenarios"


def read(file: Traversable) -> ScenarioFile:
    """Read a scenario file. Raises InvalidScenario with the scenario's id."""
    id = file.name.removesuffix(".toml")
    try:
        scenario = msgspec.convert(tomllib.loads(file.read_text("utf-8")), ScenarioFile)
    except tomllib.TOMLDecodeError as error:
        raise InvalidScenario(f"invalid TOML: {error}", where=id) from None
    except msgspec.ValidationError as error:
        raise InvalidScenario(str(error), where=id, hint="see cassettes/scenarios/schema.json") from None
    script = scenario.script(id)
    for problem in _body_problems(scenario) if script is None else _script_problems(script):
        raise InvalidScenario(problem, where=id)
    if script is not None and (scenario.ask or scenario.continues or scenario.expected is not None):
        raise InvalidScenario("ask, continues and expected need bodies, and exclude rounds", where=id)
    return scenario


def _body_problems(scenario: ScenarioFile) -> Iterable[str]:
    if scenario.rounds or scenario.expected is None:
        yield "bodies need expected, and exclude rounds"
    if any((body.text is None) == (body.file is None) for body in scenario.bodies):
        yield "each body needs either text or file"
    if scenario.continues and not scenario.ask:
        yield "continues needs ask"


def _script_problems(script: Script) -> Iterable[str]:
    if not script.rounds or not script.rounds[0].ask:
        yield "the first round needs ask (or the scenario needs bodies)"
    if len({tool.name for tool in script.tools}) < len(script.tools):
        yield "two tools have the same name"
    for index, round in enumerate(script.rounds):
        label = f"round {index + 1}"
        if not round.parts and round.fault is None:
            yield f"{label} has neither parts nor a fault"
        if index and round.ask is None and not _continues(script.rounds[index - 1]):
            yield f"{label} has no ask, and the round before it has no calls"
        if round.ask is not None and index and script.rounds[index - 1].calls:
            yield f"{label} has an ask, but must answer the calls before it first"
        for part in round.parts:
            if isinstance(part, ScriptedCall) and (part.arguments is not None) == (part.arguments_text is not None):
                yield f"{label}: {part.tool} needs either arguments or arguments_text"
            if isinstance(part, ServerCall) and part.tool not in script.hosted:
                yield f"{label}: {part.tool} is missing in hosted"
        if round.fault is not None and round.fault.after is not None and round.fault.after > len(round.parts):
            yield f"{label}: its fault comes after more parts than the round has"


def _continues(round: Round) -> bool:
    return bool(round.calls) or round.ending == "pause"


@cache
def scenario_files() -> dict[str, ScenarioFile]:
    """Return the shipped scenario files by id, sorted by id. Raises InvalidScenario."""
    files = sorted((file for file in FOLDER.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name)
    return {file.name.removesuffix(".toml"): read(file) for file in files}


@cache
def scripts() -> dict[str, Script]:
    """Return the shipped scripts by id, sorted by id. Raises InvalidScenario."""
    library: dict[str, Script] = {}
    asks: dict[str, str] = {}
    for id, file in scenario_files().items():
        if (script := file.script(id)) is None:
            continue
        if script.ask in asks:
            raise InvalidScenario(f"the first ask is that of {asks[script.ask]}", where=id, hint="ask something else")
        asks[script.ask] = id
        library[id] = script
    return library
