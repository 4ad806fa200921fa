"""A recorded response, decoded and answered, goes back as the next recorded request of its cassette carried it.

Response and next request are matched by the ids of the calls. The comparison covers the meaning: texts of the
assistant, calls with id, name and arguments by value, results with id and text, in order. Clients leave things out of
what they send back, so these are not compared:

* texts of the assistant that the client dropped (many keep calls alone);
* reasoning that the client wrote as text (``<think>…</think>``);
* white space at the ends of texts, and whether one answer is split into several messages;
* calls without a result; results without an id belong to their calls by position;
* a value that the recording's owner scrubbed from the request.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.normalizer.history.conversations import WIRES
from tests.normalizer.history.views import Statement, statements, value
from tests.normalizer.recorded.rows import Row, decode, rows
from toolparity import Response
from toolparity.normalizer.conversation import Assistant, Request, ToolResults
from toolparity.normalizer.errors import MalformedBody
from toolparity.normalizer.requests import read_request, write_request
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


def pairs(recordings: Path, wire: str) -> Iterator[Pair]:
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
    read = read_request(later.request, later.wire, provider=later.provider)
    given = [result for turn in read.messages if isinstance(turn, ToolResults) for result in turn.results]
    first = {result.call_id: result for result in reversed(given)}
    return ToolResults([first[call.id] for call in response.calls if call.id in first])


def turn_of(items: list[Statement], ids: list[str]) -> list[Statement]:
    """Return the statements from the beginning of the turn with these calls to the last of their results."""
    calls = [place for place, one in enumerate(items) if one.kind == "call" and one.id in ids]
    start = calls[0]
    while start and items[start - 1].kind in ("assistant", "reasoning", "other"):
        start -= 1
    end = calls[-1]
    for place, one in enumerate(items[end + 1 :], end + 1):
        if one.kind == "call" and one.id in ids:
            break
        if one.kind == "result" and (one.id in ids or not one.id):
            end = place
    return items[start : end + 1]


def core(items: list[Statement], ids: list[str]) -> list[tuple[Any, ...]]:
    """Return the calls in order, then their results in the order of the calls."""
    open_ids = list(ids)
    found: list[tuple[Any, ...]] = []
    for one in items:
        if one.kind == "call" and one.id in ids:
            found.append(("call", one.id, one.name, value(one.text or "{}")))
        elif one.kind == "result" and (one.id in ids or not one.id):
            id = one.id or (open_ids[0] if open_ids else "")
            open_ids = [other for other in open_ids if other != id]
            found.append(("result", id, one.text.strip()))
    return sorted(found, key=lambda item: item[0] == "result" and 1 + ids.index(item[1]))


def differences(ours: list[Statement], theirs: list[Statement], ids: list[str]) -> list[Any]:
    other = core(theirs, ids)
    answered = {item[1] for item in other if item[0] == "result"}
    one = [item for item in core(ours, ids) if item[0] == "call" or item[1] in answered]
    if len(one) != len(other):
        return [one, other]
    found: list[Any] = [both for both in zip(one, other, strict=True) if not same(*both)]
    if text_of(theirs) not in ("", text_of(ours)):
        found.append((text_of(ours), text_of(theirs)))
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


def text_of(items: list[Statement]) -> str:
    texts = ("".join(one.text.split()) for one in items if one.kind == "assistant")
    return "".join(text for text in texts if not (text.startswith("<think>") and text.endswith("</think>")))


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("wire", WIRES)
def test_a_response_with_its_results_goes_back_as_the_next_recorded_request_carried_it(
    recordings: Path, wire: str
) -> None:
    wrong: dict[str, Any] = {}
    total = 0
    for pair in pairs(recordings, wire):
        total += 1
        ids = [call.id for call in pair.response.calls]
        request = Request(wire, None, [Assistant(pair.response), pair.results], provider=pair.response.provider)
        ours = statements(wire, write_request(request).body)
        found = differences(ours, turn_of(pair.later, ids), ids)
        if found and CHANGED_BY_CLIENT not in pair.id:
            wrong[pair.id] = found
    assert wrong == {}
    assert total >= LEAST[wire]
