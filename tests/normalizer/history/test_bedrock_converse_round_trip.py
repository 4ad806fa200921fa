"""Recorded requests of Converse, read and written back, say what they said, and are legal where they were."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from botocore.validate import ParamValidator

from tests.normalizer.history.bedrock_converse_meaning import meaning
from tests.normalizer.recorded.rows import Row, rows
from tests.support.sdk_types import bedrock_shape
from toolparity.normalizer.conversation import Assistant, ToolResults
from toolparity.normalizer.requests import check_request, read_request, write_request

WIRE = "bedrock.converse"
#: The messages of recorded 400 answers that concern messages, tools, ids, schemas or order.
CONCERN = ("s3Uri", "messages.")


def told(recordings: Path) -> list[Row]:
    return [row for row in rows(recordings, WIRE) if isinstance(row.request, dict)]


def called(row: Row) -> dict[str, Any]:
    """The request as boto3 takes it, with the model that the address named."""
    return {"modelId": row.model, **row.request}


def test_recorded_requests_mean_the_same_when_read_and_written(
    recordings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = told(recordings)
    for row in given:
        written = write_request(read_request(row.request, WIRE, provider=row.provider))
        assert meaning(written.body) == meaning(row.request), row.id
        assert written.losses == [], row.id
    with capsys.disabled():
        print(f"\n  {WIRE}: {len(given)} of {len(given)} requests equal", end="")
    assert len(given) > 370


def test_what_was_answered_keeps_the_rules_before_and_after(recordings: Path) -> None:
    for row in told(recordings):
        if not row.failed:
            assert check_request(called(row), WIRE) == [], row.id
            assert check_request(write_request(read_request(called(row), WIRE)).body, WIRE) == [], row.id


def test_the_rules_foresee_what_was_refused(recordings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused = [row for row in told(recordings) if row.status == 400 and any(w in (row.body or "") for w in CONCERN)]
    foreseen = [row for row in refused if check_request(called(row), WIRE)]
    with capsys.disabled():
        print(f"\n  {WIRE}: {len(foreseen)} of {len(refused)} refusals of messages foreseen", end="")
    assert len(foreseen) == len(refused) >= 2


def test_the_service_model_accepts_what_is_written(recordings: Path) -> None:
    validated = 0
    for row in told(recordings):
        if ".invoke." in row.id:  # a body of Nova, whose parameters differ
            continue
        body = write_request(read_request(called(row), WIRE)).body
        report = ParamValidator().validate(body, bedrock_shape("ConverseRequest"))
        assert not report.has_errors(), f"{row.id}: {report.generate_report()}"
        validated += 1
    assert validated > 340


@pytest.mark.parametrize("form", [dict, str, bytes], ids=["parsed", "text", "bytes"])
def test_every_form_of_a_request_is_read_alike(form: type) -> None:
    body = {
        "modelId": "m",
        "messages": [
            {"role": "user", "content": [{"text": "hi"}]},
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t1", "name": "f", "input": {"x": 1}}}]},
            {"role": "user", "content": [{"toolResult": {"toolUseId": "t1", "content": [{"json": {"y": 2}}]}}]},
        ],
        "toolConfig": {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}]},
    }
    text = json.dumps(body)
    given = body if form is dict else text if form is str else text.encode()
    assert write_request(read_request(given, WIRE)).body == body


def test_results_before_words_of_one_message_come_back_as_one_message() -> None:
    result = {"toolResult": {"toolUseId": "t1", "content": [{"text": "ok"}], "status": "success"}}
    messages = [
        {"role": "user", "content": [{"text": "hi"}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t1", "name": "f", "input": {}}}]},
        {"role": "user", "content": [result, {"text": "and now?"}]},
    ]
    request = read_request({"messages": messages, "toolConfig": {"tools": []}}, WIRE)
    assert [type(message) for message in request.messages[1:3]] == [Assistant, ToolResults]
    assert write_request(request).body["messages"] == messages
