"""What is in the file: ordinary interactions, readable and exact, and nothing that was edited passes unseen."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
import vcr
import yaml
from google.protobuf.struct_pb2 import Struct
from google.protobuf.wrappers_pb2 import StringValue

from toolparity.cassettes import vcr_grpc

from . import callers
from .callers import text
from .conftest import Gone, Use
from .servers import UNKNOWN_FIELD, Shop


def document(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def edit(path: Path, change: Callable[[dict[str, Any]], None], half: str = "response") -> None:
    """Let ``change`` edit the JSON of the only interaction's body."""
    whole = document(path)
    (interaction,) = whole["interactions"]
    holder, key = (
        (interaction["response"]["body"], "string") if half == "response" else (interaction["request"], "body")
    )
    body = json.loads(holder[key])
    change(body)
    holder[key] = json.dumps(body)
    path.write_text(yaml.safe_dump(whole))


def test_a_call_is_an_ordinary_interaction_with_readable_and_exact_messages(
    shop: Shop, use: Use, tmp_path: Path
) -> None:
    with use():
        callers.call(shop.target, "Fail", "café", metadata=(("who", "me"),))
        callers.iterate(shop.target, "Count", "n")
    failed, counted = document(tmp_path / "c.yaml")["interactions"]
    assert failed["request"]["method"] == "POST"
    assert failed["request"]["uri"] == f"grpc://{shop.target}/test.Shop/Fail"
    assert failed["request"]["headers"] == {"who": ["me"]}
    assert json.loads(failed["request"]["body"]) == {
        "message": "café",
        "serialized": base64.b64encode(text("café").SerializeToString()).decode(),
        "type": "google.protobuf.StringValue",
    }
    assert failed["response"] == {
        "status": {"code": 200, "message": "OK"},
        "headers": {"greeting": ["hello", "again"], "seal-bin": ["AP8="]},
        "body": {"string": '{"messages": [], "type": "google.protobuf.StringValue"}'},
        "trailers": {"cost": ["3"], "sum-bin": ["Af4="]},
        "grpc": {"code": "NOT_FOUND", "details": "nö such thing", "stream": False},
    }
    assert counted["response"]["grpc"] == {"code": "OK", "details": "", "stream": True}
    assert json.loads(counted["response"]["body"]["string"])["messages"] == [
        {"message": f"n {i}", "serialized": base64.b64encode(text(f"n {i}").SerializeToString()).decode()}
        for i in range(4)
    ]


def test_a_vcrpy_that_knows_nothing_of_this_loads_the_cassette(shop: Shop, use: Use, tmp_path: Path) -> None:
    with use():
        callers.call(shop.target, "Metadata")
    with vcr.use_cassette(str(tmp_path / "c.yaml"), record_mode="none") as cassette:
        (request,), (response,) = cassette.requests, cassette.responses
    assert (request.method, request.scheme, request.host, request.port) == ("POST", "grpc", "127.0.0.1", shop.port)
    assert request.path == "/test.Shop/Metadata"
    assert json.loads(response["body"]["string"])["messages"][0]["message"] == "x"


