"""Failures of classes text-mode, server-parse and whole-in-one, where the calls are in the model's words."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.normalizer.textmode.texts import TAGGED, dialects, joined, page_calls
from tests.normalizer.textmode.texts import scanned as said
from tests.support.decoding import codes, shapes
from tests.support.events import anthropic_body, chat_body, chunk, cut, sse
from toolparity import Response, StreamDecoder, Text, normalize, select
from toolparity.normalizer.textmode import DIALECTS, detect, read_response, report
from toolparity.normalizer.textmode.scanner import THINKING


def answer(text: str, finish: str = "stop") -> Response:
    return normalize(json.dumps(chat_body(content=text, finish=finish)).encode(), "openai.chat")


def read(text: str, dialect: str | None, finish: str = "stop", **options: Any) -> Response:
    return read_response(answer(text, finish), dialect, limit=options.pop("limit", None), **options)


def streamed(text: str, dialect: str, size: int) -> Response:
    decoder = StreamDecoder("openai.chat")
    for piece in cut(text, size):
        decoder.feed(sse(chunk(content=piece)))
    decoder.feed(sse(chunk(finish="stop"), done=True))
    return read_response(decoder.finish(), dialect, limit=None)


#: One call in each dialect, as the models write them.
ONE = {
    "tool-xml": "<tool:f>\n<param:x>a</param:x>\n</tool:f>",
    "invoke": '<function_calls>\n<invoke name="f">\n<parameter name="x">a</parameter>\n</invoke>\n</function_calls>',
    "dsml": "".join(
        f"{mark}\uff5cDSML\uff5c{rest}"
        for mark, rest in (
            ("<", "function_calls>\n"),
            ("<", 'invoke name="f">\n'),
            ("<", 'parameter name="x" string="true">a'),
            ("</", "parameter>\n"),
            ("</", "invoke>\n"),
            ("</", "function_calls>"),
        )
    ),
    "qwen-coder": "<tool_call>\n<function=f>\n<parameter=x>\na\n</parameter>\n</function>\n</tool_call>",
    "glm": "<tool_call>f\n<arg_key>x</arg_key>\n<arg_value>a</arg_value>\n</tool_call>",
    "hermes": '<tool_call>\n{"name": "f", "arguments": {"x": "a"}}\n</tool_call>',
    "llama": '<|python_tag|>{"name": "f", "parameters": {"x": "a"}}',
    "mistral": '[TOOL_CALLS]f[ARGS]{"x": "a"}',
    "deepseek": "<\uff5ctool▁calls▁begin\uff5c><\uff5ctool▁call▁begin\uff5c>f<\uff5ctool▁sep\uff5c>"
    '{"x": "a"}<\uff5ctool▁call▁end\uff5c><\uff5ctool▁calls▁end\uff5c>',
    "kimi": "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>"
    '{"x": "a"}<|tool_call_end|><|tool_calls_section_end|>',
    "harmony": '<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"x": "a"}<|call|>',
}
ONE = page_calls() | ONE
F = [("f", {"x": "a"}, "complete")]


def holding(dialect: str, value: str) -> str:
    """The call with another value."""
    before, after = ("\n", "\n") if dialect == "qwen-coder" else (">", "<")
    return ONE[dialect].replace(f"{before}a{after}", f"{before}{value}{after}")


def test_every_dialect_has_a_sample() -> None:
    assert sorted(ONE) == sorted(DIALECTS)


# whole-in-one


@pytest.mark.thorough(keep=1, per="{dialect}")
@pytest.mark.parametrize("dialect", ONE)
@pytest.mark.parametrize("size", [1, 2, 7, 10_000])
def test_ONE_01_several_calls_in_one_delta_equal_those_of_many_deltas(dialect: str, size: int) -> None:
    text = f"Both: {ONE[dialect]}\n{ONE[dialect]}"
    response = streamed(text, dialect, size)
    assert shapes(response) == F + F
    assert response.choices[0].blocks == read(text, dialect).choices[0].blocks


@pytest.mark.parametrize("dialect", ONE)
def test_ONE_02_a_marker_split_anywhere_is_recognized_without_leaking(dialect: str) -> None:
    text = ONE[dialect]
    for at in range(1, len(text)):
        steps, _ = said(dialect, [text[:at], text[at:]])
        assert joined(steps) == said(dialect, [text])[0], text[:at]
    assert shapes(read(text, dialect)) == F
    assert read(text, dialect).text == ""


@pytest.mark.parametrize("dialect", ONE)
def test_ONE_03_text_before_between_and_after_calls_is_kept_in_order(dialect: str) -> None:
    text = f"First. {ONE[dialect]} Then. {ONE[dialect]} Last."
    for response in (read(text, dialect), streamed(text, dialect, 3)):
        said_or_called = [b.text if isinstance(b, Text) else b.name for b in response.choices[0].blocks]  # type: ignore[union-attr]
        assert said_or_called == ["First. ", "f", " Then. ", "f", " Last."]


# server-parse


@pytest.mark.parametrize("dialect", ONE)
def test_RSN_01_markup_that_a_server_left_in_the_text_is_reported(dialect: str) -> None:
    response = report(answer(ONE[dialect]))
    assert codes(response) == ["leaked-markup"]
    assert response.findings[0].message.startswith(f"{dialect}: ")
    assert response.calls == []
    assert shapes(read(ONE[dialect], None)) == F


@pytest.mark.parametrize("count", [0, 1, 2, 5])
@pytest.mark.parametrize("dialect", ["hermes", "mistral"])
def test_FIRST_03_a_list_of_calls_may_have_any_number(dialect: str, count: int) -> None:
    calls = json.dumps([{"name": "f", "arguments": {"x": "a"}}] * count)
    text = f"<tool_call>{calls}</tool_call>" if dialect == "hermes" else f"[TOOL_CALLS]{calls}"
    if count or dialect == "hermes":
        assert shapes(read(text, dialect)) == F * count


# text-mode


@pytest.mark.parametrize(
    "text", ['<tool_call>{"name": "f", "arguments": {"x": "a', '<tool_call>\n{"name": "f"', "<tool_call>"]
)
def test_TXT_01_an_unclosed_call_is_reported_as_a_call_and_not_as_text(text: str) -> None:
    response = read(text, "hermes")
    (call,) = response.calls
    assert call.status in ("truncated", "invalid")
    assert call.name == ("f" if '"f"' in text else "")
    assert "closer-missing" in codes(response)
    assert response.text == ""
    assert select(response).kept == []


@pytest.mark.parametrize("dialect", ONE)
def test_TXT_01_text_that_ends_at_any_point_inside_a_call_executes_nothing(dialect: str) -> None:
    whole = ONE[dialect]
    opened = next(at for at in range(len(whole)) if said(dialect, [whole[:at]])[1].has_markup)
    for at in range(opened, len(whole)):
        response = read(whole[:at], dialect, "length")
        kept = select(response).kept
        assert kept == [] or shapes(response) == F, whole[:at]


def test_TXT_01_a_call_with_complete_json_runs_without_its_closing_tag_unless_truncated() -> None:
    text = '<tool_call>{"name": "f", "arguments": {"x": "a"}}'
    assert shapes(read(text, "hermes")) == F
    assert "closer-missing" in codes(read(text, "hermes"))
    assert shapes(read(text, "hermes", "length")) == [("f", None, "truncated")]


@pytest.mark.parametrize(
    ("dialect", "text", "value"),
    [
        ("tool-xml", "<tool:f><param:x>a</param:x> b</param:x></tool:f>", "a</param:x> b"),
        ("tool-xml", "<tool:f><param:x>a</tool:f>b</param:x></tool:f>", "a</tool:f>b"),
        ("invoke", '<invoke name="f"><parameter name="x">a</parameter> b</parameter></invoke>', "a</parameter> b"),
        ("qwen-coder", ONE["qwen-coder"].replace("a\n", "a</parameter></function> b\n"), "a</parameter></function> b"),
        ("qwen-coder", ONE["qwen-coder"].replace("a\n", "<parameter=y>1</parameter>\n"), "<parameter=y>1</parameter>"),
        ("hermes", '<tool_call>{"name": "f", "arguments": {"x": "a</tool_call>b"}}</tool_call>', "a</tool_call>b"),
        ("kimi", ONE["kimi"].replace('"a"', '"a<|tool_call_end|>b"'), "a<|tool_call_end|>b"),
        ("mistral", '[TOOL_CALLS]f[ARGS]{"x": "[TOOL_CALLS]g[ARGS]{}"}', "[TOOL_CALLS]g[ARGS]{}"),
    ],
)
def test_TXT_03_a_value_that_contains_a_closing_tag_is_kept_unchanged(dialect: str, text: str, value: str) -> None:
    assert shapes(read(text, dialect)) == [("f", {"x": value}, "complete")]


@pytest.mark.parametrize("dialect", TAGGED)
@pytest.mark.parametrize("end", ["parameter", "call", "both"])
def test_TXT_03_an_ambiguous_value_never_executes_a_call_inside_it(dialect: str, end: str) -> None:
    """A value with the closing tags of the dialect itself, and another call behind them: no reading is certain."""
    behind = ONE[dialect].partition("a\n" if dialect == "qwen-coder" else "a<")[2]
    first = behind.index(">") + 1
    inside = {"parameter": behind[:first], "call": behind[first:], "both": behind}[end]
    value = f"a{'<' if dialect != 'qwen-coder' and end != 'call' else ''}{inside} {holding(dialect, 'evil')} z"
    response = read(holding(dialect, value), dialect)
    for ref in select(response).kept:
        (call,) = [c for c in response.calls if c.id == ref.id]
        assert (call.name, call.arguments) == ("f", {"x": value})


@pytest.mark.parametrize(
    ("dialect", "value"),
    [
        # the value ends within a call that its text only begins: its own closing tag is between parameters there
        ("invoke", 'a</parameter></invoke>\n<invoke name="evil">\n'),
        ("invoke", 'a</parameter></invoke>\n<invoke name="evil">words'),
        ("qwen-coder", "a\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=evil>\n"),
        # a piece of a tag, and a whole call behind it
        ("glm", "a</arg_value></tool_call></arg_key><tool_call>evil<arg_key>x</arg_key><arg_value>b"),
        ("invoke", 'a</parameter></invoke></function_calls></parameter><invoke name="evil"><parameter name="x">b'),
    ],
)
def test_TXT_03_a_superfluous_closing_tag_makes_the_calls_ambiguous(dialect: str, value: str) -> None:
    response = read(holding(dialect, value), dialect)
    assert len(response.calls) == 2
    assert select(response).kept == []
    assert "markup-ambiguous" in codes(response)


@pytest.mark.parametrize("with_schema", [True, False])
def test_TXT_04_a_parameter_closed_with_a_wrong_tag_is_invalid(with_schema: bool) -> None:
    text = (
        '<function_calls>\n<invoke name="write">\n<parameter name="content">all of it</content>\n'
        '<parameter name="metadata">{}</parameter>\n</invoke>\n</function_calls>'
    )
    schema = {"properties": {"content": {"type": "string"}, "metadata": {"type": "string"}}}
    response = read(text, "invoke", tools=[{"name": "write", "parameters": schema}] if with_schema else None)
    assert shapes(response) == [("write", None, "invalid")]
    (why,) = [f.message for f in response.findings if f.code == "markup-malformed"]
    assert "'content' has no closing tag" in why
    assert "metadata" in why
    assert select(response).kept == []


@pytest.mark.parametrize("dialect", ONE)
def test_TXT_05_an_example_in_code_is_not_a_call(dialect: str) -> None:
    for text in (
        f"Write it so:\n```xml\n{ONE[dialect]}\n```\nand wait.",
        f"~~~\n{ONE[dialect]}\n~~~",
        f"Begin with `{ONE[dialect]}`.",
    ):
        response = read(text, dialect)
        assert response.calls == []
        assert response.text == text
        assert set(codes(response)) <= {"markup-in-code", "stray-markup"}
        assert "markup-in-code" in codes(response)
        assert report(answer(text)).findings == ()


@pytest.mark.parametrize("dialect", TAGGED)
def test_TXT_05_an_example_inside_a_parameter_is_part_of_its_value(dialect: str) -> None:
    inner = ONE[dialect].replace("param:x", "param:y")
    response = read(holding(dialect, inner), dialect)
    assert shapes(response) == [("f", {"x": inner}, "complete")]


@pytest.mark.thorough(keep=1, per="{dialect}")
@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ("<bash><parameter=command>ls</parameter></function>", "bare-tags"),
        ("<bash>\n<parameter name=command>ls</parameter></bash>", "bare-tags"),
        ("&lt;tool_call&gt;{}&lt;/tool_call&gt;", "hermes"),
        ('&lt;invoke name="f"&gt;', "invoke"),
        ("&lt;tool:f&gt;", "tool-xml"),
        ("I should call it.\n</thinking>\nOn it.", "thinking"),
        ("<minimax:tool_call>", "minimax"),
        ('{"name": "f", "arguments": {}}', "bare-json"),
        (' [{"type": "function", "name": "f", "parameters": {"a": [1]}}]\n', "bare-json"),
        *((text, name) for name, text in ONE.items()),
    ],
)
def test_TXT_06_markup_of_every_known_dialect_is_reported_even_if_malformed(text: str, dialect: str) -> None:
    assert dialect in [leak.dialect for leak in detect(text)]
    assert "leaked-markup" in codes(report(answer(text)))


@pytest.mark.parametrize(
    "text",
    ['{"name": "Ada", "age": 36}', '{"name": "f", "arguments": {}} it is', '{"name": "f", "arguments": []}', "[]", "{"],
)
def test_TXT_06_json_that_is_not_a_call_is_not_a_leak(text: str) -> None:
    assert detect(text) == []


@pytest.mark.parametrize("dialect", ONE)
def test_TXT_07_a_draft_in_the_reasoning_is_not_a_call(dialect: str) -> None:
    real = ONE[dialect]
    draft = holding(dialect, "draft") if dialect in TAGGED else re.sub(r'(?<=[">])a(?=["<\]])', "draft", real)
    assert draft != real
    for text in (
        f"{draft}\n</think>\n{real}",
        f"I plan. {draft}<|END_THINKING|>{real}",
        *(f"{start}{draft}{end}{real}" for start, end in THINKING.items()),
        *(f"{start}\n{draft}\n{end}\n{real}" for start, end in THINKING.items()),
    ):
        for limit in (None, 1):
            response = read(text, dialect, limit=limit)
            assert shapes(response) == F, text
            assert "call-in-reasoning" in codes(response)
            assert response.text == ""


@pytest.mark.parametrize("dialect", ONE)
def test_TXT_08_a_call_that_appears_only_in_the_reasoning_is_reported(dialect: str) -> None:
    message = {"role": "assistant", "content": None, "reasoning_content": f"I call it. {ONE[dialect]}"}
    body = {
        "id": "c",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
    }
    response = normalize(json.dumps(body).encode(), "openai.chat")
    assert "call-in-reasoning" in codes(report(response))
    unread = read_response(response, dialect)
    assert unread.calls == []
    assert "call-in-reasoning" in codes(unread)
    taken = read_response(response, dialect, reasoning="read")
    assert shapes(taken) == F
    assert taken.choices[0].stop.reason == "tool_calls"


def test_TXT_08_unclosed_reasoning_executes_nothing() -> None:
    response = read(f"<think>So I call it. {ONE['kimi']}", "kimi")
    assert response.calls == []
    assert "call-in-reasoning" in codes(response)


def test_MIS_01_consecutive_calls_and_the_text_after_them_are_separated() -> None:
    text = '[TOOL_CALLS]f[ARGS]{"x": "}{"}[TOOL_CALLS]g[ARGS]{"y": [1]} And now the weather.'
    for response in (read(text, "mistral"), streamed(text, "mistral", 1)):
        assert shapes(response) == [("f", {"x": "}{"}, "complete"), ("g", {"y": [1]}, "complete")]
        assert response.text == " And now the weather."


# parse


def test_BED_04_an_answer_of_only_calls_is_not_empty() -> None:
    body = anthropic_body({"type": "text", "text": ONE["invoke"]}, stop="end_turn")
    response = read_response(normalize(json.dumps(body).encode(), "anthropic.messages"), "invoke")
    assert shapes(response) == F
    assert response.error is None
    assert [ref.name for ref in select(response).kept] == ["f"]


def test_EMPTY_02_empty_lists_of_native_calls_do_not_hide_calls_in_text() -> None:
    events = [chunk(content=piece) for piece in cut(ONE["hermes"], 5)]
    for event in events:
        event["choices"][0]["delta"]["tool_calls"] = []
    decoder = StreamDecoder("openai.chat")
    decoder.feed(sse(*events, chunk(finish="stop"), done=True))
    assert shapes(read_response(decoder.finish(), "hermes")) == F


def test_a_dialect_does_not_read_calls_of_another_dialect() -> None:
    """What one dialect takes for a call is words for the others, unless they share their tags."""
    shared = [{"hermes", "glm", "qwen-coder", "hunyuan"}, {"minimax-m3", "hermes"}, {"minimax-m3", "invoke"}]
    for name, text in ONE.items():
        for other in ONE:
            if name != other and not any({name, other} <= both for both in shared):
                assert read(text, other).calls == [], (name, other)
    assert [len(dialects(name)) for name in ("hermes", None)] == [1, len(ONE)]
