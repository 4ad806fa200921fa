"""Each rule of generateContent has a case that breaks it and is refused under its id, and a legal neighbour."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.thoroughness import examples
from toolparity.normalizer.requests import check_request
from toolparity.normalizer.wires.google_gemini.rules import RULES

WIRE = "google.gemini"
Body = dict[str, Any]
OBJECT = {"type": "object", "properties": {"x": {"type": "string"}}}
USER = {"role": "user", "parts": [{"text": "hi"}]}


def request(*contents: Any, **more: Any) -> Body:
    return {"contents": list(contents) or [USER], **more}


def call(name: Any = "f", args: Any = None, **more: Any) -> Body:
    return {"functionCall": {"name": name, "args": {} if args is None else args}, **more}


def result(name: Any = "f", response: Any = None) -> Body:
    return {"functionResponse": {"name": name, "response": {} if response is None else response}}


def round_of(*calls: Body, results: list[Body] | None = None, **more: Any) -> Body:
    answers = {"role": "user", "parts": [result()] if results is None else results}
    return request(USER, {"role": "model", "parts": list(calls)}, answers, **more)


def declared(*names: Any, **more: Any) -> Body:
    return request(tools=[{"functionDeclarations": [{"name": name, **more} for name in names]}])


def choosing(**calling: Any) -> Body:
    return {**declared("f"), "toolConfig": {"functionCallingConfig": calling}}


SIGNED = call(thoughtSignature="c2ln")
NEXT = {"role": "user", "parts": [{"text": "and now?"}]}

#: By rule: what breaks it, where, and a neighbour that does not.
CASES: dict[str, list[tuple[Any, str, Body]]] = {
    "messages-present": [({"contents": []}, "contents", request()), (None, "contents", request())],
    "message-object": [(request("hi"), "contents[0]", {"contents": USER})],
    "role-known": [(request({**USER, "role": "assistant"}), "contents[0].role", request({"parts": USER["parts"]}))],
    "content-present": [(request({"role": "user", "parts": []}), "contents[0].parts", request())],
    "part-data": [(request({"parts": [{"text": "a", **result()}]}), "contents[0].parts[0]", request())],
    "call-named": [
        (round_of(call("")), "contents[1].parts[0].functionCall.name", round_of(call())),
        (round_of(call(), results=[result(None)]), "contents[2].parts[0].functionResponse.name", round_of(call())),
    ],
    "arguments-object": [
        (round_of(call(args="{}")), "contents[1].parts[0].functionCall.args", round_of(call())),
        (
            round_of(call(), results=[result(response="ok")]),
            "contents[2].parts[0].functionResponse.response",
            round_of(call()),
        ),
    ],
    "call-answered": [
        (round_of(call(), call()), "contents[2]", round_of(call(), call(), results=[result(), result()])),
        (request({"parts": [result()]}), "contents[0]", round_of(call())),
    ],
    "call-first": [
        (request(*round_of(call())["contents"][1:]), "contents[0]", round_of(call())),
        (
            request({"role": "model", "parts": [{"text": "a"}]}, *round_of(call())["contents"][1:]),
            "contents[0]",
            {**request(*round_of(call())["contents"][1:]), "cachedContent": "cachedContents/1"},
        ),
    ],
    "call-signed": [
        (
            round_of(call(), model="models/gemini-3-pro-preview"),
            "contents[1].parts[0].thoughtSignature",
            round_of(SIGNED, call(), results=[result(), result()], model="gemini-3-pro-preview"),
        ),
        (
            round_of(call(), model="gemini-3-flash"),
            "contents[1].parts[0].thoughtSignature",
            round_of(call(), model="gemini-2.5-flash"),
        ),
        (
            {**round_of(call()), "model": "gemini-3-flash"},
            "contents[1].parts[0].thoughtSignature",
            request(*round_of(call())["contents"], NEXT, model="gemini-3-flash"),
        ),
    ],
    "name-format": [(declared("1 f"), "tools[0].functionDeclarations[0].name", declared("f.1"))],
    "tool-unique": [(declared("f", "f"), "tools[0].functionDeclarations[1].name", declared("f", "g"))],
    "one-schema": [
        (
            declared("f", parameters={"type": "OBJECT"}, parametersJsonSchema=OBJECT),
            "tools[0].functionDeclarations[0]",
            declared("f", parametersJsonSchema=OBJECT),
        )
    ],
    "tool-schema": [
        (
            declared("f", parameters={**OBJECT, "additionalProperties": False}),
            "tools[0].functionDeclarations[0].parameters.additionalProperties",
            declared("f", parametersJsonSchema={**OBJECT, "additionalProperties": False}),
        )
    ],
    "tool-choice": [
        (choosing(mode="REQUIRED"), "toolConfig.functionCallingConfig.mode", choosing(mode="any")),
        (
            choosing(mode="AUTO", allowedFunctionNames=["f"]),
            "toolConfig.functionCallingConfig.allowedFunctionNames",
            choosing(mode="VALIDATED", allowedFunctionNames=["f"]),
        ),
    ],
    "choice-declared": [
        (
            choosing(mode="ANY", allowedFunctionNames=["g"]),
            "toolConfig.functionCallingConfig.allowedFunctionNames[0]",
            choosing(mode="ANY", allowedFunctionNames=["f"]),
        )
    ],
    "temperature": [
        (
            request(generationConfig={"temperature": 2.1}),
            "generationConfig.temperature",
            request(generation_config={"temperature": 2}),
        )
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


_KEYS = ("contents", "role", "parts", "functionCall", "functionResponse", "name", "args", "response", "tools", "model")
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just("gemini-3"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=4),
    max_leaves=12,
)


@examples(200)
@given(_json)
def test_no_body_makes_a_rule_raise(body: Any) -> None:
    assert isinstance(check_request(body, WIRE), list)
