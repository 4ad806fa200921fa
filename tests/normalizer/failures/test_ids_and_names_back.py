"""Failures of classes id and name on the way back: ids and names that the next request's provider does not take."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest

from tests.normalizer.failures.back import (
    PROVIDERS,
    WIRES,
    call,
    codes,
    request,
    respond,
    results,
    said,
    tool_result,
    user,
    written,
)
from tests.normalizer.history.views import calls
from tests.normalizer.history.views import results as answered
from tests.support.events import chat_body, chat_call, function_call, responses_body
from toolparity import normalize, select
from toolparity.normalizer.answers import answer
from toolparity.normalizer.conversation import Message, TextPart, ToolResult
from toolparity.normalizer.errors import DuplicateAnswer
from toolparity.normalizer.requests import check_request, read_request, write_request

_PAIRS = pytest.mark.parametrize(("source", "target"), list(itertools.product(WIRES, WIRES)))


def every_pair(test: Any) -> Any:
    """Run a test for every pair of wires, in the plain run for two sources of each target."""
    return pytest.mark.thorough(keep=2, per="{target}")(_PAIRS(test))


EVERY_WIRE = pytest.mark.parametrize("wire", WIRES)
#: The names of tools that a provider accepts, where these are not `[a-zA-Z0-9_-]{1,64}`.
LEGAL_NAMES = {
    "google.gemini": "[a-zA-Z_][a-zA-Z0-9_.-]{0,63}",
    "google.interactions": "[a-zA-Z_][a-zA-Z0-9_.-]{0,63}",
    "ollama.chat": ".+",
    "cohere.chat": "[a-zA-Z_][a-zA-Z0-9_]*",
}


def canonical(ids: dict[str, str], id: str) -> str:
    """The canonical id or name of what is on the wire."""
    return ids.get(id, id)


def ids_of(wire: str, turns: list[Message], target: str, provider: str | None = None) -> tuple[list[str], list[str]]:
    """Ids of the calls and of the results, as they are on the wire."""
    body = written(turns, wire, target, provider=provider or PROVIDERS[target]).body
    return [id for id, *_ in calls(target, body)], [id for id, _ in answered(target, body)]


def test_ID_07_a_result_with_the_item_id_is_sent_with_the_call_id() -> None:
    response = normalize(
        responses_body(function_call("call_1", "f", "{}", id="fc_1")), "openai.responses", provider="openai"
    )
    turns = [user(), said(*response.calls, wire="openai.responses"), results(tool_result("fc_1"))]
    for target in WIRES:
        encoded = written(turns, "openai.responses", target)
        assert answered(target, encoded.body) == [("call_1", "ok")]
        assert [id for id, *_ in calls(target, encoded.body)] == ["call_1"]


def test_ID_08_a_second_result_or_one_without_a_call_is_an_error() -> None:
    response = respond(call("a"))
    for outcomes in ([tool_result("a"), tool_result("a")], [tool_result("a"), tool_result("b")]):
        with pytest.raises(DuplicateAnswer):
            answer(response, select(response), outcomes)


@EVERY_WIRE
def test_ID_08_in_a_history_a_second_result_is_left_out_and_reported(wire: str) -> None:
    turns = [
        user(),
        said(call("a"), wire=wire),
        results(tool_result("a", "1"), tool_result("a", "2"), tool_result("b", "3")),
    ]
    encoded = written(turns, wire)
    assert answered(wire, encoded.body) == [("a", "1")]
    assert codes(encoded) == ["duplicate-answer", "orphan"]


@pytest.mark.parametrize("target", WIRES)
@pytest.mark.parametrize("given", ["x", ""], ids=["same", "blank"])
def test_ID_09_two_calls_with_the_same_id_are_sent_with_distinct_ids(target: str, given: str) -> None:
    body = chat_body(chat_call(given, "f", '{"x":1}'), chat_call(given, "f", '{"x":2}'))
    response = normalize(body, "openai.chat", provider="mimo")
    outcomes = dict(zip([one.id for one in response.calls], ["1", "2"], strict=True))
    turns = [user(), *answer(response, select(response), outcomes)]
    encoded = write_request(request(turns, "openai.chat"), target, provider=PROVIDERS[target])
    ids = [id for id, *_ in calls(target, encoded.body)]
    assert len(set(ids)) == 2
    assert answered(target, encoded.body) == [(ids[0], "1"), (ids[1], "2")]


@every_pair
def test_ID_10_ids_repeated_in_the_next_round_are_paired_by_round(source: str, target: str) -> None:
    turns: list[Message] = []
    for number in (1, 2):
        call_made = [call(f"f:{n}", text=f'{{"x":{number}{n}}}') for n in (0, 1)]
        turns += [
            user(),
            said(*call_made, wire=source),
            results(tool_result("f:1", f"{number}1"), tool_result("f:0", f"{number}0")),
        ]
    encoded = written(turns, source, target)
    sent_calls = calls(target, encoded.body)
    assert [given for *_, given in sent_calls] == [{"x": 10}, {"x": 11}, {"x": 20}, {"x": 21}]
    assert answered(target, encoded.body) == [(id, str(given["x"])) for id, _, given in sent_calls]
    assert [canonical(encoded.ids, id) for id, *_ in sent_calls] == ["f:0", "f:1", "f:0", "f:1"]


@pytest.mark.parametrize(
    ("target", "provider", "pattern"),
    [
        ("openai.chat", "mistral", "[a-zA-Z0-9]{9}"),
        ("openai.chat", "openai", ".{1,40}"),
        ("openai.responses", "openai", ".{1,64}"),
        ("anthropic.messages", "anthropic", "[a-zA-Z0-9_-]+"),
        ("xai.grpc", "xai", "[!-~]+"),
    ],
)
def test_ID_13_ids_of_any_length_are_adapted_to_the_target_without_collisions(
    target: str, provider: str, pattern: str
) -> None:
    long = [f"toolu_{'x' * 80}_{number}" for number in range(1000)]
    turns = [user(), said(*map(call, long), wire="xai.grpc"), results(*map(tool_result, long))]
    encoded = write_request(request(turns, "xai.grpc"), target, provider=provider)
    if target == "xai.grpc":
        assert encoded.ids == {}
        return
    ids = [id for id, *_ in calls(target, encoded.body)]
    assert all(re.fullmatch(pattern, id) for id in ids)
    assert len(set(ids)) == len(long)
    assert [id for id, _ in answered(target, encoded.body)] == ids
    assert [canonical(encoded.ids, id) for id in ids] == long


@pytest.mark.parametrize("provider", ["moonshot", "kimi", "openai"])
def test_ID_15_native_ids_are_sent_back_unchanged_to_their_own_provider(provider: str) -> None:
    body = chat_body(chat_call("functions.a:3", "a", "{}"))
    response = normalize(body, "openai.chat", provider=provider)
    turns = [user(), *answer(response, select(response), {"functions.a:3": "ok"})]
    encoded = write_request(request(turns, names=("a",)), "openai.chat", provider=provider)
    assert calls("openai.chat", encoded.body) == [("functions.a:3", "a", {})]
    assert answered("openai.chat", encoded.body) == [("functions.a:3", "ok")]
    assert encoded.ids == {}


def test_ID_20_an_id_that_holds_the_functions_name_is_kept_where_it_is_read_again() -> None:
    turns = [user(), said(call("functions.f:0"), wire="openai.chat"), results(tool_result("functions.f:0"))]
    for target in ("openai.chat", "openai.responses", "xai.grpc"):
        assert ids_of("openai.chat", turns, target) == (["functions.f:0"], ["functions.f:0"])


@pytest.mark.parametrize("source", ["openai.chat", "anthropic.messages", "xai.grpc"])
def test_ID_18_a_call_id_is_never_sent_as_the_item_id(source: str) -> None:
    encoded = written(
        [user(), said(call("call_x"), wire=source), results(tool_result("call_x"))], source, "openai.responses"
    )
    call_made, output = encoded.body["input"][1:]
    assert ("id" in call_made, call_made["call_id"]) == (False, "call_x")
    assert ("id" in output, output["call_id"]) == (False, "call_x")
    wrong = {"model": "m", "input": [{**call_made, "id": "call_x"}, output]}
    assert "item-id" in [violation.rule for violation in check_request(wrong, "openai.responses", provider="openai")]


@pytest.mark.parametrize("source", ["openai.chat", "openai.responses", "xai.grpc"])
def test_ID_19_ids_that_differ_in_one_foreign_character_stay_different(source: str) -> None:
    turns = [user(), said(*map(call, ["call.0", "call:0", "call_0"]), wire=source)]
    turns.append(results(*(tool_result(id, id) for id in ("call.0", "call:0", "call_0"))))
    encoded = written(turns, source, "anthropic.messages")
    ids = [id for id, *_ in calls("anthropic.messages", encoded.body)]
    assert len(set(ids)) == 3
    assert ids[2] == "call_0"
    assert [canonical(encoded.ids, id) for id in ids] == ["call.0", "call:0", "call_0"]
    # The same ids in the next request, whatever follows.
    later = written([*turns, user("more")], source, "anthropic.messages")
    assert [id for id, *_ in calls("anthropic.messages", later.body)] == ids
    assert answered("anthropic.messages", later.body) == list(zip(ids, ["call.0", "call:0", "call_0"], strict=True))


# names


@every_pair
def test_NAME_04_the_name_of_the_pseudo_tool_is_legal_when_sent_back(source: str, target: str) -> None:
    call_made = call("a", "multi_tool_use.parallel")
    encoded = written([user(), said(call_made, wire=source), results(tool_result("a", "unknown tool"))], source, target)
    ((id, name, given),) = calls(target, encoded.body)
    assert (id, given) == ("a", {"x": 1})
    assert re.fullmatch(LEGAL_NAMES.get(target, "[a-zA-Z0-9_-]{1,64}"), name)
    assert canonical(encoded.names, name) == "multi_tool_use.parallel"


@pytest.mark.parametrize("target", WIRES)
def test_NAME_08_tools_with_similar_unsupported_names_get_distinct_aliases(target: str) -> None:
    names = ["search-a", "search_a", "search.a", "search a"]
    call_made = [call(str(n), name) for n, name in enumerate(names)]
    turns = [user(), said(*call_made, wire="openai.chat"), results(*(tool_result(one.id) for one in call_made))]
    encoded = written(turns, "openai.chat", target, names=names)
    used = [name for _, name, _ in calls(target, encoded.body)]
    legal = LEGAL_NAMES.get(target, "[a-zA-Z0-9_-]{1,64}")
    assert [name for name in used if name in names] == [name for name in names if re.fullmatch(legal, name)]
    assert len(set(used)) == 4
    assert [canonical(encoded.names, name) for name in used] == names
    declared = read_request(encoded.body, target, provider=PROVIDERS[target]).tools
    assert [tool.name for tool in declared] == used


@pytest.mark.thorough(keep=2, per="{target}")
@pytest.mark.parametrize("target", WIRES)
@pytest.mark.parametrize("name", ["1st", "1st tool", "-x", ".x y", "\u00e9t\u00e9", "", "search " * 40], ids=ascii)
def test_NAME_08_the_alias_of_any_name_is_accepted(target: str, name: str) -> None:
    encoded = written(
        [user(), said(call("a", name), wire="openai.chat"), results(tool_result("a"))], "openai.chat", target
    )
    ((_, used, _),) = calls(target, encoded.body)
    assert re.fullmatch(LEGAL_NAMES.get(target, "[a-zA-Z0-9_-]{1,64}"), used)
    assert canonical(encoded.names, used) == name


@pytest.mark.parametrize("name", ["web_search", "tool_search", "browse_page", "x_search", "code_execution"])
@pytest.mark.parametrize("target", ["xai.grpc", "openai.chat", "openai.responses"])
def test_XAI_08_a_function_named_like_a_tool_of_xai_gets_an_alias_there(name: str, target: str) -> None:
    turns = [user(), said(call("a", name), wire="anthropic.messages"), results(tool_result("a"))]
    encoded = written(turns, "anthropic.messages", target, provider="xai", names=[name])
    ((_, alias, _),) = calls(target, encoded.body)
    (tool,) = read_request(encoded.body, target, provider="xai").tools
    assert alias == tool.name != name
    assert canonical(encoded.names, alias) == name
    if target != "xai.grpc":
        assert written(turns, "anthropic.messages", target, names=[name]).names == {}


def test_NAME_07_a_function_and_a_hosted_tool_with_the_same_name_stay_separate() -> None:
    body = {
        "model": "m",
        "input": "hi",
        "tools": [
            {"type": "web_search"},
            {
                "type": "function",
                "name": "web_search",
                "parameters": {"type": "object", "properties": {}},
                "strict": False,
            },
        ],
    }
    read = read_request(body, "openai.responses", provider="openai")
    assert [(tool.name, tool.kind) for tool in read.tools] == [("web_search", "hosted"), ("web_search", "function")]
    encoded = write_request(read, "xai.grpc")
    (function,) = encoded.body.tools
    assert canonical(encoded.names, function.function.name) == "web_search"
    assert codes(encoded) == ["hosted-tool"]


def test_ID_14_a_synthetic_id_is_used_for_the_call_and_its_result() -> None:
    response = normalize(chat_body(chat_call("", "f", "{}")), "openai.chat", provider="lmstudio")
    (call_made,) = response.calls
    turns = [user(), *answer(response, select(response), {call_made.id: ToolResult("", [TextPart("ok")])})]
    for target in ("openai.responses", "anthropic.messages", "xai.grpc"):
        assert ids_of("openai.chat", turns, target) == ([call_made.id], [call_made.id])
