"""A conversation of any wire, sent to any other, is legal there; exactly what could not be carried is reported."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.normalizer.history.handing import PROVIDERS, WIRES, assert_the_sdk_takes_it, home, missing, untrue
from tests.normalizer.history.talks import conversations
from tests.normalizer.history.views import Said, said, value
from tests.normalizer.recorded.rows import lines
from tests.support.thoroughness import examples
from toolparity import ServerToolCall
from toolparity.normalizer.conversation import Assistant, Encoded, Message, Request, ToolDefinition
from toolparity.normalizer.requests import check_request, read_request, write_request

#: How many recorded conversations of each wire are taken, evenly over all that hold calls.
OF_EACH = 100
#: What recordings contain in place of the data of an image.
_ELIDED = re.compile(r"\[ELIDED \d+ chars sha256:[0-9a-f]+\]")
PAIRS = list(itertools.product(WIRES, WIRES))


class Told:
    """A recorded conversation: as it is on its wire, and read."""

    def __init__(self, row: dict[str, Any]) -> None:
        self.id: str = row["id"]
        self.wire: str = row["wire"]
        self.body = json.loads(_ELIDED.sub("AAAA", json.dumps(row["request"])))
        self.provider: str = row["provider"]
        # A caller that hands a conversation over names a model of the target's.
        self.request = replace(read_request(self.body, self.wire, provider=self.provider), model="m")


@pytest.fixture(scope="module")
def recorded(recordings: Path) -> dict[str, list[Told]]:
    """Conversations with calls that a provider accepted, by wire."""
    found: dict[str, list[Told]] = {}
    for wire in WIRES:
        rows = [json.loads(line) for line in lines(recordings, wire)]
        told = [Told(row) for row in rows if row["request"] and row["status"] == 200]
        told = [
            t for t in told if any(isinstance(turn, Assistant) and turn.response.calls for turn in t.request.messages)
        ]
        found[wire] = told[:: max(1, len(told) // OF_EACH)]
    assert sum(map(len, found.values())) > 100
    return found


def handed(request: Request, target: str) -> Encoded:
    """To another wire's usual provider; on its own wire the conversation keeps its provider."""
    return write_request(request, target, provider=request.provider if target == request.wire else PROVIDERS[target])


def source_says(told: Told) -> list[Said]:
    """What the recorded body itself says, read without the normalizer."""
    from toolparity.normalizer.wires.xai_grpc.schema import request_from

    return said(told.wire, request_from(told.body) if told.wire == "xai.grpc" else told.body)


@pytest.mark.thorough(keep=6)
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_recorded_conversation_is_legal_whole_and_truly_told_on_every_wire(
    recorded: dict[str, list[Told]], source: str, target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    broken: dict[str, list[Any]] = {}
    lossless = 0
    for told in recorded[source]:
        encoded = handed(told.request, target)
        if source != target:
            assert_the_sdk_takes_it(target, encoded.body)
            if found := check_request(encoded.body, target, provider=PROVIDERS[target]):
                broken[told.id] = list(found)
        if found := [*missing(told.request, source_says(told), encoded), *untrue(told.request, encoded)]:
            broken.setdefault(told.id, []).extend(found)
        lossless += not encoded.losses
    with capsys.disabled():
        print(f"\n  {source} -> {target}: {len(recorded[source])} handed over, {lossless} without a loss", end="")
    assert broken == {}


@pytest.mark.thorough(keep=2, per="{target}")
@pytest.mark.parametrize(("source", "target"), [pair for pair in PAIRS if pair[0] != pair[1]])
def test_a_recorded_conversation_that_went_there_and_back_says_the_same(
    recorded: dict[str, list[Told]], source: str, target: str
) -> None:
    changed = [told.id for told in recorded[source] if difference(told.request, target)]
    assert changed == []


def difference(request: Request, target: str) -> list[Any]:
    """What the calls, results and words of a conversation are at home, before and after a stay on another wire."""
    away = handed(request, target)
    again = home(read_request(away.body, target, provider=PROVIDERS[target]), away)
    here = handed(request, request.wire)
    back = write_request(replace(again, params={}), request.wire, provider=request.provider)
    before, after = core(request.wire, here, request), core(request.wire, back, again)
    codes = {loss.code for loss in (*away.losses, *back.losses)}
    pairs = itertools.zip_longest(before, after)
    return [(one, other) for one, other in pairs if not same(one, other) and not excused(one, codes)]


def same(one: Any, other: Any) -> bool:
    """Whether two calls, results or words are the same; a call that had no id at home came back with one."""
    if one and other and one[0] == other[0] and one[0] in ("call", "result") and not (one[1] and other[1]):
        return bool(one[2:] == other[2:])
    return bool(one == other)


def excused(one: Any, codes: set[str]) -> bool:
    """Whether a loss on the way reported that this would not come back as it was."""
    return bool(
        codes & {"media", "opaque", "kind", "order", "server-tool", "refusal", "empty", "orphan", "answered", "bridge"}
    ) or (one is not None and one[0] == "call" and "arguments" in codes)


def core(wire: str, encoded: Encoded, request: Request) -> list[Any]:
    """Calls with canonical ids and names, results, and words, in order; words of one speaker joined."""
    found: list[Any] = []
    with_ids = wire != "google.gemini"  # there, a call without an id comes back with one
    for one in said(wire, encoded.body):
        if one.kind == "call":
            id, name = encoded.ids.get(one.id, one.id), encoded.names.get(one.name, one.name)
            found.append(("call", id if with_ids else "", name, value(one.text or "{}")))
        elif one.kind == "result":
            found.append(("result", encoded.ids.get(one.id, one.id) if with_ids else "", _words(one.text)))
        elif one.kind in ("system", "user", "assistant") and one.text.strip():
            if found and found[-1][0] == one.kind:
                found[-1] = (one.kind, found[-1][1] + _words(one.text))
            else:
                found.append((one.kind, _words(one.text)))
    return found


def _words(text: str) -> str:
    return "".join(text.split())


def served_by(turn: Message, wire: str) -> bool:
    """Whether the target's own provider ran a call in this turn: made up here, it has none of its real members."""
    if not isinstance(turn, Assistant) or turn.response.wire != wire:
        return False
    return any(isinstance(block, ServerToolCall) for block in turn.response.choices[0].blocks)


@given(conversations(most=3), st.sampled_from(PAIRS))
@examples(200)
def test_a_made_conversation_of_mixed_origin_is_legal_whole_and_truly_told(
    talk: list[list[Message]], pair: tuple[str, str]
) -> None:
    source, target = pair
    turns = [turn for part in talk for turn in part]
    names = dict.fromkeys(call.name for turn in turns if isinstance(turn, Assistant) for call in turn.response.calls)
    schema = {"type": "object", "properties": {}}
    tools = [ToolDefinition(name, "a tool", schema) for name in names]
    params = {"max_tokens": 50} if source == "anthropic.messages" else {}
    request = Request(source, "m", turns, tools, provider=PROVIDERS[source], params=params)
    encoded = write_request(request, target, provider=PROVIDERS[target])
    assert check_request(encoded.body, target, provider=PROVIDERS[target]) == []
    if source != target and not any(served_by(turn, target) for turn in turns):
        assert_the_sdk_takes_it(target, encoded.body)
    assert missing(request, [], encoded) == []
    assert untrue(request, encoded) == []
    declared = [encoded.names.get(tool.name, tool.name) for tool in read_request(encoded.body, target).tools]
    assert declared == list(names)
