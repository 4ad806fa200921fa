"""Each rule of the Responses endpoints has a case that breaks it and is refused under its id, and legal neighbours."""

from __future__ import annotations

from typing import Any

import pytest

from toolparity.normalizer.requests import check_request
from toolparity.normalizer.wires.openai_responses.rules import RULES

WIRE = "openai.responses"
Body = dict[str, Any]
PICTURE = {"type": "computer_screenshot", "image_url": "data:image/png;base64,AAAA"}
OBJECT = {"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": False}


def call(id: Any = "c1", **more: Any) -> Body:
    return {"type": "function_call", "call_id": id, "name": "f", "arguments": "{}", **more}


def told(id: Any = "c1", **more: Any) -> Body:
    return {"type": "function_call_output", "call_id": id, "output": "", **more}


def user(*parts: Body) -> Body:
    return {"role": "user", "content": list(parts) or "hi"}


def said(**more: Any) -> Body:
    return {"role": "assistant", "content": "well", **more}


def thought(**more: Any) -> Body:
    return {"type": "reasoning", "summary": [], **more}


def request(*items: Body, **more: Any) -> Body:
    return {"model": "m", "input": list(items) or "hi", **more}


def function(name: str = "f", **more: Any) -> Body:
    return {
        "type": "function",
        "name": name,
        "parameters": {"type": "object", "properties": {}},
        "strict": False,
        **more,
    }


def without(item: Body, member: str) -> Body:
    return {k: v for k, v in item.items() if k != member}


SEARCHED: Body = {"type": "tool_search_call", "call_id": "s1", "arguments": {}, "execution": "server"}
FOUND: Body = {"type": "tool_search_output", "call_id": "s1", "execution": "server", "tools": []}
ASKED: Body = {"type": "mcp_approval_request", "id": "mcpr_1", "name": "n", "server_label": "s", "arguments": "{}"}
ALLOWED: Body = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}
SHELL: Body = {"type": "shell_call", "call_id": "c1", "action": {"commands": ["ls"]}}
COMPUTER: Body = {"type": "computer_call", "call_id": "c1", "action": {"type": "wait"}}
SEEN: Body = {"type": "computer_call_output", "call_id": "c1", "output": PICTURE}
REFERENCE: Body = {"type": "item_reference", "id": "fc_1"}

