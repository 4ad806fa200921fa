"""Judgement of responses and conversations: each check that applies gets one observation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from toolparity.normalizer import json_codec
from toolparity.normalizer.model import Response, ToolCall
from toolparity.normalizer.stream_form import check_stream
from toolparity.normalizer.wires.registry import spec
from toolparity.normalizer.wires.rule import Violation
from toolparity.turns.execution import validation

from ..oracle import json_values
from ..sdk_rules import RULES, finished
from ..subjects import SubjectExchange
from .checks import BREAKS, FORM_BREAKS
from .conversation import Asked, read_reply
from .forms import FORMS, missing
from .probes import Probe

#: The longest excerpt of a value in a reason, in characters.
_SHOWN = 160
#: Tokens of chat templates that a server should not write into the text.
_CONTROL_TOKENS = r"<\|[A-Za-z_]+\|>|</s>|<end_of_turn>|<\uff5c[^\uff5c\s]+\uff5c>"
#: Checks whose failures the SDK's reading would only repeat.
_READ_FIRST = frozenset(("arguments", "declared", "form", "ids", "indexes", "stream-end"))


class Observation(Struct, frozen=True):
    """One observation of a check. ``reason``: why it failed, or "". ``round``: the number of the request, from 1.

    ``mode``: "plain" or "stream", or "both" for a pair of responses.
    """

    check: str
    probe: str
    mode: str
    repetition: int
    round: int
    reason: str = ""

    @property
    def passed(self) -> bool:
        return not self.reason


#: A check and the reason for which it fails, or "".
Result = tuple[str, str]


def judge_response(
    asked: Asked, earlier: set[str], wire: str, *, stream: bool, limited: bool = False
) -> Iterator[Result]:
    """Yield the results of all checks about one response. ``earlier``: the call ids of the responses before it.

    ``limited``: the request has a small limit of tokens, so that the response may end within a call.
    """
    if limited and _out_of_tokens(asked):
        yield "limit", ""
        return
    yield ("history" if asked.with_results else "answered"), _unanswered(asked)
    response = asked.response
    broken = _broken(asked, wire, stream=stream)
    if 0 < asked.reply.status < 400:
        yield "form", _first(broken, "form")
    if response is None or not asked.answered:
        return
    if stream:
        yield "stream-end", _first(broken, "stream-end")
    yield "usage", _usage(response, wire)
    yield "text", _first(broken, "text") or _control_token(response)
    if limited:
        return
    if not stream and not response.complete:
        yield "stop", _first(broken, "stop")
    if response.complete:
        yield "stop", _stop(asked, wire, broken)
        if stream and wire in RULES and not any(map(broken.get, _READ_FIRST)):
            yield "sdk", _read_otherwise(asked, wire)
    if not response.calls and not broken.keys() & {"arguments", "declared"}:
        return
    if stream and not spec(wire).anonymous_calls:
        yield "indexes", _first(broken, "indexes")
    yield "declared", _first(broken, "declared")
    invalid = [call for call in response.calls if call.status != "complete"] if response.complete else []
    reason = f"{invalid[0].name}: {_cut(invalid[0].arguments_text)}" if invalid else ""
    yield "arguments", _first(broken, "arguments") or reason
    yield "ids", _first(broken, "ids") or _repeated(response.calls, earlier)
    if any(call.arguments is not None for call in response.calls):
        yield "schema", _schema(asked, response.calls)


def judge_conversation(probe: Probe, talk: Sequence[Asked]) -> Iterator[Result]:
    """Yield the results of all checks about a whole conversation."""
    first, stated = talk[0], probe.script.request
    if not first.answered or first.response is None:
        return
    if stated is not None:
        if stated.length is not None:
            yield from _limited(first.response, stated.length)
        if stated.format is not None:
            yield "structured", _structured(first.response, stated.format)
        return
    if probe.forced:
        yield "choice", _choice(probe, first)
        return
    needed = bool(probe.script.rounds[0].calls)
    yield "triggered", _triggered(first, needed=needed)
    yield from _parallel(probe, talk)
    if not talk[-1].answered:
        return
    calls = [call for asked in talk for call in asked.calls]
    reason = _calls(probe, calls)
    yield "calls", reason
    if probe.calls and not reason:
        yield "values", _values(probe, calls)


def judge_pair(plain: Asked, streamed: Asked) -> Iterator[Result]:
    """Yield the result of the check about the plain and the streamed response to one request."""
    if not (plain.answered and streamed.answered) or plain.response is None or streamed.response is None:
        return
    one, other = _skeleton(plain.response), _skeleton(streamed.response)
    yield "alike", "" if one == other else f"plain: {_cut(one)}; streamed: {_cut(other)}"


def _broken(asked: Asked, wire: str, *, stream: bool) -> dict[str, list[str]]:
    """Return check -> the reasons for which the findings and the form of a reply break it."""
    broken: dict[str, list[str]] = {"form": [asked.problem] if asked.problem else []}
    for finding in () if asked.response is None else asked.response.findings:
        excused = (finding.code == "id-missing" and spec(wire).anonymous_calls) or (
            finding.code == "arguments-empty" and spec(wire).parsed_arguments
        )
        if (check := BREAKS.get(finding.code)) is not None and not excused:
            broken.setdefault(check, []).append(f"{finding.code}: {finding.message}")
    broken["form"].extend(_transport(asked, stream=stream))
    for violation in _violations(asked, asked.response, wire) if stream and asked.response is not None else ():
        broken.setdefault(FORM_BREAKS.get(violation.rule, "form"), []).append(violation.message)
    if asked.answered:
        broken["form"].extend(_members(asked, wire, stream=stream))
    return broken


def _violations(asked: Asked, response: Response, wire: Any) -> list[Violation]:
    """Return where a stream departs from the grammar of its wire; what its SDK makes of it is in the first message."""
    found = check_stream(asked.reply.body, wire, complete=response.complete)
    if found and (reading := finished(wire, _json_values(asked, wire, stream=True))):
        found[0] = replace(found[0], message=f"{found[0].message}; {reading}")
    return found


def _read_otherwise(asked: Asked, wire: Any) -> str:
    """Return what the stream helper of the wire's SDK reads otherwise than the decoder, which repairs what it can."""
    response, _ = read_reply(asked.reply, wire, asked.body, stream=True)
    try:
        helper = RULES[wire](_json_values(asked, wire, stream=True))
        read = [(call["id"], call["name"], _value(call["arguments_text"])) for call in helper["calls"]]
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        return f"the stream helper fails: {type(error).__name__}: {_cut(str(error))}"
    calls = [] if response is None else response.calls
    wanted = [(call.id, call.name, _value(call.arguments_text)) for call in calls]
    if helper.get("role", "assistant") != "assistant":
        return f"the stream helper reads the role {helper['role']!r}"
    if not set(helper.get("types", ())) <= {"function", "custom"}:
        return "a call has no type, or loses it in a later fragment: the stream helper emits no event for it, or fails"
    if odd := next((call for call in helper.get("finished", ()) if call not in helper["calls"]), None):
        return f"a finished item, which agents run, differs from the terminal response: {_cut(json_codec.shown(odd))}"
    if read == wanted:
        return ""
    number = next((n for n, (one, other) in enumerate(zip(read, wanted, strict=False)) if one != other), 0)
    one, other = (json_codec.shown(listed[number]) if listed else "no call" for listed in (read, wanted))
    return f"the stream helper reads {len(read)} calls, {_cut(one)}; sent are {len(wanted)}, {_cut(other)}"


