"""What a request repeats of the conversation: checks that the laws `replay` and `handoff` add for subjects that return
the canonical form. Such a subject has everything that was said, so that it can repeat everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from toolparity.cassettes.stated import MEDIA
from toolparity.normalizer import json_codec
from toolparity.normalizer.model import Wire
from toolparity.normalizer.requests import check_request
from toolparity.normalizer.wires.registry import spec
from toolparity.reports.results import Effect

from ..cases.case import CaseRound
from ..oracle import facts, oracle
from ..oracle.history import (
    Exchanged,
    conversation,
    exchanged,
    merged_turns,
    refused_calls,
    result_texts,
    split,
    thoughts,
    turns,
)
from ..oracle.parts import NOTE, changed_format, changed_parts, is_choice
from ..oracle.replies import begins_with_thinking, container_of, has_reading, reply
from ..oracle.responses import Irregular, Json, read
from ..oracle.settings import (
    TRANSPORT,
    added_settings,
    asked_settings,
    instructions,
    must_state,
    settings,
    stated_choice,
    tools,
)
from ..oracle.words import unknown_words
from .law import Failure
from .matching import json_equal
from .selection import applied_selection


def repetition_failures(
    round: CaseRound, body: Any, wire: Wire, results: Iterable[str], errors: Iterable[str]
) -> Iterator[Failure]:
    """Yield what a request for a wire changes of the conversation.

    ``results``: those of the calls that succeeded. ``errors``: those of the calls that ran and failed.
    """
    if not (has_reading(wire) and has_reading(round.exchange.wire)):
        return
    try:
        yield from changed_results(round, body, wire, results, errors)
        yield from changed_history(round, body) if wire == round.exchange.wire else lost_on_the_way(round, body, wire)
    except (TypeError, ValueError, KeyError, AttributeError, IndexError) as error:
        reason = f"the request does not have the form of {wire}: {type(error).__name__}: {error}"
        yield Failure(round.number, reason, effect="malformed")


def changed_history(round: CaseRound, body: Any) -> Iterator[Failure]:
    """Yield what a request to the same wire changes of the earlier request and of the response.

    The members of the earlier request stay as they are, its items are the first ones, and the response follows with
    every member.
    """
    request, wire = round.exchange.request, round.exchange.wire
    if not isinstance(request, dict):
        return
    key, earlier = conversation(request)
    for name, value in request.items():
        if name in (key, *TRANSPORT) or json_equal(value, body.get(name)):
            continue
        if name == "thinking" and name not in body and not begins_with_thinking(round.exchange):
            continue  # the provider refuses the setting if its last message does not begin with signed thinking
        effect: Effect = "altered" if name in body else "lost"
        yield Failure(round.number, f"the request changes {name}", value, body.get(name), effect=effect)
    for name in body.keys() - request.keys() - {key, "container", *TRANSPORT}:
        yield Failure(round.number, f"the request adds {name}", None, body[name], effect="altered")
    if (container := container_of(round.exchange)) and body.get("container") != container:
        reason = "the request does not have the container of the response"
        yield Failure(round.number, reason, container, body.get("container"), effect="altered")
    items = conversation(body)[1]
    if not json_equal(shape(earlier), shape(items[: len(earlier)])):
        reason = "the request changes the conversation before the response"
        yield Failure(round.number, reason, earlier, items[: len(earlier)], effect="altered")
        return
    try:
        wanted = _by_member(reply(round.exchange), wire)
    except Irregular:
        return
    got = _by_member(split(items[len(earlier) :])[0], wire)
    for name, values in wanted.items():
        if values != got.get(name, []):
            reason = f"the request changes {name} of the response"
            effect = "lost" if len(got.get(name, [])) < len(values) else "altered"
            yield Failure(round.number, reason, values, got.get(name), effect=effect)


def shape(items: list[Any]) -> list[Any]:
    """Return the items with each text as a list of parts without a type, because all these forms mean the same.

    So does a step of the user, and a text that is the whole input.
    """
    return [
        {**item, "content": _parts(item["content"])} if isinstance(item.get("content"), (str, list)) else item
        for item in map(_with_role, items)
    ]


def _with_role(item: Json) -> Json:
    if item.get("type") != "user_input":
        return item
    return {"role": "user", **{name: value for name, value in item.items() if name != "type"}}


def _parts(content: str | list[Any]) -> list[Any]:
    if isinstance(content, str):
        return [{"text": content}]
    return [{"text": part["text"]} if _is_text(part) else part for part in content]


def _is_text(part: Any) -> bool:
    """Return whether a part has a text alone."""
    return isinstance(part, dict) and part.keys() <= {"type", "text"} and "text" in part and part.get("type") in _TEXTS


_TEXTS = (None, "text", "input_text", "output_text")


def _by_member(items: list[Any], wire: str) -> dict[str, list[str]]:
    """Return the scalars and the empty values of items by the name of the member that holds them, in order.

    Roles say nothing about a response. On wires with messages an empty value is the same as none.
    """
    by_messages = spec(wire).framing == "messages"
    found: dict[str, list[str]] = {}
    for name, value in _values(_sorted(items)):
        is_empty = value in ('""', "[]", "{}")
        if name != "role" and not (is_empty and (by_messages or name in facts(wire).may_omit)):
            found.setdefault(name, []).append(value)
    return found


def _values(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield each scalar and each empty list or object as JSON text, with the name of the member that holds it."""
    members = (
        [(key, element) for element in value]
        if isinstance(value, list)
        else value.items()
        if isinstance(value, dict)
        else ()
    )
    if not members and value is not None:
        yield key, json_codec.text(value)
    for name, member in members:
        yield from _values(member, name)


