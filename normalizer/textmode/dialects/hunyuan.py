"""``<tool_calls><tool_call>name<tool_sep><arg_key>key</arg_key><arg_value>value</arg_value></tool_call></tool_calls>``.

Dialect of Hunyuan 3. Each tag may have the suffix ``:opensource``, by the tokenizer. Results: ``<tool_response>``.
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from ..dialect import WrittenCall, XmlDialect, value_text
from ..parsers.xml_calls import Grammar
from ..tags import Tag
from .glm import grammar_of, strays_of

_NAME = re.compile(r"[ \t]*([\w.\-]{1,128})[ \t]*")


def _suffixed(suffix: str) -> Grammar:
    grammar = grammar_of(Tag(f"<tool_call{suffix}>", _NAME, f"<tool_sep{suffix}>", "{\n"), suffix)
    return replace(grammar, sections=((f"<tool_calls{suffix}>", f"</tool_calls{suffix}>"),))


class Hunyuan(XmlDialect):
    name = "hunyuan"
    grammars = (_suffixed(""), _suffixed(":opensource"))
    section = ("<tool_calls>\n", "\n</tool_calls>")
    ends = tuple(end for grammar in grammars for end in grammar.shuts)
    strays = (*strays_of(), *strays_of(":opensource"))

    def write_call(self, call: WrittenCall, index: int) -> str:
        pairs = [
            f"<arg_key>{key}</arg_key>\n<arg_value>{value_text(value)}</arg_value>\n" for key, value in call.parameters
        ]
        return f"<tool_call>{call.name}<tool_sep>\n{''.join(pairs)}</tool_call>"
