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

from tests.normalizer.history.conversations import CONTINUED, PROVIDERS, TARGETS, conversations
from tests.normalizer.history.handover import missing, untrue
from tests.normalizer.history.sdk_acceptance import assert_sdk_accepts
from tests.normalizer.history.views import Statement, statements
from tests.normalizer.recorded.rows import Row, rows
from tests.support.thoroughness import examples
from tests.support.wires import WIRES
from toolparity import ServerToolCall
from toolparity.normalizer.conversation import Assistant, Message, Request, ToolChoice, ToolDefinition
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


@pytest.mark.thorough(keep=6)
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_recorded_conversation_is_legal_on_every_wire_and_its_losses_are_true(
    recorded: dict[Wire, list[Conversation]], source: Wire, target: Wire
) -> None:
    wrong: dict[str, list[Any]] = {}
    for one in recorded[source]:
        provider = one.request.provider if target == source else PROVIDERS[target]
        encoded = write_request(one.request, target, provider=provider)
        found: list[Any] = [*missing(one.request, one.statements, encoded), *untrue(one.request, encoded)]
        if source != target:
            assert_sdk_accepts(target, encoded.body)
            found += check_request(encoded.body, target, provider=PROVIDERS[target])
        if found:
            wrong[one.id] = found
    assert wrong == {}


def _was_served(turn: Message, wire: Wire) -> bool:
    """Return whether the target's own provider ran a call: an invented one has none of its real members."""
    if not isinstance(turn, Assistant) or turn.response.wire != wire:
        return False
    return any(isinstance(block, ServerToolCall) for block in turn.response.choices[0].blocks)


@given(conversations(), st.sampled_from(WIRES), st.sampled_from(TARGETS))
@examples(400)
def test_an_invented_conversation_of_several_wires_is_legal_and_its_losses_are_true(
    talk: list[list[Message]], source: Wire, target: tuple[Wire, str]
) -> None:
    wire, provider = target
    turns = [turn for part in talk for turn in part]
    names = dict.fromkeys(call.name for turn in turns if isinstance(turn, Assistant) for call in turn.response.calls)
    tools = [ToolDefinition(name, "a tool", {"type": "object", "properties": {}}) for name in names]
    tools.append(ToolDefinition("sql", kind="custom"))
    asked = Request(source, "m", [*turns, CONTINUED], tools, ToolChoice("auto"), False, params={"max_tokens": 9})
    request = replace(asked, provider=PROVIDERS[source])
    encoded = write_request(request, wire, provider=provider)
    served = any(_was_served(turn, wire) for turn in turns)
    if not (served and wire == "bedrock.converse"):  # Converse requires the declaration of a server tool, too
        assert check_request(encoded.body, wire, provider=provider) == []
    if source != wire and not served and PROVIDERS[wire] == provider:
        assert_sdk_accepts(wire, encoded.body)
    assert missing(request, [], encoded) == []
    assert untrue(request, encoded) == []
    declared = [encoded.names.get(tool.name, tool.name) for tool in read_request(encoded.body, wire).tools]
    assert declared == [*names, "sql"]
