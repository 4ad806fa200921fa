"""Each dialect in the forms that its models and chat templates use."""
# ruff: noqa: RUF001 - the full-width bars are the models' own

from __future__ import annotations

from typing import Any

import pytest

from tests.normalizer.failures.test_textmode import ONE as CALLS
from tests.normalizer.failures.test_textmode import F as ONE_CALL
from tests.normalizer.failures.test_textmode import read
from tests.normalizer.textmode.texts import BAD, EMPTY, INVOKED, SPELLINGS, F, G, scanned
from tests.support.decoding import codes, shapes
from toolparity import select
from toolparity.normalizer.errors import MalformedBody, PolicyError
from toolparity.normalizer.model import Reasoning, Text
from toolparity.normalizer.textmode import DIALECTS, detect
from toolparity.normalizer.textmode.dialects import UnknownDialect

CALL = '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'
SENTENCES = [
    "I make a <tool_call> now:\n{0}\nDone.",
    "{0}\nThat was a <tool_call>\n of mine.",
    "<tool_call> is what I write. {0}",
    "<tool_call>  <tool_call>x {0}",
]


@pytest.mark.parametrize(("dialect", "text", "expected"), SPELLINGS)
def test_a_spelling_is_read_and_its_dialect_is_detected(dialect: str, text: str, expected: list[Any]) -> None:
    complete = expected[-1][2] == "complete"
    for name in (dialect, None) if complete else (dialect,):
        response = read(f"Before. {text}", name)
        assert shapes(response) == expected
        assert response.text == "Before. "
        assert all(call.status == "complete" or call.arguments is None for call in response.calls)
    if complete:
        detected = [finding.message for finding in response.findings if finding.code == "dialect-detected"]
        assert detected == [f"the first call is written in the dialect {dialect}"]
        assert response.choices[0].extra["text_mode"]["dialect"] == dialect


LISTED = '[TOOL_CALLS][{"name": "f", "arguments": {"a": 1}}'


@pytest.mark.parametrize(
    ("dialect", "text", "expected", "rest", "code"),
    [
        ("mistral", f'{LISTED}] {{"note": 1}}', [F], ' {"note": 1}', "call-in-text"),
        ("mistral", f"{LISTED}; done", [F], "; done", "closer-missing"),
        ("lfm2", "<|tool_call_start|>[f(a=1) g]<|tool_call_end|>", [BAD], "g]<|tool_call_end|>", "call-in-text"),
        ("lfm2", "<|tool_call_start|>[f(a=1)] done", [F], "done", "closer-missing"),
        ("invoke", f"{INVOKED}\n</function_calls> done", [G], "\n</function_calls> done", "call-in-text"),
        ("tool-xml", "It`s the tag `<tool:f>`.", [], "It`s the tag `<tool:f>`.", "markup-in-code"),
        *(
            ("llama", tag, [], tag, "stray-markup")
            for tag in ("<|python_tag|>", "<|python_tag|> \n<|eom_id|>", "<|python_tag|>\n")
        ),
        *(("hermes", text.format(CALL), [F], text.format(""), "stray-markup") for text in SENTENCES),
    ],
)
def test_text_beside_markup_stays_text(dialect: str, text: str, expected: list[Any], rest: str, code: str) -> None:
    for limit in (None, 2):
        response = read(text, dialect, limit=limit)
        assert shapes(response) == expected
        assert response.text == rest
        assert "tool-limit" not in codes(response)
        assert code in codes(response)


def test_ids_of_a_dialect_are_kept_and_others_are_always_the_same() -> None:
    kimi = '<|tool_call_begin|>functions.f:3<|tool_call_argument_begin|>{"a": 1}<|tool_call_end|>'
    mistral = '[TOOL_CALLS][{"name": "f", "arguments": {}, "id": "abcdefghi"}]'
    assert [call.id for call in read(kimi, "kimi").calls] == ["functions.f:3"]
    for text, id in ((mistral, "abcdefghi"), ("[TOOL_CALLS]f[CALL_ID]abc[ARGS]{}", "abc")):
        assert [call.id for call in read(text, "mistral").calls] == [id]
    first, second = ([call.id for call in read("<tool:f></tool:f>" * 2, "tool-xml").calls] for _ in range(2))
    assert first == second
    assert len(set(first)) == 2


