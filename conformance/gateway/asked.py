"""What a gateway changes of the client's request: readings of what reached the upstream, compared with the question.

Between equal wires a gateway passes everything on. Between two wires only what the upstream did not get at all is a
failure: each wire has its own settings and its own form of schemas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from toolparity.cassettes.stated import MEDIA, OWNED
from toolparity.reports.results import Effect

from ..cases.case import CaseRound
from ..laws.law import Failure
from ..laws.matching import json_equal
from ..oracle import oracle
from ..oracle.history import thoughts, turns
from ..oracle.replies import has_reading
from ..oracle.responses import Irregular, read
from ..oracle.settings import STRUCTURE, TRANSPORT, Tool, instructions, settings, tools

#: Members that `settings` reads under common names.
_READ = STRUCTURE | TRANSPORT | {"max_tokens", "max_completion_tokens", "max_output_tokens", "n"}
#: Members that a gateway may add, because they do not change what the model is asked: they serve accounts and logs.
_MAY_BE_ADDED = frozenset(("user", "metadata", "safety_identifier", "prompt_cache_key", "service_tier", "store"))
#: Members that a request may state with their documented default.
_DEFAULTS: dict[str, Any] = {
    "temperature": 1,
    "top_p": 1,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "logprobs": False,
    "background": False,
    "truncation": "disabled",
    "text": {"format": {"type": "text"}},
    "response_format": {"type": "text"},
    "thinking": {"type": "disabled"},
}
#: Settings of `settings` that are not members of the body.
COMMON = frozenset(("parallel calls", "tool choice", "length", "choices", "cache")) | MEDIA
_DEFAULT_SETTINGS = (("tool choice", "auto"), ("parallel calls", True), ("choices", 1))
#: Settings that a gateway may write in other words on another wire: only their loss is judged.
_IN_OTHER_WORDS = frozenset(("format", "json", "logprobs"))
_Changes = Iterator[tuple[str, Any, Any, Effect]]


def changes_for_the_same_wire(round: CaseRound) -> Iterator[Failure]:
    """Yield what a gateway changed of a request on the upstream's own wire."""
    yield from _failures(round, _changed)


def losses_on_the_way_up(round: CaseRound) -> Iterator[Failure]:
    """Yield what a gateway left out of a request that it translated into the upstream's wire."""
    yield from _failures(round, _lost)


def altered_thinking(round: CaseRound) -> Iterator[Failure]:
    """Yield the signed thinking of a response that the next request of the client does not have as it was.

    The provider refuses a signature with another text.
    """
    if not isinstance(round.following, dict):
        return
    try:
        choices = read(round.exchange).choices
    except Irregular:
        return
    got = thoughts(round.following)
    for block in choices[0].blocks if choices else ():
        text = block.members.get("text")
        if (
            block.members["type"] == "reasoning"
            and block.members.get("signature")
            and text
            and text not in "".join(got)
        ):
            yield Failure(round.number, "the text of signed thinking is changed", text, got, effect="altered")


def _failures(round: CaseRound, compare: Callable[[Any, Any, str], _Changes]) -> Iterator[Failure]:
    wanted, wire = round.exchange.request, round.exchange.wire
    if not round.sent or not isinstance(wanted, dict) or not has_reading(wire):
        return
    try:
        for what, asked, sent, effect in compare(wanted, round.sent[0], wire):
            yield Failure(round.number, f"the request to the upstream changes {what}", asked, sent, effect=effect)
    except (TypeError, ValueError, KeyError, AttributeError, IndexError) as error:
        reason = f"the request to the upstream does not have the form of {wire}: {type(error).__name__}: {error}"
        yield Failure(round.number, reason, effect="malformed")


def _changed(wanted: Any, sent: Any, wire: str) -> _Changes:
    """Yield (what, wanted, sent, effect) for each reading that differs."""
    pairs: list[tuple[str, Any, Any]] = [
        ("the system prompt", instructions(wanted), instructions(sent)),
        ("the texts of the user", _user_texts(wanted, wire), _user_texts(sent, wire)),
        ("who says what", turns(wanted), turns(sent)),
        ("the names of the tools", _names(wanted, wire), _names(sent, wire)),
        ("the tools of the provider", _hosted(wanted, wire), _hosted(sent, wire)),
    ]
    for tool, other in zip(tools(wanted, wire), tools(sent, wire), strict=False):
        both = zip(tool, other, strict=True)
        pairs += [(f"the {field} of {tool.name}", *pair) for field, pair in zip(Tool._fields, both, strict=True)]
    asked, stated = _settings(wanted, wire), _settings(sent, wire)
    names = asked.keys() | (stated.keys() - _MAY_BE_ADDED)
    pairs += [(name, asked.get(name), stated.get(name)) for name in sorted(names)]
    for what, one, other in pairs:
        if not json_equal(one, other):
            is_shorter = isinstance(one, list) and isinstance(other, list) and len(other) < len(one)
            yield what, one, other, "lost" if is_shorter or not other else "altered"


def _settings(body: Any, wire: str) -> dict[str, Any]:
    """Return the settings of a request without those that say what is the case without them."""
    common = {f"the setting {name}": value for name, value in settings(body, wire).items() if name in COMMON}
    if common.get("the setting parallel calls") is True:
        del common["the setting parallel calls"]
    own = {
        name: value
        for name, value in body.items()
        if name not in _READ and value not in (None, "", [], {})
        if name not in _DEFAULTS or value != _DEFAULTS[name]
    }
    return common | own


def _lost(wanted: Any, sent: Any, wire: str) -> _Changes:
    """Yield (what, wanted, sent, effect) for each tool, instruction, user's text, setting and turn that is missing."""
    names = _names(sent, wire)
    if missing := [name for name in _names(wanted, wire) if name not in names]:
        yield "the names of the tools", missing, names, "lost"
    if (prompt := instructions(wanted)) not in instructions(sent):
        yield "the system prompt", prompt, instructions(sent), "lost"
    texts = _user_texts(sent, wire)
    if missing := [text for text in _user_texts(wanted, wire) if not any(text in one for one in texts)]:
        yield "the texts of the user", missing, texts, "lost"
    asked, stated = settings(wanted, wire), settings(sent, wire)
    for name in sorted(asked.keys() - OWNED):
        value = stated.get(name)
        is_default = (name, asked[name]) in _DEFAULT_SETTINGS
        if not is_default and (value is None or not (name in _IN_OTHER_WORDS or json_equal(value, asked[name]))):
            yield f"the setting {name}", asked[name], value, "lost" if value in (None, "auto") else "altered"
    said = iter(turns(sent))
    if not all(any(turn[0] == one[0] and turn[1] in one[1] for one in said) for turn in turns(wanted)):
        yield "who says what", turns(wanted), turns(sent), "lost"


def _user_texts(body: Any, wire: str) -> list[str]:
    return list(oracle(wire).texts(body, "user"))


def _names(body: Any, wire: str) -> list[str]:
    return [tool.name for tool in tools(body, wire)]


def _hosted(body: Any, wire: str) -> list[Any]:
    """Return the tools that the provider runs."""
    own = {tool.name for tool in tools(body, wire)}
    return [tool for tool in body.get("tools") or [] if _name(tool) not in own]


def _name(tool: Any) -> Any:
    inner = tool.get("function") or tool.get("custom") or tool
    return inner.get("name")
