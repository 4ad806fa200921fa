"""Each rule of xAI's has a case that breaks it and is refused under its id, and a legal neighbour that passes."""

from __future__ import annotations

from typing import Any

import pytest

from toolparity.normalizer.requests import check_request
from toolparity.normalizer.wires.xai_grpc.rules import RULES

Body = dict[str, Any]


def call(id: str = "c1", name: str = "f", kind: str = "TOOL_CALL_TYPE_CLIENT_SIDE_TOOL") -> Body:
    return {"id": id, "type": kind, "function": {"name": name, "arguments": "{}"}}


def user(**more: Any) -> Body:
    return {"role": "ROLE_USER", "content": [{"text": "hi"}], **more}


def said(*calls: Body) -> Body:
    return {"role": "ROLE_ASSISTANT", "content": [{"text": ""}], "tool_calls": list(calls)}


def told(id: str | None = "c1") -> Body:
    message: Body = {"role": "ROLE_TOOL", "content": [{"text": "ok"}]}
    return message if id is None else {**message, "tool_call_id": id}


def request(*messages: Body, **more: Any) -> Body:
    return {"model": "m", "messages": list(messages) or [user()], **more}


def function(name: str = "f", parameters: str = "{}") -> Body:
    return {"function": {"name": name, "parameters": parameters}}


def attached(**file: Any) -> Body:
    return request(user(content=[{"file": file}]))


SERVER = "TOOL_CALL_TYPE_WEB_SEARCH_TOOL"
#: By rule: what breaks it, where, and the neighbours that do not.
CASES: dict[str, list[tuple[Body, str, list[Body]]]] = {
    "readable": [({"messages": "hi"}, "$", [request()])],
    "model-present": [({"messages": [user()]}, "model", [request()])],
    "messages-present": [({"model": "m"}, "messages", [request()])],
    "role-known": [(request({"content": [{"text": "hi"}]}), "messages[0].role", [request()])],
    "content-present": [
        (request(user(content=[])), "messages[0].content", [request(user(content=[{"text": ""}]))]),
        (request(user(content=[])), "messages[0].content", [request(user(content=[], encrypted_content="e"))]),
    ],
    "part-type": [(request(user(content=[{}])), "messages[0].content[0]", [request()])],
    "media-source": [
        (attached(file_id="f", url="u"), "messages[0].content[0].file", [attached(url="u", filename="n")]),
        (attached(filename="n"), "messages[0].content[0].file", [attached(data="AAAA", filename="n")]),
        (attached(file_id="f", filename="n"), "messages[0].content[0].file", [attached(file_id="f")]),
    ],
    "call-named": [
        (
            request(user(), said(call(name="")), told()),
            "messages[1].tool_calls[0]",
            [request(user(), said(call()), told())],
        )
    ],
    "id-unique": [
        (
            request(user(), said(call(), call()), told(), told()),
            "messages[1].tool_calls[1].id",
            [
                request(user(), said(call(), call("c2")), told(), told("c2")),
                # Ids of an earlier round may come again.
                request(user(), said(call()), told(), said(call()), told()),
            ],
        ),
    ],
    "id-missing": [(request(user(), said(call("")), told(None)), "messages[1].tool_calls[0].id", [])],
    "call-answered": [
        (request(user(), said(call(), call("c2")), told()), "messages[1].tool_calls[1]", []),
        (
            request(user(), said(call()), user()),
            "messages[1].tool_calls[0]",
            [
                request(user(), said(call()), told(), user()),
                request(user(), said(call()), user(), told()),
                request(user(), said(call(), call("c2")), told(None), told(None)),
                # What xAI runs itself, no one has to answer.
                request(user(), said(call(kind=SERVER)), user()),
            ],
        ),
        (
            request(user(), said(call()), said(call("c2")), told("c2"), said(call("c3")), told("c3")),
            "messages[1].tool_calls[0]",
            [],
        ),
    ],
    "answered-once": [
        (request(user(), said(call()), told(), told()), "messages[3]", [request(user(), said(call()), told())]),
    ],
    "result-asked-for": [
        (
            request(told(), user()),
            "messages[0]",
            [
                request(told(), user(), previous_response_id="r"),
                request(user(), said(call("s", kind=SERVER)), {**told("s"), "tool_calls": [call("s", kind=SERVER)]}),
            ],
        ),
        (request(user(), said(call()), told(), told("c2")), "messages[3]", []),
    ],
    "name-format": [
        (request(tools=[function("a.b")]), "tools[0].function.name", [request(tools=[function("a-b_1")])]),
        (request(tools=[function("a" * 65)]), "tools[0].function.name", [request(tools=[function("a" * 64)])]),
    ],
    "name-free": [
        (
            request(tools=[function("tool_search")]),
            "tools[0].function.name",
            [request(tools=[{"web_search": {}}, function("code_execution")])],
        ),
    ],
    "tool-unique": [
        (
            request(tools=[function(), function()]),
            "tools[1].function.name",
            [request(tools=[function(), function("g")])],
        )
    ],
    "parameters-object": [
        (request(tools=[function(parameters="")]), "tools[0].function.parameters", [request(tools=[function()])]),
        (request(tools=[function(parameters="[]")]), "tools[0].function.parameters", []),
    ],
    "tools-count": [
        (
            request(tools=[function(f"f{n}") for n in range(129)]),
            "tools",
            [request(tools=[function(f"f{n}") for n in range(128)])],
        )
    ],
    "choice-declared": [
        (
            request(tools=[function()], tool_choice={"function_name": "g"}),
            "tool_choice.function_name",
            [
                request(tools=[function()], tool_choice={"function_name": "f"}),
                request(tools=[function()], tool_choice={"mode": "TOOL_MODE_REQUIRED"}),
            ],
        )
    ],
}


def test_every_rule_has_a_case_a_reason_and_a_source() -> None:
    assert set(CASES) == {rule.id for rule in RULES}
    assert len({rule.id for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule.reason.endswith(".")
        assert rule.source
        assert (rule.status, rule.providers) == (400, None)


@pytest.mark.parametrize(
    ("rule", "body", "path"), [(rule, body, path) for rule, cases in CASES.items() for body, path, _ in cases]
)
def test_a_request_that_breaks_a_rule_is_refused_under_its_id_and_its_place(rule: str, body: Body, path: str) -> None:
    found = check_request(body, "xai.grpc", provider="xai")
    assert [(violation.rule, violation.path) for violation in found] == [(rule, path)]
    assert found[0].message


@pytest.mark.parametrize("body", [body for cases in CASES.values() for *_, legal in cases for body in legal])
def test_its_legal_neighbour_passes(body: Body) -> None:
    assert check_request(body, "xai.grpc", provider="xai") == []


@pytest.mark.parametrize("body", [None, 3, [], "x", b"\x00", {"messages": [1]}, {"messages": {"role": []}}])
def test_no_body_makes_a_check_raise(body: Any) -> None:
    assert [violation.rule for violation in check_request(body, "xai.grpc")] == ["readable"]
