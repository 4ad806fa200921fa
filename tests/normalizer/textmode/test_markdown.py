"""What is in code is an example, however the code is set off; and what only looks like code hides no call."""

from __future__ import annotations

import json

import pytest

from tests.normalizer.textmode.texts import said
from tests.support.decoding import codes, shapes
from tests.support.events import chat_body
from toolparity import Response, normalize, select
from toolparity.normalizer.textmode import detect, read_response

ONE = "<tool:f>\n<param:x>a</param:x>\n</tool:f>"
LINE = ONE.replace("\n", "")
F = [("f", {"x": "a"}, "complete")]
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
    "backquotes behind an odd one": f"It`s `{LINE}` that I mean.",
    "a tag in backquotes behind an odd one": "It`s `<tool:f>` that begins one.",
}
#: Examples with a tag that `detect` reports.
REPORTED = ("odd one", "words in", "</think>")
CALLS = {
    "backquotes behind no fence": f"```json``` begins a fence.\n{ONE}",
    "a word in backquotes directly before": f"I run `ls`{ONE}",
    "an odd backquote on the line before": f"It`s time.\n{ONE}\nIt`s done.",
    "an odd backquote on its line": f"It`s time: {ONE} done.",
    "a closing tag in backquotes behind it": f"{ONE}\nIt ends with `</tool:f>`, as told.",
    "a fence that ended": f"```sh\nls\n```  \n{ONE}",
    "a fence that ended before a carriage return": f"```sh\r\nls\r\n```\r\n{ONE}",
    "a fence of a list that ended": f"- ```sh\n  ls\n  ```\n{ONE}",
    "tildes in words": f"~~~~ is a line, ~~~ too\n~~~~\n{ONE}",
}


def read(text: str) -> Response:
    return read_response(normalize(json.dumps(chat_body(content=text, finish="stop")), "openai.chat"), "tool-xml")


@pytest.mark.parametrize("what", EXAMPLES)
def test_no_example_is_executed(what: str) -> None:
    response = read(EXAMPLES[what])
    assert select(response).kept == []
    assert {"markup-in-code", "markup-ambiguous"} & set(codes(response))


@pytest.mark.parametrize("what", CALLS)
def test_a_call_beside_code_is_read(what: str) -> None:
    assert shapes(read(CALLS[what])) == F


@pytest.mark.parametrize("what", [*EXAMPLES, *CALLS])
def test_it_is_the_same_wherever_the_text_is_cut(what: str) -> None:
    text = {**EXAMPLES, **CALLS}[what]
    whole = said("tool-xml", [text])[0]
    for at in range(1, len(text)):
        assert said("tool-xml", [text[:at], text[at:]])[0] == whole, text[:at]


@pytest.mark.parametrize("what", [what for what in EXAMPLES if not any(word in what for word in REPORTED)])
def test_no_example_is_told_as_a_leak(what: str) -> None:
    assert detect(EXAMPLES[what]) == []


def test_a_fence_directly_after_a_call_holds_an_example() -> None:
    response = read(f"{ONE}```xml\n{ONE}\n```\n")
    assert shapes(response)[:1] == F
    assert len(response.calls) == 1
    assert "markup-in-code" in codes(response)


def test_only_the_calls_of_a_span_are_doubted() -> None:
    response = read_response(
        normalize(json.dumps(chat_body(content=f"{ONE}\nas in `so: {LINE}`", finish="stop")), "openai.chat"),
        "tool-xml",
        limit=None,
    )
    assert [(call.status, call.arguments) for call in response.calls] == [("complete", {"x": "a"}), ("invalid", None)]
