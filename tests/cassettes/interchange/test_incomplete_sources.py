"""An import writes each interaction completely, or reports it as an error; it never writes an empty exchange."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from vcr.persisters.filesystem import FilesystemPersister
from vcr.serializers import yamlserializer

from tests.cassettes.interchange.test_body_encodings import NOTATIONS
from tests.cassettes.library.making import har, imported, skipped, taken, written
from tests.support.traffic import CHAT_URL, chat_body, chat_stream
from tests.support.traffic import interaction as recorded
from toolparity.cassettes.library import exchanges, find, load
from toolparity.cassettes.library.importer import Imported, Skipped
from toolparity.cassettes.recorder import verify
from toolparity.cli import main

ASKED = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def run(*paths: Path) -> Result:
    into = str(paths[0].parent / "into")
    return CliRunner().invoke(main, ["cassettes", "import", *map(str, paths), "--into", into])


def answering(code: int, body: str) -> dict[str, Any]:
    one = recorded(body)
    one["response"]["status"] = {"code": code, "message": "x"}
    return one


@pytest.mark.parametrize("notation", NOTATIONS.values(), ids=list(NOTATIONS))
def test_an_imported_cassette_equals_its_source(tmp_path: Path, notation: Any) -> None:
    answer = json.loads(chat_body("f"))
    one = {
        "request": {"method": "POST", "uri": CHAT_URL, "headers": {}, **notation(ASKED)},
        "response": {"status": {"code": 200, "message": "OK"}, "headers": {}, **notation(answer)},
    }
    imported(written(tmp_path / "a.yaml", one))
    (place,) = find(tmp_path / "into")
    request, response = load(place.path).requests[0], load(place.path).responses[0]
    assert (request.method, request.uri, json.loads(request.body)) == ("POST", CHAT_URL, ASKED)
    assert json.loads(response["body"]["string"]) == answer
    assert verify.verify_one(place).problems == []


def test_a_cassette_of_vcrpy_becomes_one_of_the_library(tmp_path: Path) -> None:
    source = written(tmp_path / "Test_X.yaml", recorded(chat_body("f"), request='{"model": "gpt"}'))
    found = imported(source, note="their work, MIT").provenance
    (place,) = find(tmp_path / "into")
    assert place.shown == "openai/openai.chat/test-x.yaml"
    assert (found.origin, found.model, found.source, found.note) == ("imported", "gpt", source.name, "their work, MIT")
    assert (found.scenario, found.surface, found.sdk, found.ran_by) == (None, None, None, None)
    (exchange,) = exchanges(place.path)
    assert (exchange.body, exchange.request) == (chat_body("f").encode(), {"model": "gpt"})
    assert FilesystemPersister.load_cassette(place.path, yamlserializer)[0][0].host == "api.openai.com"


def test_the_method_and_a_request_body_that_is_not_json_are_unchanged(tmp_path: Path) -> None:
    for number, (method, body) in enumerate(
        [("POST", b"file=1&purpose=x"), ("POST", b"--b\r\nform\r\n--b--"), ("POST", b"no JSON {"), ("DELETE", None)]
    ):
        one = recorded(chat_body("f"), request=body)
        one["request"] |= {"method": method, "headers": {"Content-Type": ["multipart/form-data; boundary=b"]}}
        (request,) = load(imported(written(tmp_path / f"{number}.yaml", one)).path).requests
        assert (request.method, request.body) == (method, body)
        assert request.headers["content-type"] == "multipart/form-data; boundary=b"
    assert [problem for place in find(tmp_path / "into") for problem in verify.verify_one(place).problems] == []


WITHOUT_CONTENT: dict[str, dict[str, Any]] = {
    "no body": recorded(None),
    "an empty body": recorded(""),
    "an unknown notation": recorded({"kind": "json", "value": {}}),
    "another object": recorded('{"some": "thing"}'),
    "no JSON": recorded("<html>"),
    "an empty stream": recorded("\n\n", content_type="text/event-stream"),
    "a stream without events": recorded("event: ping\n\n", content_type="text/event-stream"),
    "no status": {**recorded(chat_body("f")), "response": {"headers": {}, "body": chat_body("f")}},
    "an invalid status": answering(0, chat_body("f")),
}


@pytest.mark.parametrize("one", WITHOUT_CONTENT.values(), ids=list(WITHOUT_CONTENT))
def test_an_interaction_that_does_not_decode_is_an_error_and_not_written(tmp_path: Path, one: dict[str, Any]) -> None:
    path = written(tmp_path / "a.yaml", one)
    result = run(path)
    assert (result.exit_code, result.stdout, len(result.stderr.splitlines())) == (4, "", 1), result.output
    assert result.stderr.startswith(f"{path}:2: ")
    assert find(tmp_path / "into") == []


def test_a_file_is_split_by_provider_wire_and_form_and_what_is_valid_is_imported(tmp_path: Path) -> None:
    path = written(
        tmp_path / "all.yaml",
        recorded(chat_body("f")),
        recorded(chat_body("g")),
        recorded(chat_stream("f")),
        recorded(chat_body("f"), url="https://api.x.ai/v1/chat/completions"),
        recorded("{}", url="https://api.openai.com/v1/embeddings"),
    )
    found = taken(path)
    assert [place.shown for place in find(tmp_path / "into")] == [
        "openai/openai.chat/all.stream.yaml",
        "openai/openai.chat/all.yaml",
        "xai/openai.chat/all.yaml",
    ]
    took = [(one.provenance.provider, one.interactions) for one in found if isinstance(one, Imported)]
    assert took == [("openai", 2), ("openai", 1), ("xai", 1)]
    (left,) = (one for one in found if isinstance(one, Skipped))
    assert (left.what, left.fault) == ("unsupported wire: embeddings", False)
    result = run(written(tmp_path / "some.yaml", recorded(chat_body("f")), recorded("")))
    assert (result.exit_code, "1 interactions" in result.stdout) == (4, True)


def test_error_responses_and_incomplete_streams_are_imported(tmp_path: Path) -> None:
    refused = answering(400, '{"error": {"message": "no", "type": "t"}}')
    cut = recorded(chat_stream("f", end=False))
    found = taken(written(tmp_path / "a.yaml", refused, answering(502, ""), cut))
    assert [one.interactions for one in found if isinstance(one, Imported)] == [2, 1]


def test_unreadable_files_and_an_internal_error_are_reported_and_the_others_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile, body = tmp_path / "hostile.yaml", tmp_path / "body.json"
    hostile.write_text("interactions:\n- !!python/object/apply:os.system ['touch owned']\n")
    body.write_text(chat_body("f"))
    good = written(tmp_path / "good.yaml", recorded(chat_body("f")))
    found = taken(hostile, tmp_path / "missing.yaml", good, body)
    reasons = [str(one) for one in found if isinstance(one, Skipped)]
    for reason, text in zip(reasons, ("must be a mapping", "does not exist", "no address"), strict=True):
        assert text in reason
    assert sum(isinstance(one, Imported) for one in found) == 1

    def crashes(*args: Any) -> Any:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("toolparity.cassettes.library.interactions.response_of", crashes)
    assert "ZeroDivisionError: oops" in str(skipped(good))


def test_similar_errors_are_one_line_per_file_and_kind_with_a_count(tmp_path: Path) -> None:
    path = written(tmp_path / "a.yaml", *[recorded("")] * 30, *[recorded({"x": 1})] * 20)
    other = written(tmp_path / "b.yaml", recorded(""))
    first, second, third = run(path, other).stderr.splitlines()
    assert first.startswith(f"{path}:2: ")
    assert ", 30 times" in first
    assert ", 20 times" in second
    assert third.startswith(f"{other}:2: ")
    assert "times" not in third


def test_the_date_of_the_recording_is_kept(tmp_path: Path) -> None:
    sources = [
        (har(tmp_path / "a.har"), "2025-03-04T03:06:07Z"),
        (har(tmp_path / "b.har", started="lately", status=599), None),
    ]
    for number, (text, date) in enumerate(
        (
            ("Wed, 19 Aug 2026 14:34:49 GMT", "2026-08-19T14:34:49Z"),
            ("2026-08-19T14:34:49+02:00", "2026-08-19T12:34:49Z"),
            ("0001-01-01T00:00:00+05:00", None),
            ("lately", None),
        )
    ):
        path = tmp_path / f"{number}.yaml"
        path.write_text(yaml.safe_dump({"http_interactions": [recorded(chat_body("f")) | {"recorded_at": text}]}))
        sources.append((path, date))
    found = [(imported(path), date) for path, date in sources]
    for one, date in found:
        assert one.provenance.date == date if date else one.provenance.date > "2026"
    messages = [load(one.path).responses[0]["status"]["message"] for one, _ in found[:2]]
    assert messages == ["OK", ""], "HAR has numbers only"
