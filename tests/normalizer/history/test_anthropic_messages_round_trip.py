"""Recorded requests of the Messages API, read and written back, say what they said, and are legal where they were."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import GeneratorType
from typing import Any

import pytest
from anthropic.types.beta import BetaMessageParam, BetaTextBlockParam, BetaToolChoiceParam, BetaToolUnionParam
from pydantic import TypeAdapter

from tests.normalizer.history.anthropic_messages_meaning import erased, meaning
from tests.normalizer.recorded.rows import Row, rows
from toolparity.normalizer.requests import check_request, read_request, write_request

WIRE = "anthropic.messages"


def told(recordings: Path) -> list[Row]:
    """The exchanges whose request carries a history."""
    return [row for row in rows(recordings, WIRE) if row.request is not None and has_history(body_of(row))]


def body_of(row: Row) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(row.request) if isinstance(row.request, str) else row.request
    return body


def has_history(body: dict[str, Any]) -> bool:
    return any(
        message["role"] == "assistant"
        or (isinstance(message["content"], list) and any(b.get("type") == "tool_result" for b in message["content"]))
        for message in body.get("messages", ())
        if isinstance(message, dict)
    )


@cache
def misses() -> tuple[dict[str, str], ...]:
    given = tomllib.loads(Path(__file__).with_name("anthropic_messages_misses.toml").read_text(encoding="utf-8"))
    return tuple(given["miss"])


def reasons(how: str, id: str) -> list[int]:
    """The entries of the table that hold for an exchange; what is lost as read is lost erased, too."""
    return [
        number
        for number, miss in enumerate(misses())
        if miss["how"] in (how, "as read") and re.fullmatch(miss["id"], id)
    ]


@pytest.mark.parametrize("how", ["as read", "erased"])
def test_recorded_histories_mean_the_same_when_read_and_written(
    recordings: Path, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = told(recordings)
    missed: list[str] = []
    used: set[int] = set()
    for row in given:
        request = read_request(row.request, WIRE, provider=row.provider)
        written = write_request(erased(request) if how == "erased" else request)
        if meaning(written.body) == meaning(row.request):
            assert written.losses == [], row.id
        else:
            missed.append(row.id)
            used.update(reasons(how, row.id))
            if how == "as read" or not reasons("as read", row.id):
                assert reasons(how, row.id), f"{row.id} is not equal, and no reason is given"
    with capsys.disabled():
        share = (len(given) - len(missed)) / len(given)
        print(f"\n  {WIRE}: {len(given) - len(missed)} of {len(given)} histories equal ({share:.2%}), {how}", end="")
    expected = {number for number, miss in enumerate(misses()) if miss["how"] in (how, "as read")}
    assert used == expected, "an entry of anthropic_messages_misses.toml that no exchange needs"
    if how == "as read":
        assert share >= 0.99


def test_what_servers_returned_is_canonical_and_carries_more_than_the_other_fields_alone(
    recordings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """For the result of a server's call, ``raw`` is the canonical field: here it stays, and only the rest is erased."""
    given = told(recordings)
    missed = []
    for row in given:
        request = erased(read_request(row.request, WIRE, provider=row.provider), results=False)
        if meaning(write_request(request).body) != meaning(row.request):
            missed.append(row.id)
    share = (len(given) - len(missed)) / len(given)
    with capsys.disabled():
        print(f"\n  {WIRE}: {len(given) - len(missed)} of {len(given)} ({share:.2%}), erased but what servers returned")
    assert all(reasons("erased", id) for id in missed)
    assert share >= 0.98


def test_every_other_recorded_request_means_the_same_too(recordings: Path) -> None:
    compared = 0
    for row in rows(recordings, WIRE):
        if row.request is None or row.failed or has_history(body_of(row)):
            continue
        written = write_request(read_request(row.request, WIRE, provider=row.provider))
        assert meaning(written.body) == meaning(row.request), row.id
        assert written.losses == []
        compared += 1
    assert compared > 1400


def test_what_was_answered_keeps_the_rules_before_and_after(recordings: Path) -> None:
    kept = 0
    for row in rows(recordings, WIRE):
        if row.request is None or row.failed or reasons("as read", row.id):
            continue
        assert check_request(body_of(row), WIRE, provider=row.provider) == [], row.id
        body = write_request(read_request(row.request, WIRE, provider=row.provider)).body
        assert check_request(body, WIRE, provider=row.provider) == [], row.id
        kept += 1
    assert kept > 1800


def test_the_sdk_s_own_types_accept_what_is_written(recordings: Path) -> None:
    sdk = {
        "messages": TypeAdapter(list[BetaMessageParam]),
        "system": TypeAdapter(str | list[BetaTextBlockParam]),
        "tools": TypeAdapter(list[BetaToolUnionParam]),
        "tool_choice": TypeAdapter(BetaToolChoiceParam),
    }
    for row in told(recordings):
        body = write_request(read_request(row.request, WIRE, provider=row.provider)).body
        for member, adapter in sdk.items():
            if member in body:
                exhaust(adapter.validate_python(body[member]))


def exhaust(value: Any) -> None:
    """Pydantic validates what the SDK calls an iterable only while it is iterated."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple, GeneratorType, Iterator)):
        for item in value:
            exhaust(item)


@pytest.mark.parametrize("form", [dict, str, bytes], ids=["parsed", "text", "bytes"])
def test_every_form_of_a_request_is_read_alike(form: type) -> None:
    body = {
        "model": "m",
        "max_tokens": 5,
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {"x": 1}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]},
        ],
    }
    text = json.dumps(body)
    given = body if form is dict else text if form is str else text.encode()
    assert write_request(read_request(given, WIRE)).body == body
