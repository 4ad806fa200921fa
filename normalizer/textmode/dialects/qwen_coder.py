"""``<tool_call><function=name><parameter=key>value</parameter></function></tool_call>``: dialect of Qwen3-Coder.

Values are on separate lines; lists and objects are JSON. Smaller models omit ``<tool_call>``. Llama 3.1 with custom
tools writes ``<function=name>{…}</function>``. Results: ``<tool_response>``.
"""

from __future__ import annotations

import re

from ..dialect import Dialect, WrittenCall, WrittenResult, opening_in_section
from ..parsers.xml_calls import Grammar
from ..tags import Tag
from .results import contents, result_text
from .tagged import parameters_of, parser_of, value_text

_NAME = re.compile(r"([^<>\n]{1,128})")
_CALL = Tag("<function=", _NAME)
_GRAMMAR = Grammar(
    call=_CALL,
    ends=lambda name: ("</function>",),
    parameter=Tag("<parameter=", _NAME),
    closers=lambda key: ("</parameter>",),
    shell=("<tool_call>", "</tool_call>"),
    json=True,
    layout="each",
)


def write_calls(calls: list[WrittenCall]) -> str:
    written = []
    for call in calls:
        parameters = (
            f"<parameter={key}>\n{value_text(value)}\n</parameter>\n" for key, value in parameters_of(call).items()
        )
        written.append(f"<tool_call>\n<function={call.name}>\n{''.join(parameters)}</function>\n</tool_call>")
    return "\n".join(written)


def write_results(results: list[WrittenResult]) -> str:
    return "\n".join(f"<tool_response>\n{result_text(result)}\n</tool_response>" for result in results)


def parse_results(text: str) -> list[tuple[str, str, bool]] | None:
    found = contents(text, "<tool_response>\n", "\n</tool_response>")
    return None if found is None else [("", one, False) for one in found]


DIALECT = Dialect(
    name="qwen-coder",
    heads=("<tool_call>", _CALL.head),
    opening=opening_in_section(_CALL.match, "<tool_call>"),
    parser=parser_of(_GRAMMAR),
    write_calls=write_calls,
    write_results=write_results,
    parse_results=parse_results,
    strays=(Tag("</function>"), Tag("</parameter>"), Tag("</tool_call>")),
    doubts=True,
    tails=("<|im_end|>",),
)
