"""Writing a cassette: readable, readable by plain vcrpy, and only what passes every gate."""

from __future__ import annotations

import os
import stat
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from vcr import VCR
from vcr.persisters.filesystem import CassetteNotFoundError, FilesystemPersister
from vcr.request import Request
from vcr.serializers import yamlserializer

from tests.cassettes.library.making import PROVENANCE, interaction, made
from toolparity.cassettes.errors import CassetteNotWritten, InvalidProvenance, SecretsLeft, UnreadableCassette
from toolparity.cassettes.library import Persister, load, path_for, safe_yaml, save, writing
from toolparity.cassettes.library import interaction as plain_interaction
from toolparity.normalizer.errors import ToolparityError

_BODIES = (
    st.text() | st.binary() | st.sampled_from(["a\r\nb\r\n\r\n", "\n\na\n", " a\n b", "a \n", "\t\n", "x" * 5000, ""])
)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# The text


def test_metadata_stand_first_and_members_in_one_order(tmp_path: Path) -> None:
    shuffled = interaction()
    shuffled["response"] = dict(reversed(list({**shuffled["response"], "grpc": {}, "extra": 1}.items())))
    shuffled["request"] = dict(reversed(list(shuffled["request"].items())))
    shuffled["request"]["headers"] = {"b": ["2"], "A": ["1"]}
    content = yaml.safe_load(made(tmp_path, shuffled).read_bytes())
    assert list(content) == ["metadata", "version", "interactions"]
    assert list(content["interactions"][0]["request"]) == ["method", "uri", "headers", "body"]
    assert list(content["interactions"][0]["request"]["headers"]) == ["A", "b"]
    assert list(content["interactions"][0]["response"]) == ["status", "headers", "extra", "grpc", "body"]


def test_bodies_are_blocks_that_people_can_read(tmp_path: Path) -> None:
    stream = 'data: {"a": "it\'s"}\n\ndata: [DONE]\n\n'
    text = made(tmp_path, interaction(stream)).read_text("ascii")
    assert '      string: |+\n        data: {"a": "it\'s"}\n\n        data: [DONE]\n' in text
    assert '    body: |-\n      {"model": "m", "messages": [{"role": "user", "content": "hello?"}]}\n' in text


def test_the_text_is_ascii_whatever_the_body_says(tmp_path: Path) -> None:
    path = made(tmp_path, interaction("grüße 👋\n" * 20))
    assert path.read_bytes().isascii()
    assert load(path).responses[0]["body"]["string"] == ("grüße 👋\n" * 20).encode()


def test_the_same_cassette_is_the_same_bytes(tmp_path: Path) -> None:
    first = made(tmp_path / "a", interaction(), interaction(b"\xff")).read_bytes()
    assert made(tmp_path / "b", interaction(), interaction(b"\xff")).read_bytes() == first


@given(answer=_BODIES, asked=st.none() | _BODIES)
def test_every_body_comes_back_through_plain_vcrpy(tmp_path_factory: Any, answer: Any, asked: Any) -> None:
    one = interaction(answer)
    one["request"]["body"] = asked
    path = made(tmp_path_factory.mktemp("library"), one)
    (request,), (response,), metadata = FilesystemPersister.load_cassette(path, yamlserializer)
    assert response["body"]["string"] == (answer.encode() if isinstance(answer, str) else answer)
    assert request.body == (asked.encode() if isinstance(asked, str) else asked)
    assert metadata == load(path).metadata
    assert [one._to_dict() for one in load(path).requests] == [request._to_dict()]
    assert load(path).responses == [response]


def test_classes_of_others_become_plain_data(tmp_path: Path) -> None:
    class Text(str):
        pass

    one = interaction()
    one["response"]["status"] = {"code": HTTPStatus.OK, "message": Text("OK")}
    one["response"]["headers"] = {Text("a"): ("b",)}
    content = yaml.safe_load(made(tmp_path, one).read_bytes())["interactions"][0]["response"]
    assert content["status"] == {"code": 200, "message": "OK"}
    assert content["headers"] == {"a": ["b"], "x-toolparity-origin": ["emulated"]}


@pytest.mark.parametrize("value", [{1, 2}, object(), {1: 2}])
def test_what_no_cassette_can_hold_is_refused(tmp_path: Path, value: Any) -> None:
    one = interaction()
    one["response"]["more"] = value
    with pytest.raises(CassetteNotWritten, match=r"unsupported type|must be text"):
        made(tmp_path, one)
    assert list(tmp_path.rglob("*.yaml")) == []


# In its place


