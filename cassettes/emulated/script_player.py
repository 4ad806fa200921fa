"""Selects the script and the round that answer a request, and derives the data that encodes the answer.

    request body -> check of the provider's request rules -> canonical request -> script (by the first user message)
    and round (by the number of answers in the history) -> Play -> the module of the surface

The result depends only on the script and the request (and on stored answers), so the same request gets the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from typing import Any, NamedTuple

from toolparity.normalizer import json_codec
from toolparity.normalizer.conversation import Assistant, Request, TextPart, ToolChoice, ToolResults, User
from toolparity.normalizer.errors import ToolparityError
from toolparity.normalizer.requests import check_request, read_request, request_rules
from toolparity.normalizer.wires.registry import specs
from toolparity.normalizer.wires.rule import Violation

from ..scripts import Fault, Part, Refuse, Round, Say, Script, ScriptedCall, Think, scripts
from ..surfaces import Surface
from .encoding import encoded

_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#: 2026-01-01T00:00:00Z: the timestamps of emulated answers start here.
EPOCH = 1_767_225_600
_TOKEN = re.compile(r"\s?[^\W_]{1,6}|\s+|.", re.DOTALL)


class ProviderRefusal(Exception):
    """The provider returns an error.

    ``kind``: "invalid_request", "not_found", "authentication" or a fault of the script. ``status``: the HTTP status,
    None for the default of ``kind``. ``retry_after``: seconds. ``rule``: the id of the violated request rule, and
    ``error_type``: the provider's error type in that rule. ``path``: the member that caused the error, and ``value``:
    its value (for "authentication" the key, None without a key).
    """

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        status: int | None = None,
        error_type: str | None = None,
        path: str | None = None,
        retry_after: int | None = None,
        rule: str | None = None,
        value: Any = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.status = status
        self.error_type = error_type
        self.path = path
        self.retry_after = retry_after
        self.rule = rule
        self.value = value


class ConnectionReset(Exception):
    """The script breaks the connection here: the server sends nothing more, not even the end of the stream."""


class TokenCounts(NamedTuple):
    """Approximate tokens of an answer. ``output`` includes ``reasoning``."""

    input: int
    output: int
    reasoning: int


class Play(NamedTuple):
    """The answer to a request before it is encoded: a round of a script, on a surface.

    ``number``: the index of the round, from 0. ``body``: the request as received (parsed JSON, or the protobuf
    message).
    """

    surface: Surface
    script: Script
    number: int
    round: Round
    request: Request
    body: Any

    @property
    def model(self) -> str:
        """The model of the request, or the default of the surface."""
        return self.request.model or self.surface.model

    @property
    def parts(self) -> list[Part]:
        """The parts of the round, without the calls that ``tool_choice`` or a ban of parallel calls forbids."""
        choice = self.request.tool_choice
        forbidden = choice is not None and choice.mode == "none"
        named = frozenset((choice.name,)) if choice is not None and choice.mode == "named" else _allowed(choice)
        allowed = 0 if forbidden else 1 if self.request.parallel is False else len(self.round.calls)
        numbers = count()
        return [
            part
            for part in self.round.parts
            if not isinstance(part, ScriptedCall) or ((named is None or part.tool in named) and next(numbers) < allowed)
        ]

    @property
    def calls(self) -> list[ScriptedCall]:
        """The calls in `parts` that the client has to run."""
        return [part for part in self.parts if isinstance(part, ScriptedCall)]

    @property
    def created(self) -> int:
        """The timestamp of the answer, in seconds since 1970."""
        return EPOCH + int(self._digest("created")[:4], 16) % 86_400 + 10 * self.number

    def id(self, what: str, length: int = 24, *, alphabet: str = _BASE62) -> str:
        """Return a deterministic id of ``length`` characters. ``what``: identifies the object within the answer."""
        number = int(self._digest(what), 16)
        letters = []
        for _ in range(length):
            number, rest = divmod(number, len(alphabet))
            letters.append(alphabet[rest])
            if not number:
                number = int(self._digest(f"{what}+{len(letters)}"), 16)
        return "".join(letters)

    def hex(self, what: str, length: int = 48) -> str:
        """Return a deterministic id in hexadecimal digits, see `id`."""
        return self.id(what, length, alphabet="0123456789abcdef")

    def uuid(self, what: str) -> str:
        """Return a deterministic UUID of version 4, see `id`."""
        return str(uuid.UUID(self._digest(what)[:32], version=4))

    def noise(self, what: str, size: int) -> bytes:
        """Return ``size`` deterministic bytes, in place of a value that only the provider can decode, see `id`."""
        return bytes.fromhex(self.hex(what, 2 * size))

    def opaque(self, what: str, size: int) -> str:
        """Return `noise` in Base64 without padding, as OpenAI and xAI send it."""
        return base64.b64encode(self.noise(what, size)).decode().rstrip("=")

    def text(self, *kinds: type[Say | Refuse | Think]) -> str:
        """Return the concatenated text of the parts of these kinds."""
        return "".join(part.text for part in self.parts if isinstance(part, kinds))

    def usage(self, server_calls: Iterable[str] = (), *, reasons: bool = True) -> TokenCounts:
        """Return the usage of the answer.

        ``server_calls``: arguments that the model wrote for server calls. ``reasons``: whether the model reasons.
        """
        written = [part.text for part in self.parts if isinstance(part, (Say, Refuse, ScriptedCall))]
        reasoning = tokens(self.text(Think)) if reasons else 0
        return TokenCounts(
            input_tokens(self.request), sum(map(tokens, (*written, *server_calls))) + reasoning + 4, reasoning
        )

    def pieces(self, text: str) -> list[str]:
        """Return the fragments in which the stream sends a text."""
        if self.round.pieces == "whole":
            return [text] if text else []
        if self.round.pieces == "characters":
            return list(text)
        if self.round.pieces == "kilobytes":
            return [text[at : at + 1000] for at in range(0, len(text), 1000)]
        return pieces(text, self.script.id)

    def sent(self, *, stream: bool) -> list[bytes]:
        """Return the answer as the provider sends it: the events of the stream, or its one body."""
        emulation = self.surface.emulation
        answers = emulation.events(self) if stream else [emulation.answer(self)]
        return [encoded(self.surface, answer) for answer in answers]

    @property
    def fault(self) -> Fault | None:
        """The script's failure in the middle of this answer, None if there is none."""
        fault = self.round.fault
        return fault if fault is not None and fault.after is not None else None

    @property
    def streamed_parts(self) -> list[Part]:
        """The parts that a stream sends: all, or those before the failure."""
        return self.parts if self.fault is None else self.parts[: self.fault.after]

    def failure(self) -> ProviderRefusal | None:
        """Return the error with which a stream fails. None: the stream is complete, or just ends at the failure.

        Raises ConnectionReset if the connection breaks.
        """
        fault = self.fault
        if fault is None or fault.kind == "cut":
            return None
        if fault.kind == "reset":
            raise ConnectionReset
        return ProviderRefusal(fault.kind, self.script.id, retry_after=fault.retry_after)

    def _digest(self, what: str) -> str:
        text = "/".join((self.surface.name, self.script.id, str(self.number), what))
        return hashlib.sha256(text.encode()).hexdigest()


