"""``<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="…">…</steptml:invoke><｜tool_call_end｜>``.

Dialect of Step 3. The tags of `invoke` with a prefix, in tokens around each call and all calls.
Results: ``<tool_response>``.
"""
# ruff: noqa: RUF001, RUF002 - the model uses full-width bars

from __future__ import annotations

from msgspec.structs import replace

from ..dialect import WrittenCall, XmlDialect
from .invoke import grammar_of, invocation, strays_of

_PREFIX = "steptml:"
_BEGIN, _END = "<｜tool_call_begin｜>function<｜tool_sep｜>", "<｜tool_call_end｜>"


class Step(XmlDialect):
    name = "step"
    section = ("<｜tool_calls_begin｜>\n", "\n<｜tool_calls_end｜>")
    grammars = (
        replace(
            grammar_of(_PREFIX),
            sections=tuple((f"{before}{_BEGIN}", _END) for before in ("", section[0], section[0].strip())),
            shell=True,
        ),
    )
    ends = (section[1].strip(),)
    strays = strays_of(_PREFIX)

    def write_call(self, call: WrittenCall, index: int) -> str:
        return f"{_BEGIN}{invocation(_PREFIX, call)}{_END}"
