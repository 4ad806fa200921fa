"""Detection of leaked markup: calls, or parts of them, in a text that no reader extracted (failures RSN-01, TXT-06).

It searches for strings that prose does not contain by chance, of the supported dialects and of others. Markup in code
is an example and does not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from .. import json_codec
from ..findings import Finding, finding
from ..model import Reasoning, Response, Text
from .dialects import DIALECTS
from .parsers.coercion import ToolSchemas
from .scanner import Scanner

_N = r"[\w.\-]{1,128}"
_BAR = "[|\N{FULLWIDTH VERTICAL LINE}]"
#: Dialect or family -> pattern of its markup. Families that are not read have three notations (K2
#: Horizon), or calls in channels that may hold thinking (Inkling, Muse). "thinking" is the end of
#: reasoning without a beginning in the text. "bare-json" is a text that consists only of calls as JSON.
SIGNS: dict[str, str] = {
    "tool-xml": rf"</?(?:tool|param):{_N}[ \t]*/?>",
    "olmo": r"<function_calls>\s{0,64}[A-Za-z_][\w.]{0,127}\(",
    "muse": r"</?atem:(?:function_calls|invoke|parameter)\b",
    "step": r"</?steptml:(?:invoke|parameter)\b",
    "invoke": r'</?(?:antml:)?function_calls>|</?(?:antml:)?invoke(?: name="|>)|<(?:antml:)?parameter name="'
    r"|</?dots_function_call>",
    "dsml": rf"</?{_BAR}(?:DSML|GCML){_BAR}",
    "hunyuan": r"<tool_sep(?::opensource)?>|</?(?:tool_calls?|arg_key|arg_value):opensource>",
    "minimax-m3": r"\]<\]minimax\[>\[\s{0,64}</?[a-z][\w:]{0,63}[^<>]{0,256}>",
    "k2-horizon": r"</?ifm\|(?:tool_calls?|arg_key|arg_type|arg_value)>",
    "qwen-coder": rf"<function={_N}>|<parameter={_N}>|</?seed:tool_call>",
    "glm": r"</?arg_key>|</?arg_value>",
    "minimax": r"</?minimax:tool_call>",
    "hermes": r"</?tool_call>",
    "llama": r"<\|python_tag\|>",
    "mistral": r"\[TOOL_CALLS\]",
    "deepseek": r"<(?:\N{FULLWIDTH VERTICAL LINE}tool[▁_ ]|\|tool▁)(?:calls?|outputs?|sep)",
    "kimi-k3": r"<\|(?:open|close)\|>(?:tools|call|argument)\b",
    "solar": r"<\|tool_(?:call|arg):(?:start|value|end)\|>",
    "minicpm": r"""<function\s+name=["']|<param\s+name=["']""",
    "command": r"<\|(?:START|END)_ACTION\|>",
    "granite": r"<\|/?tool_call\|>",
    "granite-20b": r"<function_call>\s{0,64}\{",
    "jamba": r"<tool_calls>\s{0,64}\[\s{0,64}\{",
    "internlm": r"<\|action_(?:start|end)\|>|<\|plugin\|>",
    "longcat": r"</?longcat_tool_call>",
    "phi": r"\bfunctools\[\s{0,64}\{",
    "nemotron": r"</?TOOLCALL>",
    "gigachat": r"function call<\|role_sep\|>|<\|function_call\|>",
    "apertus": r"<\|tools_(?:prefix|suffix)\|>",
    "inkling": r"<\|content_invoke_tool_(?:json|text)\|>",
    "lfm2": r"<\|tool_call_start\|>",
    "llama-pythonic": r"<\|python_(?:start|end)\|>",
    "gemma": r"<\|tool_call>|<tool_call\|>",
    "functiongemma": r"<(?:start|end)_function_call>",
    "kimi": r"<\|tool_calls?_(?:section_)?(?:argument_)?(?:begin|end)\|>",
    "harmony": rf"<\|(?:call|constrain)\|>|<\|(?:start|channel)\|>[^<\n]{{0,64}}\bto=(?!assistant){_N}"
    rf"|(?:assistant|commentary|analysis) ?to=functions\.{_N}|\bto=functions\.{_N}\s{{0,8}}<\|",
    "bare-tags": rf"<{_N}>\s*<parameter(?:=| name=|>)",
    "bare-json": r'\A\s*(?:\[\s*)?\{\s*"(?:name|type|id)"\s*:',
    "thinking": r"</think(?:ing)?>",
}
_ESCAPED = re.compile(
    r"&lt;/?(?P<name>(?:tool|param):|(?:antml:)?(?:function_calls|invoke)|function=|parameter=|tool_call|arg_key)"
)
_OF_ESCAPED = {"tool": "tool-xml", "para": "tool-xml", "func": "qwen-coder", "arg_": "glm"}
_SIGN = re.compile("|".join(f"(?P<{name.replace('-', '_')}>{sign})" for name, sign in SIGNS.items()))
#: A text without these contains no sign.
_HINTS = re.compile(r"</?(?:[a-z|\N{FULLWIDTH VERTICAL LINE}]|TOOLCALL>)|\[TOOL_CALLS\]|to=functions\.|&lt;|\A\s*[{\[]")
#: A hint too, searched apart: in a pattern, its frequent first letter makes the search slow.
_PHI = "functools["
#: A text without these and `_PHI` contains no sign but `bare-json`; the search for all signs is slow.
_MARKUP = re.compile(
    "</?(?:tool|param|antml:|function|invoke|arg_|minimax:|think|[|\N{FULLWIDTH VERTICAL LINE}]|TOOLCALL|atem:|dots_"
    r"|end_function|ifm|longcat|seed:|start_function|steptml:)|\]<\]minimax|\[TOOL_CALLS\]|to=functions\.|&lt;"
)
_BARE_JSON = re.compile(f"(?P<bare_json>{SIGNS['bare-json']})")
_OPENING = ("{", "[")
#: Fences and spans of code in a complete text; `markdown` detects them in a stream.
_CODE = re.compile(
    r"^[ \t>*+\-.)\d]{0,64}(`{3,}(?![^\n]*`)|~{3,}).*?(?:^[ \t>]{0,64}\1[`~]*[ \t\r]*$|\Z)"
    r"|`(?:[^`\n]|\n(?![ \t]*\n))+`",
    re.MULTILINE | re.DOTALL,
)
#: Sign -> signs that take precedence, because several dialects share an opening tag.
_SHARED = {
    "hermes": {"qwen-coder", "glm", "hunyuan"},
    "glm": {"hunyuan"},
    "deepseek": {"step"},
    "kimi": {"lfm2"},
    "minimax": {"invoke"},
    "invoke": {"olmo"},
    "bare-tags": {"qwen-coder", "invoke"},
}