class StoredAnswers:
    """The answers that a provider stores between requests, by id (for ``previous_response_id``)."""

    def __init__(self) -> None:
        self._answers: dict[str, Play] = {}

    def keep(self, id: str, play: Play) -> None:
        self._answers[id] = play

    def find(self, id: str) -> tuple[str, int] | None:
        """Return the id of the script and the index of the round of a stored answer, None for an unknown id."""
        stored = self._answers.get(id)
        return (stored.script.id, stored.number) if stored is not None else None

    def answer(self, id: str) -> Play | None:
        """Return the stored answer with this id, None for an unknown id."""
        return self._answers.get(id)

    def forget(self, id: str) -> None:
        """Delete the stored answer with this id, if there is one."""
        self._answers.pop(id, None)


def play(surface: Surface, body: Any, held: StoredAnswers, library: Mapping[str, Script] | None = None) -> Play:
    """Return the answer to a request.

    ``library``: scripts by id, by default those of this package. Raises ProviderRefusal if the provider would return an
    error, the script contains one at this round, or no script matches.
    """
    if (refused := refusal(surface, body)) is not None:
        raise refused
    try:
        request = read_request(body, surface.wire, provider=surface.provider)
    except ToolparityError as error:
        raise ProviderRefusal("invalid_request", error.what) from None
    if request.model is not None and not _has_model(surface.provider, request.model):
        words = f"The model `{request.model}` does not exist or you do not have access to it."
        raise ProviderRefusal("not_found", words, status=404, path="model", rule="model-known", value=request.model)
    script, index = _place(request, held, scripts() if library is None else library)
    if index >= len(script.rounds):
        raise ProviderRefusal("invalid_request", f"the script {script.id} has only {len(script.rounds)} rounds")
    round = script.rounds[index]
    if round.fault is not None and round.fault.after is None:
        kind = round.fault.kind
        raise ProviderRefusal(kind, f"the script {script.id} refuses here: {kind}", retry_after=round.fault.retry_after)
    return Play(surface, script, index, round, request, body)


def refusal(surface: Surface, body: Any) -> ProviderRefusal | None:
    """Return the error of a request that breaks a rule of its provider, None if it breaks none."""
    violation = next(iter(check_request(body, surface.wire, provider=surface.provider)), None)
    return None if violation is None else _refused(surface, body, violation)


