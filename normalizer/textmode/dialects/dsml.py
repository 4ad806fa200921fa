"""Dialect of DeepSeek V3.2 and later: the tags of `invoke` with a mark before each name.

The attribute ``string`` of a parameter states whether its value is text or JSON. V4 names the section ``tool_calls``.
GigaChat 3.5 writes ``GCML`` in place of ``DSML``. Results: ``<function_results>`` with one ``<result>`` per call.
"""
# ruff: noqa: RUF001 - the model uses full-width bars

from __future__ import annotations

from ..dialect import ParsedResult, WrittenCall, XmlDialect, contents
from .invoke import grammar_of, invocation, strays_of

_PREFIX, _GIGACHAT = "｜DSML｜", "｜GCML｜"


class Dsml(XmlDialect):
    name = "dsml"
    grammars = (
        grammar_of(_PREFIX, f"{_PREFIX}function_calls", f"{_PREFIX}tool_calls"),
        grammar_of(_GIGACHAT, f"{_GIGACHAT}tool_calls"),
    )
    section = (f"<{_PREFIX}function_calls>\n", f"\n</{_PREFIX}function_calls>")
    results_section = ("<function_results>", "\n</function_results>")
    result_tags = ("\n<result>", "</result>")
    results_separator = ""
    ends = tuple(end for grammar in grammars for end in grammar.shuts)
    strays = (*strays_of(_PREFIX), *strays_of(_GIGACHAT))
    tails = ("<｜end▁of▁sentence｜>",)

    def write_call(self, call: WrittenCall, index: int) -> str:
        return invocation(_PREFIX, call, typed=True)

    def parse_results(self, text: str) -> list[ParsedResult] | None:
        around = contents(text, "<function_results>", "</function_results>")
        texts = contents(around[0], "<result>", "</result>") if around is not None and len(around) == 1 else None
        return None if texts is None else [("", text, False) for text in texts]
