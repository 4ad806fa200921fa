"""``<|open|>call tool="name" index="1"<|sep|>``, arguments, ``<|close|>call<|sep|>``: dialect of Kimi K3.

An argument is ``<|open|>argument key="key" type="string"<|sep|>value<|close|>argument<|sep|>``; other types are JSON.
Results: ``<tool_response>``.
"""

from __future__ import annotations

import re

from ..dialect import WrittenCall, XmlDialect, value_text
from ..parsers.xml_calls import Grammar
from ..tags import Tag

_CALL = re.compile(r'\s+tool="([^"&<>\n]{1,128})"(?:\s+index="\d{1,9}")?\s*')
_ARGUMENT = re.compile(r'\s+key="([^"&<>\n]{1,128})"(?:\s+type="(\w{1,32})")?\s*')
#: Type in Python -> value of the attribute; other types are objects.
_TYPES = {str: "string", bool: "boolean", int: "number", float: "number", list: "array", type(None): "null"}


class KimiK3(XmlDialect):
    name = "kimi-k3"
    grammars = (
        Grammar(
            call=Tag("<|open|>call", _CALL, "<|sep|>", ""),
            ends=lambda name: ("<|close|>call<|sep|>",),
            parameter=Tag("<|open|>argument", _ARGUMENT, "<|sep|>", ""),
            closers=lambda key: ("<|close|>argument<|sep|>",),
            sections=(("<|open|>tools<|sep|>", "<|close|>tools<|sep|>"),),
            text_mark="string",
        ),
    )
    section = ("<|open|>tools<|sep|>", "<|close|>tools<|sep|>")
    separator = ""
    ends = ("<|close|>tools<|sep|>",)
    tails = ("<|close|>message<|sep|>",)
    strays = (Tag("<|close|>call<|sep|>"), Tag("<|close|>argument<|sep|>"))

    def write_call(self, call: WrittenCall, index: int) -> str:
        arguments = [
            f'<|open|>argument key="{key}" type="{_TYPES.get(type(value), "object")}"<|sep|>{value_text(value)}'
            "<|close|>argument<|sep|>"
            for key, value in call.parameters
        ]
        return f'<|open|>call tool="{call.name}" index="{index + 1}"<|sep|>{"".join(arguments)}<|close|>call<|sep|>'
