"""``<tool_call><function=name><parameter=key>value</parameter></function></tool_call>``: dialect of Qwen3-Coder.

Values are on separate lines; lists and objects are JSON. Smaller models omit ``<tool_call>``; Seed-OSS writes
``<seed:tool_call>``. Llama 3.1 with custom tools writes ``<function=name>{…}</function>``.
Results: ``<tool_response>``.
"""

from __future__ import annotations

import re

from ..dialect import WrittenCall, XmlDialect, value_text
from ..parsers.xml_calls import Grammar
from ..tags import Tag

_NAME = re.compile(r"([^<>\n]{1,128})")


class QwenCoder(XmlDialect):
    name = "qwen-coder"
    grammars = (
        Grammar(
            call=Tag("<function=", _NAME),
            ends=lambda name: ("</function>",),
            parameter=Tag("<parameter=", _NAME),
            closers=lambda key: ("</parameter>",),
            sections=(("<tool_call>", "</tool_call>"), ("<seed:tool_call>", "</seed:tool_call>")),
            shell=True,
            json=True,
            layout="each",
        ),
    )
    strays = (Tag("</function>"), Tag("</parameter>"), Tag("</tool_call>"), Tag("</seed:tool_call>"))
    tails = ("<|im_end|>",)

    def write_call(self, call: WrittenCall, index: int) -> str:
        parameters = [f"<parameter={key}>\n{value_text(value)}\n</parameter>\n" for key, value in call.parameters]
        return f"<tool_call>\n<function={call.name}>\n{''.join(parameters)}</function>\n</tool_call>"
