"""``]<]minimax[>[<invoke name="…">]<]minimax[>[<key>value]<]minimax[>[</key>]<]minimax[>[</invoke>``.

Dialect of MiniMax M3: tags with a token before each, and parameters as tags with their names. Lists and objects are
nested tags, which are not read: such a call is invalid. M2 has the tags of `invoke`. Results: ``<tool_response>``.
"""

from __future__ import annotations

import re

from ..dialect import WrittenCall, XmlDialect, value_text
from ..parsers.xml_calls import Grammar
from ..tags import Tag

_MARK = "]<]minimax[>["


class MiniMax(XmlDialect):
    name = "minimax-m3"
    section = (f"{_MARK}<tool_call>", f"{_MARK}</tool_call>")
    separator = ""
    grammars = (
        Grammar(
            call=Tag(f"{_MARK}<invoke", re.compile(r'\s+name="([^"<>\n]{1,128})"\s*'), never="<"),
            ends=lambda name: (f"{_MARK}</invoke>",),
            parameter=Tag(f"{_MARK}<", re.compile(r"([\w.\-]{1,128})")),
            closers=lambda key: (f"{_MARK}</{key}>",),
            sections=(section,),
            named_closers=True,
            nests=True,
        ),
    )
    ends = (section[1],)
    strays = (Tag(f"{_MARK}</", re.compile(r"(?!tool_call$)([\w.\-]{1,128})")),)

    def write_call(self, call: WrittenCall, index: int) -> str:
        parameters = [f"{_MARK}<{key}>{value_text(value)}{_MARK}</{key}>" for key, value in call.parameters]
        return f'{_MARK}<invoke name="{call.name}">{"".join(parameters)}{_MARK}</invoke>'
