"""An imported cassette holds no secret, matches the request of its source, and has a distinct name."""

from __future__ import annotations

import errno
import json
import os
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from vcr.request import Request

from tests.cassettes.library.making import har, imported, skipped, taken, written
from tests.support.thoroughness import examples, is_thorough, sampled
from tests.support.traffic import chat_body
from tests.support.traffic import interaction as recorded
from toolparity.cassettes.errors import RequestNotRecorded
from toolparity.cassettes.library import find, load
from toolparity.cassettes.library.importer import Imported, slug
from toolparity.cassettes.recorder import verify
from toolparity.cassettes.recorder.vcr import playing
from toolparity.cassettes.sources import member_lists
from toolparity.cli import main

HOSTS = st.sampled_from(["api.openai.com", "localhost", "127.0.0.1", "[::1]", "gateway.example", "x.openai.azure.com"])
WORDS = st.text("abcdefghijklmnop0123456789-.", min_size=1, max_size=8)
ADDRESSES = st.builds(
    "{}://{}{}{}/chat/completions{}".format,
    st.sampled_from(["http", "https"]),
    HOSTS,
    st.sampled_from(["", ":443", ":80", ":8080", ":11434"]),
    st.sampled_from(["/v1", "", "/openai/deployments/a%20b"]),
    st.lists(st.tuples(WORDS, WORDS), max_size=3).map(
        lambda pairs: "?" + "&".join(f"{name}={value}" for name, value in pairs) if pairs else ""
    ),
)


def played(path: str, *requests: Request) -> list[Request]:
    """The requests that a cassette answers."""
    found = []
    with playing(path) as cassette:
        for request in requests:
            with suppress(RequestNotRecorded):
                found += [request] * bool(cassette.can_play_response_for(request))
    return found


@examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(address=ADDRESSES)
def test_the_request_of_the_source_matches_with_any_address(tmp_path: Path, address: str) -> None:
    source = written(tmp_path / "a.yaml", recorded(chat_body("f"), url=address, request='{"model": "m"}'))
    found = imported(source, force=True)
    assert played(found.path, Request("POST", address, '{"model": "m"}', {}))
    other = address.replace("https://", "ftp://").replace("http://", "https://").replace("ftp://", "http://")
    assert not played(found.path, Request("POST", other, '{"model": "m"}', {}))


SECRET = "sk-proj-" + "Zq7Xw2Lk9Vb4Nc8Rt1Ys" * 2
#: Known by the header of a request alone. Headers are removed after the scrubber has learnt from them, not before.
WORD = "a-word-that-no-rule-knows-91"


def test_secrets_are_removed_from_addresses_headers_bodies_and_models_and_the_request_still_matches(
    tmp_path: Path,
) -> None:
    address = f"https://ana:{SECRET}@api.openai.com/v1/chat/completions?api-version=1&key={SECRET}#part"
    asked = {"model": f"ft:gpt:ana.sousa@sousa-lamps.pt:{WORD}", "user": "ana.sousa@sousa-lamps.pt", "key": SECRET}
    answer = chat_body("f").replace("chatcmpl-1", f"echo {WORD}")
    one = recorded(answer, url=address, request=json.dumps(asked), x_request_id=SECRET, set_cookie="a=b")
    one["request"]["headers"] = {"Authorization": [f"Bearer {WORD}"], "User-Agent": ["x"]}
    found = imported(written(tmp_path / "a.yaml", one))
    assert (found.provenance.model or "").startswith("ft:gpt:")
    assert "user-agent" not in {name.lower() for name in load(found.path).requests[0].headers}
    imported(har(tmp_path / "b.har", set_cookie="a=b"))
    places = find(tmp_path / "into")
    assert len(places) == 2
    for place in places:
        text = place.path.read_text("utf-8")
        assert [word for word in (SECRET, WORD, "ana.sousa", "set-cookie") if word in text.lower() + text] == []
        assert verify.verify_one(place).problems == []
    assert "api-version=1" in Path(found.path).read_text()
    simple = imported(written(tmp_path / "c.yaml", recorded(chat_body("f"), url=address)))
    assert played(simple.path, Request("POST", address, "{}", {}))


def test_a_recording_that_the_scanner_refuses_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolparity.cassettes.secrets.Scrubber.cassette", lambda self, given: given)
    asked = json.dumps({"model": "m", "key": SECRET})
    one = skipped(written(tmp_path / "a.yaml", recorded(chat_body("f"), request=asked)))
    assert (one.fault, SECRET in str(one), find(tmp_path / "into")) == (True, False, [])


