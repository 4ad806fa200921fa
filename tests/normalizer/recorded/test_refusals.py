"""What the providers refused, and whether the request rules foresee it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.normalizer.recorded.rows import Row, accepted, excused, rows
from tests.support.wires import WIRES
from toolparity import check_request
from toolparity.normalizer.wires.registry import spec

#: Words of a refusal -> what it concerns. These refusals are not about messages, tools, ids, schemas or order.
#: The words are those of the error's message, in lower case.
OTHER_CAUSES = {
    "does not exist": "the name of the model",
    "model identifier is invalid": "the name of the model",
    "has been decommissioned": "the name of the model",
    "not supported with the responses api": "the name of the model",
    "api key not valid": "the key",
    "too long": "the number of tokens",
    "too many tokens": "the number of tokens",
    "input tokens exceeded": "the number of tokens",
    "input token count": "the number of tokens",
    "requested 4096 output tokens": "the number of tokens",
    "maximum context length": "the number of tokens",
    "context window": "the number of tokens",
    "error while downloading": "a download",
    "image url is not accessible": "a download",
    "uploaded an unsupported image": "the bytes of an image",
    "invalid image input": "the bytes of an image",
    "does not support image modality": "the name of the model",
    "function_image_chat": "the name of the model",
    "invalid file data": "the bytes of a file",
    "did not call a tool": "what the model wrote",
    "tool call validation failed": "what the model wrote",
    "unsupported parameter": "a parameter",
    "does not support parameter": "a parameter",
    "reasoning.effort": "a parameter",
    "max_output_tokens": "a parameter",
    "max_completion_tokens": "a parameter",
    "temperature value": "a parameter",
    "json mode": "a parameter",
    "service_tier": "a parameter",
    "background interactions": "a parameter",
    "test error": "nothing: it was made up",
    "response modalities": "a parameter",
}
#: Refusals that no rule foresees, by words of the message, and why.
UNFORESEEN = {
    "required function  is not present": "OpenRouter passed the forced tool, which is declared, to xAI without its "
    "name; it accepted such requests at other times",
}


def request_of(row: Row) -> Any:
    """The request as a caller of the SDK has it: with the model, which some wires have only in the URL."""
    name = spec(row.wire).model_member
    if isinstance(row.request, dict) and row.model and name not in row.request:
        return {**row.request, name: row.model}
    return row.request


def refused(row: Row) -> list[Any]:
    return check_request(request_of(row), row.wire, provider=row.provider)


def other_cause(row: Row) -> str | None:
    message = (row.body or "").lower()
    return next((cause for words, cause in OTHER_CAUSES.items() if words in message), None)


def test_most_recorded_refusals_are_foreseen(recordings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refusals = [
        row for wire in WIRES for row in rows(recordings, wire) if row.status in (400, 422) and row.request is not None
    ]
    causes = Counter(cause for row in refusals if (cause := other_cause(row)))
    concerned = [row for row in refusals if other_cause(row) is None]
    foreseen = Counter(row.wire for row in concerned if refused(row))
    missed = [row for row in concerned if not refused(row)]
    with capsys.disabled():
        print(f"\n  {len(refusals)} refusals, of which {len(concerned)} concern messages, tools, ids, schemas or order")
        print(f"  {foreseen.total()} of {len(concerned)} are foreseen ({foreseen.total() / len(concerned):.0%})")
        print("  not counted: " + ", ".join(f"{cause} {count}" for cause, count in causes.most_common()), end="")
    assert foreseen.total() >= 0.8 * len(concerned)
    explained = {words: [row.id for row in missed if words in (row.body or "").lower()] for words in UNFORESEEN}
    assert all(explained.values())
    assert sorted(row.id for row in missed) == sorted(id for ids in explained.values() for id in ids)


@pytest.mark.parametrize("words", OTHER_CAUSES)
def test_each_other_cause_explains_a_refusal(words: str, recordings: Path) -> None:
    assert any(
        words in (row.body or "").lower()
        for wire in WIRES
        for row in rows(recordings, wire)
        if row.status in (400, 422)
    )


@pytest.mark.parametrize("wire", WIRES)
def test_no_accepted_request_breaks_a_rule(wire: str, recordings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    taken = accepted(recordings, wire)
    broken = {row.id: found for row in taken if (found := refused(row))}
    with capsys.disabled():
        print(f"\n  {wire}: {len(taken)} accepted requests, {len(broken)} of them refused by a rule", end="")
    assert broken == {}
    assert taken
    assert [row.id for row in rows(recordings, wire) if excused(row.id) and not refused(row)] == []