@pytest.mark.parametrize(
    "text",
    [
        "Mistral begins with the [TOOL_CALLS] token, and continues.",
        "The tag <tool: is not whole, nor <tool:a b>, nor <tool:>.",
        "a <function_calls> that nothing follows",
        '<invoke> and <invoke name=""> and <invoke name=f>',
        "<function=\nf>",
        "<tool_call",
        "if a<b and [x] or {y} then `<tool:f>` else ``<tool:f>``",
        "A list of [{}] and <｜tool▁sep｜>",
    ],
)
def test_text_that_resembles_markup_stays_text(text: str) -> None:
    for name in DIALECTS:
        response = read(text, name)
        assert (response.text, response.calls) == (text, [])


def test_markup_of_another_dialect_is_text_and_reported() -> None:
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
def test_markup_without_a_dialect_is_reported(text: str, leak: str) -> None:
    for dialect in ("hermes", None):
        response = read(f"Here: {text}", dialect)
        assert response.calls == []
        assert [f.message.partition(":")[0] for f in response.findings if f.code == "leaked-markup"] == (
            [] if dialect is None and leak in DIALECTS else [leak]
        )
    assert [one.dialect for one in detect(text)] == [leak]


@pytest.mark.parametrize(
    ("stop", "dialect", "text"),
    [
        ("</tool:f>", "tool-xml", "<tool:f>\n<param:b>x</param:b>\n"),
        ("</function>", "qwen-coder", "<function=f>\n<parameter=b>\nx\n</parameter>\n"),
        ("</tool_call>", "hermes", '<tool_call>\n{"name": "f", "arguments": {"b": "x"}}\n'),
        ("</invoke>", "invoke", '<invoke name="f">\n<parameter name="b">x</parameter>\n'),
    ],
)
def test_a_closing_tag_that_a_stop_sequence_cut_off_is_restored(stop: str, dialect: str, text: str) -> None:
    """001, ❌ Option 1."""
    for sequence in (stop, f"\n{stop}", f" {stop}\n"):  # the stop sequence is not part of the text
        response = read(text, dialect, stop_sequences=["\n\nHuman:", sequence])
        assert shapes(response) == [("f", {"b": "x"}, "complete")]
        assert "closer-cut" in codes(response)
        assert response.choices[0].stop.reason == "tool_calls"
    assert shapes(read(text, dialect, stop_sequences=[stop], finish="length")) == [("f", None, "truncated")]


@pytest.mark.parametrize(
    ("dialect", "cut"),
    [
        ("tool-xml", "<tool:f>\n<param:b>x"),
        ("tool-xml", "<tool:f>\n<param:b>x</param:c>"),
        ("tool-xml", "<tool:f>\n<param:b><param:b>x</param:b>"),
        ("invoke", '<invoke name="f">{"b": "x"'),
        ("hermes", '<tool_call>\n{"name": "f", "arguments": {"b": "x"}'),
        ("qwen-coder", "<function=f></function>\n"),
    ],
)
def test_a_closing_tag_is_not_restored_if_more_is_missing_or_if_it_is_there(dialect: str, cut: str) -> None:
    stops = ["</tool:f>", "</invoke>", "</tool_call>", "</function>"]
    response = read(cut, dialect, stop_sequences=stops)
    assert (shapes(response) == [EMPTY]) == (dialect == "qwen-coder")
    assert response.calls[0].status != "complete" or dialect == "qwen-coder"
    assert "closer-cut" not in codes(response)
    assert "</tool:f>" not in response.calls[0].arguments_text


def test_thinking_that_the_prompt_opened_or_that_ends_twice_is_reasoning() -> None:
    response = read("I call <tool:f></tool:f> now.</think>On it.<tool:g></tool:g>", "tool-xml", thinking=True)
    assert [type(block).__name__ for block in response.choices[0].blocks] == ["Reasoning", "Text", "ToolCall"]
    assert [call.name for call in response.calls] == ["g"]
    twice = read("one\n</think>\ntwo\n</think>\nthree", "tool-xml")
    assert twice.choices[0].blocks == [Reasoning("one\n"), Reasoning("\ntwo\n"), Text("\nthree")]


def test_an_unknown_dialect_a_wrong_limit_and_a_malformed_tool_are_refused() -> None:
    with pytest.raises(UnknownDialect, match="one of tool-xml, invoke"):
        read("", "klingon")
    for limit in (-1, 1.5, True, "1"):
        with pytest.raises(PolicyError):
            read("", "hermes", limit=limit)
    with pytest.raises(MalformedBody):
        read("", "hermes", tools=[5])


