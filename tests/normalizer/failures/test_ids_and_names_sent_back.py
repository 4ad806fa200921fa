"""Ids and names in a history that no scenario has: shared, empty, long and similar ones, and results without calls."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict

from tests.normalizer.failures.conversations import (
    EVERY_WIRE,
    PROVIDERS,
    WIRES,
    assistant,
    call,
    request,
    results,
    tool_result,
    user,
    written,
)
from tests.normalizer.history.views import calls
from tests.normalizer.history.views import results as answered
from tests.support.events import function_call, responses_body
from toolparity import normalize
from toolparity.normalizer.conversation import Encoded, Message
from toolparity.normalizer.requests import check_request, read_request, write_request

CHAT, RESPONSES, CLAUDE = "openai.chat", "openai.responses", "anthropic.messages"
#: The names of tools that a provider accepts, where these are not `[a-zA-Z0-9_-]{1,64}`.
LEGAL_NAMES = {
    "google.gemini": "[a-zA-Z_][a-zA-Z0-9_.-]{0,63}",
    "google.interactions": "[a-zA-Z_][a-zA-Z0-9_.-]{0,63}",
    "ollama.chat": ".+",
    "cohere.chat": "[a-zA-Z_][a-zA-Z0-9_]*",
}


def legal(target: str, name: str) -> bool:
    """Whether a provider accepts the name of a tool."""
    return re.fullmatch(LEGAL_NAMES.get(target, "[a-zA-Z0-9_-]{1,64}"), name) is not None


def round_of(wire: str, *made: Any) -> list[Message]:
    """The user, the calls and their results."""
    return [user(), assistant(*made, wire=wire), results(*(tool_result(one.id, one.id) for one in made))]


def ids_of(target: str, encoded: Encoded) -> list[str]:
    """The ids of the calls in the body, which are those of the results, too."""
    ids = [id for id, *_ in calls(target, encoded.body)]
    assert [id for id, _ in answered(target, encoded.body)] == ids
    return ids


def test_a_result_with_the_item_id_is_sent_with_the_call_id() -> None:
    body = responses_body(function_call("call_1", "f", "{}", id="fc_1"))
    made = normalize(body, RESPONSES, provider="openai").calls
    turns = [user(), assistant(*made, wire=RESPONSES), results(tool_result("fc_1"))]
    for target in WIRES:
        assert ids_of(target, written(turns, RESPONSES, target)) == ["call_1"]


SOURCES = (RESPONSES, CLAUDE, "xai.grpc", "ollama.chat", "google.interactions", "bedrock.converse")


def body_with_ids(wire: str, id: str, *, last: bool = True) -> Any:
    """Return a request whose two calls and results have one id. ``last``: whether the second result is there."""
    returned = results(tool_result("call_one", "R0"), tool_result("call_two", "R1"))
    body = written([user(), assistant(call("call_one"), call("call_two", "g"), wire=wire), returned], wire).body
    plain = body if isinstance(body, dict) else MessageToDict(body, preserving_proto_field_name=True)
    if not last:
        plain["messages" if "messages" in plain else "input"].pop()
    return json.loads(json.dumps(plain).replace("call_one", id).replace("call_two", id))


@pytest.mark.thorough(keep=2, per="{target}")
@pytest.mark.parametrize("target", WIRES)
@pytest.mark.parametrize("id", ["a", ""], ids=["shared", "empty"])
@pytest.mark.parametrize("source", SOURCES)
def test_each_of_the_calls_with_one_id_or_none_keeps_its_result(source: Any, id: str, target: Any) -> None:
    asked = read_request(body_with_ids(source, id), source, provider=PROVIDERS[source])
    encoded = write_request(asked, target, provider=PROVIDERS[target])
    assert len(set(ids_of(target, encoded))) == 2
    assert [text for _, text in answered(target, encoded.body)] == ["R0", "R1"]
    assert {loss.code for loss in encoded.losses} <= {"param", "default"}
    assert check_request(encoded.body, target, provider=PROVIDERS[target]) == []


def test_a_call_without_a_result_among_those_that_share_an_id_is_reported() -> None:
    encoded = write_request(read_request(body_with_ids(RESPONSES, "a", last=False), RESPONSES, provider="openai"))
    first, second = answered(RESPONSES, encoded.body)
    assert (first[1], "not executed" in second[1]) == ("R0", True)
    assert [loss.code for loss in encoded.losses] == ["answered"]


@pytest.mark.parametrize(
    ("target", "provider", "pattern"),
    [
        (CHAT, "mistral", "[a-zA-Z0-9]{9}"),
        (CHAT, "openai", ".{1,40}"),
        (RESPONSES, "openai", ".{1,64}"),
        (CLAUDE, "anthropic", "[a-zA-Z0-9_-]+"),
        ("xai.grpc", "xai", "toolu_.*"),
    ],
)
def test_ids_of_any_length_are_adapted_to_the_target_without_collisions(
    target: str, provider: str, pattern: str
) -> None:
    given = [*(f"toolu_{'x' * 80}_{number}" for number in range(1000)), "toolu_.0", "toolu_:0", "toolu__0"]
    turns = round_of("xai.grpc", *map(call, given))
    encoded = write_request(request(turns, "xai.grpc"), target, provider=provider)
    ids = ids_of(target, encoded)
    assert all(re.fullmatch(pattern, id) for id in ids)
    assert len(set(ids)) == len(given)
    assert [encoded.ids.get(id, id) for id in ids] == given
    later = write_request(request([*turns, user("more")], "xai.grpc"), target, provider=provider)
    assert ids_of(target, later) == ids


@EVERY_WIRE
def test_tools_with_similar_or_unsupported_names_get_distinct_legal_aliases(wire: str) -> None:
    similar = ["search-a", "search_a", "search.a", "search a"]
    names = [*similar, "1st", "1st tool", "-x", ".x y", "\u00e9t\u00e9", "search " * 12]
    made = [call(str(n), name) for n, name in enumerate(names)]
    encoded = written(round_of(CHAT, *made), CHAT, wire, names=names)
    used = [name for _, name, _ in calls(wire, encoded.body)]
    assert [name for name in used if name in names] == [name for name in names if legal(wire, name)]
    assert all(legal(wire, name) for name in used)
    assert len(set(used)) == len(names)
    assert [encoded.names.get(name, name) for name in used] == names
    assert [tool.name for tool in read_request(encoded.body, wire, provider=PROVIDERS[wire]).tools] == used
    unnamed = written(round_of(CHAT, call("a", "")), CHAT, wire)
    ((_, alias, _),) = calls(wire, unnamed.body)
    assert (legal(wire, alias), unnamed.names.get(alias, alias)) == (True, "")
