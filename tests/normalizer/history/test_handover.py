"""A conversation of any wire, sent to any other, is legal there; exactly what could not be carried is reported."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.normalizer.history.conversations import PROVIDERS, conversations
from tests.normalizer.history.handover import missing, untrue, with_canonical_names
from tests.normalizer.history.sdk_acceptance import assert_sdk_accepts
from tests.normalizer.history.views import Statement, statements, value
from tests.normalizer.recorded.rows import Row, rows
from tests.support.thoroughness import examples
from tests.support.wires import WIRES
from toolparity import ServerToolCall
from toolparity.normalizer.conversation import Assistant, Encoded, Message, Request, ToolDefinition
from toolparity.normalizer.model import Wire
from toolparity.normalizer.requests import check_request, read_request, write_request
from toolparity.normalizer.wires.registry import wire_name
from toolparity.normalizer.wires.xai_grpc.schema import request_from

#: How many recorded conversations of each wire are taken, evenly over all that contain calls.
OF_EACH = 100
#: What recordings contain in place of the data of an image.
_ELIDED = re.compile(r"\[ELIDED \d+ chars sha256:[0-9a-f]+\]")
#: Gemini accepts base64 with the characters for URLs, which other wires get unchanged and refuse.
_BASE64_FOR_URLS = "google-adk-instrumentor-image-artifacts"
PAIRS = list(itertools.product(WIRES, WIRES))
#: Losses on the way to a wire or back that excuse a difference.
_EXCUSES = {"media", "opaque", "kind", "order", "server-tool", "refusal", "empty", "orphan", "answered", "bridge"}


class Conversation(NamedTuple):
    """A recorded conversation: read, and what its body states."""

    id: str
    request: Request
    statements: list[Statement]


def conversation(row: Row) -> Conversation:
    text = row.request if isinstance(row.request, str) else json.dumps(row.request)
    body = json.loads(_ELIDED.sub("AAAA", text))
    # A caller that hands a conversation over names a model of the target.
    request = replace(read_request(body, wire_name(row.wire), provider=row.provider), model="m")
    return Conversation(row.id, request, statements(row.wire, request_from(body) if row.wire == "xai.grpc" else body))


@pytest.fixture(scope="module")
def recorded(recordings: Path) -> dict[Wire, list[Conversation]]:
    """Conversations with calls that a provider accepted, by wire."""
    found: dict[Wire, list[Conversation]] = {}
    for wire in WIRES:
        accepted = [conversation(row) for row in rows(recordings, wire) if row.request and row.status == 200]
        called = [one for one in accepted if any(item.kind == "call" for item in one.statements)]
        called = [one for one in called if _BASE64_FOR_URLS not in one.id]
        found[wire] = called[:: max(1, len(called) // OF_EACH)]
    assert sum(map(len, found.values())) > 100
    return found


def handed_over(request: Request, target: Wire) -> Encoded:
    """To another wire's usual provider; on its own wire the conversation keeps its provider."""
    return write_request(request, target, provider=request.provider if target == request.wire else PROVIDERS[target])


@pytest.mark.thorough(keep=6)
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_recorded_conversation_is_legal_on_every_wire_and_its_losses_are_true(
    recorded: dict[Wire, list[Conversation]], source: Wire, target: Wire
) -> None:
    wrong: dict[str, list[Any]] = {}
    for one in recorded[source]:
        encoded = handed_over(one.request, target)
        found: list[Any] = [*missing(one.request, one.statements, encoded), *untrue(one.request, encoded)]
        if source != target:
            assert_sdk_accepts(target, encoded.body)
            found += check_request(encoded.body, target, provider=PROVIDERS[target])
        if found:
            wrong[one.id] = found
    assert wrong == {}


@pytest.mark.thorough(keep=2, per="{target}")
@pytest.mark.parametrize(("source", "target"), [pair for pair in PAIRS if pair[0] != pair[1]])
def test_a_recorded_conversation_that_comes_back_states_the_same(
    recorded: dict[Wire, list[Conversation]], source: Wire, target: Wire
) -> None:
    assert [one.id for one in recorded[source] if differences(one.request, target)] == []


def differences(request: Request, target: Wire) -> list[Any]:
    """Return the calls, results and texts that are others on the own wire after a stay on another wire."""
    away = handed_over(request, target)
    again = with_canonical_names(read_request(away.body, target, provider=PROVIDERS[target]), away)
    source = wire_name(request.wire)
    here = handed_over(request, source)
    back = write_request(replace(again, params={}), source, provider=request.provider)
    codes = {loss.code for loss in (*away.losses, *back.losses)}
    pairs = itertools.zip_longest(core(source, here), core(source, back))
    return [pair for pair in pairs if not same(*pair) and not is_excused(pair[0], codes)]


def same(one: Any, other: Any) -> bool:
    """Return whether two are the same. A call without an id on its own wire came back with one."""
    if one and other and one[0] == other[0] in ("call", "result") and not (one[1] and other[1]):
        return bool(one[2:] == other[2:])
    return bool(one == other)


def is_excused(one: Any, codes: set[str]) -> bool:
    return bool(codes & _EXCUSES) or (one is not None and one[0] == "call" and "arguments" in codes)


def core(wire: Wire, encoded: Encoded) -> list[Any]:
    """Return calls with canonical ids and names, results, and texts, in order; texts of one speaker concatenated."""
    found: list[Any] = []
    for one in statements(wire, encoded.body):
        # On google.gemini, a call without an id comes back with one.
        id = "" if wire == "google.gemini" else encoded.ids.get(one.id, one.id)
        text = "".join(one.text.split())
        if one.kind == "call":
            found.append(("call", id, encoded.names.get(one.name, one.name), value(one.text or "{}")))
        elif one.kind == "result":
            found.append(("result", id, text))
        elif one.kind in ("system", "user", "assistant") and text:
            if found and found[-1][0] == one.kind:
                text = found.pop()[1] + text
            found.append((one.kind, text))
    return found


def _was_served(turn: Message, wire: Wire) -> bool:
    """Return whether the target's own provider ran a call: an invented one has none of its real members."""
    if not isinstance(turn, Assistant) or turn.response.wire != wire:
        return False
    return any(isinstance(block, ServerToolCall) for block in turn.response.choices[0].blocks)


@given(conversations(most=3), st.sampled_from(PAIRS))
@examples(200)
def test_an_invented_conversation_of_several_wires_is_legal_and_its_losses_are_true(
    talk: list[list[Message]], pair: tuple[Wire, Wire]
) -> None:
    source, target = pair
    turns = [turn for part in talk for turn in part]
    names = dict.fromkeys(call.name for turn in turns if isinstance(turn, Assistant) for call in turn.response.calls)
    tools = [ToolDefinition(name, "a tool", {"type": "object", "properties": {}}) for name in names]
    params = {"max_tokens": 50} if source == "anthropic.messages" else {}
    request = Request(source, "m", turns, tools, provider=PROVIDERS[source], params=params)
    encoded = write_request(request, target, provider=PROVIDERS[target])
    served = any(_was_served(turn, target) for turn in turns)
    if not (served and target == "bedrock.converse"):  # Converse requires the declaration of a server tool, too
        assert check_request(encoded.body, target, provider=PROVIDERS[target]) == []
    if source != target and not served:
        assert_sdk_accepts(target, encoded.body)
    assert missing(request, [], encoded) == []
    assert untrue(request, encoded) == []
    declared = [encoded.names.get(tool.name, tool.name) for tool in read_request(encoded.body, target).tools]
    assert declared == list(names)
