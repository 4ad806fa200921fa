"""Each rule of the Messages API has a case that breaks it and is refused under its id, and legal neighbours."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.thoroughness import examples
from toolparity.normalizer.requests import check_request
from toolparity.normalizer.wires.anthropic_messages.rules import RULES

WIRE = "anthropic.messages"
Body = dict[str, Any]

TOOL = {"name": "f", "input_schema": {"type": "object"}}
THINKS = {"thinking": {"type": "enabled", "budget_tokens": 8}}
#: Who holds the rules that not all hold.
HOLDERS = {"image-source": "bedrock"}
SIGNED = {"type": "thinking", "thinking": "hm", "signature": "s"}
CLOSED = {"type": "object", "properties": {}, "additionalProperties": False}
COUNT = {**CLOSED, "properties": {"x": {"type": "integer", "minimum": 1}}}
MARK = {"cache_control": {"type": "ephemeral"}}
SEARCHED = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}


def text(words: str = "hi", **more: Any) -> Body:
    return {"type": "text", "text": words, **more}


def call(id: str = "t1", **more: Any) -> Body:
    return {"type": "tool_use", "id": id, "name": "f", "input": {}, **more}


def search(id: str = "srvtoolu_1", **more: Any) -> Body:
    return {"type": "server_tool_use", "id": id, "name": "web_search", "input": {}, **more}


def result(id: str = "t1", **more: Any) -> Body:
    return {"type": "tool_result", "tool_use_id": id, "content": "ok", **more}


def user(*blocks: Any) -> Body:
    return {"role": "user", "content": list(blocks) or "hi"}


def said(*blocks: Any) -> Body:
    return {"role": "assistant", "content": list(blocks)}


def request(*messages: Any, **more: Any) -> Body:
    return {"model": "m", "max_tokens": 9, "messages": list(messages) or [user()], **more}


def declared(**tool: Any) -> Body:
    return request(tools=[{**TOOL, **tool}])


def round_of(*blocks: Any, **more: Any) -> Body:
    """A question, what the model said, and the result of t1."""
    return request(user(), said(*blocks), user(result()), **more)


CODE = search("srvtoolu_9", name="code_execution")
CALLED = call(caller={"type": "code_execution_20260120", "tool_id": "srvtoolu_9"})
RAN = {"type": "code_execution_tool_result", "tool_use_id": "srvtoolu_9", "content": {}}

#: By rule: what breaks it, where, and the neighbours that do not.
CASES: dict[str, list[tuple[Any, str, list[Body]]]] = {
    "messages-present": [
        ({"max_tokens": 9, "messages": []}, "messages", [request()]),
        ({"max_tokens": 9, "messages": "hi"}, "messages", [request()]),
    ],
    "role-known": [
        (
            request({"role": "tool", "content": "hi"}),
            "messages[0].role",
            [request(user(), {"role": "system", "content": "be brief"})],
        )
    ],
    "message-object": [(request("hi"), "messages[0]", [request()])],
    "message-members": [
        (request({**user(), "name": "bob"}), "messages[0].name", [request()]),
        (request(user(), {**said(call()), "id": "x"}, user(result())), "messages[1].id", [round_of(call())]),
    ],
    "max-tokens": [
        ({"messages": [user()]}, "max_tokens", [request()]),
        (request() | {"max_tokens": 0}, "max_tokens", [request()]),
    ],
    "content-present": [
        (request({"role": "user", "content": ""}), "messages[0].content", [request()]),
        (request(user(), said(), user()), "messages[1].content", [request(user(), said())]),
    ],
    "empty-text": [
        (request(user(text(""), text())), "messages[0].content[0].text", [request(user(text(" "), text()))]),
        (request(system=[text("")]), "system[0].text", [request(system=[text("a")])]),
        (
            request(user(), said(call()), user({**result(), "content": [text("")]})),
            "messages[2].content[0].content[0].text",
            [
                request(user(), said(call()), user({**result(), "content": []})),
                request(user(), said(call()), user({**result(), "content": ""})),
            ],
        ),
    ],
    "only-space": [
        (request(user(text(" \n"))), "messages[0].content", [request(user(text(" \n"), text("a")))]),
        (
            request({"role": "user", "content": " "}),
            "messages[0].content",
            [request(user(text(" "), {"type": "image"}))],
        ),
    ],
    "trailing-space": [
        (
            request(user(), said(text("so "))),
            "messages[1].content",
            [request(user(), said(text("so"))), request(user(), said(text("so ")), user())],
        ),
        (request(user(), {"role": "assistant", "content": "so "}), "messages[1].content", [request(user(), said())]),
    ],
    "part-type": [
        (request(user("hi")), "messages[0].content[0]", [request(user(text()))]),
        (
            request(user({"type": "output_text", "text": "x"})),
            "messages[0].content[0]",
            [request(user(), said({"type": "block_of_tomorrow"}), user())],
        ),
    ],
    "block-role": [
        (request(user(call())), "messages[0].content[0]", [request(user(), said(call()))]),
        (
            request(user(), said(call()), user(result()), said(result(), text())),
            "messages[3].content[0]",
            [request(user(), said(call()), user(result()), said(text()))],
        ),
    ],
    "image-source": [
        (
            request(user({"type": "image", "source": {"type": "url", "url": "https://example.invalid/a.png"}})),
            "messages[0].content[0].source",
            [request(user({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A"}}))],
        )
    ],
    "call-answered": [
        (
            request(user(), said(call(), call("t2")), user(result())),
            "messages[1].content[1]",
            [request(user(), said(call(), call("t2")), user(result("t2"), result()))],
        ),
        (request(user(), said(call()), user()), "messages[1].content[0]", [request(user(), said(call()))]),
        (
            request(user(), said(call()), said(call("t2")), user(result())),
            "messages[2].content[0]",
            [request(user(), said(call()), said(call("t2")), user(result()), user(result("t2")))],
        ),
    ],
    "results-first": [
        (
            request(user(), said(call()), user(text(), result())),
            "messages[2].content[1]",
            [request(user(), said(call()), user(result(), text()))],
        ),
        (
            request(user(), said(call(), call("t2")), user(result(), text(), result("t2"))),
            "messages[2].content[2]",
            [request(user(), said(call(), call("t2")), user(result(), result("t2")), user(text()))],
        ),
    ],
    "result-asked-for": [
        (request(user(result())), "messages[0].content[0]", [round_of(call())]),
        (
            request(user(), said(call()), user(result()), said(text()), user(result())),
            "messages[4].content[0]",
            [request(user(), said(call()), user(result()), said(call("t2")), user(result("t2")))],
        ),
    ],
    "answered-once": [
        (
            request(user(), said(call()), user(result(), result())),
            "messages[2].content[1]",
            [round_of(call())],
        )
    ],
    "id-unique": [
        (
            request(user(), said(call(), call()), user(result())),
            "messages[1].content[1].id",
            # the provider accepts an id that an earlier turn has
            [request(user(), said(call()), user(result()), said(call()), user(result()))],
        )
    ],
    "id-format": [
        (
            request(user(), said(call("call.0")), user(result("call.0"))),
            "messages[1].content[0].id",
            [request(user(), said(call("call_0-A")), user(result("call_0-A")))],
        )
    ],
    "server-id-format": [
        (
            request(user(), said(search("call_1"), SEARCHED | {"tool_use_id": "call_1"}, text())),
            "messages[1].content[0].id",
            [request(user(), said(search(), SEARCHED, text()))],
        )
    ],
    "arguments-object": [
        (round_of(call(input="{}")), "messages[1].content[0].input", [round_of(call(input={"x": 1}))])
    ],
    "name-format": [
        (declared(name="a b"), "tools[0].name", [declared(name="a-b_C9")]),
        (declared(name="n" * 129), "tools[0].name", [declared(name="n" * 128)]),
        (
            round_of(call(name="multi_tool_use.parallel")),
            "messages[1].content[0].name",
            [round_of(call(name="multi_tool_use"))],
        ),
    ],
    "tool-unique": [
        (
            request(tools=[TOOL, {"type": "web_search_20250305", "name": "f"}]),
            "tools[1].name",
            [request(tools=[TOOL, {"type": "web_search_20250305", "name": "web_search"}])],
        )
    ],
    "tool-schema": [
        (declared(input_schema={"properties": {}}), "tools[0].input_schema", [declared()]),
        (
            declared(input_schema={"type": "object", "anyOf": []}),
            "tools[0].input_schema.anyOf",
            [declared(input_schema={"type": "object", "properties": {"x": {"anyOf": []}}})],
        ),
        (
            declared(input_schema=COUNT, strict=True),
            "tools[0].input_schema.properties.x.minimum",
            [declared(input_schema=COUNT), declared(input_schema=CLOSED, strict=True)],
        ),
    ],
    "output-schema": [
        (
            request(output_format={"type": "json_schema", "json_schema": {"schema": CLOSED}}),
            "output_format.schema",
            [request(output_format={"type": "json_schema", "schema": CLOSED})],
        ),
        (
            request(output_format={"type": "json_schema", "schema": COUNT}),
            "output_format.schema.properties.x.minimum",
            [request(output_format={"type": "json_schema", "schema": CLOSED})],
        ),
        (
            request(output_config={"format": {"type": "json_schema", "schema": COUNT}}),
            "output_config.format.schema.properties.x.minimum",
            [request(output_config={"format": {"type": "json_schema", "schema": CLOSED}, "effort": "low"})],
        ),
    ],
    "signed": [
        (
            request(user(), said({"type": "thinking", "thinking": "hm", "signature": ""}, text()), user()),
            "messages[1].content[0].signature",
            [request(user(), said(SIGNED, text()), user())],
        ),
        (
            request(user(), said({"type": "redacted_thinking"}, text()), user()),
            "messages[1].content[0].data",
            [request(user(), said({"type": "redacted_thinking", "data": "x"}, text()), user())],
        ),
    ],
    "thinking-first": [
        (
            round_of(text(), call(), **THINKS),
            "messages[1].content[0]",
            [
                round_of(SIGNED, text(), call(), **THINKS),
                round_of(text(), call()),
                round_of(text(), call(), thinking={"type": "adaptive"}),
                request(user(), said(text()), user(), **THINKS),
            ],
        )
    ],
    "thinking-budget": [
        (
            request(thinking={"type": "enabled", "budget_tokens": 9}),
            "thinking.budget_tokens",
            [
                request(thinking={"type": "enabled", "budget_tokens": 8}),
                request(thinking={"type": "enabled", "budget_tokens": 9}, tools=[TOOL]),
            ],
        )
    ],
    "thinking-last": [
        (
            request(user(), said(text(), SIGNED), user()),
            "messages[1].content[1]",
            [request(user(), said(SIGNED, text()), user())],
        )
    ],
    "server-pair": [
        (
            request(user(), said(search(), text()), user()),
            "messages[1].content[0]",
            [
                request(user(), said(search(), SEARCHED, text()), user()),
                request(user(), said(search()), said(SEARCHED, text()), user()),
                request(user(), said(search())),
                round_of(search(), call()),
            ],
        )
    ],
    "server-result": [
        (
            request(user(), said(SEARCHED, text()), user()),
            "messages[1].content[0]",
            [
                request(user(), said(search(), SEARCHED, text()), user()),
                request(user(), said(CODE, CALLED), user(result()), said(RAN, text()), user(), container="c"),
            ],
        ),
        (
            request(user(), said(search()), {"role": "system", "content": "so"}, said(SEARCHED, text()), user()),
            "messages[3].content[0]",
            [request(user(), said(search()), said(SEARCHED, text()), {"role": "system", "content": "so"}, user())],
        ),
    ],
    "error-result": [
        (
            request(user(), said(call()), user(result(is_error=True, content=[]))),
            "messages[2].content[0].content",
            [
                request(user(), said(call()), user(result(is_error=True))),
                request(user(), said(call()), user(result(content=[]))),
            ],
        ),
        (
            request(user(), said(call()), user(result(is_error=True, content=[{"type": "image"}]))),
            "messages[2].content[0].content",
            [request(user(), said(call()), user(result(content=[{"type": "image"}])))],
        ),
    ],
    "tool-choice": [
        (request(tool_choice={"type": "auto"}), "tool_choice", [request(tools=[TOOL], tool_choice={"type": "auto"})]),
        (
            request(tools=[TOOL], tool_choice={"type": "required"}),
            "tool_choice.type",
            [request(tools=[TOOL], tool_choice={"type": "any"})],
        ),
    ],
    "choice-declared": [
        (
            request(tools=[TOOL], tool_choice={"type": "tool", "name": "g"}),
            "tool_choice.name",
            [request(tools=[TOOL], tool_choice={"type": "tool", "name": "f"})],
        ),
    ],
    "cache-marks": [
        (
            request(user(*[text(**MARK)] * 3), system=[text(**MARK)], tools=[{**TOOL, **MARK}]),
            "tools[0].cache_control",
            [request(user(*[text(**MARK)] * 2), system=[text(**MARK)], tools=[{**TOOL, **MARK}])],
        )
    ],
    "container": [
        (
            request(user(), said(CODE, CALLED), user(result())),
            "container",
            [
                request(user(), said(CODE, CALLED), user(result()), container="c1"),
                request(user(), said(call(caller={"type": "direct"})), user(result())),
            ],
        )
    ],
}


@pytest.mark.parametrize(
    ("rule", "number"), [(rule, number) for rule, cases in CASES.items() for number in range(len(cases))]
)
def test_a_request_that_breaks_a_rule_is_refused_under_its_id(rule: str, number: int) -> None:
    broken, path, legal = CASES[rule][number]
    provider = HOLDERS.get(rule)
    assert (rule, path) in [(found.rule, found.path) for found in check_request(broken, WIRE, provider=provider)]
    for body in legal:
        assert check_request(body, WIRE, provider=provider) == []


def test_what_one_provider_alone_refuses_the_others_take() -> None:
    for rule in HOLDERS:
        for broken, _, _ in CASES[rule]:
            assert check_request(broken, WIRE, provider="anthropic") == []
    unsigned = request(user(), said({"type": "thinking", "thinking": "hm"}, call()), user(result()))
    assert check_request(unsigned, WIRE, provider="ollama") == []


def test_every_rule_has_a_case_a_reason_and_a_source() -> None:
    assert set(CASES) == {rule.id for rule in RULES}
    assert all(rule.reason and rule.source for rule in RULES)
    assert {(rule.status, rule.error_type) for rule in RULES} == {(400, "invalid_request_error")}


@pytest.mark.parametrize("rule", [r for r in CASES if r not in ("messages-present", "role-known", "content-present")])
def test_a_case_breaks_only_the_rule_it_is_for(rule: str) -> None:
    allowed = {"server-pair", "server-result", "call-answered", "result-asked-for"}
    for broken, _, _ in CASES[rule]:
        assert {found.rule for found in check_request(broken, WIRE)} - allowed <= {rule}


values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(["", "user", "assistant", "tool_use", "t1"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                ["messages", "role", "content", "type", "id", "tool_use_id", "tools", "name", "tool_choice"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=9,
)


def test_four_thousand_calls_are_looked_at_in_one_pass() -> None:
    """Counted in comparisons, not in seconds: each id is compared with others as often as a set does."""

    class Id(str):
        asked = 0
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            Id.asked += 1
            return str.__eq__(self, other)  # type: ignore[no-any-return]

        __hash__ = str.__hash__

    ids = [Id(f"t{n}") for n in range(4000)]
    calls, answers = [call(id) for id in ids], [result(id) for id in ids]
    assert check_request(request(user(), said(*calls), user(*answers)), WIRE) == []
    assert Id.asked < 20 * len(ids)


@given(values, values, values)
@examples(200)
def test_no_check_raises_whatever_the_body(body: Any, block: Any, tool: Any) -> None:
    message = {"role": "assistant", "content": [block, {"type": "tool_use", "caller": tool, "id": block}]}
    for given_body in (body, {"messages": [message, {"role": "user", "content": [block]}, body], "tools": [tool]}):
        assert isinstance(check_request(given_body, WIRE), list)