#: By rule: what breaks it, where, and neighbours that do not.
CASES: dict[str, list[tuple[Body, str, list[Body]]]] = {
    "input-present": [
        (
            {"model": "m", "input": []},
            "input",
            [request(), {"previous_response_id": "resp_1"}, {"prompt": {"id": "p"}}],
        ),
        ({"model": "m"}, "input", [{"conversation": "conv_1"}]),
    ],
    "one-anchor": [
        (
            request(previous_response_id="resp_1", conversation="conv_1"),
            "conversation",
            [request(previous_response_id="resp_1"), request(conversation="conv_1")],
        )
    ],
    "role-known": [
        (request({"role": "tool", "content": "x"}), "input[0]", [request({"role": "developer", "content": "x"})]),
        (request({"content": "x"}), "input[0]", [request(user())]),
    ],
    "item-type": [
        (request({"type": "nonsense"}), "input[0]", [request({"type": "call_of_tomorrow_call"})]),
        (request(user(), 5), "input[1]", [request(user())]),  # type: ignore[arg-type]
        (request({"role": "user"}), "input[0].content", [request({"role": "user", "content": ""})]),
    ],
    "part-type": [
        (
            request(user({"type": "text", "text": "x"})),
            "input[0].content[0]",
            [request(user({"type": "input_text", "text": "x"}))],
        ),
        (
            request(said(content=[{"type": "input_text", "text": "x"}])),
            "input[0].content[0]",
            [request(said(content=[{"type": "refusal", "refusal": "x"}, {"type": "output_text", "text": "x"}]))],
        ),
    ],
    "call-id": [
        (request(call("c" * 65), told("c" * 65)), "input[0].call_id", [request(call("c" * 64), told("c" * 64))]),
        (request(call(None)), "input[0].call_id", [request(call("c"), told("c"))]),
        (request(call(""), told("")), "input[0].call_id", []),
    ],
    "item-id": [
        (request({**call(), "id": "call_1"}, told()), "input[0].id", [request({**call(), "id": "fc_1"}, told())]),
        (request({**said(), "id": "x"}), "input[0].id", [request({**said(), "id": "msg_1"}), request(said())]),
        (request(thought(id="reasoning-1"), said()), "input[0].id", [request(thought(id="rs_1"), said())]),
    ],
    "item-once": [
        (
            request({**said(), "id": "msg_1"}, user(), {**said(), "id": "msg_1"}),
            "input[2].id",
            [request({**said(), "id": "msg_1"}, user(), {**said(), "id": "msg_2"})],
        )
    ],
    "arguments-text": [
        (request(call(arguments={}), told()), "input[0].arguments", [request(call(arguments=""), told())]),
        (
            request({"type": "custom_tool_call", "call_id": "c1", "name": "f"}, told(type="custom_tool_call_output")),
            "input[0].input",
            [
                request(
                    {"type": "custom_tool_call", "call_id": "c1", "name": "f", "input": ""},
                    told(type="custom_tool_call_output"),
                )
            ],
        ),
    ],
    "output-present": [
        (request(call(), without(told(), "output")), "input[1].output", [request(call(), told())]),
        (request(call(), told(output={})), "input[1].output", [request(call(), told(output=[]))]),
        (request(COMPUTER, {**SEEN, "output": "x"}), "input[1].output", [request(COMPUTER, SEEN)]),
    ],
    "output-parts": [
        (
            request(call(), told(output=[{"type": "text", "text": "x"}])),
            "input[1].output[0]",
            [request(call(), told(output=[{"type": "input_text", "text": "x"}]))],
        )
    ],
    "call-answered": [
        (request(call()), "input[0]", [request(call(), told())]),
        (request(told(), call(), previous_response_id="resp_1"), "input[1]", []),
        (request(call(), call("c2"), told("c2")), "input[0]", [request(call(), call("c2"), told("c2"), told())]),
        (request(SHELL), "input[0]", [request({**SHELL, "environment": {"type": "container_reference"}})]),
        (request({**SEARCHED, "execution": "client"}), "input[0]", [request(SEARCHED, FOUND)]),
    ],
    "result-asked-for": [
        (
            request(user(), told()),
            "input[1]",
            [request(told(), previous_response_id="resp_1"), request(REFERENCE, told()), request(FOUND)],
        ),
        (request(told("c2"), call(), told()), "input[0]", []),
    ],
    "answered-once": [
        (request(call(), told(), told()), "input[2]", [request(call(), told(), call(), told())]),
    ],
    "approval-asked-for": [
        (request(ALLOWED), "input[0]", [request(ASKED, ALLOWED), request(ALLOWED, previous_response_id="resp_1")])
    ],
    "reasoning-summary": [
        (request(without(thought(), "summary"), said()), "input[0].summary", [request(thought(), said())])
    ],
    "reasoning-stored": [
        (
            request(thought(id="rs_1"), said(), store=False),
            "input[0]",
            [
                request(thought(id="rs_1"), said()),
                request(thought(id="rs_1", encrypted_content="e"), said(), store=False),
            ],
        )
    ],
    "reasoning-followed": [
        (request(thought(id="rs_1")), "input[0]", [request(thought(id="rs_1"), said())]),
        (request(thought(id="rs_1"), user()), "input[0]", [request(thought(id="rs_1"), call(), told())]),
        (request(call(), thought(id="rs_1"), told()), "input[1]", []),
    ],
    "media-source": [
        (
            request(user({"type": "input_image"})),
            "input[0].content[0]",
            [request(user({"type": "input_image", "image_url": "https://x/y.png"}))],
        ),
        (
            request(user({"type": "input_image", "image_url": {"url": "https://x/y.png"}})),
            "input[0].content[0]",
            [request(user({"type": "input_image", "file_id": "file-1", "image_url": None}))],
        ),
        (
            request(user({"type": "input_file", "file_data": "data:application/pdf;base64,AA"})),
            "input[0].content[0]",
            [request(user({"type": "input_file", "file_data": "data:application/pdf;base64,AA", "filename": "a.pdf"}))],
        ),
        (
            request(call(), told(output=[{"type": "input_file", "file_id": "f", "file_url": "u"}])),
            "input[1].output[0]",
            [request(call(), told(output=[{"type": "input_file", "file_url": "u"}]))],
        ),
    ],
    "name-format": [
        (request(tools=[function("a.b")]), "tools[0].name", [request(tools=[function("a-b_C9")])]),
        (
            request(tools=[{"type": "function", "function": {"name": "f"}}]),
            "tools[0].name",
            [request(tools=[{"type": "web_search"}])],
        ),
        (request(call(name="a b"), told()), "input[0].name", []),
    ],
    "name-free": [
        (request(tools=[function("tool_search")]), "tools[0].name", [request(tools=[function("web_search")])])
    ],
    "tool-unique": [
        (
            request(tools=[function(), function()]),
            "tools[1].name",
            [request(tools=[function(), function("g")])],
        )
    ],
    "parameters-object": [
        (request(tools=[function(parameters={"type": "string"})]), "tools[0].parameters", [request(tools=[function()])])
    ],
    "tool-schema": [
        (
            request(tools=[function(parameters={"type": "object", "properties": {"x": {"type": "array"}}})]),
            "tools[0].parameters.properties.x",
            [request(tools=[function(parameters={"type": "object", "properties": {"x": {"type": "string"}}})])],
        )
    ],
    "strict-schema": [
        (
            request(tools=[function(strict=True, parameters={**OBJECT, "required": []})]),
            "tools[0].parameters",
            [request(tools=[function(strict=True, parameters=OBJECT)])],
        ),
        (
            request(tools=[function(strict=True, parameters=without(OBJECT, "additionalProperties"))]),
            "tools[0].parameters",
            [request(tools=[function(parameters=without(OBJECT, "additionalProperties"))])],
        ),
    ],
    "choice-declared": [
        (
            request(tools=[function()], tool_choice={"type": "function", "name": "g"}),
            "tool_choice",
            [
                request(tools=[function()], tool_choice={"type": "function", "name": "f"}),
                request(tools=[{"type": "web_search"}], tool_choice={"type": "web_search"}),
            ],
        ),
        (
            request(tool_choice={"type": "function", "name": "g"}),
            "tool_choice",
            [
                request(
                    user(),
                    {"type": "additional_tools", "tools": [{"type": "namespace", "name": "n", "tools": [function()]}]},
                    tool_choice={"type": "function", "name": "f"},
                ),
            ],
        ),
    ],
    "tools-needed": [
        (
            request(tool_choice="required"),
            "tool_choice",
            [request(tool_choice="auto"), request(tool_choice="required", prompt={"id": "pmpt_1"})],
        )
    ],
    "tool-choice": [
        (request(tools=[function()], tool_choice="any"), "tool_choice", [request(tool_choice="none")]),
        (request(tool_choice=5), "tool_choice", []),
        (request(tool_choice={}), "tool_choice", [request(tool_choice={"type": "mcp", "server_label": "s"})]),
    ],
    "output-limit": [(request(max_output_tokens=15), "max_output_tokens", [request(max_output_tokens=16)])],
}
#: Rules that one provider alone holds.
XAI_ALONE = {"name-free"}


