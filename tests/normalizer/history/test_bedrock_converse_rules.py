"""Each request rule of Converse refuses what breaks it, at the place where it is broken, and nothing else."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from toolparity.normalizer.requests import check_request
from toolparity.normalizer.wires.bedrock_converse.rules import RULES

WIRE = "bedrock.converse"
CALL = {"toolUse": {"toolUseId": "t1", "name": "f", "input": {"x": 1}}}
RESULT = {"toolResult": {"toolUseId": "t1", "content": [{"json": {"y": 2}}], "status": "success"}}
SPEC = {"toolSpec": {"name": "f", "description": "d", "inputSchema": {"json": {"type": "object"}}}}
DOCUMENT = {"document": {"format": "pdf", "name": "a bill (1)", "source": {"bytes": "AAAA"}}}
LEGAL: dict[str, Any] = {
    "modelId": "us.anthropic.claude-sonnet-4-6",
    "system": [{"text": "s"}, {"cachePoint": {"type": "default"}}],
    "messages": [
        {"role": "user", "content": [{"text": "hi"}, DOCUMENT]},
        {"role": "assistant", "content": [{"text": "so"}, CALL]},
        {"role": "user", "content": [RESULT]},
    ],
    "toolConfig": {"tools": [SPEC], "toolChoice": {"tool": {"name": "f"}}},
    "inferenceConfig": {"maxTokens": 5, "temperature": 1, "topP": 0.5},
}
Path = tuple[str | int, ...]
FIRST: Path = ("messages", 0, "content", 0)
USE: Path = ("messages", 1, "content", 1, "toolUse")
ANSWER: Path = ("messages", 2, "content", 0, "toolResult")
TOOL: Path = ("toolConfig", "tools", 0, "toolSpec")


def put(*path: str | int, to: Any) -> Callable[[dict[str, Any]], None]:
    """A change that sets the value at a path."""

    def change(body: dict[str, Any]) -> None:
        inner: Any = body
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = to

    return change


#: The rule, where it is broken, and how.
BROKEN: list[tuple[str, str, Callable[[dict[str, Any]], None]]] = [
    ("messages-present", "messages", put("messages", to=[])),
    ("message-object", "messages[0]", put("messages", 0, to="hi")),
    ("role-known", "messages[0].role", put("messages", 0, "role", to="tool")),
    ("user-first", "messages[0].role", put("messages", to=[{"role": "assistant", "content": [{"text": "a"}]}])),
    ("content-present", "messages[0].content", put("messages", 0, "content", to=[])),
    ("content-present", "messages[0].content", put("messages", 0, "content", to="hi")),
    ("part-type", "messages[0].content[0]", put(*FIRST, to={"poem": {}})),
    ("part-type", "messages[0].content[0]", put(*FIRST, to={"text": "a", "cachePoint": {"type": "default"}})),
    ("blank-text", "messages[0].content[0].text", put("messages", 0, "content", to=[{"text": "\n"}, {"text": " "}])),
    ("blank-text", "messages[0].content[0].text", put(*FIRST, "text", to="")),
    ("blank-text", "system[0].text", put("system", 0, "text", to="")),
    ("blank-text", "messages[2].content[0].toolResult.content[0].text", put(*ANSWER, "content", 0, to={"text": ""})),
    ("block-role", "messages[0].content[0]", put(*FIRST, to={"reasoningContent": {"reasoningText": {"text": "r"}}})),
    ("call-answered", "messages[1].content[1].toolUse", put("messages", 2, "content", to=[{"text": "hi"}])),
    ("result-asked-for", "messages[2].content[0].toolResult", put(*ANSWER, "toolUseId", to="t2")),
    (
        "id-unique",
        "messages[1].content[2].toolUse.toolUseId",
        put("messages", 1, "content", to=[{"text": "a"}, CALL, CALL]),
    ),
    ("answered-once", "messages[2].content[1].toolResult", put("messages", 2, "content", to=[RESULT, RESULT])),
    ("id-format", "messages[1].content[1].toolUse.toolUseId", put(*USE, "toolUseId", to="a b")),
    ("name-format", "messages[1].content[1].toolUse.name", put(*USE, "name", to="a.b")),
    ("name-format", "toolConfig.tools[0].toolSpec.name", put(*TOOL, "name", to="n" * 65)),
    ("arguments-object", "messages[1].content[1].toolUse.input", put(*USE, "input", to="{}")),
    ("result-json", "messages[2].content[0].toolResult.content[0].json", put(*ANSWER, "content", 0, "json", to=[1])),
    (
        "error-content",
        "messages[2].content[0].toolResult.content",
        put(*ANSWER, to={"toolUseId": "t1", "content": [], "status": "error"}),
    ),
    ("tool-config", "toolConfig", put("toolConfig", to=None)),
    ("tools", "toolConfig.tools", put("toolConfig", "tools", to=[])),
    ("tools", "toolConfig.tools[0].toolSpec.inputSchema.json.type", put(*TOOL, "inputSchema", "json", to={})),
    ("tool-schema", "toolConfig.tools[0].toolSpec.description", put(*TOOL, "description", to="")),
    (
        "tool-schema",
        "toolConfig.tools[0].toolSpec.inputSchema.json.anyOf",
        put(*TOOL, "inputSchema", "json", to={"type": "object", "anyOf": [{}]}),
    ),
    ("tool-unique", "toolConfig.tools[1].toolSpec.name", put("toolConfig", "tools", to=[SPEC, SPEC])),
    ("tool-choice", "toolConfig.toolChoice", put("toolConfig", "toolChoice", to={"none": {}})),
    ("choice-declared", "toolConfig.toolChoice.tool.name", put("toolConfig", "toolChoice", "tool", "name", to="g")),
    ("inference-range", "inferenceConfig.maxTokens", put("inferenceConfig", "maxTokens", to=0)),
    ("inference-range", "inferenceConfig.temperature", put("inferenceConfig", "temperature", to=1.5)),
    (
        "document-name",
        "messages[0].content[1].document.name",
        put("messages", 0, "content", 1, "document", "name", to="a.pdf"),
    ),
    ("document-text", "messages[0].content", put("messages", 0, "content", to=[DOCUMENT])),
    ("cache-points", "system[4].cachePoint", put("system", to=[{"cachePoint": {"type": "default"}}] * 5)),
]


def test_a_legal_request_breaks_no_rule() -> None:
    assert check_request(LEGAL, WIRE) == []


@pytest.mark.parametrize(("rule", "path", "change"), BROKEN, ids=[f"{rule}: {path}" for rule, path, _ in BROKEN])
def test_what_breaks_a_rule_is_refused_there(rule: str, path: str, change: Callable[[dict[str, Any]], None]) -> None:
    body = copy.deepcopy(LEGAL)
    change(body)
    assert (rule, path) in [(found.rule, found.path) for found in check_request(body, WIRE)]


@pytest.mark.parametrize(
    ("model", "change"),
    [
        ("meta.llama3-3-70b-instruct-v1:0", put("messages", to=[{"role": "assistant", "content": [{"text": "a"}]}])),
        ("meta.llama3-3-70b-instruct-v1:0", put("messages", 0, "content", to=[{"text": "\n"}])),
        ("anthropic.claude-sonnet-4-6", put(*FIRST, "text", to="\n")),
        ("anthropic.claude-sonnet-4-6", put(*ANSWER, "content", 0, to={"text": "\n"})),
    ],
)
def test_a_refusal_of_some_models_does_not_concern_the_others(
    model: str, change: Callable[[dict[str, Any]], None]
) -> None:
    body = copy.deepcopy({**LEGAL, "modelId": model})
    change(body)
    assert not {"user-first", "blank-text"}.intersection(found.rule for found in check_request(body, WIRE))


def test_a_cache_point_is_beside_its_text_in_bodies_of_invoke_model() -> None:
    block = {"text": "a", "cachePoint": {"type": "default"}}
    body = {"schemaVersion": "messages-v1", "messages": [{"role": "user", "content": [block]}]}
    assert check_request(body, WIRE) == []


def test_every_rule_is_broken_here() -> None:
    assert {rule.id for rule in RULES} == {rule for rule, _, _ in BROKEN}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
@pytest.mark.parametrize("body", [None, [], {}, {"messages": [None, {"content": [None, 1, {"toolUse": 5}]}]}])
def test_no_rule_raises_whatever_the_body(rule: Any, body: Any) -> None:
    assert all(len(violation) == 2 for violation in rule.check(body))


def test_calls_of_the_provider_and_their_results_stay_with_the_assistant() -> None:
    body = copy.deepcopy(LEGAL)
    served = {"toolUse": {"toolUseId": "s1", "name": "nova_code_interpreter", "input": {}, "type": "server_tool_use"}}
    result = {"toolResult": {"toolUseId": "s1", "content": [], "type": "nova_code_interpreter_result"}}
    body["messages"][1]["content"][:0] = [served, result]
    assert check_request(body, WIRE) == []
