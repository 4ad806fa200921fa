"""Each rule of Cohere's Chat API has a case that breaks it and is refused under its id, and a legal neighbour."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.thoroughness import examples
from toolparity.normalizer.requests import check_request
from toolparity.normalizer.wires.cohere_chat.rules import RULES

WIRE = "cohere.chat"
Body = dict[str, Any]
COUNT = {"type": "object", "properties": {"x": {"type": "integer", "minimum": 1}}, "required": ["x"]}
USER = {"role": "user", "content": "hi"}


def call(id: Any = "f_1", name: Any = "f", arguments: Any = "{}") -> Body:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def result(id: str = "f_1", content: Any = "ok") -> Body:
    return {"role": "tool", "tool_call_id": id, "content": content}


def request(*messages: Any, **more: Any) -> Body:
    return {"model": "m", "messages": list(messages) or [USER], **more}


def round_of(*calls: Body, results: list[Body] | None = None) -> Body:
    answered = [result()] if results is None else results
    return request(USER, {"role": "assistant", "tool_calls": list(calls)}, *answered)


def declared(tool: Any = None, **function: Any) -> Body:
    known = {"name": "f", "parameters": {"type": "object"}, **function}
    return request(tools=[tool or {"type": "function", "function": known}])


#: By rule: what breaks it, where, and a neighbour that does not.
CASES: dict[str, list[tuple[Any, str, Body]]] = {
    "messages-present": [
        ({"model": "m", "messages": []}, "messages", request()),
        (None, "messages", {"message": "a request of version 1"}),
    ],
    "model-present": [({"messages": [USER]}, "model", request())],
    "message-object": [(request("hi"), "messages[0]", request())],
    "role-known": [(request({"role": "developer", "content": "hi"}), "messages[0].role", request())],
    "content-present": [
        (request({"role": "user"}), "messages[0].content", request()),
        (request(USER, {"role": "assistant"}), "messages[1]", round_of(call())),
    ],
    "part-type": [
        (
            request({"role": "user", "content": [{"type": "document", "document": {"data": {}}}]}),
            "messages[0].content[0].type",
            round_of(call(), results=[result(content=[{"type": "document", "document": {"data": {}}}])]),
        )
    ],
    "call-form": [
        (round_of(call(id=1)), "messages[1].tool_calls[0].id", round_of(call())),
        (round_of(call(arguments={})), "messages[1].tool_calls[0].function.arguments", round_of(call())),
        (round_of(call(name=None)), "messages[1].tool_calls[0].function.name", round_of(call())),
    ],
    "call-answered": [
        (round_of(call(), call("f_2")), "messages[1].tool_calls[1]", round_of(call())),
    ],
    "result-asked-for": [
        (request(USER, result()), "messages[1]", round_of(call())),
        (round_of(call(), results=[result(), result("f_9")]), "messages[3]", round_of(call())),
    ],
    "tool-form": [
        (declared({"type": "custom", "custom": {"name": "f"}}), "tools[0]", declared()),
        (declared(parameters=None), "tools[0].function.parameters", declared()),
        (declared(name=None), "tools[0].function.name", declared()),
    ],
    "tool-schema": [
        (
            declared(parameters={"type": "string"}),
            "tools[0].function.parameters",
            declared(parameters=COUNT),
        ),
        (
            {**declared(parameters=COUNT), "strict_tools": True},
            "tools[0].function.parameters.properties.x.minimum",
            {**declared(parameters={**COUNT, "properties": {"x": {"type": "integer"}}}), "strict_tools": True},
        ),
    ],
    "name-format": [(declared(name="a-b"), "tools[0].function.name", declared(name="a_b"))],
    "field-unknown": [
        (request(top_p=1), "top_p", request(p=0.5)),
        (declared(strict=True), "tools[0].function.strict", declared(description="d")),
    ],
    "tool-choice": [
        (request(tool_choice="auto"), "tool_choice", request(tool_choice="NONE")),
        (request(tool_choice="REQUIRED"), "tool_choice", {**declared(), "tool_choice": "REQUIRED"}),
    ],
    "format-beside-tools": [
        (
            {**declared(), "response_format": {"type": "json_object"}},
            "response_format",
            request(response_format={"type": "json_object"}),
        )
    ],
    "param-range": [
        (request(p=1), "p", request(p=0.99)),
        (request(stop_sequences=list("abcdef")), "stop_sequences", request(stop_sequences=list("abcde"))),
    ],
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_finds_what_breaks_it_and_nothing_else(rule: Any) -> None:
    for broken, path, legal in CASES[rule.id]:
        assert (rule.id, path) in [(found.rule, found.path) for found in check_request(broken, WIRE)]
        assert check_request(legal, WIRE) == []


def test_every_rule_says_why_and_where_it_comes_from() -> None:
    assert {rule.id for rule in RULES} == CASES.keys()
    assert all(rule.reason.endswith(".") and rule.source for rule in RULES)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["messages", "role", "content", "tool_calls", "function", "name", "tools", "message", "type"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@examples(200)
@given(_json)
def test_no_body_makes_a_rule_raise(body: Any) -> None:
    assert isinstance(check_request(body, WIRE), list)