def _value(text: Any) -> Any:
    try:
        return json_codec.decode(text)
    except (TypeError, ValueError):
        return text


def _unanswered(asked: Asked) -> str:
    if asked.answered:
        return ""
    shown = _cut(asked.reply.body.decode("utf-8", "replace"))
    if asked.response is not None and asked.response.error is not None:
        shown = _cut(asked.response.error.message)
    return f"HTTP {asked.reply.status}: {shown}" if asked.reply.status else asked.reply.broken


def _transport(asked: Asked, *, stream: bool) -> Iterator[str]:
    kind = asked.reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    if stream and kind in ("application/json", "text/html", "text/plain"):
        yield f"the content type of a stream is {kind}"
    if not stream and asked.answered and not kind.endswith("json"):
        yield f"the content type is {kind or 'missing'}: SDKs return the body as text"
    if asked.reply.body.startswith(b"\xef\xbb\xbf"):
        yield "the body begins with a byte order mark"
    if stream and asked.reply.broken:
        yield asked.reply.broken


def _members(asked: Asked, wire: Any, *, stream: bool) -> Iterator[str]:
    """Yield which documented members a response lacks, and whether it has more choices than requested."""
    form = FORMS.get(wire)
    paths = () if form is None else form.event if stream else form.body
    values = list(_json_values(asked, wire, stream=stream)) if paths else []
    for value in values:
        for path in missing(value, paths):
            yield f"{path} is missing or has another type in {_cut(json_codec.shown(value))}"
    if len(ids := {value.get("id") for value in values} - {None, ""}) > 1:
        yield f"the events of one response have {len(ids)} ids"
    choices = [] if asked.response is None else asked.response.choices
    if len(choices) > 1:
        yield f"the response has {len(choices)} choices, one was requested"


