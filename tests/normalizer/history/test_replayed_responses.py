"""A recorded response, decoded and answered, goes back as the next recorded request of its cassette carried it.

Response and next request are matched by the ids of the calls. The comparison covers calls with id, name and arguments
by value, and results with id and text. Clients leave things out of what they send back, so a call without a result and
white space at the ends of texts are not compared, nor what the recording's owner scrubbed from the request.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.normalizer.history.views import Statement, statements, value
from tests.normalizer.recorded.rows import Row, decode, rows
from tests.support.wires import WIRES
from toolparity import Response
from toolparity.normalizer.conversation import Assistant, Request, ToolResults
from toolparity.normalizer.errors import MalformedBody
from toolparity.normalizer.model import Wire
from toolparity.normalizer.requests import read_request, write_request
from toolparity.normalizer.wires.registry import wire_name
from toolparity.normalizer.wires.xai_grpc.schema import request_from

#: The fewest pairs in the recordings. On google.gemini, only few calls have ids.
LEAST = {"openai.chat": 300, "openai.responses": 150, "anthropic.messages": 150, "xai.grpc": 5, "bedrock.converse": 20}
LEAST |= {"cohere.chat": 10, "google.gemini": 10, "ollama.chat": 0, "google.interactions": 0}
#: LangChainGo replays the value of the only argument in the place of the object.
CHANGED_BY_CLIENT = "testexecutorwithopenaifunctionagent"


class Pair(NamedTuple):
    """A response, and the statements and the results of the request that was sent next."""

    id: str
    response: Response
    later: list[Statement]
    results: ToolResults


def stated(row: Row) -> list[Statement]:
    try:
        return statements(row.wire, request_from(row.request) if row.wire == "xai.grpc" else row.request)
    except (KeyError, TypeError, AttributeError):
        return []  # a request that was refused for its form


def pairs(recordings: Path, wire: Wire) -> Iterator[Pair]:
    """Yield each response with calls that a later request of the same cassette has, with the first such request."""
    cassettes: dict[Any, list[Row]] = defaultdict(list)
    for row in rows(recordings, wire):
        cassettes[row.source["repo"], row.source["path"]].append(row)
    for exchanges in cassettes.values():
        for place, row in enumerate(exchanges):
            if row.status != 200 or not (row.body or row.frames):
                continue
            try:
                response = decode(row, request=row.request)
            except MalformedBody:
                continue  # speech, for example
            ids = {call.id for call in response.calls}
            if not ids or len(ids) != len(response.calls):
                continue
            for later in exchanges[place + 1 :]:
                items = stated(later) if later.request else []
                if ids <= {one.id for one in items if one.kind == "call"}:
                    yield Pair(row.id, response, items, results_in(later, response))
                    break


def results_in(later: Row, response: Response) -> ToolResults:
    """Return the results of a response's calls in a later request, the first of each call."""
    read = read_request(later.request, wire_name(later.wire), provider=later.provider)
    given = [result for turn in read.messages if isinstance(turn, ToolResults) for result in turn.results]
    first = {result.call_id: result for result in reversed(given)}
    return ToolResults([first[call.id] for call in response.calls if call.id in first])


def exchanged(items: list[Statement], ids: list[str]) -> dict[tuple[str, str], Any]:
    """Return the first call of each id with its name and arguments, and the first result of each call."""
    found: dict[tuple[str, str], Any] = {}
    for one in items:
        if one.kind == "call" and one.id in ids:
            found.setdefault(("call", one.id), (one.name, value(one.text or "{}")))
        elif one.kind == "result" and found:
            without = [id for id in ids if ("result", id) not in found]
            id = one.id or next(iter(without), "")  # a result without an id belongs to the next call
            if id in without:
                found["result", id] = one.text.strip()
    return found


def same(ours: Any, theirs: Any) -> bool:
    """Return whether two values are equal, apart from what was scrubbed."""
    if isinstance(theirs, str) and "[SCRUBBED]" in theirs:
        return True
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(same(ours[key], theirs[key]) for key in ours)
    if isinstance(ours, (list, tuple)) and isinstance(theirs, (list, tuple)):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    return bool(ours == theirs)


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("wire", WIRES)
def test_a_response_with_its_results_goes_back_as_the_next_recorded_request_carried_it(
    recordings: Path, wire: Wire
) -> None:
    wrong: dict[str, Any] = {}
    total = 0
    for pair in pairs(recordings, wire):
        total += 1
        ids = [call.id for call in pair.response.calls]
        request = Request(wire, None, [Assistant(pair.response), pair.results], provider=pair.response.provider)
        ours = exchanged(statements(wire, write_request(request).body), ids)
        theirs = exchanged(pair.later, ids)
        if not (same({key: ours.get(key) for key in theirs}, theirs)) and CHANGED_BY_CLIENT not in pair.id:
            wrong[pair.id] = (ours, theirs)
        assert [id for kind, id in ours if kind == "call"] == ids
    assert wrong == {}
    assert total >= LEAST[wire]
