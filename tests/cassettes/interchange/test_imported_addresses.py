"""The request of a source matches its imported cassette, and the name of a file never ends an import."""

from __future__ import annotations

import errno
import json
import os
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from vcr.request import Request

from tests.support.thoroughness import examples, is_thorough, sampled
from tests.support.traffic import chat_body
from tests.support.traffic import interaction as recorded
from toolparity.cassettes.errors import RequestNotRecorded
from toolparity.cassettes.library import find, forget, load
from toolparity.cassettes.library.importer import Imported, Skipped, import_files, slug
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


def written(path: Path, *interactions: dict[str, Any]) -> Path:
    path.write_text(yaml.safe_dump({"interactions": list(interactions)}), "utf-8")
    return path


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
    forget()
    source = written(tmp_path / "a.yaml", recorded(chat_body("f"), url=address, request='{"model": "m"}'))
    (found,) = import_files([str(source)], tmp_path / "into", force=True)
    assert isinstance(found, Imported), found
    assert played(found.path, Request("POST", address, '{"model": "m"}', {}))
    other = address.replace("https://", "ftp://").replace("http://", "https://").replace("ftp://", "http://")
    assert not played(found.path, Request("POST", other, '{"model": "m"}', {}))


def test_credentials_in_an_address_are_removed_and_the_request_still_matches(tmp_path: Path) -> None:
    secret = "Zq7Xw2Lk9Vb4Nc8Rt1Ys"
    address = f"https://ana:{secret}@api.openai.com/v1/chat/completions?api-version=1&key={secret}#part"
    source = written(tmp_path / "a.yaml", recorded(chat_body("f"), url=address))
    (found,) = import_files([str(source)], tmp_path / "into")
    assert isinstance(found, Imported)
    text = Path(found.path).read_text()
    assert secret not in text
    assert "api-version=1" in text
    assert played(found.path, Request("POST", address, "{}", {}))


def test_credentials_of_the_request_are_removed_from_the_bodies(tmp_path: Path) -> None:
    """The headers are removed after the scrubber has learnt from them, not before."""
    secret = "a-word-that-no-rule-knows-91"
    one = recorded(chat_body("f").replace("chatcmpl-1", f"echo {secret}"))
    one["request"]["headers"] = {"Authorization": [f"Bearer {secret}"], "User-Agent": ["x"]}
    (found,) = import_files([str(written(tmp_path / "a.yaml", one))], tmp_path / "into")
    assert isinstance(found, Imported)
    assert secret not in Path(found.path).read_text()
    assert "user-agent" not in {name.lower() for name in load(found.path).requests[0].headers}


@pytest.mark.parametrize("address", ["/v1/chat/completions", "api.openai.com/v1/chat/completions", "https:///x", ""])
def test_an_address_without_a_scheme_or_host_is_rejected(tmp_path: Path, address: str) -> None:
    source = written(tmp_path / "a.yaml", recorded(chat_body("f"), url=address))
    (found,) = import_files([str(source)], tmp_path / "into")
    assert isinstance(found, Skipped)
    assert "cannot be replayed" in found.what


@pytest.mark.parametrize("length", [100, 200, 240, 250])
def test_long_names_are_shortened_to_distinct_names(tmp_path: Path, length: int) -> None:
    theirs = tmp_path / "theirs" / "deep" / "down"
    theirs.mkdir(parents=True)
    for end in "ab":
        written(theirs / f"{'x' * (length - 1)}{end}.yaml", recorded(chat_body("f")))
    written(theirs / "z.yaml", recorded(chat_body("f")))
    into = str(tmp_path / "into")
    result = CliRunner().invoke(main, ["cassettes", "import", str(tmp_path / "theirs"), "--into", into])
    assert (result.exit_code, result.stderr) == (0, "")
    assert len(find(into)) == 3
    again = CliRunner().invoke(main, ["cassettes", "import", str(tmp_path / "theirs"), "--into", into])
    assert again.stderr.count("the cassette already exists") == 3


def test_names_that_differ_only_after_the_limit_stay_distinct() -> None:
    assert slug("x" * 400 + "a.yaml") != slug("x" * 400 + "b.yaml")
    assert slug("-".join(["ab"] * 100) + ".yaml").startswith("ab-ab-ab")


def test_a_library_that_cannot_be_written_is_an_error_for_each_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: object, **more: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("toolparity.cassettes.library.importer._write", full)
    for name in ("a.yaml", "b.yaml"):
        written(tmp_path / name, recorded(chat_body("f")))
    paths = [str(tmp_path / name) for name in ("a.yaml", "b.yaml")]
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
    forget()
    taken: dict[str, list[str]] = {}
    paths = sampled([path for path in sorted((recordings / "cassettes").iterdir()) if path.name != "manifest.json"], 20)
    for one in import_files([str(path) for path in paths], tmp_path):
        if isinstance(one, Imported):
            taken.setdefault(Path(one.source).name, []).append(one.path)
    counts: Counter[str] = Counter()
    for path in paths:
        left = requests_of(path)
        for cassette in taken.get(path.name, []):
            answered = played(cassette, *left)
            counts["matched"] += len(answered)
            left = [request for request in left if request not in answered]
        counts.update(request.path for request in left)
    print(counts)
    assert counts.pop("matched") >= (183 if is_thorough() else 20)
    assert set(counts) <= {"/v1/traces/ingest"}, "an address without a model"
