"""``<|start|>assistant<|channel|>commentary to=functions.name <|constrain|>json<|message|>{…}<|call|>``.

Dialect of gpt-oss (https://github.com/openai/harmony, docs/format.md). The recipient may precede the channel, and the
channel may be another one. The type may lack its token or be missing. The beginning may be missing, because it is often
in the prompt, and so may ``<|call|>``, at which the model stops. Messages without a recipient are text. Results:
``<|start|>functions.name to=assistant<|channel|>commentary<|message|>`` and the text up to ``<|end|>``.
"""

from __future__ import annotations

import re

from ..dialect import Dialect, WrittenCall, WrittenResult
from ..parsers.call_parser import CallSink
from ..parsers.coercion import ToolSchemas
from ..parsers.header_calls import HeaderCall
from ..tags import HOLD, LONGEST_TAG, Hold, Tag, TagMatch, literal
from .results import result_text

_START, _CHANNEL, _RECIPIENT = "<|start|>assistant", "<|channel|>", "to=functions."
_MESSAGE, _CALL, _END = "<|message|>", "<|call|>", "<|end|>"
_TO = re.compile(r"(?:^|[\s>]|assistant)to=([\w.\-]{1,128})(?![\w.\-])")
_TOKEN = re.compile(r"<\|(?:start|channel|constrain)\|>|to=\S+")
#: Maximum number of words in a header besides tokens and recipient: role, channel and type.
_MOST_WORDS = 3
#: Recipients that are not tools.
_ROLES = frozenset(("assistant", "user", "system", "developer"))
_RESULT = re.compile(r"\s*<\|start\|>functions\.([\w.\-]{1,128}) to=assistant<\|channel\|>commentary<\|message\|>")


def opening(buf: str, at: int, final: bool) -> TagMatch | Hold | None:
    """Match a header that names a tool, up to and including its ``<|message|>``."""
    starts = [literal(head, buf, at, final) for head in (_START, _CHANNEL, _RECIPIENT)]
    if True not in starts:
        return HOLD if HOLD in starts else None
    place = buf.find(_MESSAGE, at, at + LONGEST_TAG)
    if place < 0:
        return HOLD if not final and len(buf) - at < LONGEST_TAG else None
    name = _called(buf[at:place])
    return TagMatch(place + len(_MESSAGE), name) if name else None


def _called(header: str) -> str:
    """Return the tool that a header names; "" if it names none or is not a header."""
    names = [found[1] for found in _TO.finditer(header)]
    words = _TOKEN.sub(" ", header).split()
    if len(names) != 1 or len(words) > _MOST_WORDS or not all(map(str.isidentifier, words)):
        return ""
    return "" if names[0] in _ROLES else names[0].removeprefix("functions.")


def parser(sink: CallSink, hit: TagMatch, tools: ToolSchemas) -> HeaderCall:
    return HeaderCall(sink, "", _CALL, lambda _: (hit.name, None))


def write_calls(calls: list[WrittenCall]) -> str:
    return "".join(
        f"{_START}{_CHANNEL}commentary to=functions.{call.name} <|constrain|>json"
        f"{_MESSAGE}{call.text.strip() or '{}'}{_CALL}"
        for call in calls
    )


def write_results(results: list[WrittenResult]) -> str:
    return "".join(
        f"<|start|>functions.{result.name} to=assistant{_CHANNEL}commentary{_MESSAGE}{result_text(result)}{_END}"
        for result in results
    )


def parse_results(text: str) -> list[tuple[str, str, bool]] | None:
    heads = list(_RESULT.finditer(text))
    if not heads or heads[0].start():
        return None
    ends = [*(head.start() for head in heads[1:]), len(text.rstrip())]
    said = [text[head.end() : end] for head, end in zip(heads, ends, strict=True)]
    if not all(one.endswith(_END) for one in said):
        return None
    return [(head[1], one.removesuffix(_END), False) for head, one in zip(heads, said, strict=True)]


DIALECT = Dialect(
    name="harmony",
    heads=(_START, _CHANNEL, _RECIPIENT),
    opening=opening,
    parser=parser,
    write_calls=write_calls,
    write_results=write_results,
    parse_results=parse_results,
    strays=(Tag(_CALL),),
    tails=(_CALL, _END, "<|return|>"),
)