def test_nothing_but_the_cassette_is_left_and_everybody_may_read_it(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        path = made(tmp_path)
    finally:
        os.umask(before)
    assert names(path.parent) == [path.name]
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_gates_see_the_new_cassette_while_the_old_one_still_stands(tmp_path: Path) -> None:
    path = made(tmp_path)
    old = path.read_bytes()
    seen: list[str] = []

    def gate(draft: Path) -> None:
        assert draft.parent == path.parent
        assert load(draft).provenance.note == "new"
        assert path.read_bytes() == old
        seen.append("asked")

    save(path, [interaction()], replace(PROVENANCE, note="new"), checks=[gate, gate])
    assert seen == ["asked", "asked"]
    assert load(path).provenance.note == "new"
    assert names(path.parent) == [path.name]


@pytest.mark.parametrize("error", [SecretsLeft("a key"), KeyboardInterrupt(), RuntimeError("a fault")])
def test_a_gate_that_refuses_leaves_the_old_cassette(tmp_path: Path, error: BaseException) -> None:
    path = made(tmp_path)
    old = path.read_bytes()
    asked = []

    def refuse(draft: Path) -> None:
        if isinstance(error, ToolparityError):
            error.where = f"{draft}#1"
        raise error

    with pytest.raises(type(error)) as caught:
        save(path, [interaction("new")], PROVENANCE, checks=[refuse, asked.append])
    assert path.read_bytes() == old
    assert names(path.parent) == [path.name]
    assert asked == []
    if isinstance(error, ToolparityError):
        assert caught.value.where == f"{path}#1", "nobody knows the draft's name"


def test_what_reads_as_something_else_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made(tmp_path)
    old = path.read_bytes()
    real = writing.text_of
    monkeypatch.setattr(writing, "text_of", lambda *given: real(*given).replace(b"hello", b"hallo"))
    with pytest.raises(CassetteNotWritten, match="reads back as other data"):
        save(path, [interaction("new")], PROVENANCE)
    assert path.read_bytes() == old


def test_a_cassette_too_large_to_be_read_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(safe_yaml, "MAX_BYTES", 1000)
    with pytest.raises(UnreadableCassette, match="the limit of 1,000"):
        made(tmp_path, interaction("x" * 2000))
    assert list(tmp_path.rglob("*.yaml")) == []


def test_incomplete_provenance_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(InvalidProvenance, match="sdk is missing"):
        made(tmp_path, sdk=None)
    assert list(tmp_path.iterdir()) == []


def test_a_digest_that_was_claimed_is_not_believed(tmp_path: Path) -> None:
    path = made(tmp_path, digest="sha256:" + "0" * 64)
    assert load(path).provenance.digest == load(path).digest


# For vcrpy


def recorder(*gates: Any, **members: Any) -> VCR:
    vcr = VCR(record_mode="once")
    vcr.register_persister(Persister(*gates, provenance=replace(PROVENANCE, **members)))
    return vcr


def test_vcrpy_records_through_it_and_plays_what_it_wrote(tmp_path: Path) -> None:
    path = path_for("openai.chat", "single-call", False, tmp_path)
    request = Request("POST", "https://api.openai.com/v1/chat/completions", b"{}", {"accept": "x"})
    response = {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": b"{}"}}
    with recorder().use_cassette(str(path)) as cassette:
        cassette.append(request, response)
    assert load(path).provenance.origin == "emulated"
    for vcr in (recorder(), VCR()):
        with vcr.use_cassette(str(path), record_mode="none") as cassette:
            assert cassette.play_response(request)["body"]["string"] == b"{}"


def test_provenance_may_come_with_the_cassette(tmp_path: Path) -> None:
    path = path_for("openai.chat", "single-call", False, tmp_path)
    vcr = VCR()
    vcr.register_persister(Persister())
    with vcr.use_cassette(str(path)) as cassette:
        cassette.get_metadata("toolparity", PROVENANCE.as_metadata())
        cassette.get_metadata("theirs", {"a": 1})
        cassette.append(Request("GET", "https://a.example/", None, {}), interaction()["response"])
    assert load(path).provenance.scenario == PROVENANCE.scenario
    assert load(path).metadata["theirs"] == {"a": 1}


def test_vcrpy_filters_change_nothing_that_is_shared(tmp_path: Path) -> None:
    path = made(tmp_path)
    vcr = VCR(filter_headers=["content-type"], before_record_request=_spoil)
    vcr.register_persister(Persister())
    before = load(path).requests[0]._to_dict()
    with vcr.use_cassette(str(path), record_mode="none"):
        pass
    assert load(path).requests[0]._to_dict() == before


def _spoil(request: Request) -> Request:
    request.body = b"spoiled"
    request.headers["x"] = "y"
    return request


def test_a_missing_cassette_is_missing_and_a_damaged_one_is_not_recorded_over(tmp_path: Path) -> None:
    with pytest.raises(CassetteNotFoundError):
        Persister().load_cassette(tmp_path / "no.yaml")
    path = made(tmp_path)
    path.write_text("interactions: [")
    with pytest.raises(UnreadableCassette), recorder().use_cassette(str(path)):
        pass
    assert path.read_text() == "interactions: ["


def test_vcrpy_request_and_response_become_plain_data_unchanged() -> None:
    request = Request("POST", "https://a.example/", iter([b"a", b"b"]), {"B": "2", "a": ["1"]})
    response = {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": b"\xff"}}
    one = plain_interaction(request, response)
    assert one["request"] == {"method": "POST", "uri": "https://a.example/", "headers": {"a": ["1"], "B": ["2"]},
                              "body": "ab"}  # fmt: skip
    assert one["response"]["body"] == {"string": b"\xff"}
    assert response["body"] == {"string": b"\xff"}


@pytest.mark.parametrize("name", ["a" * 250 + ".yaml", "é" * 125 + ".yaml"])
def test_a_name_that_just_fits_has_drafts_that_fit_and_are_swept(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    stale = tmp_path / f"{writing._draft_prefix(path)}x.tmp"
    stale.write_text("")
    save(path, [interaction()], PROVENANCE)
    save(path, [interaction("new")], PROVENANCE)
    assert os.listdir(tmp_path) == [name]