def _provider(rule: str) -> str:
    return "xai" if rule in XAI_ALONE else "openai"


def test_every_rule_has_a_case_a_reason_and_a_source() -> None:
    assert set(CASES) == {rule.id for rule in RULES}  # xAI holds two of them in its own form
    for rule in RULES:
        assert rule.reason.endswith(".")
        assert rule.source
        assert rule.status == (404 if rule.id == "reasoning-stored" else 400)


@pytest.mark.parametrize("call_id", ["", "xs_call_1"])
def test_a_custom_call_that_nobody_declared_is_xais_own_and_needs_no_answer_there(call_id: str) -> None:
    made = {"type": "custom_tool_call", "id": "ctc_1", "call_id": call_id, "name": "x_keyword_search", "input": "{}"}
    body = request(input=[{"role": "user", "content": "hi"}, made])
    assert check_request(body, WIRE, provider="xai") == []
    assert "call-answered" in {violation.rule for violation in check_request(body, WIRE, provider="openai")}
    declared = {**body, "tools": [{"type": "custom", "name": "x_keyword_search"}]}
    assert "call-answered" in {violation.rule for violation in check_request(declared, WIRE, provider="xai")}


@pytest.mark.parametrize(
    ("rule", "body", "path"), [(rule, body, path) for rule, cases in CASES.items() for body, path, _ in cases]
)
def test_a_request_that_breaks_a_rule_is_refused_under_its_id_and_its_place(rule: str, body: Body, path: str) -> None:
    found = check_request(body, WIRE, provider=_provider(rule))
    assert (rule, path) in [(violation.rule, violation.path) for violation in found]
    assert all(violation.message for violation in found)


@pytest.mark.parametrize(
    ("rule", "body"), [(rule, body) for rule, cases in CASES.items() for *_, legal in cases for body in legal]
)
def test_its_legal_neighbour_passes(rule: str, body: Body) -> None:
    assert check_request(body, WIRE, provider=_provider(rule)) == []


def test_a_case_breaks_its_own_rule_alone() -> None:
    broken = {
        (rule, path): {violation.rule for violation in check_request(body, WIRE, provider=_provider(rule))}
        for rule, cases in CASES.items()
        for body, path, _ in cases
    }
    others = {key: rules - {key[0]} for key, rules in broken.items() if rules != {key[0]}}
    assert others == {}


def test_a_rule_of_one_provider_does_not_bind_the_others() -> None:
    assert check_request(request(tools=[function("web_search")]), WIRE, provider="openai") == []
    assert check_request(request(thought(id="x"), user(), store=False), WIRE, provider="xai") == []


@pytest.mark.parametrize(
    "body",
    [
        None,
        3,
        [],
        "x",
        b"\x00",
        {"input": [1, None, {"type": []}]},
        {"input": {"role": []}, "tools": {"a": 1}},
        {"input": [{"role": [], "content": [None, {"type": {}}]}], "tools": [None, {"type": "function", "name": []}]},
        {"input": [{"type": "function_call", "call_id": [], "name": {}}], "tool_choice": {"type": "function"}},
        {"input": [{"type": "mcp_approval_response", "approval_request_id": []}]},
        {"tools": [{"type": "function", "name": "f", "strict": True, "parameters": {"properties": [], "required": 3}}]},
    ],
)
def test_no_body_makes_a_check_raise(body: Any) -> None:
    for provider in (None, "openai", "xai"):
        assert all(violation.rule in CASES for violation in check_request(body, WIRE, provider=provider))