def _sorted(value: Any) -> Any:
    """Return a JSON value with the members of its objects in alphabetical order."""
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(element) for element in value] if isinstance(value, list) else value


def changed_results(
    round: CaseRound, body: Any, wire: str, results: Iterable[str], errors: Iterable[str]
) -> Iterator[Failure]:
    """Yield the results that a request has with other words around them. Words can mark an error."""
    sent, has_mark = result_texts(body, wire), oracle(wire).failed_results(body) is not None
    for result in results:
        if result not in sent and not any(_same_json(result, text) for text in sent):
            yield Failure(round.number, "the request changes a result", result, sent[-3:], effect="altered")
    for error in errors:
        if not any(text.count(error) == 1 and (has_mark or text != error) for text in sent if error):
            yield Failure(round.number, "the request changes an error", error, sent[-3:], effect="altered")


def _same_json(one: str, other: str) -> bool:
    try:
        return json_equal(json_codec.decode(one), json_codec.decode(other))
    except ValueError:
        return False


def lost_on_the_way(round: CaseRound, body: Any, wire: Wire) -> Iterator[Failure]:
    """Yield what a request for another wire changes of the prompt, the conversation, the tools and the settings."""
    request, source = round.exchange.request, round.exchange.wire
    if not isinstance(request, dict):
        return
    declared, there = tools(request, source), tools(body, wire)
    said = merged_turns([*turns(request), ("model", round.expected.text), ("result", "")])
    texts, spoken = list(oracle(wire).texts(body, "user")), turns(body)
    asked, stated = asked_settings(round.exchange), settings(body, wire)
    if MEDIA & asked.keys() - stated.keys():  # a note may replace media
        texts = [text for one in texts if (text := NOTE.sub("", one))]
        spoken = [(speaker, NOTE.sub("", text)) for speaker, text in spoken]
    pairs: list[tuple[str, Any, Any]] = [
        ("the system prompt", instructions(request), instructions(body)),
        ("the texts of the user", list(oracle(source).texts(request, "user")), texts),
        ("who says what", said, spoken),
        ("the media of the user", [], changed_parts(request, source, body, wire)),
        ("the number of the tools", len(declared), len(there)),
        ("the words of the wire", [], list(unknown_words(body, wire))),
        ("the reasoning", [], _changed_thoughts(round, body)),
        (
            "the form of the tool choice",
            [],
            [choice for choice in [stated_choice(body)] if choice and not is_choice(choice)],
        ),
        *changed_format(request, source, body, wire),
    ]
    for tool, other in zip(declared, there, strict=False):
        if facts(wire).typed_tools:
            kind = "custom" if other.schema is None else "function"
            pairs.append((f"the type of the tool {tool.name}", kind, other.kind))
        if tool.schema is not None and facts(wire).strict:
            pairs.append((f"whether {tool.name} is strict", tool.strict, other.strict))
        pairs.append((f"the description of {tool.name}", tool.description, other.description))
        if tool.schema is not None and other.schema is not None:
            pairs.append((f"the schema of {tool.name}", tool.schema, other.schema))
    earlier = exchanged(request, source)
    repeated = exchanged(body, wire)[: len(earlier)]
    if len(earlier) != len(repeated) or not all(map(_is_repeated, earlier, repeated)):
        pairs.append(("the earlier calls and results", earlier, repeated))
    calls, results = ([item for item in oracle(wire).items(body) if item.kind == kind] for kind in ("call", "result"))
    ids = [result.id for result in results]
    pairs.append(("the order of the results", [call.id for call in calls], ids))
    if facts(wire).named_results:
        pairs.append(("the names of the results", [call.name for call in calls], [result.name for result in results]))
    if (marked := oracle(wire).failed_results(body)) is not None:
        made = [index for index, call in enumerate(round.expected.calls) if call.choice == 0]
        kept = applied_selection(round).kept
        failed = [index not in kept or round.expected.calls[index].failed for index in made]
        pairs.append(("which results are errors", failed, [id in marked for id in ids[-len(made) :]]))
    if "status" in facts(wire).call:
        cut = [call.status == "truncated" for call in round.expected.calls if call.choice == 0]
        sent = [call.get("status") for item in conversation(body)[1] for call in item.get("tool_calls") or []]
        pairs.append(
            ("which calls are incomplete", cut, [str(status).endswith("INCOMPLETE") for status in sent[-len(cut) :]])
        )
    names = {other.name: tool.name for tool, other in zip(declared, there, strict=False)}
    stated["tool choice"] = names.get(stated["tool choice"], stated["tool choice"])
    same_owner = spec(wire).owner == round.exchange.provider
    pairs += [
        (f"the setting {name}", value, stated.get(name))
        for name, value in asked.items()
        if must_state(name, value, stated, wire, same_owner=same_owner)
    ]
    pairs.append(("the signatures of the calls", [], refused_calls(body)))
    pairs.append(("the settings", [], added_settings(round.exchange, body, wire)))
    pairs += _renamed(round, body, wire, names)
    for what, wanted, got in pairs:
        if not json_equal(wanted, got):
            effect: Effect = "altered" if got else "lost"
            yield Failure(round.number, f"the request for {wire} changes {what}", wanted, got, effect=effect)


