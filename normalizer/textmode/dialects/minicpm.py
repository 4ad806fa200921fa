"""``<function name="name"><param name="key">value</param></function>``: dialect of MiniCPM 5.

A value may be a CDATA section. Results: ``<tool_response>``.
"""

from __future__ import annotations

import re

from ..dialect import WrittenCall, XmlDialect, value_text
from ..parsers.xml_calls import Grammar
from ..tags import Tag

_NAME = re.compile(r"""\s+name=["']([^"'<>\n]{1,128})["']\s*""")


class MiniCpm(XmlDialect):
    name = "minicpm"
    grammars = (
        Grammar(
            call=Tag("<function", _NAME, never="<"),
            ends=lambda name: ("</function>",),
            parameter=Tag("<param", _NAME, never="<"),
            closers=lambda key: ("</param>",),
            cdata=True,
        ),
    )
    strays = (Tag("</function>"), Tag("</param>"))

    def write_call(self, call: WrittenCall, index: int) -> str:
        parameters = [f'<param name="{key}">{value_text(value)}</param>' for key, value in call.parameters]
        return f'<function name="{call.name}">{"".join(parameters)}</function>'
