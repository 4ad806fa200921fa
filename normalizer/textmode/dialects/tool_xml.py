"""``<tool:name><param:key>value</param:key></tool:name>``: dialect of agents that use text mode by design.

A list is a repeated parameter, under its name or the singular of it. Results: `<result:name>`, or `<error:name>` for
errors.
"""

from __future__ import annotations

import re

from ..dialect import ParsedResult, WrittenCall, WrittenResult, XmlDialect, value_text
from ..parsers.xml_calls import Grammar, without_layout
from ..tags import Tag

_NAME = re.compile(r"([\w.\-]{1,128})[ \t]*")
_RESULT = re.compile(r"\s*<(result|error):([\w.\-]{1,128})>(.*?)</\1:\2>\s*", re.DOTALL)


class ToolXml(XmlDialect):
    name = "tool-xml"
    grammars = (
        Grammar(
            call=Tag("<tool:", re.compile(rf"{_NAME.pattern}(/?)")),
            ends=lambda name: (f"</tool:{name}>",),
            parameter=Tag("<param:", _NAME),
            closers=lambda key: (f"</param:{key}>",),
            named_closers=True,
            layout="pair",
        ),
    )
    strays = (Tag("</tool:", _NAME), Tag("</param:", _NAME))
    separator = results_separator = "\n\n"

    def write_call(self, call: WrittenCall, index: int) -> str:
        lines = [f"<tool:{call.name}>"]
        for key, value in call.parameters:
            repeated = value and isinstance(value, list) and all(isinstance(item, str) for item in value)
            lines += [f"<param:{key}>{_laid_out(item)}</param:{key}>" for item in (value if repeated else [value])]
        return "\n".join([*lines, f"</tool:{call.name}>"])

    def write_result(self, result: WrittenResult, index: int) -> str:
        tag = "error" if result.is_error else "result"
        return f"<{tag}:{result.name}>\n{result.text}\n</{tag}:{result.name}>"

    def parse_results(self, text: str) -> list[ParsedResult] | None:
        results, at = [], 0
        while at < len(text):
            match = _RESULT.match(text, at)
            if match is None:
                return None
            results.append((match[2], without_layout(match[3], "pair"), match[1] == "error"))
            at = match.end()
        return results or None


def _laid_out(value: object) -> str:
    """Add line breaks around a value with line breaks or outer white space, so that parsing keeps these."""
    text = value_text(value)
    return f"\n{text}\n" if "\n" in text or text != text.strip() else text
