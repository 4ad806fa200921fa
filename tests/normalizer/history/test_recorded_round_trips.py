"""A recorded request that is read and written back means the same; a recorded response goes back item by item."""

from __future__ import annotations

import json
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.normalizer.history.meaning import meaning, without_extra
from tests.normalizer.recorded.rows import Row, accepted, decode
from tests.support.wires import WIRES
from toolparity.normalizer.conversation import Assistant, Encoded, Request
from toolparity.normalizer.model import Wire
from toolparity.normalizer.requests import read_request, write_request

MISSES = tomllib.loads(Path(__file__).with_name("round_trip_misses.toml").read_text("utf-8"))["miss"]
#: The fewest requests that a provider accepted.
LEAST = {"openai.chat": 7000, "openai.responses": 2000, "anthropic.messages": 2000, "xai.grpc": 40, "cohere.chat": 85}
LEAST |= {"ollama.chat": 16, "google.interactions": 16, "bedrock.converse": 370, "google.gemini": 1200}
#: On xai.grpc, only an extra member states which blocks were one message.
FORMS = [(wire, how) for wire in WIRES for how in ("as read", "erased") if (wire, how) != ("xai.grpc", "erased")]


class Trip(NamedTuple):
    """A recorded request, read and written back."""

    row: Row
    request: Request
    written: Encoded


@cache
def trips(recordings: Path, wire: Wire) -> list[Trip]:
    """Return the requests of a wire that its provider accepted, without those of Cohere's version 1."""
    found = []
    for row in accepted(recordings, wire):
        if wire != "cohere.chat" or "messages" in row.request:
            request = read_request(row.request, wire, provider=row.provider)
            found.append(Trip(row, request, write_request(request)))
    assert len(found) >= LEAST[wire]
    return found


def misses_of(wire: Wire, how: str, id: str) -> set[str]:
    """Return the listed patterns that match an exchange."""
    listed = [miss for miss in MISSES if miss["wire"] == wire and miss["how"] in ("as read", how)]
    return {miss["id"] for miss in listed if re.fullmatch(miss["id"], id)}


@pytest.mark.thorough(keep=17)
@pytest.mark.parametrize(("wire", "how"), FORMS)
def test_a_recorded_request_keeps_its_meaning_or_is_a_listed_miss(recordings: Path, wire: Wire, how: str) -> None:
    """As it was read, and with the canonical fields of its answers alone."""
    erased = how == "erased"
    used: set[str] = set()
    for row, request, written in trips(recordings, wire):
        encoded = write_request(without_extra(request)) if erased else written
        if meaning(wire, encoded.body, erased=erased) != meaning(wire, row.request, erased=erased):
            listed = misses_of(wire, how, row.id)
            assert listed, f"{row.id} has another meaning"
            used |= listed
        else:
            assert erased or not encoded.losses, f"{row.id}: a loss is reported, and nothing was lost"
    assert used == {miss["id"] for miss in MISSES if miss["wire"] == wire and miss["how"] in ("as read", how)}


def test_a_response_of_openai_responses_goes_back_item_by_item(recordings: Path) -> None:
    wire: Wire = "openai.responses"
    compared = 0
    for row in accepted(recordings, wire):
        output = output_of(row)
        if not output or output[-1].get("type") == "reasoning":  # a thought that nothing follows cannot go back
            continue
        written = write_request(
            Request(wire, None, [Assistant(decode(row, request=row.request))], provider=row.provider)
        )
        # Some gateways add members to items that a history never contains.
        items = [{k: v for k, v in item.items() if k not in ("item_id", "output_index")} for item in output]
        assert meaning(wire, written.body) == meaning(wire, {"input": items}), row.id
        assert not written.losses, row.id
        compared += 1
    assert compared > 1000


def output_of(row: Row) -> list[dict[str, Any]]:
    """Return the items of a recorded response, if they are in its body or in its terminal event."""
    if row.status != 200 or row.body_encoding or row.body is None:
        return []
    if not row.stream:
        return json.loads(row.body).get("output") or []
    for line in reversed(row.body.splitlines()):
        if line.startswith("data: {") and '"type":"response.completed"' in line.replace(" ", "")[:40]:
            return json.loads(line.removeprefix("data: "))["response"].get("output") or []
    return []
