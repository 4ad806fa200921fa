"""Each dialect in the spellings that its models and chat templates use, beside the one it is written back in."""
# ruff: noqa: RUF001 - the full-width bars are the models' own

from __future__ import annotations

import json
import re
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.decoding import codes, shapes
from tests.support.events import chat_body
from tests.support.thoroughness import examples
from toolparity import Response, normalize
from toolparity.normalizer.errors import MalformedBody, PolicyError
from toolparity.normalizer.textmode import DIALECTS, detect, read_response
from toolparity.normalizer.textmode.dialect import WrittenCall
from toolparity.normalizer.textmode.dialects import UnknownDialect

F = ("f", {"a": 1}, "complete")
G = ("g", {"b": "x"}, "complete")
EMPTY = ("f", {}, "complete")
BAD = ("f", None, "invalid")
SEARCH = ("brave_search", {"query": "a (b)"}, "complete")
NESTED = ("f", {"a": 1, "b": [2, {"c": None}]}, "complete")
CODE = ("code_interpreter", {"code": "print(1)\n"}, "complete")
INVOKED = '<function_calls>\n<invoke name="g">\n<parameter name="b">x</parameter>\n</invoke>\n</function_calls>'


def read(text: str, dialect: str | None, **how: Any) -> Response:
    body = json.dumps(chat_body(content=text, finish=how.pop("finish", "stop"))).encode()
    return read_response(normalize(body, "openai.chat"), dialect, limit=how.pop("limit", None), **how)


def prefixed(text: str) -> str:
    """The tags of Claude as they are in its own prompts."""
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
    ("hermes", "<tool_call>\n</tool_call>", [("", None, "invalid")]),
    ("hermes", "<tool_call>none of them</tool_call>", [("", None, "invalid")]),
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
    ("mistral", '[TOOL_CALLS][{"name": "f", "arguments": {"a": 1}}]</s>', [F]),
    ("mistral", "[TOOL_CALLS][{", [("", None, "invalid")]),
    ("deepseek", '<｜tool▁call▁begin｜>f<｜tool▁sep｜>{"a": 1}<｜tool▁call▁end｜>', [F]),
    (
        "deepseek",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n"
        '```json\n{"a": 1}\n```<｜tool▁call▁end｜>\n'
        '<｜tool▁call▁begin｜>function<｜tool▁sep｜>g\n```json\n{"b": "x"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
        "<｜end▁of▁sentence｜>",
        [F, G],
    ),
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
    ("kimi", '<|tool_call_begin|>f:0<|tool_call_argument_begin|>{"a": [1}<|tool_call_end|>', [BAD]),
    ("hermes", '<tool_call>{"name": "f", "arguments": {"a": [1}</tool_call>', [BAD]),
    ("hermes", '<tool_call>{"name": "f", </tool_call>', [BAD]),
    ("kimi", "<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|><|tool_call_end|>", [EMPTY]),
    ("invoke", '<invoke name="g"><parameter name="b">x</parameter></invoke>', [G]),
    ("invoke", INVOKED, [G]),
    ("invoke", INVOKED.replace("function_calls", "minimax:tool_call"), [G]),
    ("dsml", re.sub("(?<=<)(?!/)|(?<=</)", "｜DSML｜", INVOKED), [G]),
    (
        "dsml",
        re.sub("(?<=<)(?!/)|(?<=</)", "｜DSML｜", INVOKED).replace("function_calls", "tool_calls"),
        [G],
    ),
    ("invoke", prefixed(INVOKED), [G]),
    ("invoke", '<function_calls>\n<invoke name="f">\n{"a": 1}\n</invoke>\n</function_calls>', [F]),
    ("invoke", '<invoke name="f"></invoke>', [EMPTY]),
    ("invoke", '<invoke\n  name="g"\n>\n<parameter\n  name="b">x</parameter>\n</invoke>', [G]),
    ("invoke", '<invoke name="f">words</invoke>', [BAD]),
    ("qwen-coder", "<function=g>\n<parameter=b>\nx\n</parameter>\n</function>", [G]),
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
    ("lfm2", "<|tool_call_start|>[f(a=1), g(b='x')]<|tool_call_end|>", [F, G]),
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
    ("tool-xml", "<tool:g><param:b>\nx\n</param:b></tool:g>", [G]),
    ("tool-xml", "<tool:f></tool:f>", [EMPTY]),
    ("tool-xml", "<tool:f/>", [EMPTY]),
    ("tool-xml", "<tool:f />\n<tool:g ><param:b >x</param:b></tool:g>", [EMPTY, G]),
    ("tool-xml", "<tool:g><param:b>x</param:c></tool:g>", [("g", None, "invalid")]),
    ("qwen-coder", "<function=g>\n<parameter=b>\nx\n</function>", [("g", None, "invalid")]),
    ("tool-xml", "<tool:g>\n<param:b>x</param:b>\n", [("g", None, "truncated")]),
    ("tool-xml", "<tool:f><param:b>x</param:b>\n<tool:g><param:b>x</param:b></tool:g>", [BAD, ("g", None, "invalid")]),
]