def _changed_thoughts(round: CaseRound, body: Any) -> list[str]:
    """Return the reasoning in a request that is not in the conversation, or not in its order."""
    try:
        choices = read(round.exchange).choices
    except Irregular:
        return []
    texts = thoughts(round.exchange.request)
    texts += [block.members["text"] for block in (choices[0].blocks if choices else []) if "signature" in block.members]
    said, start, changed = "".join(texts).replace("\n\n", ""), 0, []
    for message in conversation(body)[1]:
        text = (message.get("reasoning_content") or "").replace("\n\n", "")  # paragraphs separate thoughts
        found = said.find(text, start)
        start = found + len(text) if found >= 0 else start
        changed += [text] * (found < 0)
    return changed


def _renamed(round: CaseRound, body: Any, wire: Wire, names: dict[str, str]) -> Iterator[tuple[str, Any, Any]]:
    """Yield pairs of names: of tools and calls in a conversation, and in a request for another wire.

    ``names``: the name of each tool in the request -> its own. A tool may have another name if the wire refuses its
    own, or has a tool of that name itself. Its calls have the same one.
    """
    source = round.exchange.wire
    made = [item.name for item in oracle(source).items(round.exchange.request) if item.kind == "call"]
    made += [call.name for call in round.expected.calls if call.choice == 0]
    sent = [item.name for item in oracle(wire).items(body) if item.kind == "call"]
    aliases = {own: name for name, own in names.items()}
    for own, name in zip(made, sent, strict=False):
        aliases.setdefault(own, name)
    yield "the names of the calls", [aliases.get(name, name) for name in made], sent
    for own, name in aliases.items():
        if own != name and own not in facts(wire).own_tools and not _is_refused(body, wire, name, own):
            yield f"the name {own}", own, name


def _is_refused(body: Any, wire: Wire, name: str, own: str) -> bool:
    """Return whether the provider refuses a request in which a tool has its own name instead of another one."""
    changed = json_codec.decode(json_codec.text(body).replace(json_codec.text(name), json_codec.text(own)))
    return any(True for _ in check_request(changed, wire))


def _is_repeated(one: Exchanged, other: Exchanged) -> bool:
    """Return whether two calls or results are equal. The words before a result can mark it as an error."""
    if one.kind != other.kind or not (one.is_error or other.is_error):
        return (one.kind, one.content) == (other.kind, other.content)
    longer, shorter = sorted((one.content, other.content), key=len, reverse=True)
    return longer.endswith(shorter) and longer.count(shorter or " ") <= 1
