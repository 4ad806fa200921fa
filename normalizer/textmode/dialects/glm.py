"""``<tool_call>name<arg_key>key</arg_key><arg_value>value</arg_value></tool_call>``: dialect of GLM 4.5 and later.

Values other than strings are JSON. Results: ``<tool_response>``.
"""

from __future__ import annotations

import re

from ..dialect import WrittenCall, XmlDialect, value_text
from ..parsers.xml_calls import Grammar
from ..tags import HOLD, LONGEST_TAG, Hold, Tag, TagMatch, literal

_OPEN = "<tool_call>"
_NAMED = re.compile(r"<tool_call>\s*([\w.\-]{1,128})\s*(?=<arg_key>|</tool_call>)")
_SO_FAR = re.compile(r"<tool_call>\s*(?:[\w.\-]{1,128}\s*)?(?:</?[a-z_]*)?")


def grammar_of(call: Tag, suffix: str = "") -> Grammar:
    """Return the grammar with a suffix in each tag name."""
    key = re.compile(rf"\s*([^<>]{{1,128}}?)\s*</arg_key{suffix}>\s*")
    return Grammar(
        call=call,
        ends=lambda name: (f"</tool_call{suffix}>",),
        parameter=Tag(f"<arg_key{suffix}>", key, f"<arg_value{suffix}>", ""),
        closers=lambda key: (f"</arg_value{suffix}>",),
        layout="pair",
    )


def strays_of(suffix: str = "") -> tuple[Tag, ...]:
    """Return the closing tags with a suffix."""
    return tuple(Tag(f"</{name}{suffix}>") for name in ("arg_key", "arg_value", "tool_call"))


class Glm(XmlDialect):
    name = "glm"
    grammars = (grammar_of(Tag(_OPEN, re.compile(r"\s*([\w.\-]{1,128})\s*"), "<", "")),)
    strays = strays_of()
    tails = ("<|observation|>", "<|user|>")

    def opening(self, buf: str, at: int, final: bool) -> TagMatch | Hold | None:
        begun = literal(_OPEN, buf, at, final)
        if begun is not True:
            return HOLD if begun is HOLD else None
        named = _NAMED.match(buf, at)
        if named is not None and named.end() - at < LONGEST_TAG:
            return TagMatch(named.end(), named[1])
        open_ended = not final and len(buf) - at < LONGEST_TAG + len("</tool_call>")
        return HOLD if open_ended and _SO_FAR.fullmatch(buf, at) is not None else None

    def write_call(self, call: WrittenCall, index: int) -> str:
        pairs = [
            f"<arg_key>{key}</arg_key>\n<arg_value>{value_text(value)}</arg_value>\n" for key, value in call.parameters
        ]
        return f"{_OPEN}{call.name}\n{''.join(pairs)}</tool_call>"
