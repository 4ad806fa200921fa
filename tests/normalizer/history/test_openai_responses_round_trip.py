"""Recorded Responses requests, read and written back: the same in meaning, legal, and typed as the SDK types them."""

from __future__ import annotations

import copy
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openai.types.responses import ResponseInputItemParam, ToolParam
from pydantic import TypeAdapter, ValidationError

from tests.normalizer.history.openai_responses_meaning import erased, meaning
from tests.normalizer.recorded.rows import excused, lines
from toolparity import Response, StreamDecoder, normalize
from toolparity.normalizer.conversation import Assistant, Request
from toolparity.normalizer.requests import check_request, read_request, write_request

WIRE = "openai.responses"
_KNOWN = tomllib.loads((Path(__file__).parent / "openai_responses_misses.toml").read_text(encoding="utf-8"))
_items: TypeAdapter[Any] = TypeAdapter(list[ResponseInputItemParam])
_tools: TypeAdapter[Any] = TypeAdapter(list[ToolParam])


@pytest.fixture(scope="module")
def recorded(recordings: Path) -> list[dict[str, Any]]:
    """Every recorded exchange of the wire with a request."""
    rows = [json.loads(line) for line in lines(recordings, WIRE)]
    return [row for row in rows if isinstance(row["request"], dict)]


def _has_history(row: dict[str, Any]) -> bool:
    given = row["request"].get("input")
    items = [item for item in given if isinstance(item, dict)] if isinstance(given, list) else []
    return any(item.get("role") == "assistant" or item.get("type") not in (None, "message") for item in items)


def _histories(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    return (row for row in rows if _has_history(row))


def test_every_recorded_history_comes_back_with_its_meaning(recorded: list[dict[str, Any]]) -> None:
    total, misses = 0, set()
    for row in _histories(recorded):
        total += 1
        untouched = copy.deepcopy(row["request"])
        written = write_request(read_request(row["request"], WIRE, provider=row["provider"]))
        assert row["request"] == untouched, f"{row['id']}: the caller's own body was changed"
        if meaning(written.body) != meaning(row["request"]):
            misses.add(row["id"])
        else:
            assert not written.losses, f"{row['id']}: a loss is told and nothing was lost"
    print(f"\n{WIRE}: {total - len(misses)} of {total} histories come back ({1 - len(misses) / total:.2%})")
    assert misses == set(_KNOWN["normal"])
    assert len(misses) / total <= 0.01


def test_every_recorded_request_without_a_history_comes_back_with_its_meaning(recorded: list[dict[str, Any]]) -> None:
    for row in recorded:
        if not _has_history(row):
            written = write_request(read_request(row["request"], WIRE, provider=row["provider"]))
            assert meaning(written.body) == meaning(row["request"]), row["id"]
            assert not written.losses, row["id"]


def test_the_canonical_fields_alone_carry_the_meaning(recorded: list[dict[str, Any]]) -> None:
    total, misses = 0, set()
    for row in _histories(recorded):
        total += 1
        request = erased(read_request(row["request"], WIRE, provider=row["provider"]))
        if meaning(write_request(request).body, erased=True) != meaning(row["request"], erased=True):
            misses.add(row["id"])
    print(f"\n{WIRE}, erased: {total - len(misses)} of {total} histories come back ({1 - len(misses) / total:.2%})")
    assert misses == set(_KNOWN["erased"])


def test_what_servers_returned_is_canonical_and_carries_more(recorded: list[dict[str, Any]]) -> None:
    """For the result of a server's call, ``raw`` is the canonical field: here it stays, and only the rest is erased."""
    total, misses = 0, set()
    for row in _histories(recorded):
        total += 1
        request = erased(read_request(row["request"], WIRE, provider=row["provider"]), results=False)
        if meaning(write_request(request).body, erased=True) != meaning(row["request"], erased=True):
            misses.add(row["id"])
    share = 1 - len(misses) / total
    print(f"\n{WIRE}, erased but what servers returned: {total - len(misses)} of {total} come back ({share:.2%})")
    assert misses < set(_KNOWN["erased"])
    assert share >= 0.975


def test_what_the_provider_took_breaks_no_rule_before_or_after_the_round_trip(recorded: list[dict[str, Any]]) -> None:
    for row in recorded:
        if row["status"] == 200 and not excused(row["id"]):
            provider = row["provider"]
            assert not check_request(row["request"], WIRE, provider=provider), row["id"]
            written = write_request(read_request(row["request"], WIRE, provider=provider))
            assert not check_request(written.body, WIRE, provider=provider), row["id"]


def test_every_recorded_answer_goes_back_item_by_item(recorded: list[dict[str, Any]]) -> None:
    total = 0
    for row in recorded:
        output = _output(row)
        if not output or output[-1].get("type") == "reasoning":  # what it led to did not come: it cannot go back
            continue
        response = _response(row)
        request = Request(WIRE, None, [Assistant(response)], provider=row["provider"])
        written = write_request(request)
        given = {"input": [{k: v for k, v in item.items() if k not in _GATEWAYS} for item in output]}
        assert meaning(written.body) == meaning(given), row["id"]
        assert not written.losses, row["id"]
        total += 1
    print(f"\n{WIRE}: {total} answers go back item by item")
    assert total > 1000


#: Members that some gateways add to items, and that a history never holds.
_GATEWAYS = frozenset(("item_id", "output_index"))


def _output(row: dict[str, Any]) -> list[dict[str, Any]]:
    """The items of a recorded answer, where they are in one body or in its terminal event."""
    if row["status"] != 200 or row.get("body_encoding"):
        return []
    if not row["stream"]:
        return json.loads(row["body"]).get("output") or []
    for line in reversed(row["body"].splitlines()):
        if line.startswith("data: {") and '"type":"response.completed"' in line.replace(" ", "")[:40]:
            return json.loads(line.removeprefix("data: "))["response"].get("output") or []
    return []


def _response(row: dict[str, Any]) -> Response:
    if not row["stream"]:
        return normalize(row["body"], WIRE, provider=row["provider"], request=row["request"])
    decoder = StreamDecoder(WIRE, provider=row["provider"], request=row["request"])
    decoder.feed(row["body"].encode())
    return decoder.finish()


def test_the_sdk_types_take_what_they_took_before(recorded: list[dict[str, Any]]) -> None:
    taken = 0
    for row in recorded:
        body = write_request(read_request(row["request"], WIRE, provider=row["provider"])).body
        for adapter, member in ((_items, "input"), (_tools, "tools")):
            if isinstance(row["request"].get(member), list) and _takes(adapter, row["request"][member]):
                assert _takes(adapter, body.get(member, [])), (row["id"], member)
                taken += 1
    assert taken > 1000


def _takes(adapter: TypeAdapter[Any], value: Any) -> bool:
    try:
        adapter.validate_python(value)
    except ValidationError:
        return False
    return True
