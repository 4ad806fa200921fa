"""Formats of cassettes: each is read and written without a loss, or refused."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.cassettes.interchange.test_body_encodings import NOTATIONS
from tests.cassettes.maintenance.making import content, vcrpy_text
from tests.support.thoroughness import examples, sampled
from toolparity.cassettes import interchange
from toolparity.cassettes.documents import load
from toolparity.cassettes.errors import CassetteNotConverted, UnreadableSource
from toolparity.cassettes.interchange.model import CassetteContent, differences
from toolparity.cassettes.maintenance.checking import check_file
from toolparity.cassettes.maintenance.replaying import unplayed
from toolparity.cassettes.maintenance.scanning import scan_file
from toolparity.cassettes.maintenance.scrubbing import ScrubJob, scrub_file

FORMATS = list(interchange.FORMATS)


def converted(of: CassetteContent, target: str) -> CassetteContent:
    suffix = interchange.FORMATS[target].suffix
    return interchange.read(load(interchange.convert(of, target), f"a{suffix}"))


def test_a_cassette_is_equal_after_the_way_there_and_back() -> None:
    for source in FORMATS:
        first = converted(content(), source)
        data = load(interchange.FORMATS[source].write(first), f"a{interchange.FORMATS[source].suffix}").data
        assert interchange.format_of(data).name == source
        for target in FORMATS:
            back = converted(converted(first, target), source)
            assert list(differences(first, back)) == [], (source, target)


#: Formats whose requests are text.
WITHOUT_BINARY = ("har", "polly")
BODIES = st.one_of(st.binary(max_size=60), st.text(max_size=60).map(lambda text: text.encode("utf-8", "replace")))


@examples(100, plain=15)
@given(answer=BODIES, body=BODIES, target=st.sampled_from(FORMATS))
def test_every_byte_of_a_body_is_kept(answer: bytes, body: bytes, target: str) -> None:
    assert converted(content(answer=answer), target).interactions[0].response.body == answer
    if target not in WITHOUT_BINARY:
        assert (converted(content(body=body), target).interactions[0].request.body or b"") == body


def test_what_a_target_cannot_hold_or_loses_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for target in WITHOUT_BINARY:
        with pytest.raises(CassetteNotConverted, match="the request body is not UTF-8"):
            interchange.convert(content(body=b"\xff\xfe"), target)
    call = content()
    call.interactions[1].rest = {"vcrpy": {"response": {"grpc": {"code": "OK"}}}}
    for target in FORMATS:
        if target == "vcrpy":
            assert interchange.convert(call, target)
        else:
            with pytest.raises(CassetteNotConverted, match="interaction 2: it is a gRPC call"):
                interchange.convert(call, target)
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


def test_every_notation_of_a_body_is_read_and_incomplete_interactions_are_errors() -> None:
    for name in ("vcrpy, response", "betamax", "pydantic-ai", "httpx", "vcrpy, request", "vcrpy, request as bytes"):
        half: dict[str, Any] = {"headers": {"a": "1", "b": ["2", "3"]}, **NOTATIONS[name]({"a": 1})}
        request = {"method": "post", "uri": "https://x.test/", "body": None}
        item = {"request": request, "response": {"status": 200, **half}}
        (read,) = interchange.FORMATS["vcrpy"].read({"interactions": [item]}).interactions
        assert (json.loads(read.response.body), read.request.method) == ({"a": 1}, "POST"), name
        assert read.response.headers == [("a", "1"), ("b", "2"), ("b", "3")], name
    incomplete: list[Any] = [
        {"interactions": [{"request": {"uri": "https://x.test/"}, "response": {}}]},
        {"interactions": [{"request": {}, "response": {"status": 200}}]},
        {"interactions": ["x"]},
        {"interactions": [], "ws_interactions": [{"uri": "wss://x.test/"}]},
        {"log": {"entries": [{"request": {}}]}},
        [{"body": "x", "status": 200}],
        {"name": "package"},
    ]
    for data in incomplete:
        with pytest.raises(UnreadableSource):
            interchange.format_of(data).read(data)


def test_vcrpy_plays_what_was_converted_from_another_format() -> None:
    first = interchange.read(load(vcrpy_text().encode(), "a.yaml"))
    for source in FORMATS:
        assert list(unplayed(converted(converted(first, source), "vcrpy"))) == []


@pytest.mark.parametrize("library", ["betamax", "cassetter"])
def test_the_library_of_a_format_plays_a_converted_cassette(tmp_path: Path, library: str) -> None:
    player = pytest.importorskip(library)
    session = pytest.importorskip("requests").Session()
    first = interchange.read(load(vcrpy_text().encode(), "a.yaml"))
    sent = first.interactions[0].request
    path = tmp_path / f"chat{interchange.FORMATS[library].suffix}"
    path.write_bytes(interchange.convert(first, library))
    if library == "betamax":
        options = {"record_mode": "none", "match_requests_on": ["method", "uri", "body"]}
        recorder = player.Betamax(session, cassette_library_dir=str(tmp_path), default_cassette_options=options)
        played = recorder.use_cassette("chat")
    else:
        played = player.use_cassette(path, record_mode="none")
    with played:
        answer = session.request(sent.method, sent.uri, data=sent.body)
    assert answer.json() == json.loads(first.interactions[0].response.body)


_UNUSUAL: tuple[Any, ...] = (None, 1, "%", [], {}, [None], {"a": None})


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*path, step)
        if isinstance(inner, dict | list):
            yield from _places(inner, (*path, step))


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("name", interchange.FORMATS)
def test_a_file_with_values_of_another_type_never_ends_the_run(name: str, tmp_path: Path) -> None:
    known = interchange.FORMATS[name]
    path = tmp_path / f"changed{known.suffix}"
    data = load(known.write(content(answer=b"\x00\xff")), path.name).data
    for number, place in sampled(list(enumerate(_places(data))), 12):
        changed = copy.deepcopy(data)
        holder = changed
        for step in place[:-1]:
            holder = holder[step]
        holder[place[-1]] = _UNUSUAL[number % len(_UNUSUAL)]
        rows = changed if known.suffix == ".jsonl" else [changed]
        is_yaml = known.suffix in (".yaml", ".yml")
        path.write_text(yaml.safe_dump(changed) if is_yaml else "\n".join(map(json.dumps, rows)))
        assert scan_file((str(path), False)).path == str(path)
        assert scrub_file(ScrubJob(str(path))).path == str(path)
        verdict = check_file((str(path), False))
        assert verdict is not None
        assert not any(problem.fault for problem in verdict.problems), (place, verdict.problems)