@pytest.mark.parametrize(("dialect", "text", "expected"), SPELLINGS)
def test_a_spelling_is_read(dialect: str, text: str, expected: list[Any]) -> None:
    response = read(f"Before. {text}", dialect)
    assert shapes(response) == expected
    assert response.text == "Before. "
    assert all(call.status == "complete" or call.arguments is None for call in response.calls)


@pytest.mark.parametrize(("dialect", "text", "expected"), [s for s in SPELLINGS if s[2][-1][2] == "complete"])
def test_and_told_from_the_others(dialect: str, text: str, expected: list[Any]) -> None:
    response = read(f"Before. {text}", None)
    assert shapes(response) == expected
    assert [f.message for f in response.findings if f.code == "dialect-detected"] == [
        f"the first call is written in the dialect {dialect}"
    ]
    assert response.choices[0].extra["text_mode"]["dialect"] == dialect


def test_text_that_says_json_types_is_read_by_its_marks() -> None:
    text = (
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="f">\n'
        '<｜DSML｜parameter name="a" string="false">1</｜DSML｜parameter>\n'
        '<｜DSML｜parameter name="b" string="true">1</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>'
    )
    assert shapes(read(text, "dsml")) == [("f", {"a": 1, "b": "1"}, "complete")]


@pytest.mark.parametrize("text", ["<|python_tag|>", "<|python_tag|> \n<|eom_id|>", "<|python_tag|>\n"])
def test_a_tag_without_code_is_no_call(text: str) -> None:
    response = read(f"Before. {text}", "llama")
    assert response.calls == []
    assert response.text == f"Before. {text}"
    assert "stray-markup" in codes(response)


@pytest.mark.parametrize("dialect", ["hermes", "llama", "mistral", "deepseek", "kimi"])
@pytest.mark.parametrize(
    "value", ['"}', '\\"}', "\\", '\\\\"]}', '{"a": "', "}{", ',]"', "</tool_call>", "<|tool_call_end|>"]
)
def test_what_json_escapes_is_no_structure(dialect: str, value: str) -> None:
    given = {value: value, "b": [{"c": value}]}
    call = WrittenCall("functions.f:0", "f", given, json.dumps(given))
    assert shapes(read(f"{DIALECTS[dialect].write_calls([call])} done", dialect)) == [("f", given, "complete")]


def test_json_behind_a_list_of_calls_is_words() -> None:
    response = read('[TOOL_CALLS][{"name": "f", "arguments": {"a": 1}}] {"note": 1}', "mistral")
    assert shapes(response) == [F]
    assert response.text == ' {"note": 1}'


def test_words_in_a_list_of_python_calls_make_the_call_before_them_unreliable() -> None:
    response = read("<|tool_call_start|>[f(a=1) g]<|tool_call_end|>", "lfm2")
    assert shapes(response) == [BAD]
    assert response.text == "g]<|tool_call_end|>"
    unclosed = read("<|tool_call_start|>[f(a=1)] done", "lfm2")
    assert shapes(unclosed) == [F]
    assert "closer-missing" in codes(unclosed)


def test_a_section_ends_once() -> None:
    response = read(f"{INVOKED}\n</function_calls> done", "invoke")
    assert shapes(response) == [G]
    assert response.text == "\n</function_calls> done"


def test_the_ids_of_a_dialect_that_has_some_are_kept() -> None:
    kimi = '<|tool_call_begin|>functions.f:3<|tool_call_argument_begin|>{"a": 1}<|tool_call_end|>'
    assert [call.id for call in read(kimi, "kimi").calls] == ["functions.f:3"]
    mistral = '[TOOL_CALLS][{"name": "f", "arguments": {}, "id": "abcdefghi"}]'
    assert [call.id for call in read(mistral, "mistral").calls] == ["abcdefghi"]
    assert [call.id for call in read("[TOOL_CALLS]f[CALL_ID]abc[ARGS]{}", "mistral").calls] == ["abc"]


