"""A body is read in the notation of every recorder; an unknown notation is an error, never a missing body."""

from __future__ import annotations

import base64
import datetime
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cassettes.library.making import imported, written
from tests.support.traffic import CHAT_URL, chat_body
from toolparity.cassettes.errors import UnreadableSource
from toolparity.cassettes.library import find, load
from toolparity.cassettes.recorder import verify
from toolparity.cassettes.sources import Exchange, read
from toolparity.cassettes.sources.bodies import body_of

Half = dict[str, Any]

#: Recorder and notation -> the members of a request or response with that JSON value as its body.
NOTATIONS: dict[str, Callable[[Any], Half]] = {
    "vcrpy, request": lambda value: {"body": json.dumps(value)},
    "vcrpy, request as bytes": lambda value: {"body": json.dumps(value).encode()},
    "vcrpy, response": lambda value: {"body": {"string": json.dumps(value)}},
    "VCR for Ruby": lambda value: {"body": {"encoding": "UTF-8", "string": json.dumps(value)}},
    "betamax": lambda value: {"body": {"encoding": "utf-8", "base64_string": packed(value)}},
    "pydantic-ai": lambda value: {"parsed_body": value},
    "type and content": lambda value: {"body": {"type": "json", "content": value}},
    "type and content, as JSON text": lambda value: {"body": {"type": "json", "content": json.dumps(value)}},
    "type and content, text": lambda value: {"body": {"type": "text", "content": json.dumps(value)}},
    "type and content, base64": lambda value: {"body": {"type": "base64", "content": packed(value)}},
    "type and content, bytes": lambda value: {"body": {"type": "binary", "content": json.dumps(value).encode()}},
    "req_cassette": lambda value: {"body_type": "json", "body_json": value},
    "req_cassette, binary": lambda value: {"body_type": "blob", "body_blob": packed(value)},
    "httpx": lambda value: {"content": json.dumps(value)},
}
OBJECTS = st.dictionaries(
    st.text(max_size=5),
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=8,
    ),
    max_size=4,
)


def packed(value: Any) -> str:
    return base64.b64encode(json.dumps(value).encode()).decode()


@pytest.mark.thorough(keep=2)
@pytest.mark.parametrize("notation", NOTATIONS.values(), ids=list(NOTATIONS))
@given(value=OBJECTS)
def test_a_body_has_the_same_value_in_every_recorder_format(notation: Callable[[Any], Half], value: Any) -> None:
    body = body_of(notation(value))
    assert body is not None
    assert json.loads(body) == value


def test_an_unknown_body_format_is_an_error_a_missing_body_none_and_a_date_text() -> None:
    loop: list[Any] = []
    loop.append(loop)
    unknown: list[Half] = [
        {"body": {"kind": "json", "value": {}}},
        {"body": {"model": "m"}},
        {"body": {"type": "msgpack", "content": "x"}},
        {"body": {"type": ["json"], "content": "x"}},
        {"body": {"type": "base64", "content": "no base64!"}},
        {"body": [1]},
        {"body": 1},
        {"body_blob": "no base64!"},
        {"parsed_body": {"loop": loop}},
    ]
    for half in unknown:
        with pytest.raises(UnreadableSource):
            body_of(half)
    missing: list[Half] = [{}, {"body": None}, {"body": {}}, {"body": {"encoding": "UTF-8"}}, {"parsed_body": None}]
    for half in missing:
        assert body_of(half) is None, half
    assert body_of({"parsed_body": {"day": datetime.date(2026, 1, 2)}}) == b'{"day":"2026-01-02"}'


def test_cassettes_of_go_vcr_and_req_cassette_are_read(tmp_path: Path) -> None:
    go = {
        "id": 0,
        "request": {"method": "POST", "url": f"{CHAT_URL}?a=1", "body": '{"model": "m"}', "headers": {}},
        "response": {"status": "200 OK", "code": 200, "headers": {}, "body": chat_body("f")},
    }
    req = {
        "request": {"method": "post", "uri": CHAT_URL, "query_string": "a=1", "body": '{"model": "m"}'},
        "response": {"status": 200, "headers": {}, "body_type": "json", "body_json": json.loads(chat_body("f"))},
        "recorded_at": "2025-10-16T14:23:45Z",
    }  # fmt: skip
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"version": "2.0", "interactions": [go, req]}))
    found = list(read(path))
    assert [(one.status, one.address, one.method, one.model) for one in found if isinstance(one, Exchange)] == [
        (200, f"{CHAT_URL}?a=1", "POST", "m")
    ] * 2


def test_a_grpc_call_of_another_recorder_is_imported(tmp_path: Path) -> None:
    chat = pytest.importorskip("xai_sdk.proto").chat_pb2
    answer = chat.GetChatCompletionResponse(id="r", model="grok")
    output = answer.outputs.add(finish_reason=3)
    output.message.content = "hello"
    output.message.role = 2
    sample = {
        "request_sample": {"json": {"model": "grok", "messages": [{"role": "ROLE_USER", "content": [{"text": "hi"}]}]}},
        "response_sample": {"raw": answer.SerializeToString()},
    }
    imported(written(tmp_path / "a.yaml", sample))
    (place,) = find(tmp_path / "into")
    (response,) = verify.decoded(load(place.path))
    assert response.text == "hello"
    body = json.loads(load(place.path).responses[0]["body"]["string"])
    assert body["messages"][0]["message"]["outputs"][0]["message"]["content"] == "hello"
    assert base64.b64decode(body["messages"][0]["serialized"]) == answer.SerializeToString()
    assert verify.verify_one(place).problems == []
