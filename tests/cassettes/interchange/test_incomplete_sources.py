"""An import writes each interaction completely, or reports it as an error; it never writes an empty exchange."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from tests.cassettes.interchange.test_body_encodings import NOTATIONS
from tests.support.traffic import CHAT_URL, chat_body, chat_stream
from tests.support.traffic import interaction as recorded
from toolparity.cassettes.library import find, forget, load
from toolparity.cassettes.library.importer import Imported, Skipped, import_files
from toolparity.cassettes.recorder import verify
from toolparity.cli import main

ASKED = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def written(path: Path, *interactions: dict[str, Any]) -> Path:
    path.write_text(yaml.safe_dump({"interactions": list(interactions)}), "utf-8")
    return path


def taken(path: Path) -> list[Imported | Skipped]:
    forget()
    return list(import_files([str(path)], path.parent / "into"))


@pytest.mark.parametrize("notation", NOTATIONS.values(), ids=list(NOTATIONS))
def test_an_imported_cassette_equals_its_source(tmp_path: Path, notation: Any) -> None:
    answer = json.loads(chat_body("f"))
    one = {
        "request": {"method": "POST", "uri": CHAT_URL, "headers": {}, **notation(ASKED)},
        "response": {"status": {"code": 200, "message": "OK"}, "headers": {}, **notation(answer)},
    }
    (found,) = taken(written(tmp_path / "a.yaml", one))
    assert isinstance(found, Imported)
    (place,) = find(tmp_path / "into")
    request, response = load(place.path).requests[0], load(place.path).responses[0]
    assert (request.method, request.uri, json.loads(request.body)) == ("POST", CHAT_URL, ASKED)
    assert json.loads(response["body"]["string"]) == answer
    assert verify.verify_one(place).problems == []


def test_the_method_and_a_request_body_that_is_not_json_are_unchanged(tmp_path: Path) -> None:
    for number, (method, body) in enumerate(
        [("POST", b"file=1&purpose=x"), ("POST", b"--b\r\nform\r\n--b--"), ("POST", b"no JSON {"), ("DELETE", None)]
    ):
        one = recorded(chat_body("f"), request=body)
        one["request"] |= {"method": method, "headers": {"Content-Type": ["multipart/form-data; boundary=b"]}}
        (found,) = taken(written(tmp_path / f"{number}.yaml", one))
        assert isinstance(found, Imported)
        (request,) = load(found.path).requests
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
    "an invalid status": {
        **recorded(chat_body("f")),
        "response": {"status": {"code": 0}, "headers": {}, "body": chat_body("f")},
    },
}


@pytest.mark.parametrize("one", WITHOUT_CONTENT.values(), ids=list(WITHOUT_CONTENT))
def test_an_interaction_that_does_not_decode_is_an_error_and_not_written(tmp_path: Path, one: dict[str, Any]) -> None:
    path = written(tmp_path / "a.yaml", one)
    result = CliRunner().invoke(main, ["cassettes", "import", str(path), "--into", str(tmp_path / "into")])
    assert result.exit_code == 4, result.output
    assert result.stdout == ""
    assert result.stderr.startswith(f"{path}:2: ")
    assert len(result.stderr.splitlines()) == 1
    assert find(tmp_path / "into") == []


def test_the_valid_interactions_of_a_file_are_imported_and_the_exit_code_is_4(tmp_path: Path) -> None:
    path = written(tmp_path / "a.yaml", recorded(chat_body("f")), recorded(""), recorded(chat_stream("f")))
    result = CliRunner().invoke(main, ["cassettes", "import", str(path), "--into", str(tmp_path / "into")])
    assert result.exit_code == 4
    assert [place.shown for place in find(tmp_path / "into")] == [
        "openai/openai.chat/a.stream.yaml",
        "openai/openai.chat/a.yaml",
    ]
    assert "1 interactions" in result.stdout


def test_error_responses_and_incomplete_streams_are_imported(tmp_path: Path) -> None:
    refused = recorded('{"error": {"message": "no", "type": "t"}}')
    refused["response"]["status"] = {"code": 400, "message": "Bad Request"}
    silent = recorded("")
    silent["response"]["status"] = {"code": 502, "message": "Bad Gateway"}
    cut = recorded(chat_stream("f", end=False))
    found = taken(written(tmp_path / "a.yaml", refused, silent, cut))
    assert [one.interactions for one in found if isinstance(one, Imported)] == [2, 1]


def test_an_internal_error_is_reported_without_stopping_the_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crashes(*args: Any) -> Any:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("toolparity.cassettes.library.interactions.response_of", crashes)
    (found,) = taken(written(tmp_path / "a.yaml", recorded(chat_body("f"))))
    assert isinstance(found, Skipped)
    assert "ZeroDivisionError: oops" in str(found)


def test_similar_errors_are_one_line_per_file_and_kind_with_a_count(tmp_path: Path) -> None:
    path = written(tmp_path / "a.yaml", *[recorded("")] * 30, *[recorded({"x": 1})] * 20)
    other = written(tmp_path / "b.yaml", recorded(""))
    paths = [str(path), str(other)]
    result = CliRunner().invoke(main, ["cassettes", "import", *paths, "--into", str(tmp_path / "into")])
    first, second, third = result.stderr.splitlines()
    assert first.startswith(f"{path}:2: ")
    assert ", 30 times" in first
    assert ", 20 times" in second
    assert third.startswith(f"{other}:2: ")
    assert "times" not in third


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("Wed, 19 Aug 2026 14:34:49 GMT", "2026-08-19T14:34:49Z"),
        ("2026-08-19T14:34:49+02:00", "2026-08-19T12:34:49Z"),
        ("0001-01-01T00:00:00+05:00", None),
        ("lately", None),
    ],
)
def test_the_date_of_the_recording_is_kept(tmp_path: Path, text: str, date: str | None) -> None:
    one = {**recorded(chat_body("f")), "recorded_at": text}
    path = tmp_path / "a.yaml"
    path.write_text(yaml.safe_dump({"http_interactions": [one]}), "utf-8")
    (found,) = taken(path)
    assert isinstance(found, Imported)
    assert found.provenance.date == date if date else found.provenance.date > "2026"