def test_equal_runs_write_equal_files(shop: Shop, use: Use, tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        with use(tmp_path / name):
            callers.call(shop.target, "Metadata")
            callers.iterate(shop.target, "CountFail")
    assert (tmp_path / "a.yaml").read_bytes() == (tmp_path / "b.yaml").read_bytes()


@pytest.mark.parametrize("method", ["Metadata", "Unknown", "Fail"])
def test_vcrpys_json_serializer_holds_it_as_well(shop: Shop, use: Use, unreachable: Gone, method: str) -> None:
    with use(serializer="json"):
        recorded = callers.call(shop.target, method)
    with unreachable(shop), use(serializer="json", record_mode="none"):
        assert callers.call(shop.target, method) == recorded


def test_fields_that_the_type_does_not_know_are_kept_byte_for_byte(shop: Shop, use: Use, tmp_path: Path) -> None:
    with use():
        callers.call(shop.target, "Unknown")
    (interaction,) = document(tmp_path / "c.yaml")["interactions"]
    assert json.loads(interaction["response"]["body"]["string"])["messages"] == [
        {
            "message": "x",
            "serialized": base64.b64encode(text("x").SerializeToString() + UNKNOWN_FIELD).decode(),
            "unknown_fields": True,
        }
    ]


def test_stubs_without_protobuf_are_recorded_as_bytes_alone(
    shop: Shop, use: Use, unreachable: Gone, tmp_path: Path
) -> None:
    def go() -> list[Any]:
        with grpc.insecure_channel(shop.target) as channel:
            raw = channel.unary_unary("/test.Shop/Say")(b"\x00\xff")
            decoded = channel.unary_unary("/test.Shop/Say", str.encode, bytes.decode)("t")
            return [raw, decoded]

    with use():
        assert go() == [b"\x00\xff\x00\xff", "tt"]
    bodies = [json.loads(i["response"]["body"]["string"]) for i in document(tmp_path / "c.yaml")["interactions"]]
    assert bodies == [{"messages": [{"serialized": "AP8A/w=="}]}, {"messages": [{"serialized": "dHQ="}]}]
    with unreachable(shop), use(record_mode="none"):
        assert go() == [b"\x00\xff\x00\xff", "tt"]


def test_a_deserializer_of_ones_own_that_gives_messages_makes_them_readable(
    shop: Shop, use: Use, tmp_path: Path
) -> None:
    with use(), grpc.insecure_channel(shop.target) as channel:
        channel.unary_unary(
            "/test.Shop/Say",
            lambda message: message.SerializeToString(),
            lambda data: StringValue.FromString(bytes(data)),
        )(text("t"))
    (interaction,) = document(tmp_path / "c.yaml")["interactions"]
    assert json.loads(interaction["request"]["body"])["message"] == "t"
    assert json.loads(interaction["response"]["body"]["string"])["messages"][0]["message"] == "t"


def test_bytes_that_the_type_cannot_read_are_kept_and_fail_alike(shop: Shop, use: Use, unreachable: Gone) -> None:
    with use():
        recorded = callers.call(shop.target, "Garbage")
    assert recorded.code is grpc.StatusCode.INTERNAL
    with unreachable(shop), use(record_mode="none"):
        assert callers.call(shop.target, "Garbage") == recorded


def test_equal_requests_are_equal_whatever_the_order_their_maps_were_filled_in(
    shop: Shop, use: Use, unreachable: Gone, tmp_path: Path
) -> None:
    def ask(*keys: str) -> Any:
        request = Struct()
        for key in keys:
            request[key] = key
        with grpc.insecure_channel(shop.target) as channel:
            return channel.unary_unary("/test.Shop/Say", Struct.SerializeToString, Struct.FromString)(request)

    keys = [f"key {n}" for n in range(40)]
    with use():
        recorded = ask(*keys)
    (interaction,) = document(tmp_path / "c.yaml")["interactions"]
    for written in (interaction["request"]["body"], interaction["response"]["body"]["string"]):
        assert written == json.dumps(json.loads(written), sort_keys=True)
    with unreachable(shop), use(record_mode="none", match_on=("uri", "raw_body"), allow_playback_repeats=True):
        assert ask(*reversed(keys)) == recorded
        with pytest.raises(vcr_grpc.CallNotRecorded, match='key 7: recorded "key 7", now absent'):
            ask(*(key for key in keys if key != "key 7"))


def _readable_edited(body: dict[str, Any]) -> None:
    body["messages"][1]["message"] = "another"


def _bytes_edited(body: dict[str, Any]) -> None:
    body["messages"][1]["serialized"] = base64.b64encode(text("another").SerializeToString()).decode()


def _bytes_of_no_message(body: dict[str, Any]) -> None:
    body["messages"][1]["serialized"] = base64.b64encode(b"\xff\xff").decode()


def _readable_of_no_message(body: dict[str, Any]) -> None:
    body["messages"][1]["message"] = {"no": "text"}


@pytest.mark.parametrize("change", [_readable_edited, _bytes_edited, _bytes_of_no_message, _readable_of_no_message])
@pytest.mark.parametrize("way", [callers.iterate, callers.async_for])
def test_a_message_of_which_one_form_was_edited_is_an_error(
    shop: Shop, use: Use, tmp_path: Path, way: Any, change: Any
) -> None:
    with use():
        way(shop.target, "Count")
    edit(tmp_path / "c.yaml", change)
    with use(record_mode="none"), pytest.raises(vcr_grpc.Disagreement, match=r"c\.yaml, interaction 1 .*, message 2: "):
        way(shop.target, "Count")


def test_a_message_without_its_readable_form_goes_by_the_bytes(shop: Shop, use: Use, tmp_path: Path) -> None:
    def change(body: dict[str, Any]) -> None:
        _bytes_edited(body)
        del body["messages"][1]["message"]

    with use():
        callers.iterate(shop.target, "Count")
    edit(tmp_path / "c.yaml", change)
    with use(record_mode="none"):
        seen = callers.iterate(shop.target, "Count")
    assert [message.value for message in seen.messages] == ["x 0", "another", "x 2", "x 3"]


def test_a_request_of_which_one_form_was_edited_is_an_error(shop: Shop, use: Use, tmp_path: Path) -> None:
    with use():
        callers.call(shop.target, "Say")
    edit(tmp_path / "c.yaml", lambda body: body.update(message="another"), "request")
    with use(record_mode="none", match_on=("uri",)), pytest.raises(vcr_grpc.Disagreement, match="request"):
        callers.call(shop.target, "Say")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda body: body.pop("messages"), "no list of messages"),
        (lambda body: body["messages"].append({"message": "x"}), "no serialized bytes"),
        (lambda body: body["messages"][0].update(serialized="%"), "not base64"),
        (lambda body: body["messages"].clear(), "0 messages"),
    ],
)
def test_a_damaged_answer_is_an_error_that_names_the_place(
    shop: Shop, use: Use, tmp_path: Path, change: Any, what: str
) -> None:
    with use():
        callers.call(shop.target, "Say")
    edit(tmp_path / "c.yaml", change)
    with use(record_mode="none"), pytest.raises(vcr_grpc.UnreadableInteraction, match=what) as raised:
        callers.call(shop.target, "Say")
    assert "c.yaml, interaction 1" in str(raised.value)
    assert "record it again" in str(raised.value)


@pytest.mark.parametrize(
    ("member", "value", "what"),
    [
        ("grpc", {"code": "FINE"}, "'FINE' is not a gRPC status"),
        ("trailers", {"x-bin": ["%"]}, "x-bin is not base64"),
        ("headers", ["x"], "not a mapping"),
        ("body", {"string": "x"}, "not JSON"),
        ("body", {"string": "[]"}, "not a JSON object"),
    ],
)
def test_a_damaged_frame_of_an_answer_is_an_error(
    shop: Shop, use: Use, tmp_path: Path, member: str, value: Any, what: str
) -> None:
    with use():
        callers.call(shop.target, "Say")
    whole = document(tmp_path / "c.yaml")
    whole["interactions"][0]["response"][member] = value
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(whole))
    with use(record_mode="none"), pytest.raises(vcr_grpc.UnreadableInteraction, match=what):
        callers.call(shop.target, "Say")
