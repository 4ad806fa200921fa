"""What recorders of HTTP traffic write is read whole, or has a problem. Their samples are in `logs.test_samples`."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from random import Random
from typing import Any

from tests.support.traffic import CHAT_URL, chat_body, chat_stream
from toolparity.audit.exchange import decode
from toolparity.cassettes.sources import Exchange, Problem, read

SAMPLES = Path(__file__).parent / "logs" / "samples"
_CHAT, _STREAM = json.loads(chat_body("f")), chat_stream("f")
_PACKED = base64.b64encode(chat_body("f").encode()).decode()
_NOCK = {"scope": "https://api.openai.com:443", "method": "POST", "path": "/v1/chat/completions", "body": {}}
_AZURE = {"RequestUri": CHAT_URL, "RequestMethod": "POST", "RequestBody": {"messages": []}, "StatusCode": 200}
_STUB = {"request": {"url": "/v1/chat/completions", "bodyPatterns": [{"equalToJson": '{"messages": []}'}]}}
_HAR = {"request": {"url": CHAT_URL, "postData": {"text": "{}"}}}
_HEX = gzip.compress(chat_body("f").encode()).hex()
_PARTS = {"content": {"encoding": "base64", "text": f'["{_PACKED}"]'}}
#: Name -> what a recorder writes, with one call.
ENTRIES: dict[str, Any] = {
    "nock": [{**_NOCK, "response": _CHAT, "rawHeaders": {"content-type": "application/json"}}],
    "nock, compressed": [{**_NOCK, "response": [_HEX], "rawHeaders": ["Content-Encoding", "gzip"]}],
    "nock, a stream": [{**_NOCK, "response": _STREAM, "rawHeaders": []}],
    "Azure's test proxy": {"Entries": [{**_AZURE, "ResponseBody": _CHAT}], "Variables": {}},
    "Azure's test proxy, a stream": {"Entries": [{**_AZURE, "ResponseBody": _STREAM.splitlines(keepends=True)}]},
    "WireMock": {**_STUB, "response": {"status": 200, "body": chat_body("f")}},
    "WireMock, JSON": {"mappings": [{**_STUB, "response": {"jsonBody": _CHAT}}]},
    "WireMock, base64": {**_STUB, "response": {"base64Body": _PACKED}},
    "Polly.js": {"log": {"entries": [{**_HAR, "response": _PARTS}]}},
}


def calls_of(path: Path) -> tuple[int, int]:
    """Return how many calls are read from a path, and how many problems and errors it has."""
    items = list(read(path))
    decoded = [decode(item) for item in items if isinstance(item, Exchange)]
    faults = sum(isinstance(item, Problem) for item in items) + sum(one.faulty for one in decoded)
    return sum(len(one.response.calls) for one in decoded if one.response is not None), faults


def test_a_mapping_of_wiremock_is_read_with_the_file_of_its_body(tmp_path: Path) -> None:
    for folder in ("mappings", "__files"):
        (tmp_path / folder).mkdir()
    for number, name in enumerate(("body.json", "../secret", "missing.json")):
        mapping = {**_STUB, "response": {"status": 200, "bodyFileName": name}}
        (tmp_path / "mappings" / f"{number}.json").write_text(json.dumps(mapping))
    for name in ("__files/body.json", "__files/other.json", "secret"):
        (tmp_path / name).write_text(chat_body("f"))
    assert calls_of(tmp_path / "mappings" / "0.json") == (1, 0)
    assert calls_of(tmp_path) == (3, 2)  # with the secret and the file that no mapping names, and two problems
    assert calls_of(tmp_path / "__files") == (2, 0)


def test_cassettes_with_tags_of_python_and_several_documents_are_read(tmp_path: Path) -> None:
    asked = f"{{uri: !!python/object/new:yarl.URL {{args: [{CHAT_URL}]}}, method: !!python/object/apply:M [post]}}"
    answer = f"{{body: !!python/unicode {json.dumps(_STREAM)}, headers: !!python/tuple []}}"
    entry = f"request: {asked}\n  response: {answer}\n"
    (tmp_path / "c.yaml").write_text(f"interactions:\n- &a\n  {entry}---\ninteractions:\n- &a\n  {entry}---\n  {entry}")
    assert calls_of(tmp_path / "c.yaml") == (3, 0)
    read_back = [(one.method, one.address) for one in read(tmp_path / "c.yaml") if isinstance(one, Exchange)]
    assert read_back == [("POST", CHAT_URL)] * 3


def test_every_call_in_a_damaged_text_of_messages_is_read_or_the_file_has_a_problem(tmp_path: Path) -> None:
    for name in ("curl-trace.txt", "httprr.httprr"):
        lines = (SAMPLES / name).read_bytes().splitlines(keepends=True)
        for seed in range(40):
            at = Random(seed).randrange(len(lines))
            (tmp_path / name).write_bytes(b"".join(lines[:at] + lines[at + 1 :]))
            calls, faults = calls_of(tmp_path / name)
            assert calls == 15 or faults, (name, at, lines[at])


def test_traffic_beside_what_a_format_has_is_a_problem_and_data_is_not_shown_as_names(tmp_path: Path) -> None:
    row = json.dumps({"request": {"messages": []}, "response": _CHAT})
    quoted = ",".join('"' + json.dumps(value).replace('"', '""') + '"' for value in ({"messages": []}, _CHAT))
    spans = json.loads((SAMPLES / "opentelemetry-new.jsonl").read_text().splitlines()[0])
    verbose = (SAMPLES / "curl-verbose.txt").read_text()
    for name, content, what in (
        ("before.log", f"{row}\n{verbose}", "text beside the messages of HTTP shows traffic"),
        ("trace.log", f"{(SAMPLES / 'curl-trace.txt').read_text()}{row}\n", "text beside the messages of HTTP"),
        ("rows.csv", f"{quoted}\n{quoted}\n", "the first row is not a header"),
        ("cut.json", f"[{row},\n{row},", "the list in the file has no end"),
        ("spans.jsonl", json.dumps({"resourceSpans": [], "data": spans}), "at places that OTLP does not have"),
        (
            "two.jsonl",
            json.dumps({**json.loads(row), "message": json.loads(row)}),
            "an entry has 1 more in other members",
        ),
        ("secret.json", json.dumps({"sk-proj-" + "x" * 40: 1, "hint": 2}), "no member holds a response: …, hint"),
    ):
        (tmp_path / name).write_text(content)
        assert [item for item in read(tmp_path / name) if isinstance(item, Problem) and what in item.what], name
    for choices in ([json.dumps(_CHAT["choices"][0])], json.dumps(_CHAT["choices"])):
        body = {**_CHAT, "choices": choices}
        batch = {"custom_id": "1", "error": None, "response": {"status_code": 200, "request_id": "r", "body": body}}
        for entry in ({"request": {}, "response": body}, batch):
            (tmp_path / "texts.jsonl").write_text(json.dumps(entry))
            assert calls_of(tmp_path / "texts.jsonl") == (0, 1), entry
