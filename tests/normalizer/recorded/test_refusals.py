"""Requests that the providers refused, and whether the request rules foresee it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.normalizer.recorded.rows import Row, accepted, excused, rows
from tests.support.wires import WIRES
from toolparity import check_request
from toolparity.normalizer.wires.registry import spec

#: The causes of refusals that are not about messages, tools, ids, schemas or order -> words of the error's message.
OTHER_CAUSES = {
    "the name of the model": (
        *("does not exist", "model identifier is invalid", "has been decommissioned", "function_image_chat"),
        *("not supported with the responses api", "does not support image modality"),
    ),
    "the key": ("api key not valid",),
    "the number of tokens": (
        *("too long", "too many tokens", "input tokens exceeded", "input token count", "context window"),
        *("requested 4096 output tokens", "maximum context length"),
    ),
    "a download": ("error while downloading", "image url is not accessible"),
    "the bytes of an image": ("uploaded an unsupported image", "invalid image input"),
    "the bytes of a file": ("invalid file data",),
    "the answer of the model": ("did not call a tool", "tool call validation failed"),
    "a parameter": (
        *("unsupported parameter", "does not support parameter", "reasoning.effort", "max_output_tokens"),
        *("max_completion_tokens", "temperature value", "json mode", "service_tier", "background interactions"),
        "response modalities",
    ),
    "nothing: it was made up": ("test error",),
}
#: Refusals that no rule foresees, by words of the message, and why.
UNFORESEEN = {
    "required function  is not present": "OpenRouter passed the forced tool, which is declared, to xAI without its "
    "name; it accepted such requests at other times"
}


def refused(row: Row) -> list[Any]:
    """The violations of the request as a caller of the SDK has it: some wires have the model only in the URL."""
    name = spec(row.wire).model_member
    add_model = isinstance(row.request, dict) and row.model and name not in row.request
    request = {**row.request, name: row.model} if add_model else row.request
    return check_request(request, row.wire, provider=row.provider)


def refusals(recordings: Path) -> list[tuple[Row, str]]:
    """The refused exchanges, and their messages in lower case."""
    found = [row for wire in WIRES for row in rows(recordings, wire) if row.status in (400, 422)]
    return [(row, (row.body or "").lower()) for row in found]


def test_most_recorded_refusals_are_foreseen(recordings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = [(text, cause) for cause, known in OTHER_CAUSES.items() for text in known]
    messages = [message for _, message in refusals(recordings)]
    assert [text for text, _ in texts if not any(text in message for message in messages)] == []
    causes: Counter[str] = Counter()
    foreseen, missed = [], []
    for row, message in refusals(recordings):
        if row.request is None:
            continue
        if cause := next((cause for text, cause in texts if text in message), None):
            causes[cause] += 1
        else:
            (foreseen if refused(row) else missed).append((row.id, message))
    with capsys.disabled():
        print(f"\n  {len(foreseen)} of {len(foreseen) + len(missed)} refusals are foreseen", end="")
        print("; not counted: " + ", ".join(f"{cause} {count}" for cause, count in causes.most_common()), end="")
    assert len(foreseen) >= 4 * len(missed)
    explained = {text: [id for id, message in missed if text in message] for text in UNFORESEEN}
    assert all(explained.values())
    assert sorted(id for id, _ in missed) == sorted(id for ids in explained.values() for id in ids)


@pytest.mark.parametrize("wire", WIRES)
def test_no_accepted_request_breaks_a_rule(wire: str, recordings: Path) -> None:
    taken = accepted(recordings, wire)
    assert taken
    assert {row.id: found for row in taken if (found := refused(row))} == {}
    assert [row.id for row in rows(recordings, wire) if excused(row.id) and not refused(row)] == []