def test_calls_without_ids_get_some_that_are_always_the_same() -> None:
    text = "<tool:f></tool:f>" * 2
    ids = [call.id for call in read(text, "tool-xml").calls]
    assert len(set(ids)) == 2
    assert ids == [call.id for call in read(text, "tool-xml").calls]


@pytest.mark.parametrize(
    "text",
    [
        "Mistral begins with the [TOOL_CALLS] token, and goes on.",
        "The tag <tool: is not whole, nor <tool:a b>, nor <tool:>.",
        "a <function_calls> that nothing follows",
        '<invoke> and <invoke name=""> and <invoke name=f>',
        "<function=\nf>",
        "<tool_call",
        "if a<b and [x] or {y} then `<tool:f>` else ``<tool:f>``",
        "A list of [{}] and <｜tool▁sep｜>",
    ],
)
def test_what_only_looks_like_markup_is_left_alone(text: str) -> None:
    for name in DIALECTS:
        response = read(text, name)
        assert response.text == text
        assert response.calls == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("I make a <tool_call> now:\n{0}\nDone.", "I make a <tool_call> now:\n\nDone."),
        ("{0}\nThat was a <tool_call>\n of mine.", "\nThat was a <tool_call>\n of mine."),
        ("<tool_call> is what I write. {0}", "<tool_call> is what I write. "),
        ("<tool_call>  <tool_call>x {0}", "<tool_call>  <tool_call>x "),
    ],
)
def test_a_tag_that_only_stands_in_a_sentence_takes_no_call_away(text: str, said: str) -> None:
    whole = text.format('<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>')
    for limit in (None, 2):
        response = read(whole, "hermes", limit=limit)
        assert shapes(response) == [F]
        assert response.text == said
        assert {"stray-markup", "call-in-text"} <= set(codes(response))
        assert "tool-limit" not in codes(response)


def test_a_tag_behind_a_backquote_is_an_example_whatever_stands_before_it() -> None:
    response = read("It`s the tag `<tool:f>` that begins a call, as in\n```<tool:f></tool:f>```", "tool-xml")
    assert response.calls == []
    assert "markup-in-code" in codes(response)


def test_markup_of_another_dialect_than_the_one_that_is_told_is_words_and_reported() -> None:
    response = read('Here: <tool_call>{"name": "f", "arguments": {}}</tool_call>', "tool-xml")
    assert response.calls == []
    assert [f.message for f in response.findings] == ["hermes: '<tool_call>'"]
    assert codes(response) == ["leaked-markup"]


@pytest.mark.parametrize(
    ("text", "leak"),
    [
        ("<bash>\n<parameter=command>ls</parameter>\n</bash>", "bare-tags"),
        ("<minimax:tool_call>\nnothing of ours\n</minimax:tool_call>", "minimax"),
        ("<｜tool_calls_begin｜>", "deepseek"),
        ("<｜tool call begin｜>", "deepseek"),
    ],
)
def test_markup_that_nobody_reads_is_reported_where_another_dialect_is_read(text: str, leak: str) -> None:
    for dialect in ("hermes", None):
        response = read(f"Here: {text}", dialect)
        assert response.calls == []
        assert [f.message.partition(":")[0] for f in response.findings if f.code == "leaked-markup"] == (
            [] if dialect is None and leak in DIALECTS else [leak]
        )
    assert [one.dialect for one in detect(text)] == [leak]


@pytest.mark.parametrize("stop", ["</tool:f>", "</function>", "</tool_call>", "</invoke>"])
def test_a_closing_tag_that_a_stop_sequence_cut_off_is_put_back(stop: str) -> None:
    """001, ❌ Option 1: the stop sequence is not in the text."""
    whole = {
        "</tool:f>": ("tool-xml", "<tool:f>\n<param:b>x</param:b>\n</tool:f>"),
        "</function>": ("qwen-coder", "<function=f>\n<parameter=b>\nx\n</parameter>\n</function>"),
        "</tool_call>": ("hermes", '<tool_call>\n{"name": "f", "arguments": {"b": "x"}}\n</tool_call>'),
        "</invoke>": ("invoke", '<invoke name="f">\n<parameter name="b">x</parameter>\n</invoke>'),
    }
    dialect, text = whole[stop]
    cut = text.removesuffix(stop)
    response = read(cut, dialect, stop_sequences=["\n\nHuman:", stop])
    assert shapes(response) == [("f", {"b": "x"}, "complete")]
    assert "closer-cut" in codes(response)
    assert response.choices[0].stop.reason == "tool_calls"
    assert shapes(read(cut, dialect, stop_sequences=[stop], finish="length")) == [("f", None, "truncated")]


