"""``<tag>[{"name": …, "arguments": {…}}]</tag>``: the dialects that differ only in their tags and members.

The sources of the formats are in docs/pages/tool-parsers.md. A tag without such JSON is text. Without a closing tag,
the end of the JSON ends the calls. Results: ``<tool_response>``.
"""

from __future__ import annotations

from ... import json_codec
from ..dialect import TextDialect, WrittenCall
from ..parsers.call_parser import CallSink
from ..parsers.coercion import ToolSchemas
from ..parsers.json_calls import JsonCalls
from ..tags import HOLD, Hold, TagMatch, after_gap, any_literal
from .hermes import call_object


class TaggedJson(TextDialect):
    """One such dialect.

    ``heads``: the opening tags; the first is written. ``listed``: whether calls are written as one list. ``arguments``
    and ``tool_name``: the names of the members; if ``tool_name`` is "", a call is ``{name: {…}}``.
    """

    several = True

    def __init__(
        self,
        name: str,
        *heads: str,
        closer: str = "",
        tails: tuple[str, ...] = (),
        listed: bool = True,
        arguments: str = "arguments",
        tool_name: str = "name",
    ) -> None:
        self.name, self.heads, self.tails = name, heads, tails
        self._closer, self._listed, self._arguments, self._tool_name = closer, listed, arguments, tool_name
        self.section = (f"{heads[0]}[", f"]{closer}") if listed else ("", "")
        self.separator = ", " if listed else "\n"

    def opening(self, buf: str, at: int, final: bool) -> TagMatch | Hold | None:
        """Match a tag before an object or a list of objects."""
        ahead = any_literal(self.heads, buf, at, final)
        bracket = -1
        for _ in range(2):
            ahead = after_gap(buf, ahead, final) if isinstance(ahead, int) else ahead
            if not isinstance(ahead, int) or ahead == len(buf):
                return HOLD if ahead is HOLD else None
            bracket = ahead if bracket < 0 else bracket
            if buf[ahead] == "{":
                return TagMatch(bracket)
            if buf[ahead] != "[":
                return None
            ahead += 1
        return None

    def parser(self, sink: CallSink, match: TagMatch, tools: ToolSchemas) -> JsonCalls:
        return JsonCalls(sink, self._closer, keyed=not self._tool_name)

    def write_call(self, call: WrittenCall, index: int) -> str:
        if self._tool_name:
            written = call_object(call, self._arguments, self._tool_name)
        else:
            written = f"{{{json_codec.text(call.name)}: {call.json}}}"
        return written if self._listed else f"{self.heads[0]}{written}{self._closer}"


_PLUGIN = "<|action_start|> <|plugin|>"
TAGGED_JSON = (
    TaggedJson("command", "<|START_ACTION|>", closer="<|END_ACTION|>", arguments="parameters", tool_name="tool_name"),
    TaggedJson("granite", "<|tool_call|>", tails=("<|/tool_call|>", "<|end_of_text|>", "<|end|>")),
    TaggedJson("granite-20b", "<function_call>", tails=("</function_call>", "<|endoftext|>"), listed=False),
    TaggedJson("jamba", "<tool_calls>", closer="</tool_calls>"),
    TaggedJson(
        *("internlm", f"{_PLUGIN}\n", _PLUGIN, "<|action_start|><|plugin|>"),
        closer="<|action_end|>",
        listed=False,
        arguments="parameters",
    ),
    TaggedJson("longcat", "<longcat_tool_call>", closer="</longcat_tool_call>", listed=False),
    TaggedJson("phi", "functools"),
    TaggedJson("nemotron", "<TOOLCALL>", closer="</TOOLCALL>"),
    TaggedJson(
        "gigachat", "function call<|role_sep|>\n", "<|function_call|>", tails=("</s>", "<|message_sep|>"), listed=False
    ),
    TaggedJson("apertus", "<|tools_prefix|>", closer="<|tools_suffix|>", tool_name=""),
)
