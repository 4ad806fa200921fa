"""``<|tool_call:start|>name``, arguments on lines, ``<|tool_call:end|>``: dialect of Solar Open 2.

An argument is ``<|tool_arg:start|>key<|tool_arg:value|>value<|tool_arg:end|>``. Results: ``<tool_response>``.
"""

from __future__ import annotations

import re

from ..dialect import WrittenCall, XmlDialect, value_text
from ..parsers.xml_calls import Grammar
from ..tags import Tag


class Solar(XmlDialect):
    name = "solar"
    grammars = (
        Grammar(
            call=Tag("<|tool_call:start|>", re.compile(r"[ \t]*([\w.\-]{1,128})[ \t\r]*"), "\n", "<"),
            ends=lambda name: ("<|tool_call:end|>",),
            parameter=Tag("<|tool_arg:start|>", re.compile(r"\s*([^<>|]{1,128}?)\s*"), "<|tool_arg:value|>", ""),
            closers=lambda key: ("<|tool_arg:end|>",),
        ),
    )
    strays = (Tag("<|tool_arg:end|>"), Tag("<|tool_call:end|>"))

    def write_call(self, call: WrittenCall, index: int) -> str:
        arguments = [
            f"<|tool_arg:start|>{key}<|tool_arg:value|>{value_text(value)}<|tool_arg:end|>\n"
            for key, value in call.parameters
        ]
        return f"<|tool_call:start|>{call.name}\n{''.join(arguments)}<|tool_call:end|>"