def _has_model(provider: str, model: str) -> bool:
    """Return whether a provider has a model of this name, by the patterns in the specs of its wires."""
    patterns = [spec.models for spec in specs() if spec.owner == provider and spec.models]
    return not patterns or any(re.match(pattern, model) for pattern in patterns)


def _refused(surface: Surface, body: Any, violation: Violation) -> ProviderRefusal:
    rules = request_rules(body, surface.wire, surface.provider)
    rule = next(rule_of_wire for rule_of_wire in rules if rule_of_wire.id == violation.rule)
    return ProviderRefusal(
        "invalid_request",
        violation.message,
        status=rule.status,
        error_type=rule.error_type,
        path=violation.path,
        rule=violation.rule,
        value=_at(body, violation.path),
    )


def _at(body: Any, path: str) -> Any:
    """Return the value at a path like ``messages[3].content[0]``, None if there is none."""
    for step in re.findall(r"[^.\[\]]+", path):
        if isinstance(body, dict):
            body = body.get(step)
        elif isinstance(body, list) and step.isdigit() and int(step) < len(body):
            body = body[int(step)]
        else:
            return None
    return body


def _place(request: Request, held: StoredAnswers, library: Mapping[str, Script]) -> tuple[Script, int]:
    """Return the script and the index of the round, which is the number of answers in the conversation."""
    answers = sum(_speaks(request))
    if request.previous_response_id is not None:
        stored = held.find(request.previous_response_id)
        if stored is None:
            words = f"Previous response with id '{request.previous_response_id}' not found."
            raise ProviderRefusal("not_found", words, path="previous_response_id")
        return library[stored[0]], stored[1] + 1 + answers
    ask = first_ask(request)
    for script in library.values():
        if script.ask == ask:
            return script, answers
    raise ProviderRefusal("invalid_request", f"no script begins with these words: {ask[:80]!r}", path="messages")


def first_ask(request: Request) -> str:
    """Return the text of the user's first message, by which a script is chosen."""
    first = next((turn.parts for turn in request.messages if isinstance(turn, User)), [])
    return "".join(part.text for part in first if isinstance(part, TextPart))


def _allowed(choice: ToolChoice | None) -> frozenset[str | None] | None:
    """Return the tools that a tool choice of a wire lists, None for another choice."""
    raw = choice.raw if choice is not None and choice.mode == "raw" else None
    holder = raw.get("allowed_tools", raw) if isinstance(raw, dict) else {}
    listed = holder.get("tools", holder.get("allowedFunctionNames")) if isinstance(holder, dict) else None
    if not isinstance(listed, list):
        return None
    tools = [tool.get("function", tool) if isinstance(tool, dict) else {"name": tool} for tool in listed]
    return frozenset(tool.get("name") for tool in tools if isinstance(tool, dict))


def _speaks(request: Request) -> Iterator[bool]:
    """Yield one boolean per assistant message in the history: whether it begins an answer.

    Consecutive assistant messages are one answer, except after a pause.
    """
    before = None
    for turn in request.messages:
        if isinstance(turn, Assistant):
            yield before is None or not isinstance(before, Assistant) or _paused(before)
        before = turn


def _paused(turn: Assistant) -> bool:
    choices = turn.response.choices
    return bool(choices) and choices[0].stop.reason == "pause"


def _texts(request: Request) -> Iterator[str]:
    for turn in request.messages:
        if isinstance(turn, Assistant):
            for choice in turn.response.choices:
                yield choice.text
                for call in choice.calls:
                    yield call.arguments_text
        elif isinstance(turn, ToolResults):
            for result in turn.results:
                yield from (part.text for part in result.parts if isinstance(part, TextPart))
        elif hasattr(turn, "parts"):
            yield from (part.text for part in turn.parts if isinstance(part, TextPart))


def input_tokens(request: Request) -> int:
    """Return the approximate number of tokens of a request."""
    return sum(tokens(text) for text in _texts(request)) + 20 * len(request.tools) + 8


def tokens(text: str) -> int:
    """Return the approximate number of tokens of a text."""
    return len(_TOKEN.findall(text))


def pieces(text: str, seed: str) -> list[str]:
    """Split a text into fragments of one to three tokens. The same ``seed`` yields the same fragments."""
    tokens_of_text = _TOKEN.findall(text)
    fragments = []
    at = 0
    for number in range(len(tokens_of_text)):
        if at >= len(tokens_of_text):
            break
        width = 1 + hashlib.sha256(f"{seed}/{number}".encode()).digest()[0] % 3
        fragments.append("".join(tokens_of_text[at : at + width]))
        at += width
    return fragments


def result_text(call: ScriptedCall) -> str:
    """Return the scripted result of a call as text, "" if it has none."""
    if call.result is None:
        return ""
    return call.result if isinstance(call.result, str) else json_codec.text(call.result)
