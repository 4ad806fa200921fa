"""``<|start|>assistant<|channel|>commentary to=functions.name <|constrain|>json<|message|>{…}<|call|>``.

Dialect of gpt-oss (https://github.com/openai/harmony, docs/format.md). The recipient may precede the channel, and the
channel may be another one. The type may lack its token or be missing. The beginning may be missing, because it is often
in the prompt, and so may ``<|call|>``, at which the model stops. Messages without a recipient are text. Results:
``<|start|>functions.name to=assistant<|channel|>commentary<|message|>`` and the text up to ``<|end|>``.
"""

from __future__ import annotations

import re

from ..dialect import ParsedResult, TextDialect, WrittenCall, WrittenResult
from ..parsers.call_parser import CallSink
from ..parsers.coercion import ToolSchemas
from ..parsers.header_calls import HeaderCall
from ..tags import HOLD, LONGEST_TAG, Hold, Tag, TagMatch, literal

_START, _CHANNEL, _RECIPIENT = "<|start|>assistant", "<|channel|>", "to=functions."
_MESSAGE, _CALL, _END = "<|message|>", "<|call|>", "<|end|>"
_TO = re.compile(r"(?:^|[\s>]|assistant)to=([\w.\-]{1,128})(?![\w.\-])")
_TOKEN = re.compile(r"<\|(?:start|channel|constrain)\|>|to=\S+")
#: Maximum number of words in a header besides tokens and recipient: role, channel and type.
_MOST_WORDS = 3
#: Recipients that are not tools.
_ROLES = frozenset(("assistant", "user", "system", "developer"))
_RESULT = re.compile(r"\s*<\|start\|>functions\.([\w.\-]{1,128}) to=assistant<\|channel\|>commentary<\|message\|>")


def _recipient_of(header: str) -> str:
    """Return the tool that a header names; "" if it names none or is not a header."""
    names = [found[1] for found in _TO.finditer(header)]
    words = _TOKEN.sub(" ", header).split()
    if len(names) != 1 or len(words) > _MOST_WORDS or not all(map(str.isidentifier, words)):
        return ""
    return "" if names[0] in _ROLES else names[0].removeprefix("functions.")


class Harmony(TextDialect):
    name = "harmony"
    heads = (_START, _CHANNEL, _RECIPIENT)
    strays = (Tag(_CALL),)
    tails = (_CALL, _END, "<|return|>")
    separator = results_separator = ""

    def opening(self, buf: str, at: int, final: bool) -> TagMatch | Hold | None:
        """Match a header that names a tool, up to and including its ``<|message|>``."""
        starts = [literal(head, buf, at, final) for head in (_START, _CHANNEL, _RECIPIENT)]
        if True not in starts:
            return HOLD if HOLD in starts else None
        end = buf.find(_MESSAGE, at, at + LONGEST_TAG)
        if end < 0:
            return HOLD if not final and len(buf) - at < LONGEST_TAG else None
        name = _recipient_of(buf[at:end])
        return TagMatch(end + len(_MESSAGE), name) if name else None

    def parser(self, sink: CallSink, match: TagMatch, tools: ToolSchemas) -> HeaderCall:
        return HeaderCall(sink, "", _CALL, lambda _: (match.name, None))

    def write_call(self, call: WrittenCall, index: int) -> str:
        header = f"{_START}{_CHANNEL}commentary to=functions.{call.name} <|constrain|>json"
        return f"{header}{_MESSAGE}{call.json}{_CALL}"

    def write_result(self, result: WrittenResult, index: int) -> str:
        header = f"<|start|>functions.{result.name} to=assistant{_CHANNEL}commentary"
        return f"{header}{_MESSAGE}{result.marked}{_END}"

    def parse_results(self, text: str) -> list[ParsedResult] | None:
        heads = list(_RESULT.finditer(text))
        if not heads or heads[0].start():
            return None
        ends = [*(head.start() for head in heads[1:]), len(text.rstrip())]
        texts = [text[head.end() : end] for head, end in zip(heads, ends, strict=True)]
        if not all(content.endswith(_END) for content in texts):
            return None
        return [(head[1], content.removesuffix(_END), False) for head, content in zip(heads, texts, strict=True)]