@pytest.mark.parametrize(
    ("dialect", "cut"),
    [
        ("tool-xml", "<tool:f>\n<param:b>x"),
        ("tool-xml", "<tool:f>\n<param:b>x</param:c>"),
        ("tool-xml", "<tool:f>\n<param:b><param:b>x</param:b>"),
        ("invoke", '<invoke name="f">{"b": "x"'),
        ("hermes", '<tool_call>\n{"name": "f", "arguments": {"b": "x"}'),
    ],
)
def test_but_not_where_more_than_that_is_missing(dialect: str, cut: str) -> None:
    response = read(cut, dialect, stop_sequences=["</tool:f>", "</invoke>", "</tool_call>"])
    assert [call.status for call in response.calls] != ["complete"]
    assert "closer-cut" not in codes(response)
    assert "</tool:f>" not in response.calls[0].arguments_text


@pytest.mark.parametrize("dialect", ["qwen-coder", None])
def test_TEXT_31_a_call_without_its_opening_tag_is_read(dialect: str | None) -> None:
    text = "<function=g>\n<parameter=b>\nx\n</parameter>\n</function>\n</tool_call>"
    assert shapes(read(text, dialect)) == [G]
    assert shapes(read(f"{text}\n<function=f></function>", dialect)) == [G, EMPTY]


@pytest.mark.parametrize("stop", ["</function>", "</tool_call>"])
def test_nor_where_the_call_has_its_closing_tag(stop: str) -> None:
    response = read("<function=f></function>\n", "qwen-coder", stop_sequences=[stop])
    assert shapes(response) == [EMPTY]
    assert "closer-cut" not in codes(response)


@pytest.mark.parametrize("stop", ["\n</tool:f>", " </tool:f>\n"])
def test_a_stop_sequence_may_have_white_space_around_the_tag(stop: str) -> None:
    response = read("<tool:f>\n<param:b>x</param:b>", "tool-xml", stop_sequences=[stop])
    assert shapes(response) == [("f", {"b": "x"}, "complete")]


def test_thinking_that_the_prompt_opened_is_told() -> None:
    response = read("I call <tool:f></tool:f> now.</think>On it.<tool:g></tool:g>", "tool-xml", thinking=True)
    assert [type(block).__name__ for block in response.choices[0].blocks] == ["Reasoning", "Text", "ToolCall"]
    assert [call.name for call in response.calls] == ["g"]


def test_thinking_that_ends_twice_is_told_apart() -> None:
    response = read("one\n</think>\ntwo\n</think>\nthree", "tool-xml")
    assert [(type(block).__name__, block.text) for block in response.choices[0].blocks] == [  # type: ignore[union-attr]
        ("Reasoning", "one\n"),
        ("Reasoning", "\ntwo\n"),
        ("Text", "\nthree"),
    ]


def test_what_cannot_be_a_setting_is_refused() -> None:
    with pytest.raises(UnknownDialect, match="one of tool-xml, invoke"):
        read("", "klingon")
    for limit in (-1, 1.5, True, "1"):
        with pytest.raises(PolicyError):
            read("", "hermes", limit=limit)
    with pytest.raises(MalformedBody):
        read("", "hermes", tools=[5])


@examples(400)
@given(
    st.text(" \n<>/|[]{}&;=.abto｜\xa0\x1c", max_size=12),
    st.sampled_from(["", "[TOOL_CALLS]", "to=functions.", "&lt;", "<t", "</p", "<|", "</TOOLCALL>", "functools["]),
    st.text(" {[<", max_size=3),
)
def test_the_cheap_search_for_hints_misses_none(before: str, hint: str, after: str) -> None:
    text = before + hint + after
    module = import_module("toolparity.normalizer.textmode.detect")  # the package has the function under this name
    assert module._has_hint(text) == (module._HINTS.search(text) is not None or module._PHI in text)