def _json_values(asked: Asked, wire: Any, *, stream: bool) -> Iterator[Any]:
    """Return the JSON objects of a reply."""
    return json_values(SubjectExchange(wire=wire, provider=spec(wire).owner, stream=stream, pieces=[asked.reply.body]))


def _usage(response: Response, wire: str) -> str:
    usage = response.usage
    if usage is None:
        return "the response has no usage"
    lacking = [name for name in ("input_tokens", "output_tokens") if not getattr(usage, name)]
    lacking = lacking or list(missing(usage.raw, FORMS[wire].usage if wire in FORMS else ()))
    return f"the usage has no {' and no '.join(lacking)}" if lacking else ""


def _control_token(response: Response) -> str:
    """Return which control token of a chat template the text contains, or "". Tags of reasoning are tolerated."""
    found = re.search(_CONTROL_TOKENS, response.text)
    return f"the text contains the control token {found[0]}" if found else ""


def _stop(asked: Asked, wire: str, broken: dict[str, list[str]]) -> str:
    """Return why the stop reason is not that of the response. OpenAI sends ``stop`` after a call of the named tool."""
    response, choice = asked.response, asked.request.tool_choice
    if response is None or not response.choices:
        return "the response has no choice"
    stop, calls = response.choices[0].stop, response.calls
    if wire == "openai.chat" and calls and stop.raw == "stop" and choice is not None and choice.mode == "named":
        return ""
    if reason := _first(broken, "stop"):
        return reason
    if stop.reason not in ("tool_calls" if calls else "end_turn", "stop_sequence"):
        return f"the stop reason is {stop.raw or stop.reason}, and the response has {len(calls)} calls"
    words = (FORMS[wire].calls if calls else FORMS[wire].end) if wire in FORMS else ()
    if words and stop.raw not in words and stop.reason != "stop_sequence":
        return f"the stop reason is {stop.raw}, and clients of {wire} expect {words[0]}"
    return ""


def _out_of_tokens(asked: Asked) -> bool:
    """Return whether the error says that the limit ended the response: OpenAI's models that reason send status 400."""
    error = None if asked.response is None else asked.response.error
    return error is not None and asked.reply.status == 400 and "output limit was reached" in error.message


def _limited(response: Response, limit: int) -> Iterator[Result]:
    """Yield whether a response says that the limit of tokens ended it. One that ends before says nothing."""
    stop = response.choices[0].stop if response.choices else None
    used = 0 if response.usage is None else response.usage.output_tokens or 0
    cut = next((call for call in response.calls if call.arguments is None), None)
    said = f"and the stop reason is {stop.raw or stop.reason}" if stop else "and the response has no choice"
    if stop is not None and stop.reason == "max_tokens":
        yield "limit", ""
    elif cut is not None:
        yield "limit", f"the arguments of {cut.name} are cut, {said}: {_cut(cut.arguments_text)}"
    elif used >= limit:
        yield "limit", f"{used} tokens were written, the limit was {limit}, {said}"


def _structured(response: Response, schema: dict[str, Any]) -> str:
    try:
        value = json_codec.decode(response.text)
    except ValueError:
        return f"the text is not JSON: {_cut(response.text)}"
    if not isinstance(value, dict):
        return f"the text is not an object: {_cut(response.text)}"
    problems = validation.problems(schema, value)
    return f"{_cut(response.text)}: {problems[0]}" if problems else ""


