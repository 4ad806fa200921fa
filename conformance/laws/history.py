"""What a request repeats of the conversation: checks that the laws `replay` and `handoff` add for subjects that return
the canonical form. Such a subject has everything that was said, so that it can repeat everything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from toolparity.normalizer import json_codec
from toolparity.reports.results import Effect

from ..cases.case import CaseRound
from ..oracle import oracle
from ..oracle.history import (
    TRANSPORT,
    conversation,
    exchanged,
    has_reading,
    instructions,
    reply,
    result_texts,
    settings,
    split,
    tools,
    turns,
)
from ..oracle.responses import Irregular, leaves
from .law import Failure
from .matching import json_equal

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


def repetition_failures(round: CaseRound, body: Any, wire: str, results: Iterable[str]) -> Iterator[Failure]:
    """Yield what a request for a wire changes of the conversation. ``results``: those of the calls that succeeded."""
    if not (has_reading(wire) and has_reading(round.exchange.wire)):
        return
    try:
        yield from changed_results(round, body, wire, results)
        yield from changed_history(round, body) if wire == round.exchange.wire else lost_on_the_way(round, body, wire)
    except (TypeError, ValueError, KeyError, AttributeError, IndexError) as error:
        reason = f"the request does not have the form of {wire}: {type(error).__name__}: {error}"
        yield Failure(round.number, reason, effect="malformed")


def changed_history(round: CaseRound, body: Any) -> Iterator[Failure]:
    """Yield what a request to the same wire changes of the earlier request and of the response.

    The members of the earlier request stay as they are, its items are the first ones, and the response follows with
    every member. The provider may refuse thinking without a signature, so that the setting `thinking` may be left out.
    """
    request = round.exchange.request
    if not isinstance(request, dict):
        return
    key, earlier = conversation(request)
    for name, value in request.items():
        if name in (key, "thinking", *TRANSPORT) or json_equal(value, body.get(name)):
            continue
        effect: Effect = "altered" if name in body else "lost"
        yield Failure(round.number, f"the request changes {name}", value, body.get(name), effect=effect)
    items = conversation(body)[1]
    if not json_equal(_shape(earlier), _shape(items[: len(earlier)])):
        reason = "the request changes the conversation before the response"
        yield Failure(round.number, reason, earlier, items[: len(earlier)], effect="altered")
        return
    try:
        wanted = _by_member(reply(round.exchange))
    except Irregular:
        return
    got = _by_member(split(items[len(earlier) :])[0])
    for name, values in wanted.items():
        if values != got.get(name, []):
            reason = f"the request changes {name} of the response"
            effect = "lost" if len(got.get(name, [])) < len(values) else "altered"
            yield Failure(round.number, reason, values, got.get(name), effect=effect)


def _shape(items: list[Any]) -> list[Any]:
    """Return the items with each text as a list of parts, because both forms mean the same."""
    return [
        {**item, "content": [{"text": item["content"]}]}
        if isinstance(item, dict) and isinstance(item.get("content"), str)
        else item
        for item in items
    ]


def _by_member(items: list[Any]) -> dict[str, list[str]]:
    """Return the scalars of items by the name of the member that holds them, in order; roles and "" mean nothing."""
    found: dict[str, list[str]] = {}
    for name, value in leaves(_sorted(items)):
        if name != "role" and value != '""':
            found.setdefault(name, []).append(value)
    return found


def _sorted(value: Any) -> Any:
    """Return a JSON value with the members of its objects in alphabetical order."""
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(element) for element in value] if isinstance(value, list) else value


def changed_results(round: CaseRound, body: Any, wire: str, results: Iterable[str]) -> Iterator[Failure]:
    """Yield the results that a request has with other words around them."""
    sent = result_texts(body, wire)
    for result in results:
        if result not in sent and not any(_same_json(result, text) for text in sent):
            yield Failure(round.number, "the request changes a result", result, sent[-3:], effect="altered")


def _same_json(one: str, other: str) -> bool:
    try:
        return json_equal(json_codec.decode(one), json_codec.decode(other))
    except ValueError:
        return False


def lost_on_the_way(round: CaseRound, body: Any, wire: str) -> Iterator[Failure]:
    """Yield what a request for another wire changes of the prompt, the user's texts, the tools and the settings.

    A tool whose name the other wire may refuse can have another name there.
    """
    request, source = round.exchange.request, round.exchange.wire
    if not isinstance(request, dict):
        return
    said = ["".join(oracle(source).texts(request, "assistant")) + round.expected.text]
    pairs: list[tuple[str, Any, Any]] = [
        ("the system prompt", instructions(request), instructions(body)),
        ("the texts of the user", list(oracle(source).texts(request, "user")), list(oracle(wire).texts(body, "user"))),
        ("the texts of the model", said, ["".join(oracle(wire).texts(body, "assistant"))]),
    ]
    pairs.append(("who speaks after whom", [*turns(request), "model", "result"], turns(body)))
    declared, there = tools(request), tools(body)
    pairs.append(("the number of the tools", len(declared), len(there)))
    for tool, other in zip(declared, there, strict=False):
        if _PLAIN_NAME.fullmatch(tool.name):
            named = other.name[: len(tool.name)]  # a name that the other wire reserves gets a suffix
            pairs.append((f"the name of the tool {tool.name}", tool.name, named))
        if wire.startswith("openai."):
            kind = "custom" if other.schema is None else "function"
            pairs.append((f"the type of the tool {tool.name}", kind, other.kind))
        if tool.schema is not None:
            pairs.append((f"whether {tool.name} is strict", tool.strict, other.strict))
        pairs.append((f"the description of {tool.name}", tool.description, other.description))
        if tool.schema is not None and other.schema is not None:
            pairs.append((f"the schema of {tool.name}", tool.schema, other.schema))
    stated = settings(body)
    earlier = exchanged(request, source)
    repeated = exchanged(body, wire)[: len(earlier)]
    if len(earlier) != len(repeated) or not all(map(_is_repeated, earlier, repeated)):
        pairs.append(("the earlier calls and results", earlier, repeated))
    pairs += [(f"the setting {name}", value, stated.get(name)) for name, value in settings(request).items()]
    for what, wanted, got in pairs:
        if not json_equal(wanted, got):
            effect: Effect = "altered" if got else "lost"
            yield Failure(round.number, f"the request for {wire} changes {what}", wanted, got, effect=effect)


def _is_repeated(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Return whether two calls or results are equal. The words before a result can mark it as an error."""
    is_marked = one[0] == other[0] == "result" and (one[1].endswith(other[1]) or other[1].endswith(one[1]))
    return one == other or is_marked
