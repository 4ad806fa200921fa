"""``<function_calls><invoke name="…"><parameter name="…">value</parameter></invoke></function_calls>`` of Claude.

The tags may have the prefix ``antml:``. MiniMax M2 writes ``<minimax:tool_call>`` around the calls. Between the tags,
strings are unchanged, and lists and objects are JSON. Some models write one JSON object instead of all parameters.
Results: ``<function_results>`` with one ``<result>`` or ``<error>`` per call.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ..dialect import Dialect, WrittenCall, WrittenResult, opening_in_section
from ..parsers.call_parser import CallSink
from ..parsers.coercion import ToolSchemas
from ..parsers.xml_calls import Grammar, XmlCall
from ..tags import HOLD, Hold, Tag, TagMatch
from .results import contents, tagged_contents
from .tagged import parameters_of, value_text

_INNER = re.compile(r'\s+name="([^"<>\n]{1,128})"(?:\s+string="(true|false)")?\s*')
_ONE = re.compile(
    r"\s*<tool_name>(?P<name>[^<>]{0,256})</tool_name>\s*<(?P<tag>stdout|stderr)>\n?(?P<text>.*?)\n?</(?P=tag)>\s*",
    re.DOTALL,
)


def grammar(prefix: str, *sections: str) -> Grammar:
    """Return the grammar with a prefix in each tag name. ``sections``: names of the tags that may surround calls."""
    return Grammar(
        call=Tag(f"<{prefix}invoke", _INNER, never="<"),
        ends=lambda name: (f"</{prefix}invoke>",),
        parameter=Tag(f"<{prefix}parameter", _INNER, never="<"),
        closers=lambda key: (f"</{prefix}parameter>",),
        sections=tuple((f"<{name}>", f"</{name}>") for name in sections),
        json=True,
    )


def strays(prefix: str) -> tuple[Tag, ...]:
    """Return the closing tags of calls and parameters with a prefix."""
    return tuple(Tag(f"</{prefix}{name}>") for name in ("invoke", "parameter"))


def writer(prefix: str, typed: bool = False) -> Callable[[list[WrittenCall]], str]:
    """Return a writer of calls with a prefix. ``typed``: mark each parameter as text or JSON."""

    def write_calls(calls: list[WrittenCall]) -> str:
        lines = [f"<{prefix}function_calls>"]
        for call in calls:
            lines.append(f'<{prefix}invoke name="{call.name}">')
            for key, value in parameters_of(call).items():
                kind = f' string="{"true" if isinstance(value, str) else "false"}"' if typed else ""
                lines.append(f'<{prefix}parameter name="{key}"{kind}>{value_text(value)}</{prefix}parameter>')
            lines.append(f"</{prefix}invoke>")
        return "\n".join([*lines, f"</{prefix}function_calls>"])

    return write_calls


def write_results(results: list[WrittenResult]) -> str:
    lines = ["<function_results>"]
    for result in results:
        tag, out = ("error", "stderr") if result.is_error else ("result", "stdout")
        name = f"<tool_name>{result.name}</tool_name>"
        lines.append(f"<{tag}>\n{name}\n<{out}>\n{result.text}\n</{out}>\n</{tag}>")
    return "\n".join([*lines, "</function_results>"])


def parse_results(text: str) -> list[tuple[str, str, bool]] | None:
    found = []
    for inner in contents(text, "<function_results>", "</function_results>") or ():
        told = tagged_contents(inner, ("<result>", "</result>"), ("<error>", "</error>"))
        for kind, block in told or ((0, ""),):
            one = _ONE.fullmatch(block)
            if one is None:
                return None
            found.append((one["name"], one["text"], kind == 1))
    return found or None


_GRAMMARS = {
    "": grammar("", "function_calls", "minimax:tool_call"),
    "antml:": grammar("antml:", "antml:function_calls"),
}
_OPENINGS = {
    prefix: opening_in_section(each.call.match, *(opened for opened, _ in each.sections))
    for prefix, each in _GRAMMARS.items()
}


def opening(buf: str, at: int, final: bool) -> TagMatch | Hold | None:
    held = False
    for prefix, match in _OPENINGS.items():
        hit = match(buf, at, final)
        if isinstance(hit, TagMatch):
            return TagMatch(hit.end, hit.name, prefix, hit.wrapped)
        held = held or hit is HOLD
    return HOLD if held else None


def parser(sink: CallSink, hit: TagMatch, tools: ToolSchemas) -> XmlCall:
    return XmlCall(sink, _GRAMMARS[hit.more], hit.name, tools, hit.wrapped)


DIALECT = Dialect(
    name="invoke",
    heads=tuple(head for each in _GRAMMARS.values() for head in (each.call.head, *(one for one, _ in each.sections))),
    opening=opening,
    parser=parser,
    write_calls=writer(""),
    write_results=write_results,
    parse_results=parse_results,
    ends=tuple(end for each in _GRAMMARS.values() for _, end in each.sections),
    strays=(*strays(""), *strays("antml:")),
    doubts=True,
)