class MarkupLeak(Struct, frozen=True):
    """Markup in a text. ``dialect``: a key of `SIGNS`. ``at``: its index. ``escaped``: written as ``&lt;…&gt;``."""

    dialect: str
    at: int
    text: str
    escaped: bool = False


def detect(text: str) -> list[MarkupLeak]:
    """Return the first sign of each dialect whose markup a text contains outside code."""
    if not _has_hint(text):
        return []
    code = [match.span() for match in _CODE.finditer(text)] if "`" in text or "~~~" in text else []
    leaks: dict[str, MarkupLeak] = {}
    has_markup = _PHI in text or (_may_have_markup(text) and _MARKUP.search(text))
    signs = _SIGN.finditer(text) if has_markup else filter(None, [_BARE_JSON.match(text)])
    for match in signs:
        name = (match.lastgroup or "").replace("_", "-")
        if name == "bare-json" and not _is_calls(text):
            continue
        if name not in leaks and not _within(match.start(), code) and not _ends_reasoning(name, text, match.start()):
            leaks[name] = MarkupLeak(name, match.start(), match.group())
    for match in _ESCAPED.finditer(text):
        name = _OF_ESCAPED.get(match["name"][:4], "invoke")
        name = "hermes" if match["name"] == "tool_call" else name
        name = "invoke" if "function_calls" in match["name"] else name
        if name not in leaks and not _within(match.start(), code):
            leaks[name] = MarkupLeak(name, match.start(), match.group(), True)
    return [leak for name, leak in leaks.items() if not (_SHARED.get(name, set()) & leaks.keys())]


def _has_hint(text: str) -> bool:
    """Return whether the text has a hint. Most texts lack the characters that every hint has; that is found faster."""
    may_match = _may_have_markup(text) or text.lstrip()[:1] in _OPENING
    return _PHI in text or (may_match and _HINTS.search(text) is not None)


def _may_have_markup(text: str) -> bool:
    return "<" in text or "[TOOL" in text or "to=" in text or "&lt;" in text


def _is_calls(text: str) -> bool:
    """Return whether a text consists only of a call as JSON, or of a list of such calls."""
    try:
        value = json_codec.decode(text)
    except (ValueError, RecursionError):
        return False
    calls = value if isinstance(value, list) else [value]
    return bool(calls) and all(
        isinstance(call, dict)
        and isinstance(call.get("name"), str)
        and isinstance(call.get("arguments", call.get("parameters")), dict)
        and call.keys() <= {"type", "id", "name", "arguments", "parameters"}
        for call in calls
    )


def _within(index: int, spans: Iterable[tuple[int, int]]) -> bool:
    return any(start <= index < end for start, end in spans)


def _ends_reasoning(name: str, text: str, at: int) -> bool:
    """Return whether the sign ends reasoning that begins in the text."""
    return name == "thinking" and ("<think>" in text[:at] or "<thinking>" in text[:at])


def report(response: Response) -> Response:
    """Return the response with a finding for each leak in its texts and for calls in its reasoning.

    Return the same object if there is nothing to report. The blocks do not change; `read_response` extracts calls.
    """
    findings: list[Finding] = []
    for choice, index, block in response.walk():
        if isinstance(block, Text):
            for leak in detect(block.text):
                message = f"{leak.dialect}: {leak.text!r}{', escaped' if leak.escaped else ''}"
                findings.append(finding("leaked-markup", message, choice.index, index))
        elif isinstance(block, Reasoning) and not choice.calls and _has_hint(block.text):
            scanner = Scanner(tuple(DIALECTS.values()), ToolSchemas(None))
            calls = scanner.scan(block.text).calls
            if calls and scanner.dialect is not None:
                message = f"{calls} in the dialect {scanner.dialect.name}"
                findings.append(finding("call-in-reasoning", message, choice.index, index))
    return replace(response).with_findings([*response.findings, *findings]) if findings else response
