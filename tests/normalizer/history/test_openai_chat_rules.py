"""Each rule of Chat Completions refuses what breaks it, by its id, and lets its legal neighbour pass."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.normalizer.recorded.rows import rows
from toolparity.normalizer.requests import check_request
from toolparity.normalizer.wires.openai_chat.rules import RULES
from toolparity.normalizer.wires.registry import specs
from toolparity.normalizer.wires.rule import FORMER

WIRE = "openai.chat"
USER = {"role": "user", "content": "go"}
UNLISTED = {"type": "object", "properties": {"x": {"type": "array"}}}
FORCED = {"type": "function", "function": {"name": "f"}}
FUNCTION = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}


def call(id: Any = "abcdefgh1", name: Any = "f", arguments: Any = "{}") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def asks(*calls: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": "", "tool_calls": list(calls) or [call()], **members}


def told(id: Any = "abcdefgh1", content: Any = "done", **members: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": content, **members}


def body(*messages: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"model": "m", "messages": list(messages), **members}


def sound(format: str) -> dict[str, Any]:
    return {"type": "input_audio", "input_audio": {"data": "AAAA", "format": format}}


def strict(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "f", "strict": True, "parameters": schema}}


IMAGE = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
LONG = "x" * 41
THINKING = {"thinking": {"type": "enabled"}}
#: rule -> (provider, a body that breaks it, the place, its legal neighbour)
CASES: dict[str, tuple[str | None, dict[str, Any], str, dict[str, Any]]] = {
    "messages-present": (None, body(), "messages", body(USER)),
    "message-object": (None, body(USER, ["go"]), "messages[1]", body(USER)),  # type: ignore[arg-type]
    "role-known": (None, body({**USER, "role": "model"}), "messages[0].role", body({**USER, "role": "developer"})),
    "call-answered": (
        "openai",
        body(USER, asks(call("a"), call("b")), told("a"), USER),
        "messages[1].tool_calls[1]",
        body(USER, asks(call("a"), call("b")), told("b"), told("a"), USER),
    ),
    "result-asked-for": ("deepseek", body(told(), USER), "messages[0]", body(asks(), told(), USER)),
    "answered-once": (
        "openai",
        body(USER, asks(), told(), told()),
        "messages[3]",
        body(USER, asks(), told(), asks(), told()),
    ),
    "id-missing": (
        "openai",
        body(USER, asks(call("")), told("")),
        "messages[1].tool_calls[0].id",
        body(USER, asks(), told()),
    ),
    "id-unique": (
        "openai",
        body(USER, asks(call("a"), call("a", "g")), told("a")),
        "messages[1].tool_calls[1].id",
        body(USER, asks(call("a"), call("A", "g")), told("a"), told("A")),
    ),
    "id-long": (
        "openai",
        body(USER, asks(call(LONG)), told(LONG)),
        "messages[1].tool_calls[0].id",
        body(USER, asks(call(LONG[:40])), told(LONG[:40])),
    ),
    "id-short": (
        "mistral",
        body(USER, asks(call("call_abcd")), told("call_abcd")),
        "messages[1].tool_calls[0].id",
        body(USER, asks(), told()),
    ),
    "name-format": (
        None,
        body(USER, asks(call(name="multi_tool_use.parallel")), told()),
        "messages[1].tool_calls[0].function.name",
        body(USER, asks(call(name="multi_tool_use-parallel")), told()),
    ),
    "name-free": (
        "xai",
        body(USER, tools=[{"type": "function", "function": {"name": "tool_search"}}]),
        "tools[0].function.name",
        body(USER, tools=[{"type": "function", "function": {"name": "web_search"}}]),
    ),
    "arguments-text": (
        "openai",
        body(USER, asks(call(arguments={})), told()),
        "messages[1].tool_calls[0].function.arguments",
        body(USER, asks(call(arguments="")), told()),
    ),
    "calls-empty": (
        "openai",
        body(USER, {"role": "assistant", "content": "a", "tool_calls": []}, USER),
        "messages[1].tool_calls",
        body(USER, {"role": "assistant", "content": "a", "tool_calls": None}, USER),
    ),
    "content-present": (
        "openai",
        body(USER, {"role": "assistant", "content": None}, USER),
        "messages[1].content",
        body(USER, {"role": "assistant", "content": None, "refusal": "no"}, USER),
    ),
    "content-text": ("xai", body(USER, asks(content=None), told()), "messages[1].content", body(USER, asks(), told())),
    "part-type": (
        "openai",
        body({"role": "user", "content": [{"text": "go"}]}),
        "messages[0].content[0]",
        body({"role": "user", "content": [{"type": "text", "text": "go"}]}),
    ),
    "part-type-deepseek": (
        "deepseek",
        body({"role": "user", "content": [IMAGE]}),
        "messages[0].content[0]",
        body({"role": "user", "content": [{"type": "text", "text": "go"}]}),
    ),
    "part-type-groq": (
        "groq",
        body({"role": "user", "content": [IMAGE, sound("wav")]}),
        "messages[0].content[1]",
        body({"role": "user", "content": [IMAGE]}),
    ),
    "part-type-mistral": (
        "mistral",
        body({"role": "user", "content": [{"type": "input_text", "text": "go"}]}),
        "messages[0].content[0]",
        body({"role": "user", "content": [IMAGE, sound("wav"), {"type": "document_url", "document_url": "x"}]}),
    ),
    "file-id": (
        "mistral",
        body({"role": "user", "content": [{"type": "file", "file": {"file_data": "data:a/b;base64,AAAA"}}]}),
        "messages[0].content[0]",
        body({"role": "user", "content": [{"type": "file", "file_id": "f1"}]}),
    ),
    "audio-format": (
        "openai",
        body({"role": "user", "content": [sound("mpeg")]}),
        "messages[0].content[0].input_audio.format",
        body({"role": "user", "content": [sound("mp3"), sound("wav")]}),
    ),
    "result-text": (
        "openai",
        body(USER, asks(), told(content=[{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}])),
        "messages[2].content[0]",
        body(USER, asks(), told(content=[{"type": "text", "text": "done"}])),
    ),
    "result-members": (
        None,
        body(USER, asks(), told(is_error=True)),
        "messages[2].is_error",
        body(USER, asks(), told(content="[tool_error] no")),
    ),
    "function-name": (
        None,
        body(USER, {"role": "function", "content": "done"}),
        "messages[1].name",
        body(USER, {"role": "function", "name": "f", "content": "done"}),
    ),
    "user-after-tool": (
        "mistral",
        body(USER, asks(), told(), USER),
        "messages[3].role",
        body(USER, asks(), told(), {"role": "assistant", "content": "OK."}, USER),
    ),
    "content-or-calls": (
        "mistral",
        body(USER, {"role": "assistant", "content": ""}, USER),
        "messages[1]",
        body(USER, {"role": "assistant", "content": "a"}, USER),
    ),
    "assistant-last": (
        "mistral",
        body(USER, {"role": "assistant", "content": "a"}),
        "messages[1].role",
        body(USER, {"role": "assistant", "content": "a", "prefix": True}),
    ),
    "member-groq": (
        "groq",
        body(USER, asks(reasoning_content="hm"), told()),
        "messages[1].reasoning_content",
        body(USER, asks(reasoning="hm"), told()),
    ),
    "member-mistral": (
        "mistral",
        body(USER, asks(refusal=None), told()),
        "messages[1].refusal",
        body(USER, asks(prefix=False), told()),
    ),
    "custom-tool": (
        "groq",
        body(USER, tools=[{"type": "custom", "custom": {"name": "f"}}]),
        "tools[0].type",
        body(USER, tools=[FUNCTION]),
    ),
    "parameters-object": (
        "openai",
        body(USER, tools=[{"type": "function", "function": {"name": "f", "parameters": {"type": "string"}}}]),
        "tools[0].function.parameters",
        body(USER, tools=[FUNCTION]),
    ),
    "strict-schema": (
        "openai",
        body(USER, tools=[strict({"type": "object", "properties": {"a": {}}, "additionalProperties": False})]),
        "tools[0].function.parameters",
        body(USER, tools=[strict({"type": "object", "properties": {}, "additionalProperties": False})]),
    ),
    "tool-schema": (
        "openai",
        body(USER, tools=[{"type": "function", "function": {"name": "f", "parameters": UNLISTED}}]),
        "tools[0].function.parameters.properties.x",
        body(USER, tools=[FUNCTION]),
    ),
    "tools-count": ("openai", body(USER, tools=[]), "tools", body(USER, tools=[FUNCTION] * 128)),
    "tools-needed": (
        "openai",
        body(USER, parallel_tool_calls=False),
        "parallel_tool_calls",
        body(USER, parallel_tool_calls=False, tools=[FUNCTION]),
    ),
    "choice-declared": (
        "openai",
        body(USER, tools=[FUNCTION], tool_choice={"type": "function", "function": {"name": "g"}}),
        "tool_choice",
        body(USER, tools=[FUNCTION], tool_choice={"type": "function", "function": {"name": "f"}}),
    ),
    "tool-choice": (
        "openai",
        body(USER, tools=[FUNCTION], tool_choice="any"),
        "tool_choice",
        body(USER, tools=[FUNCTION], tool_choice="required"),
    ),
    "tool-choice-mistral": (
        "mistral",
        body(USER, tools=[FUNCTION], tool_choice={"type": "tool", "name": "f"}),
        "tool_choice",
        body(USER, tools=[FUNCTION], tool_choice="any"),
    ),
    "limits-both": (
        "openai",
        body(USER, max_tokens=5, max_completion_tokens=5),
        "max_tokens",
        body(USER, max_tokens=None, max_completion_tokens=5),
    ),
    "body-mistral": (
        "mistral",
        body(USER, max_completion_tokens=5),
        "max_completion_tokens",
        body(USER, max_tokens=5, random_seed=1, safe_prompt=True),
    ),
    "body-groq": ("groq", body(USER, store=True), "store", body(USER, n=1, seed=1, service_tier="flex")),
}


def test_every_rule_has_a_case_and_says_why_and_whence() -> None:
    assert set(CASES) == {rule.id for rule in RULES}
    assert all(rule.reason and rule.source and rule.status in (400, 422) and rule.error_type for rule in RULES)


def test_a_rule_of_several_wires_has_one_id_and_answers_to_its_former_ids() -> None:
    rules = {rule.id for spec in specs() for rule in spec.part("rules").RULES}
    assert not rules & FORMER.keys()
    assert rules >= set(FORMER.values())
    (found,) = check_request(body(USER, asks()), WIRE, provider="openai")
    named = {id for id in (*FORMER, *rules) if found.breaks(id)}
    assert named == {"call-answered", "answered", "call-unanswered", "calls-answered"}


@pytest.mark.parametrize("rule", CASES)
def test_a_request_that_breaks_a_rule_is_refused_with_its_id_and_place(rule: str) -> None:
    provider, broken, place, _ = CASES[rule]
    assert (rule, place) in [(found.rule, found.path) for found in check_request(broken, WIRE, provider=provider)]


@pytest.mark.parametrize("rule", CASES)
def test_its_legal_neighbour_passes_every_rule(rule: str) -> None:
    provider, _, _, legal = CASES[rule]
    assert check_request(legal, WIRE, provider=provider) == []


@pytest.mark.parametrize("rule", [rule for rule in CASES if CASES[rule][0] is not None])
def test_a_provider_that_does_not_hold_a_rule_does_not_refuse_by_it(rule: str) -> None:
    _, broken, _, _ = CASES[rule]
    assert rule not in [found.rule for found in check_request(broken, WIRE, provider="ollama")]


def test_a_strict_function_has_parameters() -> None:
    bare = body(USER, tools=[{"type": "function", "function": {"name": "f", "strict": True}}])
    assert [found.rule for found in check_request(bare, WIRE, provider="openai")] == ["strict-schema"]


def test_a_list_of_too_many_tools_is_refused() -> None:
    found = check_request(body(USER, tools=[FUNCTION] * 129), WIRE, provider="openai")
    assert [(violation.rule, violation.path) for violation in found] == [("tools-count", "tools")]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(list(CASES)), st.data(), JSON)
def test_no_check_raises_whatever_the_body(rule: str, data: st.DataObject, junk: Any) -> None:
    broken: Any = deepcopy(CASES[rule][1])
    holder, key = None, None
    node = broken
    while isinstance(node, (dict, list)) and node and (holder is None or data.draw(st.booleans())):
        holder, key = node, data.draw(st.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node))))
        node = node[key]
    holder[key] = junk  # type: ignore[index]
    for provider in (None, "openai", "mistral", "xai", "groq", "deepseek"):
        check_request(broken, WIRE, provider=provider)
        check_request(junk, WIRE, provider=provider)


class Counted(str):
    """An id that counts how often it is compared."""

    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return str.__eq__(self, other)


def test_a_turn_of_very_many_calls_is_judged_in_steps_that_grow_with_their_number_only() -> None:
    many = 500
    Counted.compared = 0
    calls = [call(Counted(f"abcde{number:04}")) for number in range(many)]
    results = [told(Counted(f"abcde{number:04}")) for number in range(many)]
    assert check_request(body(USER, asks(*calls), *results), WIRE, provider="openai") == []
    assert Counted.compared < 20 * many


@pytest.mark.parametrize("part", ["go", {"type": "input_text", "text": "go"}, {"type": ["text"]}])
def test_a_part_of_another_wire_or_of_none_is_refused(part: Any) -> None:
    found = check_request(body({"role": "user", "content": [part]}), WIRE, provider="openai")
    assert [(violation.rule, violation.path) for violation in found] == [("part-type", "messages[0].content[0]")]


def test_a_user_may_speak_after_a_result_where_that_was_recorded() -> None:
    talk = [USER, asks(), told(), USER]
    for model, rules in (
        ("mistral-small-latest", []),
        ("ministral-3b-2410", []),
        ("mistral-medium", ["user-after-tool"]),
    ):
        found = check_request({"model": model, "messages": talk}, WIRE, provider="mistral")
        assert [violation.rule for violation in found] == rules


def test_xai_accepts_calls_without_the_member_content() -> None:
    asked = asks()
    del asked["content"]
    assert check_request(body(USER, asked, told()), WIRE, provider="xai") == []


def test_no_rule_refuses_a_recorded_request_that_its_provider_took(recordings: Path) -> None:
    refused = {
        row.id: found
        for row in rows(recordings, WIRE)
        if not row.failed
        and isinstance(row.request, dict)
        and "messages" in row.request
        and (found := check_request(row.request, WIRE, provider=row.provider))
    }
    assert refused == {}
