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

F = ("f", {"a": 1}, "complete")
G = ("g", {"b": "x"}, "complete")
EMPTY: Any = ("f", {}, "complete")
INVOKED = '<function_calls>\n<invoke name="g">\n<parameter name="b">x</parameter>\n</invoke>\n</function_calls>'
TYPED = (
    '<｜DSML｜function_calls>\n<｜DSML｜invoke name="f">\n'
    '<｜DSML｜parameter name="a" string="false">1</｜DSML｜parameter>\n'
    '<｜DSML｜parameter name="b" string="true">1</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>'
)
FENCED = (
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{"a": 1}\n```<｜tool▁call▁end｜>\n'
    '<｜tool▁call▁begin｜>function<｜tool▁sep｜>g\n```json\n{"b": "x"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
    "<｜end▁of▁sentence｜>"
)
DSML = re.sub("(?<=<)(?!/)|(?<=</)", "｜DSML｜", INVOKED)
BAD = ("f", None, "invalid")
SEARCH = ("brave_search", {"query": "a (b)"}, "complete")
NESTED = ("f", {"a": 1, "b": [2, {"c": None}]}, "complete")
CODE = ("code_interpreter", {"code": "print(1)\n"}, "complete")


def prefixed(text: str) -> str:
    """Return tags with the prefix that they have in Claude's prompts."""
    mark = "ant" + "ml:"
    return re.sub(r"(</?)(?=[a-z])", rf"\1{mark}", text)


SPELLINGS: list[tuple[str, str, list[Any]]] = [
    ("hermes", '<tool_call>\n{"arguments": {"a": 1}, "name": "f"}\n</tool_call>', [F]),
    ("hermes", '<tool_call>{"name":"f","arguments":{"a":1}}\n{"name":"g","arguments":{"b":"x"}}</tool_call>', [F, G]),
    ("hermes", '<tool_call>{"name": "f", "arguments": {"a": 1}}}\n</tool_call>', [BAD]),
    ("hermes", '<tool_call>{"name": "f", "arguments": {"a": 1},}</tool_call>', [BAD]),
    ("hermes", '<tool_call>{"name": "f"}</tool_call>', [EMPTY]),
    ("hermes", '<tool_call>{"id": 0, "name": "f", "arguments": {"a": 1}, "call_id": null}</tool_call>', [F]),
    ("hermes", '<tool_call>{"name": "f", "arguments": "{}"}</tool_call>', [BAD]),
    ("hermes", '<tool_call>{"name": "f", "arguments": [1]}</tool_call>', [BAD]),
    ("hermes", '<tool_call>{"name": "f", "name": "g", "arguments": {}}</tool_call>', [("g", None, "invalid")]),
    *(("hermes", f"<tool_call>{text}</tool_call>", [("", None, "invalid")]) for text in ("\n", "none of them")),
    ("llama", '<|python_tag|>{"name":"f","parameters":{"a":1}}; {"name":"g","parameters":{"b":"x"}}', [F, G]),
    ("llama", '<|python_tag|>[{"name": "f", "arguments": {"a": 1}}]<|eom_id|>', [F]),
    ("llama", '<|python_tag|>brave_search.call(query="a (b)")<|eom_id|>', [SEARCH]),
    ("llama", "<|python_tag|>f.call(a=1, b=[2, {'c': None}])", [NESTED]),
    ("llama", "<|python_tag|>f.call(a=open('x'))", [BAD]),
    ("llama", "<|python_tag|>f.call(1)", [BAD]),
    ("llama", "<|python_tag|>f.call(a='x", [("f", None, "truncated")]),
    ("llama", "<|python_tag|>print(1)\n<|eom_id|>", [CODE]),
    ("mistral", '[TOOL_CALLS] [{"name": "f", "arguments": {"a": 1}, "id": "abcdefghi"}]', [F]),
    ("mistral", '[TOOL_CALLS]f{"a": 1}[TOOL_CALLS]g[CALL_ID]abc[ARGS]{"b": "x"}</s>', [F, G]),
    ("mistral", '[TOOL_CALLS][ {"name": "f", "arguments": {"a": 1}}]', [F]),
    ("mistral", "[TOOL_CALLS][{", [("", None, "invalid")]),
    ("deepseek", '<｜tool▁call▁begin｜>f<｜tool▁sep｜>{"a": 1}<｜tool▁call▁end｜>', [F]),
    ("deepseek", FENCED, [F, G]),
    ("deepseek", "<｜tool▁call▁begin｜>f<｜tool▁call▁end｜>", [("", None, "invalid")]),
    ("deepseek", '<｜tool▁call▁begin｜>f<｜tool▁sep｜>```json\n{"a": 1}\n```<｜tool▁call▁end｜>', [F]),
    ("kimi", '<|tool_call_begin|>f:12<|tool_call_argument_begin|>{"a": 1}<|tool_call_end|>', [F]),
    (
        "kimi",
        '<|tool_call_section_begin|><|tool_call_begin|>f:0<|tool_call_argument_begin|>{"a": 1}<|tool_call_end|>'
        "<|tool_call_section_end|><|im_end|>",
        [F],
    ),
    ("kimi", '<|tool_call_begin|>f:0<|tool_call_argument_begin|>{"a": 1}}<|tool_call_end|>', [BAD]),
    ("hermes", '<tool_call>{"name": "f", </tool_call>', [BAD]),
    ("kimi", "<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|><|tool_call_end|>", [EMPTY]),
    ("invoke", INVOKED, [G]),
    ("invoke", INVOKED.replace("function_calls", "minimax:tool_call"), [G]),
    ("dsml", TYPED, [("f", {"a": 1, "b": "1"}, "complete")]),
    *(("dsml", text, [G]) for text in (DSML, DSML.replace("function_calls", "tool_calls"))),
    ("invoke", prefixed(INVOKED), [G]),
    ("invoke", '<function_calls>\n<invoke name="f">\n{"a": 1}\n</invoke>\n</function_calls>', [F]),
    ("invoke", '<invoke name="f"></invoke>', [EMPTY]),
    ("invoke", '<invoke\n  name="g"\n>\n<parameter\n  name="b">x</parameter>\n</invoke>', [G]),
    ("invoke", '<invoke name="f">words</invoke>', [BAD]),
    ("qwen-coder", "<tool_call>\n<function=g>\n<parameter=b>x</parameter></function>\n</tool_call><|im_end|>", [G]),
    ("qwen-coder", '<function=f>{"a": 1}</function>', [F]),
    ("qwen-coder", '<tool_call>\n<function=f>\n{"a": 1}\n</function>\n</tool_call>', [F]),
    ("glm", "<tool_call>g\n<arg_key>b</arg_key><arg_value>x</arg_value>\n</tool_call>", [G]),
    ("glm", "<tool_call>f</tool_call>", [EMPTY]),
    ("hermes", '<tool_call>{"name": "f", "args": {"a": 1}}</tool_call>', [F]),
    (
        "command",
        '<|START_ACTION|>[\n{"tool_name": "f", "parameters": {"a": 1}},\n{"tool_name": "f"}\n]<|END_ACTION|>',
        [F, EMPTY],
    ),
    ("command", '<|START_ACTION|>[{"tool_name": "f", "name": "g"}]<|END_ACTION|>', [("g", None, "invalid")]),
    ("granite-20b", '<function_call> {"name": "f", "arguments": {"a": 1}}\n<function_call> {"name": "f"}', [F, EMPTY]),
    ("apertus", '<|tools_prefix|>[{"f": {"a": 1}}, {"f": {}}]<|tools_suffix|>', [F, EMPTY]),
    ("apertus", '<|tools_prefix|>[{"f": {"a": 1}, "g": {}}]<|tools_suffix|>', [("g", None, "invalid")]),
    ("gigachat", 'function call<|role_sep|>\n{"name": "f", "arguments": {"a": 1}}</s>', [F]),
    ("internlm", '<|action_start|><|plugin|>\n{"name": "f", "parameters": {"a": 1}}\n<|action_end|>', [F]),
    ("lfm2", "<|tool_call_start|>[f(1)]<|tool_call_end|>", [BAD]),
    ("olmo", "<function_calls>\nf(a=1, b=[2, {'c': null}])\nf()\n</function_calls>", [NESTED, EMPTY]),
    ("llama-pythonic", "<|python_start|>[f(a=1), g(b='", [F, ("g", None, "truncated")]),
    ("gemma", "<|tool_call>call:f{a: 1, b:[2,{c:null}]}<tool_call|><|tool_call>call:f{}<tool_call|>", [NESTED, EMPTY]),
    ("gemma", '<|tool_call>call:g{<|"|>b<|"|>:<|"|>x<|"|>}<tool_call|>', [G]),
    ("gemma", "<|tool_call>call:f{a:words}<tool_call|>", [BAD]),
    ("gemma", "<|tool_call>call:f{a:1<tool_call|>", [BAD]),
    ("gemma", "<|tool_call>call:f{a:[1e999]}<tool_call|>", [BAD]),
    ("llama", "<|python_tag|>f.call(a=[-1e999])", [BAD]),
    ("gemma", "<|tool_call>call:f{a:1,a:2}<tool_call|>", [BAD]),
    ("gemma", '<|tool_call>call:f{a:<|"|>}<tool_call|>', [("f", None, "truncated")]),
    (
        "kimi-k3",
        '<|open|>call tool="f"<|sep|><|open|>argument key="a" type="number"<|sep|>1<|close|>argument<|sep|>'
        "<|close|>call<|sep|>",
        [F],
    ),
    ("minicpm", "<function name='g'>\n<param name='b'><![CDATA[x]]></param>\n</function>", [G]),
    (
        "minimax-m3",
        ']<]minimax[>[<invoke name="f">]<]minimax[>[<a>]<]minimax[>[<b>1]<]minimax[>[</b>]<]minimax[>[</a>'
        "]<]minimax[>[</invoke>",
        [BAD],
    ),
    ("tool-xml", "<tool:f/>", [EMPTY]),
    ("tool-xml", "<tool:f />\n<tool:g ><param:b >x</param:b></tool:g>", [EMPTY, G]),
    ("tool-xml", "<tool:g><param:b>x</param:c></tool:g>", [("g", None, "invalid")]),
    ("qwen-coder", "<function=g>\n<parameter=b>\nx\n</function>", [("g", None, "invalid")]),
    ("tool-xml", "<tool:g>\n<param:b>x</param:b>\n", [("g", None, "truncated")]),
    ("tool-xml", "<tool:f><param:b>x</param:b>\n<tool:g><param:b>x</param:b></tool:g>", [BAD, ("g", None, "invalid")]),
]


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
#: The pieces that the markup of each dialect is made of, whole or broken: those of the page and of all spellings.
TOKENS: dict[str, list[str]] = {}
for _name, _call in page_calls().items():
    _texts = [_call, *(text for dialect, text, _ in SPELLINGS if dialect == _name)]
    _pieces = [piece for text in _texts for piece in re.findall(r"<[^<>]*>|\[[A-Z_]+\]|[^<>\[]+|[<>\[]", text)]
    TOKENS[_name] = list(dict.fromkeys([*_pieces, _call[: len(_call) // 2], OPENINGS[_name], '"', "}", "]", ")"]))
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
