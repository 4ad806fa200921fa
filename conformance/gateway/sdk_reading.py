"""What the official SDK of the client's wire makes of a reply.

The judge's own reader repairs what it can: calls that share an index, missing ends, unknown events. Applications read
with an SDK, which does not. So each reply is read with both, and they must agree. An SDK that is not installed is
replaced by its rule for streams.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any

import msgspec
from msgspec.structs import replace

from toolparity.normalizer import json_codec
from toolparity.reports.results import Effect

from .. import sdk_rules
from ..answer import SubjectAnswer, parse_answer
from ..cases.expected import Expected
from ..laws.law import Failure
from ..oracle import json_values
from ..subjects import SubjectExchange
from ..subjects.reference import read_answer
from .conversation import Turn

#: Client wire -> the module and the class of the subject that reads it with the official SDK.
_SDKS = {
    "openai.chat": ("openai_sdk", "OpenAISDK"),
    "openai.responses": ("openai_sdk", "OpenAISDK"),
    "anthropic.messages": ("anthropic_sdk", "AnthropicSDK"),
}
#: The stop reasons that every SDK passes on, so that they can be compared.
_STOPS = frozenset(("end_turn", "tool_calls", "max_tokens"))


class SdkReader:
    """Reads the replies on one client wire, for one thread."""

    def __init__(self, wire: str) -> None:
        self._wire = wire
        self._name, self._call = reader(wire)

    def failures(
        self, turn: Turn, exchange: SubjectExchange, provider: str, expected: Expected, number: int
    ) -> Iterator[Failure]:
        """Yield what the SDK reads otherwise than the laws, unless it reads the provider's own bytes so, too.

        ``provider``: that of the client's dialect.
        """
        if self._call is None or not is_usual(expected):
            return
        if turn.response is None or turn.answer.error is not None or turn.reply.broken:
            return
        read = self._read(replace(exchange, wire=self._wire, provider=provider, pieces=[turn.reply.body], status=200))
        own = self._read(exchange) if exchange.wire == self._wire else None
        if own is None and expected.findings:
            return  # the judge's reader repairs the response, which is not the gateway's task
        if own is not None and own.error is not None:
            return
        if read.error is not None:
            yield Failure(number, f"{self._name} cannot read the reply", None, read.error, effect="refused")
            return
        for what, wanted, got in _differences(turn.answer, read):
            if own is None or got != _MEMBERS[what](own):
                effect: Effect = "lost" if not got or (what == "calls" and len(got) < len(wanted)) else "altered"
                yield Failure(number, f"{self._name} reads other {what} in the reply", wanted, got, effect=effect)

    def reading(self, turn: Turn, exchange: SubjectExchange, provider: str) -> str:
        """Return what the SDK makes of a streamed reply, if it is something else than the laws read; else ""."""
        if self._call is None or turn.response is None:
            return ""
        sent = replace(exchange, wire=self._wire, provider=provider, pieces=[turn.reply.body], status=200)
        read = self._read(sent)
        if read.error is not None:
            return f"{self._name} cannot read the stream: {read.error}"
        for what, wanted, got in _differences(turn.answer, read):
            return f"{self._name} reads other {what}: {json_codec.shown(got)} instead of {json_codec.shown(wanted)}"
        return sdk_rules.finished(self._wire, json_values(sent))

    def _read(self, exchange: SubjectExchange) -> SubjectAnswer:
        assert self._call is not None
        try:
            answer = self._call(exchange)
            for call in answer.get("calls", ()) if self._wire != "anthropic.messages" else ():
                if not isinstance(text := call.get("arguments_text", call.get("arguments")), str):
                    raise TypeError(f"the arguments are not text, but {type(text).__name__}")
            return parse_answer(answer)
        except Exception as error:  # an SDK raises errors of any type for a reply that it cannot read
            return SubjectAnswer(error=f"{type(error).__name__}: {error}"[:200])


def is_usual(expected: Expected) -> bool:
    """Return whether a response is compared: it is complete, and its calls are of one choice and can run."""
    usual = all((call.kind, call.status, call.choice) == ("function", "complete", 0) for call in expected.calls)
    return expected.complete and usual and not expected.failed and not expected.refusal


def reader(wire: str) -> tuple[str, Callable[[SubjectExchange], Any] | None]:
    """Return the name and the function that reads. The function is None if the wire has neither SDK nor rule here."""
    if wire not in _SDKS:
        return "", None
    module, name = _SDKS[wire]
    try:
        subject = getattr(import_module(f"..subjects.{module}", __package__), name)()
    except ImportError:
        return f"the rule of {module.replace('_', '-')}, which is not installed,", RULES.get(wire)
    return f"{subject.name} {subject.version}", subject.read


def calls(answer: SubjectAnswer) -> list[str]:
    """Return the calls with their ids, as they are compared."""
    return [
        f"{call.id}: {call.name}({call.text if call.value is msgspec.UNSET else json_codec.shown(call.value)})"
        for call in answer.calls
    ]


def _counts(answer: SubjectAnswer) -> Any:
    return answer.usage and {name: answer.usage.get(name) for name in ("input_tokens", "output_tokens")}


_MEMBERS: dict[str, Callable[[SubjectAnswer], Any]] = {
    "calls": calls,
    "text": lambda answer: answer.text or "",
    "stop reason": lambda answer: answer.stop,
    "token counts": _counts,
}


def _differences(wanted: SubjectAnswer, got: SubjectAnswer) -> Iterator[tuple[str, Any, Any]]:
    """Yield (what, wanted, got) for each member that two readings do not share. A rule reads calls and text only."""
    for what, member in _MEMBERS.items():
        one, other = member(wanted), member(got)
        if one == other or (what == "stop reason" and not {one, other} <= _STOPS):
            continue
        if what == "token counts" and (one is None or got.stop is None):
            continue
        yield what, one, other


def _of_streams(rule: Callable[[Iterable[dict[str, Any]]], Any]) -> Callable[[SubjectExchange], Any]:
    """Return a reader that applies the rule to streams; plain bodies are read as the laws read them."""
    return lambda exchange: (
        rule(json_values(exchange)) if exchange.stream else {"response": msgspec.to_builtins(read_answer(exchange))}
    )


RULES = {wire: _of_streams(rule) for wire, rule in sdk_rules.RULES.items()}
