"""Formats of cassettes: each is read and written without a loss, or refused."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.cassettes.maintenance.making import content, vcrpy_text
from tests.support.thoroughness import examples, sampled
from toolparity.cassettes import interchange
from toolparity.cassettes.documents import load
from toolparity.cassettes.errors import CassetteNotConverted, UnreadableSource
from toolparity.cassettes.interchange.model import CassetteContent, differences
from toolparity.cassettes.maintenance.checking import check_file
from toolparity.cassettes.maintenance.scanning import scan_file
from toolparity.cassettes.maintenance.scrubbing import ScrubJob, scrub_file

FORMATS = list(interchange.FORMATS)
PAIRS = list(itertools.product(FORMATS, FORMATS))


def converted(of: CassetteContent, target: str) -> CassetteContent:
    suffix = interchange.FORMATS[target].suffix
    return interchange.read(load(interchange.convert(of, target), f"a{suffix}"))


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_cassette_is_equal_after_the_way_there_and_back(source: str, target: str) -> None:
    first = converted(content(), source)
    back = converted(converted(first, target), source)
    assert list(differences(first, back)) == []


@pytest.mark.parametrize("target", FORMATS)
def test_a_written_file_is_recognized_as_its_format(target: str) -> None:
    known = interchange.FORMATS[target]
    data = load(known.write(content()), f"a{known.suffix}").data
    assert interchange.format_of(data).name == target
    assert len(known.items(data)) == 2


BODIES = st.one_of(st.binary(max_size=60), st.text(max_size=60).map(lambda text: text.encode("utf-8", "replace")))


@examples(100, plain=15)
@given(answer=BODIES, target=st.sampled_from(FORMATS))
def test_every_byte_of_a_response_is_kept(answer: bytes, target: str) -> None:
    assert converted(content(answer=answer), target).interactions[0].response.body == answer


@examples(100, plain=15)
@given(body=BODIES, target=st.sampled_from(["vcrpy", "cassetter", "vcr-ruby", "betamax", "recordings"]))
def test_every_byte_of_a_request_is_kept(body: bytes, target: str) -> None:
    assert (converted(content(body=body), target).interactions[0].request.body or b"") == body


@pytest.mark.parametrize("target", ["har", "polly"])
def test_a_binary_request_is_refused_by_har(target: str) -> None:
    with pytest.raises(CassetteNotConverted, match="the request body is not UTF-8"):
        interchange.convert(content(body=b"\xff\xfe"), target)


@pytest.mark.parametrize("target", [name for name in FORMATS if name != "vcrpy"])
def test_a_grpc_call_is_refused_by_formats_for_http(target: str) -> None:
    call = content()
    call.interactions[1].rest = {"vcrpy": {"response": {"grpc": {"code": "OK"}}}}
    with pytest.raises(CassetteNotConverted, match="interaction 2: it is a gRPC call"):
        interchange.convert(call, target)
    assert interchange.convert(call, "vcrpy")


def test_a_target_that_loses_something_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    known = interchange.FORMATS["har"]

    def lossy(of: CassetteContent) -> bytes:
        return known.write(of).replace(b"Set-Cookie", b"set-cookie", 1)

    monkeypatch.setitem(interchange.FORMATS, "har", known._replace(write=lossy))
    with pytest.raises(CassetteNotConverted, match="interaction 1, response headers"):
        interchange.convert(content(), "har")


def test_members_without_a_place_come_back() -> None:
    har = json.loads(interchange.FORMATS["har"].write(content()))
    har["log"]["entries"][0]["timings"] = {"send": 1, "wait": 2.5, "receive": 3}
    har["log"]["entries"][0]["serverIPAddress"] = "192.0.2.1"
    har["log"]["pages"] = [{"id": "page_1"}]
    first = interchange.read(load(json.dumps(har).encode(), "a.har"))
    for target in FORMATS:
        back = json.loads(interchange.convert(converted(first, target), "har"))
        assert back["log"]["entries"][0]["timings"] == {"send": 1, "wait": 2.5, "receive": 3}
        assert back["log"]["entries"][0]["serverIPAddress"] == "192.0.2.1"
        assert back["log"]["pages"] == [{"id": "page_1"}]


NOTATIONS = {
    "text": {"body": '{"a":1}'},
    "bytes": {"body": b'{"a":1}'},
    "string": {"body": {"string": '{"a":1}'}},
    "base64": {"body": {"encoding": "UTF-8", "base64_string": "eyJhIjoxfQ==\n"}},
    "parsed": {"parsed_body": {"a": 1}},
    "content": {"content": '{"a":1}'},
}


@pytest.mark.parametrize("notation", NOTATIONS)
def test_every_notation_of_a_body_is_read(notation: str) -> None:
    half: dict[str, Any] = {"headers": {"a": "1", "b": ["2", "3"]}, **NOTATIONS[notation]}
    item = {"request": {"method": "post", "uri": "https://x.test/", "body": None}, "response": {"status": 200, **half}}
    (read,) = interchange.FORMATS["vcrpy"].read({"interactions": [item]}).interactions
    assert read.response.body == b'{"a":1}'
    assert read.response.headers == [("a", "1"), ("b", "2"), ("b", "3")]
    assert read.request.method == "POST"


@pytest.mark.parametrize(
    "data",
    [
        {"interactions": [{"request": {"uri": "https://x.test/"}, "response": {}}]},
        {"interactions": [{"request": {}, "response": {"status": 200}}]},
        {"interactions": ["x"]},
        {"interactions": [], "ws_interactions": [{"uri": "wss://x.test/"}]},
        {"log": {"entries": [{"request": {}}]}},
        [{"body": "x", "status": 200}],
    ],
)
def test_incomplete_interactions_are_errors(data: Any) -> None:
    with pytest.raises(UnreadableSource):
        interchange.format_of(data).read(data)


def test_other_data_is_not_a_cassette() -> None:
    with pytest.raises(UnreadableSource, match="not a cassette"):
        interchange.format_of({"name": "package"})


def test_vcrpy_plays_what_was_converted_from_another_format(tmp_path: Path) -> None:
    from toolparity.cassettes.maintenance.replaying import unplayed

    first = interchange.read(load(vcrpy_text().encode(), "a.yaml"))
    for source in FORMATS:
        assert list(unplayed(converted(converted(first, source), "vcrpy"))) == []


def test_betamax_plays_a_converted_cassette(tmp_path: Path) -> None:
    betamax = pytest.importorskip("betamax")
    requests = pytest.importorskip("requests")
    first = interchange.read(load(vcrpy_text().encode(), "a.yaml"))
    (tmp_path / "chat.json").write_bytes(interchange.convert(first, "betamax"))
    session = requests.Session()
    options = {"record_mode": "none", "match_requests_on": ["method", "uri", "body"]}
    sent = first.interactions[0].request
    recorder = betamax.Betamax(session, cassette_library_dir=str(tmp_path), default_cassette_options=options)
    with recorder.use_cassette("chat"):
        answer = session.request(sent.method, sent.uri, data=sent.body)
    assert answer.content == first.interactions[0].response.body


def test_cassetter_plays_a_converted_cassette(tmp_path: Path) -> None:
    cassetter = pytest.importorskip("cassetter")
    requests = pytest.importorskip("requests")
    first = interchange.read(load(vcrpy_text().encode(), "a.yaml"))
    path = tmp_path / "chat.yaml"
    path.write_bytes(interchange.convert(first, "cassetter"))
    sent = first.interactions[0].request
    with cassetter.use_cassette(path, record_mode="none"):
        answer = requests.request(sent.method, sent.uri, data=sent.body)
    assert json.loads(answer.content) == json.loads(first.interactions[0].response.body)


_ODD: tuple[Any, ...] = (None, 1, "%", [], {}, [None], {"a": None})


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*path, step)
        if isinstance(inner, dict | list):
            yield from _places(inner, (*path, step))


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("name", interchange.FORMATS)
def test_a_file_with_values_of_another_type_never_ends_the_run(name: str, tmp_path: Path) -> None:
    known = interchange.FORMATS[name]
    path = tmp_path / f"odd{known.suffix}"
    data = load(known.write(content(answer=b"\x00\xff")), path.name).data
    for number, place in sampled(list(enumerate(_places(data))), 12):
        changed = copy.deepcopy(data)
        holder = changed
        for step in place[:-1]:
            holder = holder[step]
        holder[place[-1]] = _ODD[number % len(_ODD)]
        rows = changed if known.suffix == ".jsonl" else [changed]
        is_yaml = known.suffix in (".yaml", ".yml")
        path.write_text(yaml.safe_dump(changed) if is_yaml else "\n".join(map(json.dumps, rows)))
        assert scan_file((str(path), False)).path == str(path)
        assert scrub_file(ScrubJob(str(path))).path == str(path)
        verdict = check_file((str(path), False))
        assert verdict is not None
        assert not any(problem.fault for problem in verdict.problems), (place, verdict.problems)