@pytest.mark.parametrize("address", ["/v1/chat/completions", "api.openai.com/v1/chat/completions", "https:///x", ""])
def test_an_address_without_a_scheme_or_host_is_rejected(tmp_path: Path, address: str) -> None:
    one = skipped(written(tmp_path / "a.yaml", recorded(chat_body("f"), url=address)))
    assert "cannot be replayed" in one.what


def test_folders_are_walked_and_names_do_not_collide(tmp_path: Path) -> None:
    for name in ("a/x.yaml", "b/x.yaml", "a_x.yaml", "a/x.yaml.gz"):
        written(tmp_path / "theirs" / name, recorded(chat_body("f")))
    assert all(isinstance(one, Imported) for one in taken(tmp_path / "theirs"))
    places = find(tmp_path / "into")
    assert sorted(str(place.name) for place in places) == ["theirs-a-x", "theirs-a-x-2", "theirs-a-x-3", "theirs-b-x"]
    sources = {load(place.path).provenance.source for place in places}
    assert sources == {"theirs/a/x.yaml", "theirs/b/x.yaml", "theirs/a_x.yaml", "theirs/a/x.yaml.gz"}
    paths = {"Tests/Test_A.yaml": "tests-test-a", "a b/ç.json.gz": "a-b", "...": "unnamed", "x.y.har": "x-y"}
    assert {path: slug(path) for path in paths} == paths
    assert slug("x" * 400 + "a.yaml") != slug("x" * 400 + "b.yaml")
    assert slug("-".join(["ab"] * 100) + ".yaml").startswith("ab-ab-ab")


@pytest.mark.parametrize("length", [100, 200, 240, 250])
def test_long_names_are_shortened_to_distinct_names(tmp_path: Path, length: int) -> None:
    theirs = tmp_path / "theirs" / "deep" / "down"
    for name in ("x" * (length - 1) + "a", "x" * (length - 1) + "b", "z"):
        written(theirs / f"{name}.yaml", recorded(chat_body("f")))
    arguments = ["cassettes", "import", str(tmp_path / "theirs"), "--into", str(tmp_path / "into")]
    result = CliRunner().invoke(main, arguments)
    assert (result.exit_code, result.stderr, len(find(tmp_path / "into"))) == (0, "", 3)
    assert CliRunner().invoke(main, arguments).stderr.count("the cassette already exists") == 3


def test_a_library_that_cannot_be_written_is_an_error_for_each_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: object, **more: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("toolparity.cassettes.library.importer._write", full)
    paths = [str(written(tmp_path / name, recorded(chat_body("f")))) for name in ("a.yaml", "b.yaml")]
    result = CliRunner().invoke(main, ["cassettes", "import", *paths, "--into", str(tmp_path / "library")])
    assert result.exit_code == 4
    assert [line.split(": ")[1] for line in result.stderr.splitlines()] == ["cannot be written"] * 2


def requests_of(path: Path) -> list[Request]:
    """The recorded requests, read by other means than the import's."""
    if path.suffix == ".har":
        entries = [entry["request"] for entry in json.loads(path.read_text("utf-8"))["log"]["entries"]]
        return [Request(one["method"], one["url"], one.get("postData", {}).get("text", ""), {}) for one in entries]
    found = []
    with open(path, "rb") as file:
        for _, _, item in member_lists.yaml_items(file, ("interactions", "http_interactions")):
            one = item.get("request")
            if one is not None:  # gRPC in a separate format has no address
                body = one.get("body")
                body = body.get("string") if isinstance(body, dict) else body
                found.append(Request(one["method"].upper(), one["uri"], body or "", {}))
    return found


def test_requests_of_other_projects_match_their_imported_cassettes(tmp_path: Path, recordings: Path) -> None:
    cassettes: dict[str, list[str]] = {}
    paths = sampled([path for path in sorted((recordings / "cassettes").iterdir()) if path.name != "manifest.json"], 20)
    for one in taken(*paths, into=tmp_path):
        if isinstance(one, Imported):
            cassettes.setdefault(Path(one.source).name, []).append(one.path)
    counts: Counter[str] = Counter()
    for path in paths:
        left = requests_of(path)
        for cassette in cassettes.get(path.name, []):
            answered = played(cassette, *left)
            counts["matched"] += len(answered)
            left = [request for request in left if request not in answered]
        counts.update(request.path for request in left)
    print(counts)
    assert counts.pop("matched") >= (183 if is_thorough() else 20)
    assert set(counts) <= {"/v1/traces/ingest"}, "an address without a model"