# Markdown: a call in code is an example; text that only resembles code does not hide a call

ONE = CALLS["tool-xml"]
LINE = ONE.replace("\n", "")
EXAMPLES = {
    "a fence": f"So:\n```xml\n{ONE}\n```\n",
    "a fence within a fence": f"````md\n```xml\n{ONE}\n```\n````\n",
    "a fence that is opened twice": f"```md\n```xml\n{ONE}\n```\n",
    "a fence with words behind its marks": f"```\n``` no end\n{ONE}\n```\n",
    "a fence of a list, set in far": f"1. Write:\n     ```xml\n     {ONE}\n     ```\n",
    "a fence behind the mark of a list": f"- ```xml\n  {ONE}\n  ```\n",
    "a fence in a quotation": f"> ```xml\n> {LINE}\n> ```\n",
    "a fence of tildes that holds backquotes": f"~~~ `md`\n```\n{ONE}\n~~~\n",
    "a fence directly after reasoning": f"<think>So.</think>```xml\n{ONE}\n```\n",
    "a fence directly after </think>": f"So.\n</think>```xml\n{ONE}\n```\n",
    "a fence that does not end": f"```xml\n{ONE}\nand so on",
    "backquotes": f"Begin with `{LINE}`.",
    "several backquotes": f"Begin with `` {LINE} ``.",
    "words in backquotes": f"Write `first {LINE} and then`.",
    "backquotes after an unpaired one": f"It`s `{LINE}` that I mean.",
    "a tag in backquotes after an unpaired one": "It`s `<tool:f>` that begins one.",
}
#: Examples with a tag that `detect` reports.
REPORTED = ("unpaired one", "words in", "</think>")
BESIDE_CODE = {
    "backquotes behind no fence": f"```json``` begins a fence.\n{ONE}",
    "a word in backquotes directly before": f"I run `ls`{ONE}",
    "an unpaired backquote on the line before": f"It`s time.\n{ONE}\nIt`s done.",
    "an unpaired backquote on its line": f"It`s time: {ONE} done.",
    "a closing tag in backquotes behind it": f"{ONE}\nIt ends with `</tool:f>`, as stated.",
    "a fence that ended": f"```sh\nls\n```  \n{ONE}",
    "a fence that ended before a carriage return": f"```sh\r\nls\r\n```\r\n{ONE}",
    "a fence of a list that ended": f"- ```sh\n  ls\n  ```\n{ONE}",
    "tildes in words": f"~~~~ is a line, ~~~ too\n~~~~\n{ONE}",
}


def test_an_example_in_code_is_not_executed_and_not_reported_as_a_leak() -> None:
    for case, text in EXAMPLES.items():
        response = read(text, "tool-xml")
        assert select(response).kept == [], case
        assert {"markup-in-code", "markup-ambiguous"} & set(codes(response)), case
        assert detect(text) == [] or any(word in case for word in REPORTED), case


def test_a_call_beside_code_is_read() -> None:
    for case, text in BESIDE_CODE.items():
        assert shapes(read(text, "tool-xml")) == ONE_CALL, case
    fenced = read(f"{ONE}```xml\n{ONE}\n```\n", "tool-xml")
    assert shapes(fenced) == ONE_CALL
    assert "markup-in-code" in codes(fenced)
    quoted = read(f"{ONE}\nas in `so: {LINE}`", "tool-xml")
    assert [(call.status, call.arguments) for call in quoted.calls] == [("complete", {"x": "a"}), ("invalid", None)]


def test_a_text_with_code_or_broken_markup_gives_the_same_steps_wherever_it_is_cut() -> None:
    broken = [f"<think>{LINE}</think>{LINE}", "<tool:f><tool:g><param:b>x</param:b></tool:g>"]
    texts = [("tool-xml", text) for text in (*EXAMPLES.values(), *BESIDE_CODE.values(), *broken)]
    for name, text in (*texts, ("invoke", '<invoke name="f">words</parameter></invoke>')):
        whole = scanned(name, [text])[0]
        for at in range(1, len(text)):
            assert scanned(name, [text[:at], text[at:]])[0] == whole, text[:at]
