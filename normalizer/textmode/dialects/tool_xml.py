"""``<tool:name><param:key>value</param:key></tool:name>``: dialect of agents that use text mode by design.

A list is a repeated parameter, under its name or the singular of it. Results: `<result:name>`, or `<error:name>` for
errors.
"""

from __future__ import annotations

import re

from ..dialect import Dialect, WrittenCall, WrittenResult
from ..parsers.xml_calls import Grammar, without_layout
from ..tags import Tag
from .tagged import parameters_of, parser_of, value_text, with_layout

_NAME = re.compile(r"([\w.\-]{1,128})[ \t]*")
_CALL = Tag("<tool:", re.compile(rf"{_NAME.pattern}(/?)"))
GRAMMAR = Grammar(
    call=_CALL,
    ends=lambda name: (f"</tool:{name}>",),
    parameter=Tag("<param:", _NAME),
    closers=lambda key: (f"</param:{key}>",),
    named_closers=True,
    layout="pair",
)
_RESULT = re.compile(r"\s*<(result|error):([\w.\-]{1,128})>(.*?)</\1:\2>\s*", re.DOTALL)


def write_calls(calls: list[WrittenCall]) -> str:
    return "\n\n".join(_written(call) for call in calls)


def _written(call: WrittenCall) -> str:
    lines = [f"<tool:{call.name}>"]
    for key, value in parameters_of(call).items():
        several = value if isinstance(value, list) and value and all(isinstance(one, str) for one in value) else [value]
        lines += [f"<param:{key}>{with_layout(value_text(one))}</param:{key}>" for one in several]
    return "\n".join([*lines, f"</tool:{call.name}>"])


def write_results(results: list[WrittenResult]) -> str:
    tags = (("error" if result.is_error else "result", result) for result in results)
    return "\n\n".join(f"<{tag}:{result.name}>\n{result.text}\n</{tag}:{result.name}>" for tag, result in tags)


def parse_results(text: str) -> list[tuple[str, str, bool]] | None:
    found, at = [], 0
    while at < len(text):
        one = _RESULT.match(text, at)
        if one is None:
            return None
        found.append((one[2], without_layout(one[3], "pair"), one[1] == "error"))
        at = one.end()
    return found or None


DIALECT = Dialect(
    name="tool-xml",
    heads=(_CALL.head,),
    opening=_CALL.match,
    parser=parser_of(GRAMMAR),
    write_calls=write_calls,
    write_results=write_results,
    parse_results=parse_results,
    strays=(Tag("</tool:", _NAME), Tag("</param:", _NAME)),
    doubts=True,
)
