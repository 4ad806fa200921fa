"""Matches a subject's calls with the expected ones, and shows calls as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from toolparity.normalizer import json_codec

from ..answer import AnsweredCall
from ..cases.expected import ExpectedCall
from ..oracle.responses import WireResponse


def json_equal(one: Any, other: Any) -> bool:
    """Return whether two JSON values are equal. 1 equals 1.0; 1 does not equal true; a string never equals a number."""
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(json_equal(one[k], other[k]) for k in one)
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(json_equal, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def is_same_call(expected: ExpectedCall, got: AnsweredCall) -> bool:
    """Return whether a subject's call is this expected call, by its name and the value of its arguments."""
    if expected.name != got.name:
        return False
    if expected.arguments is not None:
        value = got.value
        if not isinstance(value, dict):
            return expected.arguments == {} and value in (None, "")
        return json_equal(value, expected.arguments)
    if expected.text is None:
        return True  # the wire holds parsed JSON, so truncation is not visible
    if got.text is not None:
        return got.text == expected.text
    if expected.kind == "custom":
        return isinstance(got.arguments, dict) and expected.text in got.arguments.values()
    return got.arguments in (None, {}) or got.arguments == expected.text or equals_written_text(expected, got)


def equals_written_text(expected: ExpectedCall, got: AnsweredCall) -> bool:
    """Return whether parsed arguments equal the expected text, for a call that cannot run.

    Such a call was cut, or its arguments are not an object.
    """
    try:
        return json_equal(got.arguments, json_codec.decode(expected.text or ""))
    except ValueError:
        return False


def read_calls(reading: WireResponse) -> list[ExpectedCall]:
    """Return the calls that an oracle read. ``id``: None if any is right, because the call has none or shares it."""
    members = [block.members for choice in reading.choices for block in choice.blocks]
    return [
        ExpectedCall(
            call["name"],
            call["arguments"],
            call["arguments_text"],
            call["status"],
            call["kind"],
            id=call["id"] if isinstance(call["id"], str) and call["id"] not in reading.repeated else None,
        )
        for call in members
        if call["type"] == "tool_call"
    ]


def match_calls(
    expected: Sequence[ExpectedCall], got: Iterable[AnsweredCall]
) -> tuple[list[int | None], list[AnsweredCall]]:
    """Match the subject's calls with the expected ones.

    Return, for each of the subject's calls in order, the index of the expected call or None; and the calls without a
    match. Equal calls are matched in order, so that two equal calls count as two.
    """
    free = list(range(len(expected)))
    indexes: list[int | None] = []
    unmatched = []
    for call in got:
        index = next((index for index in free if is_same_call(expected[index], call)), None)
        if index is None:
            unmatched.append(call)
        else:
            free.remove(index)
        indexes.append(index)
    return indexes, unmatched


def call_texts(calls: Iterable[ExpectedCall | AnsweredCall]) -> list[str]:
    """Return the calls as short text."""
    return [str(call) for call in calls]


def call_list(calls: Iterable[ExpectedCall | AnsweredCall]) -> str:
    """Return the calls in one line."""
    return ", ".join(call_texts(calls)) or "nothing"


def comparable_parts(calls: Sequence[AnsweredCall], text: str | None, stop: str | None) -> dict[str, Any]:
    """Return the members that two answers to equivalent responses must share.

    The text of a refusal is left out, because it is text on some wires and a separate block on others.
    """
    pairs = [(call.name, "?" if call.value is msgspec.UNSET else call.value or {}) for call in calls]
    return {"calls": pairs, "text": None if stop == "refusal" else text, "stop": stop}


def texts_in(content: Any) -> set[str]:
    """Return the texts in the content of a result: the content itself, or the values of JSON."""
    if isinstance(content, dict | list):
        parts = [part for name, part in content.items() if name != "type"] if isinstance(content, dict) else content
        return {text for part in parts for text in texts_in(part)}
    if not isinstance(content, str):
        return set()
    try:
        value = json_codec.decode(content)
    except ValueError:
        return {content}
    return {content} | (texts_in(value) if value != content else set())
