"""Base classes of the dialects: detection of opening tags, parsing of calls, and writing of calls and results."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from .. import json_codec
from .parsers.call_parser import CallParser, CallSink
from .parsers.coercion import ToolSchemas
from .parsers.json_scan import JsonScanner
from .parsers.xml_calls import Grammar, XmlCall
from .tags import HOLD, Hold, Tag, TagMatch, after_gap, after_space, any_literal

#: Name of the parameter that holds the argument text of a call whose arguments are not a JSON object.
RAW = "_raw"
#: The name of a tool (or the id of the call, or ""), the text of the result, and whether it is an error.
ParsedResult = tuple[str, str, bool]


class WrittenCall(Struct, frozen=True):
    """A call to be written. ``text``: its argument text. ``arguments``: None if that is not a JSON object."""

    id: str
    name: str
    arguments: dict[str, Any] | None
    text: str

    @property
    def json(self) -> str:
        """The argument text, or an empty object."""
        return self.text.strip() or "{}"

    @property
    def parameters(self) -> Iterable[tuple[str, Any]]:
        """The names and values of the parameters."""
        return ({RAW: self.text} if self.arguments is None else self.arguments).items()


class WrittenResult(Struct, frozen=True):
    """The result of a call to be written, as text."""

    id: str
    name: str
    text: str
    is_error: bool

    @property
    def marked(self) -> str:
        """The text, marked as an error if it is one, for a dialect without a tag for errors."""
        return f"Error: {self.text}" if self.is_error else self.text


class TextDialect:
    """One format of calls in text. Each module of `dialects` defines one.

    ``heads``: strings with which an opening tag may begin. ``several``: whether one parser may return several calls.
    ``ends``: closing tags of a section, which count only after a call. ``strays``: closing tags that appear alone in
    malformed markup. ``doubts``: whether such a tag makes the end of the preceding call uncertain. ``tails``: control
    tokens that may follow a call.

    For writing: ``section`` and ``results_section``: the tags around all calls or results. ``separator`` and
    ``results_separator``: the text between two of them. ``result_tags``: the tags around one result.
    """

    name: str
    heads: tuple[str, ...]
    several = False
    ends: tuple[str, ...] = ()
    strays: tuple[Tag, ...] = ()
    doubts = False
    tails: tuple[str, ...] = ()
    section = results_section = ("", "")
    result_tags = ("<tool_response>\n", "\n</tool_response>")
    separator = results_separator = "\n"

    def opening(self, buf: str, at: int, final: bool) -> TagMatch | Hold | None:
        """Match an opening tag at an index."""
        raise NotImplementedError

    def parser(self, sink: CallSink, match: TagMatch, tools: ToolSchemas) -> CallParser:
        """Return the parser of the text after an opening tag."""
        raise NotImplementedError

    def write_call(self, call: WrittenCall, index: int) -> str:
        raise NotImplementedError

    def write_calls(self, calls: list[WrittenCall]) -> str:
        written = self.separator.join(self.write_call(call, index) for index, call in enumerate(calls))
        return f"{self.section[0]}{written}{self.section[1]}"

    def write_result(self, result: WrittenResult, index: int) -> str:
        return f"{self.result_tags[0]}{result.marked}{self.result_tags[1]}"

    def write_results(self, results: list[WrittenResult]) -> str:
        written = self.results_separator.join(self.write_result(result, index) for index, result in enumerate(results))
        return f"{self.results_section[0]}{written}{self.results_section[1]}"

    def parse_results(self, text: str) -> list[ParsedResult] | None:
        """Return the results in a text, or None if it contains anything else."""
        texts = contents(text, *self.result_tags)
        return None if texts is None else [("", text, False) for text in texts]


class XmlDialect(TextDialect):
    """A dialect with one tag per parameter. ``grammars``: its variants; calls are written in the first."""

    grammars: tuple[Grammar, ...]
    doubts = True

    def __init__(self) -> None:
        self.heads = tuple(head for grammar in self.grammars for head in (*grammar.opens, grammar.call.head))

    def opening(self, buf: str, at: int, final: bool) -> TagMatch | Hold | None:
        held = False
        for index, grammar in enumerate(self.grammars):
            match = match_in_section(grammar.call, grammar.opens, buf, at, final)
            if isinstance(match, TagMatch):
                return replace(match, grammar=index)
            held = held or match is HOLD
        return HOLD if held else None

    def parser(self, sink: CallSink, match: TagMatch, tools: ToolSchemas) -> XmlCall:
        return XmlCall(sink, self.grammars[match.grammar], match.name, tools, match.wrapped, match.more == "/")


def match_in_section(tag: Tag, sections: tuple[str, ...], buf: str, at: int, final: bool) -> TagMatch | Hold | None:
    """Match a tag, or one of ``sections``, white space and the tag."""
    section = any_literal(sections, buf, at, final)
    if isinstance(section, int):
        inner = after_gap(buf, section, final)
        match = tag.match(buf, inner, final) if isinstance(inner, int) else inner
        return TagMatch(match.end, match.name, match.more, True) if isinstance(match, TagMatch) else match
    match = tag.match(buf, at, final)
    return HOLD if match is None and section is HOLD else match


def value_text(value: Any) -> str:
    """Return a value as the text of its tag: a string unchanged, any other value as JSON."""
    return value if isinstance(value, str) else json_codec.text(value)


def contents(text: str, opening: str, closing: str) -> list[str] | None:
    """Return the content of consecutive tags; None if the text contains anything else but white space."""
    found = tagged_contents(text, (opening, closing))
    return None if found is None else [content for _, content in found]


def tagged_contents(text: str, *tags: tuple[str, str]) -> list[tuple[int, str]] | None:
    """Do the same as `contents` for several kinds of tags; each content comes with the index of its kind.

    JSON content is scanned to its end, because its strings may contain the closing tag. After one content that is not
    JSON, the rest is not scanned as JSON, so no text is read more than twice.
    """
    found: list[tuple[int, str]] = []
    at, may_be_json = after_space(text, 0), True
    while at < len(text):
        kind = next((n for n, (opening, _) in enumerate(tags) if text.startswith(opening, at)), None)
        if kind is None:
            return None
        opening, closing = tags[kind]
        at += len(opening)
        start, end = after_space(text, at), -1
        if may_be_json and text.startswith(("{", "["), start):
            end = _closing_after_json(text, start, closing)
            may_be_json = end >= 0
        if end < 0:
            end = text.find(closing, at)
        if end < 0:
            return None
        found.append((kind, text[at:end]))
        at = after_space(text, end + len(closing))
    return found or None


def _closing_after_json(text: str, start: int, closing: str) -> int:
    """Return the index of the closing tag that directly follows the JSON at an index; -1 if there is none."""
    scanner = JsonScanner()
    json_end = scanner.feed(text, start, final=True)
    end = text.find(closing, json_end, after_space(text, json_end) + len(closing)) if scanner.done else -1
    return end if end >= 0 and _decoded(text[start:json_end]) is not None else -1


def _decoded(text: str) -> Any:
    try:
        return json_codec.decode(text)
    except (ValueError, RecursionError):
        return None


def json_member(text: str, key: str) -> tuple[dict[str, Any], str] | None:
    """Return a JSON object and its member ``key`` as text; None if the text is not an object with that member."""
    value = _decoded(text)
    if not isinstance(value, dict) or key not in value:
        return None
    return value, value_text(value[key])