def _repeated(calls: Sequence[ToolCall], earlier: set[str]) -> str:
    ids = [call.id for call in calls]
    twice = [id for id, count in Counter(ids).items() if count > 1 or id in earlier]
    return f"the id {twice[0]} belongs to two calls of the conversation" if twice else ""


def _schema(asked: Asked, calls: Sequence[ToolCall]) -> str:
    schemas = {tool.name: tool.parameters for tool in asked.request.tools}
    for call in calls:
        schema = schemas.get(call.name)
        if schema is None or call.arguments is None:
            continue
        if problems := validation.problems(schema, call.arguments):
            return f"{call.name} {_cut(call.arguments_text)}: {problems[0]}"
    return ""


def _choice(probe: Probe, first: Asked) -> str:
    names = [call.name for call in first.calls]
    shown = ", ".join(names) or "no call"
    assert probe.choice is not None
    mode, name = probe.choice.mode, probe.choice.name
    if mode == "none":
        return f"none was requested, the response has {shown}" if names else ""
    if probe.allowed:
        allowed = " or ".join(probe.allowed)
        return "" if names and {*names} <= {*probe.allowed} else f"{allowed} was required, the response has {shown}"
    if mode == "named":
        return "" if names and set(names) == {name} else f"{name} was requested, the response has {shown}"
    return "" if names else f"{mode} was requested, the response has {shown}"


def _triggered(first: Asked, *, needed: bool) -> str:
    if needed == bool(first.calls):
        return ""
    return "no call was made" if needed else f"{first.calls[0].name} was called without a reason"


def _parallel(probe: Probe, talk: Sequence[Asked]) -> Iterator[Result]:
    """Yield a result for each response that should have several calls, or one at most, while script and talk agree."""
    for round, asked in zip(probe.script.rounds, talk, strict=False):
        if not asked.answered:
            return
        count, wanted = len(asked.calls), len(round.calls)
        if probe.script.parallel is False:
            yield "parallel", f"{count} calls although parallel calls are turned off" if count > 1 else ""
        elif wanted > 1:
            yield "parallel", f"{count} of {wanted} calls in the response" if count < wanted else ""
        if count != wanted:
            return


def _calls(probe: Probe, calls: Sequence[ToolCall]) -> str:
    wanted, got = Counter(call.tool for call in probe.calls), Counter(call.name for call in calls)
    if wanted == got:
        return ""
    return f"expected {_counts(wanted)}, got {_counts(got)}"


def _counts(names: Counter[str]) -> str:
    return ", ".join(f"{count} x {name}" for name, count in sorted(names.items())) or "no call"


def _values(probe: Probe, calls: Sequence[ToolCall]) -> str:
    remaining = list(calls)
    for scripted in probe.calls:
        wanted = scripted.arguments or {}
        fits = [call for call in remaining if call.name == scripted.tool and _has(call.arguments, wanted)]
        if not fits:
            got = [call.arguments_text for call in remaining if call.name == scripted.tool]
            return f"{scripted.tool} {_cut(json_codec.text(wanted))}: got {_cut(' and '.join(got))}"
        remaining.remove(fits[0])
    return ""


def _has(value: Any, wanted: Any) -> bool:
    """Return whether a value is the wanted one. Optional members may be added, and the case of letters may differ."""
    if isinstance(wanted, dict):
        return isinstance(value, dict) and all(name in value and _has(value[name], wanted[name]) for name in wanted)
    if isinstance(wanted, list):
        return isinstance(value, list) and len(value) == len(wanted) and all(map(_has, value, wanted))
    if isinstance(wanted, str):
        return isinstance(value, str) and value.strip().casefold() == wanted.strip().casefold()
    return isinstance(value, bool) == isinstance(wanted, bool) and bool(value == wanted)


def _skeleton(response: Response) -> str:
    names = ", ".join(call.name for call in response.calls) or "no call"
    return f"{names} ({response.choices[0].stop.reason})" if response.choices else names


def _first(broken: dict[str, list[str]], check: str) -> str:
    reasons = broken.get(check)
    return _cut(reasons[0]) if reasons else ""


def _cut(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHOWN else flat[:_SHOWN] + "…"
