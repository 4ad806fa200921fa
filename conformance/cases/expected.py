"""The expected result of one response, derived from the script alone, and what each policy must do with its calls.

Nothing here reads traffic or calls the normalizer, so that both sides of the comparison are independent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from toolparity.cassettes.scripts import Refuse, Round, Say, Script, ScriptedCall, ServerCall
from toolparity.normalizer import json_codec

from ..answer import call_text


class ExpectedCall(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A client call on the wire. ``arguments``: None if the text is not an object, or for a custom call.

    ``text``: exactly what the model wrote; None if the wire has parsed JSON. ``status``: complete, truncated or
    invalid. ``id``: only if the case is about ids. ``choice``: the index of its choice, if several were requested; only
    calls of the first one are executed. ``json``: the arguments as JSON text, for values that TOML cannot express
    (null, numbers beyond 64 bits, half a surrogate pair). ``result``: what the tool returns; ``failed``: it is an
    error message.
    """

    name: str
    arguments: dict[str, Any] | None = None
    text: str | None = None
    status: str = "complete"
    kind: str = "function"
    id: str | None = None
    choice: int = 0
    json: str | None = None
    result: str | None = None
    failed: bool = False

    def __post_init__(self) -> None:
        if self.json is not None:
            force_setattr(self, "arguments", json_codec.decode(self.json))

    def __str__(self) -> str:
        return call_text(self.name, self.arguments, self.text)


class Expected(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The expected result of one response. ``servers``: canonical tools of the server calls, in order.

    ``stop``: a canonical stop reason. ``text``: the concatenated text. ``complete`` is false if the stream ends without
    its terminal event. ``failed``: the provider sent an error; ``retryable``: whether to repeat the request.
    ``opaque``: wire types of unknown blocks. ``approvals``: names of the calls on a provider's server that wait for
    approval. ``usage``: token counts, if the oracle cannot read them. ``findings``: codes (docs/pages/findings.md) that
    must be reported. ``back``: texts that the next request to the same provider must contain. ``revised``: the end of
    the stream corrects its calls, so that a broken stream has others. ``by_index``: the positions of the calls in the
    order of their indexes on the wire, if they arrive in another order: both orders are right.
    """

    calls: list[ExpectedCall] = []
    servers: list[str] = []
    text: str = ""
    refusal: bool = False
    stop: str = "end_turn"
    complete: bool = True
    failed: bool = False
    retryable: bool | None = None
    opaque: list[str] = []
    approvals: list[str] = []
    usage: dict[str, int] = {}
    findings: list[str] = []
    back: list[str] = []
    revised: bool = False
    by_index: list[int] = []

    @property
    def whole(self) -> list[int]:
        """The indexes of the calls that are not rejected."""
        if not self.complete or self.failed or self.stop in ("refusal", "content_filter", "error", "malformed_call"):
            return []
        return [place for place, call in enumerate(self.calls) if call.status == "complete"]

    @property
    def runnable(self) -> list[int]:
        """The indexes of the calls that may be executed: those of the first choice."""
        return [index for index in self.whole if self.calls[index].choice == 0]

    def select(self, policy: str, limit: int | None = None) -> ExpectedSelection:
        """Return the indexes of the calls that a policy must keep, drop and reject.

        ``limit``: how many calls may be kept.
        """
        runnable = self.runnable
        most = len(runnable) if limit is None else limit
        count = min(most, 1) if policy == "first" else most
        whole = self.whole
        others = [index for index in whole if index not in runnable]
        rejected = [index for index in range(len(self.calls)) if index not in whole]
        return ExpectedSelection(runnable[:count], [*runnable[count:], *others], rejected)


class ExpectedSelection(NamedTuple):
    """Indexes of calls. Every call of a response is in exactly one of the three lists."""

    kept: list[int]
    dropped: list[int]
    rejected: list[int]


def expected(script: Script, number: int, *, stream: bool, parsed: bool = False) -> Expected:
    """Return the expected result of a round of a script; ``number`` counts from 0.

    ``parsed``: the response holds arguments as parsed JSON, so that truncated or invalid argument text is not visible.
    """
    round = script.rounds[number]
    fault = round.fault
    if fault is not None and (fault.after is None or not stream):
        return Expected(stop="error", failed=True)  # a plain response is complete or missing
    parts = round.parts if fault is None else round.parts[: fault.after]
    kinds = {tool.name: tool.kind for tool in script.tools}
    calls = [part for part in parts if isinstance(part, ScriptedCall)]
    expected_calls = [_call(call, kinds, cut=round.ending == "length" and call is calls[-1]) for call in calls]
    refusal = any(isinstance(part, Refuse) for part in parts)
    if parsed:
        expected_calls = [replace(call, text=None) for call in expected_calls]
    return Expected(
        calls=expected_calls,
        servers=[part.tool for part in parts if isinstance(part, ServerCall)],
        text="".join(part.text for part in parts if isinstance(part, Say)),
        refusal=refusal,
        stop=_stop(round, bool(expected_calls), refusal)
        if fault is None
        else _broken_stop(fault.kind, bool(expected_calls)),
        complete=fault is None,
        failed=fault is not None and fault.kind in _REPORTED,
    )


#: The faults that the provider reports in the middle of a stream.
_REPORTED = frozenset(("rate_limit", "overloaded", "server_error"))
_ENDINGS = {"length": "max_tokens", "content_filter": "content_filter", "pause": "pause"}


def _stop(round: Round, calls: bool, refusal: bool) -> str:
    if round.ending is not None:
        return _ENDINGS[round.ending]
    if calls:
        return "tool_calls"
    return "refusal" if refusal else "end_turn"


def _broken_stop(kind: str, calls: bool) -> str:
    if kind in _REPORTED:
        return "error"
    return "tool_calls" if calls else "unknown"  # no stop reason was sent: it follows from the content


def _call(call: ScriptedCall, kinds: Mapping[str, str], *, cut: bool) -> ExpectedCall:
    expected_call = _read_call(call, kinds.get(call.tool, "function"), cut=cut)
    result = call.result if isinstance(call.result, str) else json_codec.text(call.result)
    return replace(expected_call, result="" if call.result is None else result, failed=call.failed)


def _read_call(call: ScriptedCall, kind: str, *, cut: bool) -> ExpectedCall:
    text = call.text
    if kind == "custom":
        return ExpectedCall(call.tool, None, text, "complete", "custom", call.id)
    arguments: Any = None
    try:
        arguments = json.loads(text, parse_constant=_refuse_constant) if text else {}
    except ValueError:
        return ExpectedCall(call.tool, None, text, "truncated" if cut else "invalid", kind, call.id)
    if not isinstance(arguments, dict):
        return ExpectedCall(call.tool, None, text, "invalid", kind, call.id)
    return ExpectedCall(call.tool, arguments, text, "complete", kind, call.id)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
