"""``<tool_call>name<arg_key>key</arg_key><arg_value>value</arg_value></tool_call>``: dialect of GLM 4.5 and later.

Values other than strings are JSON. Results: ``<tool_response>``.
"""

from __future__ import annotations

import re

from ..dialect import Dialect, WrittenCall
from ..parsers.xml_calls import Grammar
from ..tags import HOLD, LONGEST_TAG, Hold, Tag, TagMatch, literal
from .qwen_coder import parse_results, write_results
from .tagged import parameters_of, parser_of, value_text

_OPEN = "<tool_call>"
_NAMED = re.compile(r"<tool_call>\s*([\w.\-]{1,128})\s*(?=<arg_key>|</tool_call>)")
_SO_FAR = re.compile(r"<tool_call>\s*(?:[\w.\-]{1,128}\s*)?(?:</?[a-z_]*)?")


def opening(buf: str, at: int, final: bool) -> TagMatch | Hold | None:
    begun = literal(_OPEN, buf, at, final)
    if begun is not True:
        return HOLD if begun is HOLD else None
    named = _NAMED.match(buf, at)
    if named is not None and named.end() - at < LONGEST_TAG:
        return TagMatch(named.end(), named[1])
    waits = not final and len(buf) - at < LONGEST_TAG + len("</tool_call>") and _SO_FAR.fullmatch(buf, at) is not None
    return HOLD if waits else None


_GRAMMAR = Grammar(
    call=Tag(_OPEN, re.compile(r"\s*([\w.\-]{1,128})\s*"), "<", ""),
    ends=lambda name: ("</tool_call>",),
    parameter=Tag("<arg_key>", re.compile(r"\s*([^<>]{1,128}?)\s*</arg_key>\s*"), "<arg_value>", ""),
    closers=lambda key: ("</arg_value>",),
    layout="pair",
)


def write_calls(calls: list[WrittenCall]) -> str:
    written = []
    for call in calls:
        pairs = (
            f"<arg_key>{key}</arg_key>\n<arg_value>{value_text(value)}</arg_value>\n"
            for key, value in parameters_of(call).items()
        )
        written.append(f"{_OPEN}{call.name}\n{''.join(pairs)}</tool_call>")
    return "\n".join(written)


DIALECT = Dialect(
    name="glm",
    heads=(_OPEN,),
    opening=opening,
    parser=parser_of(_GRAMMAR),
    write_calls=write_calls,
    write_results=write_results,
    parse_results=parse_results,
    strays=(Tag("</arg_key>"), Tag("</arg_value>"), Tag("</tool_call>")),
    doubts=True,
    tails=("<|observation|>", "<|user|>"),
)
