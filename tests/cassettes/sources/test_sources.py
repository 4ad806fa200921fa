"""Any file becomes exchanges, or one line that says why not."""

from __future__ import annotations

import base64
import gzip
import json
import os
import threading
import zlib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.traffic import CHAT_URL, chat_body, chat_stream, interaction, row, write_rows
from toolparity.cassettes.sources import Exchange, Problem, read
from toolparity.cassettes.sources.endpoints import classify
from toolparity.normalizer.wires.registry import WIRES


def exchanges(path: Path, wire: str | None = None) -> list[Exchange]:
    found = list(read(path, wire))
    assert not [str(f) for f in found if isinstance(f, Problem)]
    return [f for f in found if isinstance(f, Exchange)]


def problem(path: Path) -> Problem:
    (found,) = read(path)
    assert isinstance(found, Problem), found
    return found


def write_yaml(path: Path, *interactions: dict[str, Any], key: str = "interactions") -> Path:
    path.write_text(yaml.safe_dump({key: list(interactions), "version": 1}))
    return path


# Recordings


@pytest.mark.parametrize("name", ["r.jsonl", "r.jsonl.gz", "r.ndjson"])
def test_a_recording_is_one_exchange_a_line(tmp_path: Path, name: str) -> None:
    path = write_rows(tmp_path / name, row(chat_body("f"), model="m", chunk_lengths=[3]), "", row(chat_body()))
    first, second = exchanges(path)
    assert first.source == f"{path}#1"
    assert second.source == f"{path}#3"
    assert first.location == f"{path}:1"
    assert first.body == chat_body("f").encode()
    assert (first.id, first.provider, first.wire, first.status) == ("r", "openai", "openai.chat", 200)
    assert first.chunk_lengths == [3]


def test_binary_bodies_and_frames_are_base64(tmp_path: Path) -> None:
    packed = base64.b64encode(b"\x00\x01").decode()
    path = write_rows(
        tmp_path / "r.jsonl", row(packed, body_encoding="base64"), row(None, wire="xai.grpc", frames=[packed, packed])
    )
    body, frames = exchanges(path)
    assert body.body == b"\x00\x01"
    assert frames.frames == [b"\x00\x01"] * 2


def test_half_surrogate_pairs_and_huge_numbers_lose_no_line(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "r.jsonl", row('{"x": "\ud800"}'), row("{}", request={"n": 10**400}))
    first, second = exchanges(path)
    assert first.body is not None
    assert b"\xed\xa0\x80" in first.body
    assert second.request == {"n": 10**400}


def test_a_bad_line_is_one_problem_with_its_number_and_the_rest_is_read(tmp_path: Path) -> None:
    for line, what in {
        "{not json": "invalid JSON",
        '{"body": 5}': "not a recording",
        '{"wire": "openai.chat"}': "neither body nor frames",
        '{"traceId": "t", "payload": {}}': "no member holds a response: traceId, payload",
        '{"body": "%%%", "body_encoding": "base64"}': "not base64",
        '{"body": "x", "body_encoding": "rot13"}': "rot13",
        '{"request": ' + "[" * 100_000: "invalid JSON",
    }.items():
        path = write_rows(tmp_path / "r.jsonl", row(chat_body()), line, row(chat_body()))
        good, bad, after = read(path)
        assert isinstance(good, Exchange)
        assert isinstance(after, Exchange)
        assert isinstance(bad, Problem)
        assert str(bad).startswith(f"{path}:2: ")
        assert what in str(bad)
        assert bad.fault


def test_one_record_is_read_at_a_time(tmp_path: Path) -> None:
    """The first exchange is there while the pipe still waits for the second line: nothing reads ahead of it."""
    pipe = tmp_path / "r.jsonl"
    os.mkfifo(pipe)
    asked = threading.Event()
    line = json.dumps(row(chat_body())).encode() + b"\n"

    def feed() -> None:
        with open(pipe, "wb", buffering=0) as end:
            end.write(line)
            asked.wait(10)
            end.write(line)

    writer = threading.Thread(target=feed)
    writer.start()
    found = read(pipe)
    assert isinstance(next(found), Exchange)
    asked.set()
    assert isinstance(next(found), Exchange)
    assert next(found, None) is None
    writer.join()


