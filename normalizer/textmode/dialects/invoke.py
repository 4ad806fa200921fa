"""``<function_calls><invoke name="…"><parameter name="…">value</parameter></invoke></function_calls>`` of Claude.

The tags may have the prefix ``antml:``. MiniMax M2 writes ``<minimax:tool_call>`` around the calls, dots
``<dots_function_call>``. Between the tags,
strings are unchanged, and lists and objects are JSON. Some models write one JSON object instead of all parameters.
Results: ``<function_results>`` with one ``<result>`` or ``<error>`` per call.
"""

from __future__ import annotations

import re

from ..dialect import (
    ParsedResult,
    WrittenCall,
    WrittenResult,
    XmlDialect,
    contents,
    tagged_contents,
    value_text,
)
from ..parsers.xml_calls import Grammar
from ..tags import Tag

_INNER = re.compile(r'\s+name="([^"<>\n]{1,128})"(?:\s+string="(true|false)")?\s*')
_RESULT = re.compile(
    r"\s*<tool_name>(?P<name>[^<>]{0,256})</tool_name>\s*<(?P<tag>stdout|stderr)>\n?(?P<text>.*?)\n?</(?P=tag)>\s*",
    re.DOTALL,
)


def grammar_of(prefix: str, *sections: str) -> Grammar:
    """Return the grammar with a prefix in each tag name. ``sections``: names of the tags that may surround calls."""
    return Grammar(
        call=Tag(f"<{prefix}invoke", _INNER, never="<"),
        ends=lambda name: (f"</{prefix}invoke>",),
        parameter=Tag(f"<{prefix}parameter", _INNER, never="<"),
        closers=lambda key: (f"</{prefix}parameter>",),
        sections=tuple((f"<{name}>", f"</{name}>") for name in sections),
        json=True,
    )


def strays_of(prefix: str) -> tuple[Tag, ...]:
    """Return the closing tags of calls and parameters with a prefix."""
    return tuple(Tag(f"</{prefix}{name}>") for name in ("invoke", "parameter"))


def invocation(prefix: str, call: WrittenCall, typed: bool = False) -> str:
    """Write a call with a prefix. ``typed``: mark each parameter as text or JSON."""
    lines = [f'<{prefix}invoke name="{call.name}">']
    for key, value in call.parameters:
        kind = f' string="{"true" if isinstance(value, str) else "false"}"' if typed else ""
        lines.append(f'<{prefix}parameter name="{key}"{kind}>{value_text(value)}</{prefix}parameter>')
    return "\n".join([*lines, f"</{prefix}invoke>"])


class Invoke(XmlDialect):
    name = "invoke"
    grammars = (
        grammar_of("", "function_calls", "minimax:tool_call", "dots_function_call"),
        grammar_of("antml:", "antml:function_calls"),
    )
    ends = tuple(end for grammar in grammars for end in grammar.shuts)
    strays = (*strays_of(""), *strays_of("antml:"))
    section = ("<function_calls>\n", "\n</function_calls>")
    results_section = ("<function_results>", "\n</function_results>")
    results_separator = ""

    def write_call(self, call: WrittenCall, index: int) -> str:
        return invocation("", call)

    def write_result(self, result: WrittenResult, index: int) -> str:
        tag, out = ("error", "stderr") if result.is_error else ("result", "stdout")
        name = f"<tool_name>{result.name}</tool_name>"
        return f"\n<{tag}>\n{name}\n<{out}>\n{result.text}\n</{out}>\n</{tag}>"

    def parse_results(self, text: str) -> list[ParsedResult] | None:
        results = []
        for inner in contents(text, "<function_results>", "</function_results>") or ():
            found = tagged_contents(inner, ("<result>", "</result>"), ("<error>", "</error>"))
            for kind, content in found or ((0, ""),):
                match = _RESULT.fullmatch(content)
                if match is None:
                    return None
                results.append((match["name"], match["text"], kind == 1))
        return results or None
