"""`toolparity cassettes scan`, `scrub`, `check`, `convert` and `adopt`, on cassettes of other projects."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from tests.cassettes.library.making import written
from tests.cassettes.maintenance.making import ANSWER, KEY, content, vcrpy_text
from tests.cassettes.secrets.fakes import fake
from toolparity.cassettes import interchange
from toolparity.cassettes.documents import load
from toolparity.cassettes.interchange.model import CassetteContent
from toolparity.cassettes.library import files as library_files
from toolparity.cassettes.maintenance.files import load as load_file
from toolparity.cassettes.maintenance.replaying import unplayed
from toolparity.cassettes.maintenance.trees import TreeScrubber
from toolparity.cassettes.secrets import Scrubber
from toolparity.cli import main

#: The same cassette without a secret.
CLEAN = vcrpy_text("<YOUR_KEY>", "")


def run(command: str, *args: str | Path) -> Result:
    return CliRunner().invoke(main, ["cassettes", command, *map(str, args)], env={"COLUMNS": "250"})


def read(path: Path) -> CassetteContent:
    document, known = load_file(str(path))
    return known.read(document.data)


@pytest.fixture
def cassette(tmp_path: Path) -> Path:
    path = tmp_path / "cassettes" / "chat.yaml"
    path.parent.mkdir()
    path.write_text(vcrpy_text())
    return path


def test_scan_names_kind_and_place_and_never_the_secret(cassette: Path) -> None:
    result = run("scan", cassette.parent)
    assert result.exit_code == 1
    assert "interaction 1, request.headers at authorization" in result.output
    assert "interaction 1, request.body" in result.output
    assert "1 of 1 cassettes hold secrets (1 interactions)" in result.output
    (file,) = json.loads(as_json := run("scan", cassette, "--json").output)
    assert (file["format"], file["interactions"], file["error"]) == ("vcrpy", 1, None)
    assert {leak["level"] for leak in file["found"]} == {"credential"}
    assert KEY not in result.output + as_json
    cassette.write_text(CLEAN)
    clean = run("scan", cassette.parent)
    assert (clean.exit_code, "0 of 1 cassettes" in clean.output) == (0, True)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("interactions:", f"# the key is {KEY}\ninteractions:"),
        ("interactions:", f"interactions:  # {KEY}"),
        ("version: 1", f"version: 1\n{KEY}: 2"),
        ("  response:", f"  {KEY}: x\n  response:"),
        ("    method:", f"    {KEY}:\n      api_key: {KEY}x\n    method:"),
    ],
)
def test_secrets_outside_of_values_are_found_and_never_shown(old: str, new: str, cassette: Path) -> None:
    assert old in CLEAN
    cassette.write_text(CLEAN.replace(old, new, 1))
    for args in (["scan"], ["scan", "--json"], ["check"]):
        result = run(*args, cassette)
        assert result.exit_code == 1, result.output
        assert KEY not in result.output
    refused = run("scrub", cassette, "--in-place")
    assert (refused.exit_code, cassette.read_text()) == (4, CLEAN.replace(old, new, 1))
    assert "0 of 0 cassettes changed; 1 not read or not written" in refused.output
    assert KEY not in refused.output


def test_a_member_that_another_one_hides_is_not_passed_over(tmp_path: Path) -> None:
    for name in ("a.json", "a.jsonl"):
        (tmp_path / name).write_text(f'{{"http_interactions": [], "recorded_with": {{"a": "{KEY}", "a": ""}}}}')
        result = run("scan", tmp_path / name)
        assert (result.exit_code, "an object has two members of the same name" in result.output) == (4, True)
        assert "0 of 0 cassettes hold secrets (0 interactions); 1 not read" in result.output


def test_identifiers_count_unless_only_credentials_are_wanted_and_other_files_are_skipped(cassette: Path) -> None:
    cassette.write_text(CLEAN.replace("x-custom:\n      - kept", "x-request-id:\n      - req_0123456789abcdef0123"))
    assert run("scan", cassette).exit_code == 1
    assert run("scan", cassette, "--only", "credentials").exit_code == 0
    other = cassette.parent / "package.json"
    other.write_text('{"name": "package"}')
    cassette.write_text(CLEAN)
    assert run("scan", cassette.parent).exit_code == 0
    named = run("scan", other)
    assert (named.exit_code, "not a cassette" in named.output) == (4, True)


@pytest.mark.parametrize("target", list(interchange.FORMATS))
def test_scan_and_scrub_read_every_format(target: str, tmp_path: Path) -> None:
    path = tmp_path / f"chat{interchange.FORMATS[target].suffix}"
    path.write_bytes(interchange.convert(content(), target))
    assert KEY.encode() in path.read_bytes()
    assert run("scan", path).exit_code == 1
    assert run("scrub", path, "--in-place").exit_code == 0
    assert KEY.encode() not in path.read_bytes()
    assert run("scan", path).exit_code == 0
    assert load_file(str(path))[1].name == target
    bodies = [item.response.body for item in read(path).interactions]
    assert bodies == [item.response.body for item in content().interactions]


def test_scrub_changes_only_the_values_with_secrets(cassette: Path, tmp_path: Path) -> None:
    before = cassette.read_text()
    listed = run("scrub", cassette.parent)
    assert (listed.exit_code, "1 of 1 cassettes would change" in listed.output) == (1, True)
    assert run("scrub", tmp_path, "--into", tmp_path / "clean").exit_code == 0
    assert KEY not in (tmp_path / "clean" / "cassettes" / "chat.yaml").read_text()
    assert cassette.read_text() == before
    requests = [item.request for item in read(cassette).interactions]
    assert run("scrub", cassette, "--in-place").exit_code == 0
    after = cassette.read_text()
    assert (KEY in after, len(after), "# recorded by hand" in after) == (False, len(before), True)
    changed = [new for old, new in zip(before.splitlines(), after.splitlines(), strict=True) if old != new]
    assert len(changed) == 2  # the line of the header and that of the body
    (item,) = yaml.safe_load(after)["interactions"]
    placeholder = item["request"]["headers"]["authorization"][0].removeprefix("Bearer ")
    assert (placeholder in item["request"]["body"], len(placeholder)) == (True, len(KEY))
    assert list(unplayed(read(cassette), requests)) == [], "the original requests match"
    written = cassette.stat()
    assert run("scrub", cassette, "--in-place").exit_code == 0
    assert (cassette.read_text(), cassette.stat().st_ino) == (after, written.st_ino), "a clean file is not written"
    assert cassette.stat().st_mtime_ns == written.st_mtime_ns


def test_files_of_one_name_do_not_replace_each_other(tmp_path: Path) -> None:
    for folder, text in (("a", CLEAN), ("b", CLEAN.replace("Hello", "Other"))):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "chat.yaml").write_text(text)
    for number, command, code in ((1, ["scrub"], 4), (2, ["convert", "--to", "har", "--force"], 1)):
        into = tmp_path / f"out{number}"
        result = run(*command, tmp_path / "a", tmp_path / "b", "--into", into)
        assert result.exit_code == code, result.output
        (path,) = into.iterdir()
        assert "Hello" in path.read_text()


def test_a_changed_address_is_reported_and_matches_with_the_hook(cassette: Path) -> None:
    google = fake("google")
    cassette.write_text(CLEAN.replace("/completions\n", f"/completions?key={google}\n"))
    requests = [item.request for item in read(cassette).interactions]
    result = run("scrub", cassette, "--in-place")
    assert "addresses changed: interaction 1" in result.output
    assert [number for number, _ in unplayed(read(cassette), requests)] == [1]
    hook = Scrubber({}, drop_headers=False).before_record_request
    assert list(unplayed(read(cassette), requests, hook=hook)) == []


def _with_body(text: str) -> Any:
    def scrub(self: TreeScrubber, data: Any) -> Any:
        copy = json.loads(json.dumps(data))
        copy["interactions"][0]["response"]["body"]["string"] = text
        return copy

    return scrub


@pytest.mark.parametrize(
    ("scrub", "reason"),
    [
        (lambda self, data: data, "the scanner still finds"),
        (_with_body(""), "would damage the value"),
        (_with_body("no JSON"), "would damage the value"),
    ],
    ids=["a credential that remains", "an empty body", "a body that is not JSON"],
)
def test_a_file_is_refused_if_scrubbing_fails(
    scrub: Any, reason: str, cassette: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TreeScrubber, "scrub", scrub)
    before = cassette.read_text()
    result = run("scrub", cassette, "--in-place")
    assert (result.exit_code, reason in result.output, KEY in result.output) == (4, True, False)
    assert cassette.read_text() == before


def scrubbed(path: Path, request: dict[str, Any], response: dict[str, Any]) -> Any:
    """An interaction with these members after it was scrubbed in its file."""
    one = {
        "request": {"method": "GET", "uri": "https://x.test/", "body": None, "headers": {}, **request},
        "response": {"status": {"code": 200, "message": "OK"}, "headers": {}, **response},
    }
    assert run("scrub", written(path, one), "--in-place").exit_code == 0
    return yaml.safe_load(path.read_text())["interactions"][0]


def test_compressed_and_parsed_bodies_and_base64_are_scrubbed(tmp_path: Path) -> None:
    body = gzip.compress(json.dumps({**ANSWER, "api_key": KEY}).encode())
    headers = {"content-encoding": ["gzip"], "Content-Length": [str(len(body))], "content-type": ["application/json"]}
    item = scrubbed(tmp_path / "a.yaml", {}, {"body": {"string": body}, "headers": headers})
    packed = item["response"]["body"]["string"]
    assert KEY.encode() not in gzip.decompress(packed)
    assert json.loads(gzip.decompress(packed))["id"] == "chatcmpl-1"
    assert item["response"]["headers"]["Content-Length"] == [str(len(packed))]
    text = base64.encodebytes(f'{{"api_key": "{KEY}"}}'.encode()).decode()
    parsed = {"parsed_body": {"password": "hunter2-x9"}}
    item = scrubbed(tmp_path / "b.yaml", parsed, {"body": {"base64_string": text}})
    assert item["request"]["parsed_body"]["password"] != "hunter2-x9"
    assert KEY.encode() not in base64.b64decode(item["response"]["body"]["base64_string"])
    assert item["response"]["body"]["base64_string"].count("\n") == text.count("\n")


def test_only_credentials_and_identifiers_in_headers_are_replaced() -> None:
    headers = {
        "authorization": ["Bearer " + KEY],
        "cookie": "session=0123456789abcdef; a=1",
        "x-request-id": ["req_0123456789abcdef0123"],
        "x-api-key": ["<API_KEY>"],
        "x-goog-api-key": ["X-GOOG-API-KEY-XXX"],
        "set-cookie": ["csv=1; Max-Age=63072000; Path=/"],
        "access-control-allow-credentials": ["true"],
        "x-custom": ["kept"],
        "user-agent": ["python"],
    }
    out = Scrubber({}, drop_headers=False).headers(headers)
    assert list(out) == list(headers)
    changed = {name for name in headers if out[name] != headers[name]}
    assert changed == {"authorization", "cookie", "x-request-id"}
    assert out["authorization"][0].startswith("Bearer REDACTED")


def test_check_lists_its_steps_and_finds_the_defect(cassette: Path) -> None:
    cassette.write_text(CLEAN)
    (verdict,) = json.loads(run("check", cassette, "--json").output)
    assert verdict["passed"] == ["readable", "scrubbed", "decodes", "replays"]
    assert set(verdict["open"]) == {"digest", "origin", "scenario", "sdk"}
    assert run("check", cassette).exit_code == 0
    for old, new, step in (
        ("<YOUR_KEY>", KEY, "scrubbed"),
        ('"choices": [', '"choices": 7, "x": [', "decodes"),
        ("uri: https", "uri: gopher", "replays"),
        ("interactions:", "interactions: []\nothers:", "readable"),
        (f"'{json.dumps(ANSWER)}'", "''", "readable"),
    ):
        assert old in CLEAN
        cassette.write_text(CLEAN.replace(old, new))
        (verdict,) = json.loads(run("check", cassette, "--json").output)
        assert step in {problem["step"] for problem in verdict["problems"]}, old
        assert run("check", cassette).exit_code == 1, old


def test_convert_writes_each_file_and_refuses_to_replace_or_to_lose_something(cassette: Path, tmp_path: Path) -> None:
    result = run("convert", cassette.parent, "--to", "har", "--into", tmp_path / "har")
    assert result.exit_code == 0, result.output
    written = tmp_path / "har" / "chat.har"
    assert interchange.format_of(load(written.read_bytes(), "a.har").data).name == "har"
    again = run("convert", cassette.parent, "--to", "har", "--into", tmp_path / "har")
    assert (again.exit_code, "already exists" in again.output) == (1, True)
    assert run("convert", cassette.parent, "--to", "har", "--into", tmp_path / "har", "--force").exit_code == 0
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "file" / "below")
    assert run("convert", cassette, "--to", "har", "--into", tmp_path / "link").exit_code == 4
    path = tmp_path / "a.yaml"
    path.write_bytes(interchange.convert(content(body=b"\xff"), "vcrpy"))
    result = run("convert", path, "--to", "har", "--into", tmp_path / "har")
    assert result.exit_code == 1
    assert f"{path}: har cannot hold it: the request body is not UTF-8" in result.output
    assert not (tmp_path / "har" / "a.har").exists()


def test_adopt_adds_provenance_to_a_whole_file_and_refuses_what_import_would_split(
    cassette: Path, tmp_path: Path
) -> None:
    library = tmp_path / "library"
    result = run("adopt", cassette, "--into", library, "--note", "MIT")
    assert result.exit_code == 0, result.output
    (place,) = library_files.find(library)
    loaded = library_files.load(place.path)
    assert loaded.provenance.origin == "imported"
    assert loaded.provenance.note == "MIT"
    assert loaded.provenance.seal == loaded.provenance.sealing
    assert loaded.digest == loaded.provenance.digest
    assert KEY not in place.path.read_text()
    assert run("verify", "--library", library).exit_code == 0
    assert json.loads(loaded.interactions[0]["response"]["body"]["string"]) == ANSWER
    (one,) = yaml.safe_load(CLEAN)["interactions"]
    other = json.loads(json.dumps(one))
    other["request"]["uri"] = "https://api.anthropic.com/v1/messages"
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "m"}
    other["response"]["body"]["string"] = json.dumps(message | {"stop_reason": "end_turn"})
    result = run("adopt", written(cassette, one, other), "--into", tmp_path / "other")
    assert "the file is not one cassette: anthropic anthropic.messages plain, openai openai.chat plain" in result.output
    assert not (tmp_path / "other").exists()


COMMANDS = ["scan", "scrub", "check", "convert --to har --into out", "adopt --into out", "drift"]


@pytest.mark.thorough(keep=1, per="{command}")
@pytest.mark.parametrize("content", [None, "a: ["], ids=["missing", "not YAML"])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.split()[0])
def test_input_that_cannot_be_read_has_one_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, content: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "nope.yaml"
    if content is not None:
        path.write_text(content)
    assert run(*command.split(), path).exit_code == 4


def test_an_empty_folder_has_the_same_exit_code_in_every_command(tmp_path: Path) -> None:
    into = ("--into", tmp_path / "into")
    commands = {"scan": (), "scrub": (), "check": (), "drift": (), "adopt": into, "import": into}
    assert {name: run(name, tmp_path, *options).exit_code for name, options in commands.items()} == dict.fromkeys(
        commands, 5
    )


def test_a_body_that_is_a_list_of_objects_is_read_as_json(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    data = yaml.safe_load(vcrpy_text())
    data["interactions"][0]["request"]["body"] = [{"a": 1}, {"b": 2}]
    path.write_text(yaml.safe_dump(data))
    assert read(path).interactions[0].request.body == b'[{"a":1},{"b":2}]'
