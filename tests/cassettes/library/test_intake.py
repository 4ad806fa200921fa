"""Recordings of other projects are imported: scrubbed, scanned, and never over an existing cassette."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from vcr.persisters.filesystem import FilesystemPersister
from vcr.serializers import yamlserializer

from tests.cassettes.library.making import made
from tests.support.traffic import CHAT_URL, chat_body, chat_stream
from tests.support.traffic import interaction as recorded
from toolparity.cassettes.library import exchanges, find, forget, interactions, load
from toolparity.cassettes.library.importer import Imported, Skipped, import_files, slug
from toolparity.cassettes.recorder import verify

SECRET = "sk-proj-" + "Zq7Xw2Lk9Vb4Nc8Rt1Ys" * 2


def cassette(path: Path, *interactions: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = yaml.safe_dump({"version": 1, "interactions": list(interactions)})
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def har(path: Path, started: str = "2025-03-04T05:06:07.5+02:00") -> Path:
    request: dict[str, Any] = {"method": "POST", "url": CHAT_URL, "postData": {"text": '{"model": "gpt"}'}}
    request["headers"] = [{"name": "Authorization", "value": f"Bearer {SECRET}"}]
    content = {"mimeType": "application/json", "text": chat_body("f")}
    response = {"status": 200, "headers": [{"name": "set-cookie", "value": "a=b"}], "content": content}
    entry = {"startedDateTime": started, "request": request, "response": response}
    path.write_text(json.dumps({"log": {"entries": [entry]}}), "utf-8")
    return path


def taken(*paths: Path, into: Path, **more: Any) -> list[Imported | Skipped]:
    forget()
    return list(import_files([str(path) for path in paths], into, **more))


def test_a_cassette_of_vcrpy_becomes_one_of_the_library(tmp_path: Path) -> None:
    source = cassette(tmp_path / "theirs" / "Test_X.yaml", recorded(chat_body("f"), request='{"model": "gpt"}'))
    (one,) = taken(source, into=tmp_path / "into", note="their work, MIT")
    assert isinstance(one, Imported)
    (place,) = find(tmp_path / "into")
    assert place.shown == "openai/openai.chat/test-x.yaml"
    found = load(place.path).provenance
    assert (found.origin, found.model, found.source, found.note) == (
        "imported",
        "gpt",
        "Test_X.yaml",
        "their work, MIT",
    )
    assert (found.scenario, found.surface, found.sdk, found.ran_by) == (None, None, None, None)
    (exchange,) = exchanges(place.path)
    assert exchange.body == chat_body("f").encode()
    assert exchange.request == {"model": "gpt"}
    assert FilesystemPersister.load_cassette(place.path, yamlserializer)[0][0].host == "api.openai.com"
    assert verify.verify_one(place).problems == []


def test_the_time_of_a_har_file_is_kept(tmp_path: Path) -> None:
    (one,) = taken(har(tmp_path / "a.har"), into=tmp_path / "into")
    assert isinstance(one, Imported)
    assert one.provenance.date == "2025-03-04T03:06:07Z"
    (other,) = taken(har(tmp_path / "b.har", started="lately"), into=tmp_path / "into")
    assert isinstance(other, Imported)
    assert other.provenance.date > "2026"


def test_secrets_are_not_imported(tmp_path: Path) -> None:
    one = recorded(chat_body("f"), url=f"https://api.openai.com/v1/chat/completions?key={SECRET}", x_request_id=SECRET)
    one["request"]["headers"] = {"Authorization": [f"Bearer {SECRET}"]}
    one["request"]["body"] = json.dumps({"model": "gpt", "user": "ana.sousa@sousa-lamps.pt", "key": SECRET})
    taken(cassette(tmp_path / "a.yaml", one), har(tmp_path / "b.har"), into=tmp_path / "into")
    places = find(tmp_path / "into")
    assert len(places) == 2
    for place in places:
        text = place.path.read_text("utf-8")
        assert SECRET not in text
        assert "ana.sousa" not in text
        assert "set-cookie" not in text.lower()
        assert verify.verify_one(place).problems == []


def test_the_name_of_the_model_is_scrubbed(tmp_path: Path) -> None:
    key = "tenant-credential-7Q2"  # recognized by the header alone
    one = recorded(chat_body("f"), request=json.dumps({"model": f"ft:gpt:ana.sousa@sousa-lamps.pt:{key}"}))
    one["request"]["headers"] = {"Authorization": [f"Bearer {key}"]}
    (imported,) = taken(cassette(tmp_path / "a.yaml", one), into=tmp_path / "into")
    assert isinstance(imported, Imported)
    assert imported.provenance.model is not None
    assert imported.provenance.model.startswith("ft:gpt:")
    text = Path(imported.path).read_text("utf-8")
    assert key not in text
    assert "ana.sousa" not in text


def test_a_recording_that_the_scanner_refuses_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolparity.cassettes.secrets.Scrubber.cassette", lambda self, given: given)
    source = cassette(tmp_path / "a.yaml", recorded(chat_body("f"), request=json.dumps({"model": "m", "key": SECRET})))
    (one,) = taken(source, into=tmp_path / "into")
    assert isinstance(one, Skipped)
    assert one.fault
    assert SECRET not in str(one)
    assert find(tmp_path / "into") == []


def test_a_file_is_split_by_provider_wire_and_way_of_answering(tmp_path: Path) -> None:
    xai = "https://api.x.ai/v1/chat/completions"
    source = cassette(
        tmp_path / "all.yaml",
        recorded(chat_body("f")),
        recorded(chat_body("g")),
        recorded(chat_stream("f")),
        recorded(chat_body("f"), url=xai),
        recorded("{}", url="https://api.openai.com/v1/embeddings"),
    )
    found = taken(source, into=tmp_path / "into")
    assert [place.shown for place in find(tmp_path / "into")] == [
        "openai/openai.chat/all.stream.yaml",
        "openai/openai.chat/all.yaml",
        "xai/openai.chat/all.yaml",
    ]
    assert [(one.provenance.provider, one.interactions) for one in found if isinstance(one, Imported)] == [
        ("openai", 2),
        ("openai", 1),
        ("xai", 1),
    ]
    (left,) = (one for one in found if isinstance(one, Skipped))
    assert (left.what, left.fault) == ("unsupported wire: embeddings", False)


def test_folders_are_walked_and_names_do_not_collide(tmp_path: Path) -> None:
    for name in ("a/x.yaml", "b/x.yaml", "a_x.yaml", "a/x.yaml.gz"):
        cassette(tmp_path / "theirs" / name, recorded(chat_body("f")))
    found = taken(tmp_path / "theirs", into=tmp_path / "into")
    assert all(isinstance(one, Imported) for one in found)
    names = sorted(str(place.name) for place in find(tmp_path / "into"))
    assert names == ["theirs-a-x", "theirs-a-x-2", "theirs-a-x-3", "theirs-b-x"]
    sources = {load(place.path).provenance.source for place in find(tmp_path / "into")}
    assert sources == {"theirs/a/x.yaml", "theirs/b/x.yaml", "theirs/a_x.yaml", "theirs/a/x.yaml.gz"}


def test_a_cassette_is_replaced_with_force_only(tmp_path: Path) -> None:
    source = cassette(tmp_path / "a.yaml", recorded(chat_body("f")))
    taken(source, into=tmp_path / "into")
    (place,) = find(tmp_path / "into")
    before = place.path.read_bytes()
    cassette(source, recorded(chat_body("other")))
    (one,) = taken(source, into=tmp_path / "into")
    assert isinstance(one, Skipped)
    assert "the cassette already exists" in str(one)
    assert "--force" in one.hint
    assert place.path.read_bytes() == before
    (two,) = taken(source, into=tmp_path / "into", force=True)
    assert isinstance(two, Imported)
    assert b"other" in place.path.read_bytes()


def test_unreadable_files_are_reported_and_the_others_imported(tmp_path: Path) -> None:
    hostile = tmp_path / "hostile.yaml"
    hostile.write_text("interactions:\n- !!python/object/apply:os.system ['touch owned']\n")
    good = cassette(tmp_path / "good.yaml", recorded(chat_body("f")))
    body = tmp_path / "body.json"
    body.write_text(chat_body("f"))
    found = taken(hostile, tmp_path / "missing.yaml", good, body, into=tmp_path / "into")
    reasons = [str(one) for one in found if isinstance(one, Skipped)]
    for reason, text in zip(reasons, ("not plain data", "does not exist", "no address"), strict=True):
        assert text in reason
    assert sum(isinstance(one, Imported) for one in found) == 1


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
    path = tmp_path / "a.yaml"
    path.write_text(yaml.safe_dump({"interactions": [sample]}), "utf-8")
    (one,) = taken(path, into=tmp_path / "into")
    assert isinstance(one, Imported), one
    (place,) = find(tmp_path / "into")
    (response,) = verify.decoded(load(place.path))
    assert response.text == "hello"
    body = json.loads(load(place.path).responses[0]["body"]["string"])
    assert body["messages"][0]["message"]["outputs"][0]["message"]["content"] == "hello"
    assert base64.b64decode(body["messages"][0]["serialized"]) == answer.SerializeToString()
    assert verify.verify_one(place).problems == []


def test_a_live_cassette_of_a_library_is_imported(tmp_path: Path) -> None:
    source = made(tmp_path / "ours", origin="live")
    (one,) = taken(source, into=tmp_path / "into")
    assert isinstance(one, Imported)
    assert one.provenance.origin == "imported"


def test_paths_become_names_and_an_unknown_status_has_no_phrase() -> None:
    paths = {"Tests/Test_A.yaml": "tests-test-a", "a b/ç.json.gz": "a-b", "...": "unnamed", "x.y.har": "x-y"}
    assert {path: slug(path) for path in paths} == paths
    assert (interactions._phrase(599), interactions._phrase(404)) == ("", "Not Found")
