"""A call in Markdown code is an example; text that only resembles code does not hide a call."""

from __future__ import annotations

from tests.normalizer.failures.test_textmode import ONE as CALLS_OF
from tests.normalizer.failures.test_textmode import F, read
from tests.support.decoding import codes, shapes
from toolparity import select
from toolparity.normalizer.textmode import detect

ONE = CALLS_OF["tool-xml"]
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
CALLS = {
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
    for case, text in CALLS.items():
        assert shapes(read(text, "tool-xml")) == F, case
    fenced = read(f"{ONE}```xml\n{ONE}\n```\n", "tool-xml")
    assert shapes(fenced) == F
    assert "markup-in-code" in codes(fenced)
    quoted = read(f"{ONE}\nas in `so: {LINE}`", "tool-xml")
    assert [(call.status, call.arguments) for call in quoted.calls] == [("complete", {"x": "a"}), ("invalid", None)]