def test_lines_that_are_the_events_of_a_stream_are_one_body(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(chat_stream("f").replace("data: ", "").replace("\n\n", "\n"))
    (found,) = exchanges(path)
    assert (found.wire, found.stream) == ("openai.chat", True)


# Cassettes


@pytest.mark.parametrize("suffix", [".yaml", ".yml", ".json", ".yaml.gz"])
def test_vcrpy_cassettes_hold_bodies_in_several_forms(tmp_path: Path, suffix: str) -> None:
    text = chat_body("f")
    for body in (text, {"string": text}, {"base64_string": base64.b64encode(text.encode()).decode()}):
        document = {"interactions": [interaction(body, request='{"model": "m", "tools": []}')], "version": 1}
        data = (json.dumps(document) if "json" in suffix else yaml.safe_dump(document)).encode()
        path = tmp_path / f"c{suffix}"
        path.write_bytes(gzip.compress(data) if suffix.endswith(".gz") else data)
        (found,) = exchanges(path)
        assert (found.source, found.body) == (f"{path}#1", text.encode())
        assert (found.provider, found.wire, found.stream, found.status) == ("openai", "openai.chat", False, 200)
        assert (found.model, found.request) == ("m", {"model": "m", "tools": []})


def test_packed_bodies_are_unpacked_and_plain_ones_under_a_stale_header_kept(tmp_path: Path) -> None:
    text = chat_body().encode()
    packed = [("gzip", gzip.compress(text)), ("deflate, gzip", gzip.compress(zlib.compress(text)))]
    packed += [("deflate", zlib.compress(text)), ("deflate", zlib.compress(text, wbits=-15))]
    packed += [(encoding, text) for encoding in ("gzip", "deflate", "br", "identity")]
    rows = [interaction({"string": data}, content_encoding=encoding) for encoding, data in packed]
    assert [found.body for found in exchanges(write_yaml(tmp_path / "c.yaml", *rows))] == [text] * len(packed)


def test_an_interaction_that_cannot_be_read_is_a_problem_and_the_next_one_is_read(tmp_path: Path) -> None:
    packed = [("gzip", gzip.compress(chat_body().encode())[:-12]), ("gzip", b"\x1f\x8b\x08garbage of some length")]
    packed += [("deflate", b"\xff\xfe\x00\x9a"), ("br", b"\xa1\x98\x09\x00\xc4\x8f\xff")]
    packed += [("zstd", b"\x28\xb5\x2f\xfd\x00\x01")]
    bad_ones: list[Any] = [interaction({"string": data}, content_encoding=encoding) for encoding, data in packed]
    bad_ones += ["a text", None, {"request": {"uri": CHAT_URL}}, {"request": [], "response": {}}]
    bad_ones += [{"response": {"body": 5}}]
    both = [each for bad in bad_ones for each in (bad, interaction(chat_body()))]
    path = write_yaml(tmp_path / "c.yaml", *both)
    found = list(read(path))
    lines = path.read_text().splitlines()
    assert [type(item) for item in found] == [Problem, Exchange] * len(bad_ones)
    for (encoding, _), problem in zip(packed, found[::2], strict=False):
        assert isinstance(problem, Problem)
        assert encoding in problem.what
    assert all(item.line and lines[item.line - 1].startswith("- request") for item in found[1::2])


def test_a_body_that_unpacks_without_end_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolparity.cassettes.sources.bodies.MAX_RECORD_BYTES", 10_000)
    bomb = gzip.compress(b"0" * 1_000_000)
    path = write_yaml(tmp_path / "c.yaml", interaction({"string": bomb}, content_encoding="gzip"))
    assert "unpacks to more" in problem(path).what


def test_cassettes_of_vcr_for_ruby(tmp_path: Path) -> None:
    packed = base64.b64encode(chat_stream("f").encode()).decode()
    (tmp_path / "c.yml").write_text(
        "---\nhttp_interactions:\n- request:\n    method: post\n    uri: " + CHAT_URL + "\n"
        "    body:\n      encoding: UTF-8\n      string: '{\"stream\": true}'\n"
        "  response:\n    status:\n      code: 200\n    headers:\n      Content-Type:\n      - text/event-stream\n"
        "    body:\n      encoding: ASCII-8BIT\n      string: !binary |-\n        " + packed + "\n"
        "  recorded_at: Mon, 13 Jul 2026 23:14:35 GMT\nrecorded_with: VCR 6.3.1\n"
    )
    (found,) = exchanges(tmp_path / "c.yml")
    assert found.body == chat_stream("f").encode()
    assert (found.stream, found.status, found.request) == (True, 200, {"stream": True})
    assert found.provenance == {"recorded_at": "Mon, 13 Jul 2026 23:14:35 GMT"}


def test_cassettes_of_xais_messages(tmp_path: Path) -> None:
    sample = {
        "request_sample": {"json": {"model": "grok"}, "raw": b"q"},
        "response_sample": {"json": {}, "raw": b"\x01"},
    }
    stream = {"request_stream": {"json": {}}, "response_stream": {"chunks_json": [], "chunks_raw": [b"\x01", b"\x02"]}}
    broken = {"request_stream": {}, "response_stream": {"chunks_raw": "no"}}
    plain, streamed, bad = read(write_yaml(tmp_path / "c.yaml", sample, stream, broken))
    assert isinstance(plain, Exchange)
    assert (plain.wire, plain.provider, plain.stream, plain.frames) == ("xai.grpc", "xai", False, [b"\x01"])
    assert plain.model == "grok"
    assert isinstance(streamed, Exchange)
    assert (streamed.stream, streamed.frames) == (True, [b"\x01", b"\x02"])
    assert isinstance(bad, Problem)


def _rpc(method: str, messages: Any, **ended: Any) -> dict[str, Any]:
    """A call as `toolparity.cassettes.vcr_grpc` writes it."""
    asked = {"message": {"model": "grok", "tools": []}, "serialized": base64.b64encode(b"q").decode()}
    return {
        "request": {"method": "POST", "uri": f"grpc://127.0.0.1:1/{method}", "body": json.dumps(asked), "headers": {}},
        "response": {
            "status": {"code": 200, "message": "OK"},
            "headers": {},
            "body": {"string": json.dumps({"messages": messages})},
            "trailers": {},
            "grpc": {"code": "OK", "details": "", "stream": False, **ended},
        },
    }


def test_grpc_calls_in_vcrpy_cassettes_are_their_serialized_messages(tmp_path: Path) -> None:
    first, second = ({"message": {"id": "a"}, "serialized": base64.b64encode(b).decode()} for b in (b"\x01", b"\x02"))
    chat = "xai_api.Chat/GetCompletion"
    plain, streamed, refused, left, other = exchanges(
        write_yaml(
            tmp_path / "c.yaml",
            _rpc(chat, [first]),
            _rpc(chat + "Chunk", [first, second], stream=True),
            _rpc(chat, [], code="RESOURCE_EXHAUSTED", details="slow down"),
            _rpc(chat + "Chunk", [first], stream=True, code=None, left_by_caller=True),
            _rpc("shop.Till/Pay", [first]),
        )
    )
    assert (plain.wire, plain.provider, plain.stream, plain.status) == ("xai.grpc", "xai", False, 200)
    assert (plain.frames, plain.body, plain.model) == ([b"\x01"], None, "grok")
    assert plain.request == {"model": "grok", "tools": []}
    assert (streamed.stream, streamed.frames) == (True, [b"\x01", b"\x02"])
    assert (refused.status, refused.frames) == (429, None)
    assert json.loads(refused.body or b"") == {"code": "RESOURCE_EXHAUSTED", "details": "slow down"}
    assert (left.status, left.frames) == (None, [b"\x01"])
    assert (other.wire, other.provider, other.url) == ("grpc", "other", "127.0.0.1:1/shop.Till/Pay")


def test_a_grpc_call_without_serialized_messages_is_a_problem(tmp_path: Path) -> None:
    shapes: list[Any] = [None, [{}], ["AQ=="], [{"serialized": "%"}], {"serialized": "AQ=="}]
    rows = [_rpc("xai_api.Chat/GetCompletion", messages) for messages in shapes]
    found = read(write_yaml(tmp_path / "c.yaml", *rows, interaction("{}")))
    assert [type(item) for item in found] == [*[Problem] * len(shapes), Exchange]


def test_har_files_with_text_and_base64_bodies(tmp_path: Path) -> None:
    def entry(content: dict[str, Any]) -> dict[str, Any]:
        return {
            "request": {"method": "POST", "url": CHAT_URL + "?key=secret", "postData": {"text": '{"model": "m"}'}},
            "response": {"status": 200, "headers": [{"name": "Content-Type", "value": "x/y"}], "content": content},
        }

    packed = base64.b64encode(chat_body().encode()).decode()
    entries = [entry({"text": chat_stream()}), entry({"text": packed, "encoding": "base64"}), entry({"size": 5})]
    (tmp_path / "t.har").write_text(json.dumps({"log": {"version": "1.2", "entries": entries}}))
    streamed, plain, bad = read(tmp_path / "t.har")
    assert isinstance(streamed, Exchange)
    assert isinstance(plain, Exchange)
    assert (streamed.stream, plain.stream) == (True, False)
    assert plain.body == chat_body().encode()
    assert streamed.url == "api.openai.com/v1/chat/completions"
    assert streamed.model == "m"
    assert isinstance(bad, Problem)
    assert "export the HAR with content" in str(bad)


def test_yaml_tags_are_data_or_refused_and_never_run(tmp_path: Path) -> None:
    flag = tmp_path / "ran"
    body = json.dumps(chat_body())
    (tmp_path / "c.yaml").write_text(
        f"interactions:\n- request: !!python/object/apply:os.system ['touch {flag}']\n  response: {{}}\n"
        f"- request:\n    uri: !!python/unicode '{CHAT_URL}'\n"
        f"  response:\n    body: {{string: !!python/unicode {body}}}\n"
        f"- request: {{uri: x}}\n  response: !ruby/object:Kernel {{}}\n"
    )
    applied, old_python, ruby = read(tmp_path / "c.yaml")
    assert isinstance(applied, Problem)
    assert "not a mapping" in applied.what
    assert applied.line == 2
    assert isinstance(old_python, Exchange)
    assert old_python.body == chat_body().encode()
    assert isinstance(ruby, Problem)
    assert not flag.exists()


def test_yaml_without_a_cassette_is_one_problem(tmp_path: Path) -> None:
    for text, what in {
        "interactions: [": "invalid YAML",
        "interactions:\n- request: {a: b\n  c": "invalid YAML",
        "interactions: []\n": "no interactions",
        "- a list\n": "its top level is not a mapping",
        "name: CI\non: push\n": "no interactions",
        "interactions:\n- " + "[" * 50_000: "nested too deeply",
        "interactions:\n- *nowhere\n": "invalid YAML",
        "interactions: \x00\n": "invalid YAML",
        "# nothing\n": "empty",
    }.items():
        (tmp_path / "c.yaml").write_text(text)
        assert what in problem(tmp_path / "c.yaml").what


def test_merge_keys_cannot_blow_up(tmp_path: Path) -> None:
    levels = ["a0: &a0 {" + ", ".join(f"k{n}: {n}" for n in range(20)) + "}"]
    for n in range(1, 9):
        levels.append(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}")
    (tmp_path / "c.yaml").write_text("\n".join(levels) + "\ninteractions:\n- *a8\n")
    assert "merge keys" in problem(tmp_path / "c.yaml").what


def test_interactions_before_the_damage_are_read(tmp_path: Path) -> None:
    path = write_yaml(tmp_path / "c.yaml", interaction(chat_body()), interaction(chat_body()))
    text = path.read_text()
    path.write_text(text[: text.rindex("uri")] + '"')
    whole, damage = read(path)
    assert isinstance(whole, Exchange)
    assert isinstance(damage, Problem)
    assert damage.line == text[: text.rindex("uri")].count("\n") + 1


# Single bodies


def test_the_wire_of_a_single_body_is_detected(tmp_path: Path) -> None:
    streamed = chat_stream("f")
    array = "[" + ",".join(line[6:] for line in streamed.split("\n\n")[:-2]) + "]"
    files = {"b.json": chat_body("f"), "b.sse": streamed, "b.txt": streamed, "b.dump": streamed, "a.json": array}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        (found,) = exchanges(tmp_path / name)
        assert (found.source, found.wire, found.stream) == (f"{tmp_path / name}#1", "openai.chat", name != "b.json")


def test_a_body_of_an_unknown_wire_needs_the_option(tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text('{"error": {"message": "no"}}')
    assert "--wire" in problem(tmp_path / "b.json").hint
    (found,) = exchanges(tmp_path / "b.json", "openai.responses")
    assert found.wire == "openai.responses"


def test_the_wire_in_the_file_precedes_the_option(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "r.jsonl", row(chat_body()), row('{"error": {}}', wire=None))
    first, second = exchanges(path, "anthropic.messages")
    assert (first.wire, second.wire) == ("openai.chat", "anthropic.messages")


# What is not traffic


def test_a_file_without_traffic_is_one_problem(tmp_path: Path) -> None:
    good = gzip.compress(json.dumps(row(chat_body())).encode())
    for name, content, what in (
        ("empty.jsonl", b"", "empty"),
        ("blank.json", b" \n\n", "white space"),
        ("cut.jsonl.gz", good[:-12], "damaged or truncated compressed data"),
        ("head.jsonl.gz", good[:5], "damaged or truncated compressed data"),
        ("flipped.yaml.gz", good[:20] + b"\xff\xff\xff" + good[23:], "compressed data"),
        ("noise.jsonl", bytes(range(256)) * 50, "no traffic"),
        ("noise.yaml", bytes(range(128, 256)) * 50, "invalid YAML"),
        ("picture.png", b"\x89PNG\r\n\x1a\n" + bytes(1000), "no traffic"),
        ("page.txt", b"<html>hello</html>", "no traffic"),
        ("package.json", b'{"name": "x"}', "no traffic"),
        ("number.json", b"5", "no traffic"),
        ("cut.json", b'{"choices": [', "no traffic"),
        ("made.har", b'{"log": {"\xed": 1, "entries": []}}', ""),
        ("empty.har", b'{"log": {"entries": []}}', "no traffic"),
        ("deep.json", b"[" * 100_000, "no traffic"),
    ):
        (tmp_path / name).write_bytes(content)
        found = problem(tmp_path / name)
        assert what in found.what
        assert str(found).startswith(str(tmp_path / name))
        assert found.fault
    assert "does not exist" in problem(tmp_path / "none.jsonl").what
    (tmp_path / "folder").mkdir()
    assert "no file" in problem(tmp_path / "folder").what


# Whose traffic it is


BEDROCK = "https://bedrock-runtime.us-east-1.amazonaws.com/model"
GEMINI = "https://generativelanguage.googleapis.com/v1beta"
VERTEX = "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/anthropic/models"
ADDRESSES = [
    ("https://api.openai.com/v1/chat/completions", "openai", "openai.chat"),
    ("https://api.openai.com/v1/responses", "openai", "openai.responses"),
    ("https://api.openai.com/v1/responses/resp_1", "openai", "openai.responses"),
    ("https://api.openai.com/v1/embeddings", "openai", "embeddings"),
    ("https://api.openai.com/v1/threads/t_1/messages", "openai", "openai.assistants"),
    ("https://api.anthropic.com/v1/messages?beta=true", "anthropic", "anthropic.messages"),
    ("https://api.anthropic.com/v1/messages/count_tokens", "anthropic", "count_tokens"),
    ("https://api.x.ai/v1/responses", "xai", "openai.responses"),
    ("https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=1", "azure", "openai.chat"),
    (f"{BEDROCK}/us.anthropic.claude-v1%3A0/invoke", "bedrock", "anthropic.messages"),
    (f"{BEDROCK}/m/converse-stream", "bedrock", "bedrock.converse"),
    (f"{BEDROCK}/amazon.titan/invoke", "bedrock", "bedrock.invoke_other"),
    (f"{VERTEX}/c:streamRawPredict", "google", "anthropic.messages"),
    (f"{GEMINI}/models/g:streamGenerateContent?alt=sse", "google", "google.gemini"),
    (f"{GEMINI}/openai/chat/completions", "google", "openai.chat"),
    ("https://api.groq.com/openai/v1/chat/completions", "groq", "openai.chat"),
    ("https://api.cohere.com/v2/chat", "cohere", "cohere.chat"),
    ("http://localhost:11434/api/chat", "ollama", "ollama.chat"),
    ("http://localhost:8000/v1/chat/completions", "other", "openai.chat"),
    ("https://example.com/", "other", None),
    ("grpc://api.x.ai:443/xai_api.Chat/GetCompletion", "xai", "xai.grpc"),
    ("grpc://127.0.0.1:50051/xai_api.Chat/GetCompletionChunk", "other", "xai.grpc"),
    ("grpc://api.x.ai/xai_api.Chat/GetDeferredCompletion", "xai", "other endpoints"),
    ("grpc://api.x.ai/xai_api.Models/ListLanguageModels", "xai", "other endpoints"),
    ("http://[broken", "other", None),
    ("", "other", None),
]


def test_the_provider_and_the_wire_follow_from_the_address() -> None:
    found = [classify(url) for url, _, _ in ADDRESSES]
    assert [(one.provider, one.wire) for one in found] == [(provider, wire) for _, provider, wire in ADDRESSES]
    assert classify("https://me:secret@api.openai.com/v1/responses?key=secret").url == "api.openai.com/v1/responses"


def test_an_unknown_address_leaves_it_to_the_body(tmp_path: Path) -> None:
    path = write_yaml(
        tmp_path / "c.yaml",
        interaction(chat_body(), url="https://llm.example/generate"),
        interaction("<html>", url="https://llm.example/"),
    )
    first, second = exchanges(path)
    assert (first.wire, second.wire) == ("openai.chat", None)


# Real files


def test_every_cassette_of_other_projects_is_read(recordings: Path) -> None:
    folder = recordings / "cassettes"
    for entry in json.loads((folder / "manifest.json").read_text()):
        answers = [f for f in exchanges(folder / entry["file"]) if f.wire != "other endpoints"]
        assert len(answers) == entry["exchanges"], entry["file"]
        assert all(f.wire in WIRES for f in answers), entry["file"]
