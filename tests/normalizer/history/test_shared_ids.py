"""Calls of a history that share an id or have none: each keeps the result that is there for it (ID-09, ID-14)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict

from tests.normalizer.history.conversations import PROVIDERS, answer, call, result, results, user
from tests.normalizer.history.views import results as results_in
from toolparity.normalizer.conversation import Request
from toolparity.normalizer.model import Wire
from toolparity.normalizer.requests import check_request, read_request, write_request

SOURCES = (
    "openai.responses",
    "anthropic.messages",
    "xai.grpc",
    "ollama.chat",
    "google.interactions",
    "bedrock.converse",
)


def body_with_ids(wire: Wire, id: str, *, last: bool = True) -> Any:
    """Return a request whose two calls and results have one id. ``last``: whether the second result is there."""
    returned = results(result("call_one", "R0"), result("call_two", "R1"))
    turns: list[Any] = [user(), answer(call("call_one"), call("call_two", "g")), returned]
    body = write_request(Request(wire, "m", turns, params={"max_tokens": 9}), wire, provider=PROVIDERS[wire]).body
    plain = body if isinstance(body, dict) else MessageToDict(body, preserving_proto_field_name=True)
    if not last:
        plain["messages" if "messages" in plain else "input"].pop()
    return json.loads(json.dumps(plain).replace("call_one", id).replace("call_two", id))


@pytest.mark.thorough(keep=2, per="{target}")
@pytest.mark.parametrize("target", PROVIDERS)
@pytest.mark.parametrize("id", ["a", ""], ids=["shared", "empty"])
@pytest.mark.parametrize("source", SOURCES)
def test_every_call_keeps_its_result_on_every_wire(source: Wire, id: str, target: Wire) -> None:
    request = read_request(body_with_ids(source, id), source, provider=PROVIDERS[source])
    written = write_request(request, target, provider=PROVIDERS[target])
    found = results_in(target, written.body)
    assert [text for _, text in found] == ["R0", "R1"]
    assert len({id for id, _ in found}) == 2
    assert {loss.code for loss in written.losses} <= {"param", "default"}
    assert check_request(written.body, target, provider=PROVIDERS[target]) == []


def test_a_call_without_a_result_among_those_that_share_an_id_is_reported() -> None:
    body = body_with_ids("openai.responses", "a", last=False)
    written = write_request(read_request(body, "openai.responses", provider="openai"))
    first, second = results_in("openai.responses", written.body)
    assert first[1] == "R0"
    assert "not executed" in second[1]
    assert [loss.code for loss in written.losses] == ["answered"]
