"""Texts with calls in them: what a dialect is made of, at random; the steps of a scanner, in pieces or whole."""
# ruff: noqa: RUF001 - the full-width bars are the models' own

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from random import Random
from typing import Any

from tests.conformance.pages import DOCS
from toolparity.normalizer.textmode.dialect import TextDialect
from toolparity.normalizer.textmode.dialects import DIALECTS
from toolparity.normalizer.textmode.parsers.coercion import tool_schemas
from toolparity.normalizer.textmode.scan_events import ArgumentsFragment, ReasoningFragment, ScanEvent, TextFragment
from toolparity.normalizer.textmode.scanner import Scanner

#: The pieces that each dialect's markup is made of, and of which a broken one is.
TOKENS: dict[str, list[str]] = {
    "tool-xml": [
        *("<tool:f>", "</tool:f>", "<param:a>", "</param:a>", "<param:b>", "</param:b>"),
        *("<tool:g>", "</tool:g>", "<tool:g/>", "<tool:f\t>", "<tool:f\n>", "<param:a />"),
    ],
    "invoke": [
        *("<function_calls>", "</function_calls>", '<invoke name="f">', "</invoke>", '<parameter name="a">'),
        *("<minimax:tool_call>", "</minimax:tool_call>", '<invoke\n name="f">', '<parameter\n\tname="a"\n>'),
        *("</parameter>", '<parameter name="b" string="false">', '<invoke name="g">', '{"a": 1}', "<invoke"),
    ],
    "dsml": [
        *("<｜DSML｜function_calls>", "</｜DSML｜function_calls>", '<｜DSML｜invoke name="f">', "</｜DSML｜invoke>"),
        *('<｜DSML｜parameter name="a" string="true">', "</｜DSML｜parameter>", '<｜DSML｜parameter name="b">'),
        *("<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>"),
        *("<｜end▁of▁sentence｜>", '{"a": "</｜DSML｜invoke>"}'),
    ],
    "qwen-coder": [
        *("<tool_call>", "</tool_call>", "<function=f>", "</function>", "<parameter=a>", "</parameter>"),
        *("<parameter=b>", "<function=g>", "<function=g\n>", "<parameter=a >", '{"a": 1}', '{"a'),
    ],
    "glm": ["<tool_call>f", "</tool_call>", "<arg_key>a</arg_key>", "<arg_value>", "</arg_value>", "<arg_key>", "f\n"],
    "hermes": [
        *("<tool_call>", "</tool_call>", '{"name": "f", "arguments": {"a": 1}}', '{"name": "f", ', '"arguments": {'),
        *('"a": "</tool_call>"', "}", "}}", '{"name"', "[", "]", ",", '"x\\"y"', '{"arguments": {}, "name": "g"}'),
    ],
    "llama": [
        *("<|python_tag|>", '{"name": "f", "parameters": {"a": 1}}', ";", 'f.call(a="(x", b=1)', "f.call(", ")", "'"),
        *("<|eom_id|>", "print(1)", '{"name"', "}", "["),
    ],
    "mistral": [
        *("[TOOL_CALLS]", "f", "[ARGS]", '{"a": "[TOOL_CALLS]"}', '[{"name": "f", "arguments": {}}]', "[CALL_ID]"),
        *("x1", "{", "}", "[", "]", ",", '{"name": "f"}', "</s>"),
    ],
    "deepseek": [
        *("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"),
        *("<｜tool▁sep｜>", "function", "f", '{"a": 1}', "\n```json\n", "\n```", '{"a"', "{"),
    ],
    "kimi": [
        *("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_begin|>", "<|tool_call_end|>"),
        *("<|tool_call_argument_begin|>", "functions.f:0", '{"a": 1}', '{"a"', "}"),
        *("<|tool_call_section_begin|>", "<|tool_call_section_end|>"),
    ],
    "harmony": [
        *("<|start|>assistant", "<|channel|>commentary to=functions.f", " <|constrain|>json", "<|message|>"),
        *(
            "<|call|>",
            '{"a": 1}',
            '{"a"',
            "}",
            "<|end|>",
            " to=functions.g",
            "<|channel|>analysis",
            "<|return|>",
            "print(1)",
        ),
        "<|start|>assistant to=functions.f<|channel|>commentary json<|message|>",
    ],
}
#: The dialects whose parameters have tags, and those whose arguments arrive in one piece.
TAGGED = ("tool-xml", "invoke", "dsml", "qwen-coder", "hunyuan", "glm", "kimi-k3", "step", "solar", "minicpm")
AT_ONCE = ("lfm2", "llama-pythonic", "olmo", "gemma", "functiongemma")


def page_calls() -> dict[str, str]:
    """The rows of the page's table of dialects: the name, and the call behind it."""
    text = (DOCS / "textmode.md").read_text("utf-8")
    rows = re.finditer(r"^\| `(?P<name>[\w-]+)` \|.*\| `(?P<call>[^`]+)` \|$", text, re.MULTILINE)
    return {row["name"]: row["call"].replace("\\|", "|").replace("\\n", "\n") for row in rows}


#: What opens the value of the page's call in each dialect.
OPENINGS = {name: re.split(r'(?<=[">])a(?=["<\]])', call)[0] for name, call in page_calls().items()}
for _name, _call in page_calls().items():
    if _name not in TOKENS:
        _tags, _half = re.findall(r"<[^<>]*>|[^<>]+|[<>]", _call), len(_call) // 2
        TOKENS[_name] = [*_tags, OPENINGS[_name], _call[:_half], _call[_half:], '"', "}", "]", ")"]
#: What is between them, and what is not markup though it looks so.
COMMON = [
    *(" ", "\n", "\n\n", "words", "a < b", "<", "</", "`", "```\n", "\n```", "~~~", "é🌊", "<think>", "</think>", '"'),
    *("\\", "&lt;", "<b>", "\n   ", "{", "[T", "<t", "<|", "```xml\n", "</think>\n"),
    *("- ```\n", "\n    ```\r\n", "> ", "``", "`x ", " y`", "```js```"),
]
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "string"}, "b": {"type": "array", "items": {"type": "integer"}}},
}
TOOLS = [{"name": "f", "parameters": SCHEMA}, {"name": "g", "parameters": {"type": "object", "properties": {}}}]


def dialects(name: str | None) -> Sequence[TextDialect]:
    return tuple(DIALECTS.values()) if name is None else (DIALECTS[name],)


def scanned(name: str | None, pieces: Iterable[str], **how: Any) -> tuple[list[ScanEvent], Scanner]:
    """The steps of a text in pieces, those that only continue one another joined."""
    closers = how.pop("closers", ())
    scanner = Scanner(dialects(name), tool_schemas(how.pop("tools", None)), **how)
    steps: list[ScanEvent] = []
    for piece in pieces:
        steps += scanner.feed(piece)
    return joined(steps + scanner.finish(closers)), scanner


def joined(steps: list[ScanEvent]) -> list[ScanEvent]:
    made: list[ScanEvent] = []
    for step in steps:
        last = made[-1] if made else None
        if isinstance(step, (TextFragment, ReasoningFragment, ArgumentsFragment)) and type(last) is type(step):
            made[-1] = type(step)(last.text + step.text)
        else:
            made.append(step)
    return made


def pieces(text: str, chance: Random) -> list[str]:
    """The text cut at random places, sometimes in many small pieces."""
    most = chance.choice((1, 3, 10, len(text)))
    edges = sorted({0, len(text), *(chance.randint(0, len(text)) for _ in range(most))})
    return [text[start:end] for start, end in pairwise(edges)]
