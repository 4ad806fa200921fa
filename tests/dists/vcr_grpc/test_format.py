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
from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Struct
from google.protobuf.wrappers_pb2 import DoubleValue, StringValue

from toolparity.cassettes import vcr_grpc
from toolparity.cassettes.vcr_grpc import Disagreement, messages, metadata
from toolparity.cassettes.vcr_grpc.interaction import OutgoingCall

from . import callers
from .conftest import Gone, Use
from .servers import UNKNOWN_FIELD, Shop, text


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
    for name in ("c.yaml", "again.yaml"):
        with use(tmp_path / name):
            callers.call(shop.target, "Fail", "café", metadata=(("who", "me"),))
            callers.iterate(shop.target, "Count", "n")
    assert (tmp_path / "c.yaml").read_bytes() == (tmp_path / "again.yaml").read_bytes()
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


def test_stubs_whose_deserializer_gives_no_message_are_recorded_as_bytes_alone(
    shop: Shop, use: Use, unreachable: Gone, tmp_path: Path
) -> None:
    def read(data: bytes) -> Any:
        """A deserializer of the client's own."""
        return StringValue.FromString(bytes(data))

    def go() -> list[Any]:
        with grpc.insecure_channel(shop.target) as channel:
            raw = channel.unary_unary("/test.Shop/Say")(b"\x00\xff")
            decoded = channel.unary_unary("/test.Shop/Say", str.encode, bytes.decode)("t")
            own = channel.unary_unary("/test.Shop/Say", lambda made: made.SerializeToString(), read)
            return [raw, decoded, own(text("t")).value]

    with use():
        assert go() == [b"\x00\xff\x00\xff", "tt", "t"]
    interactions = document(tmp_path / "c.yaml")["interactions"]
    *bodies, readable = [json.loads(i["response"]["body"]["string"]) for i in interactions]
    assert json.loads(interactions[2]["request"]["body"])["message"] == readable["messages"][0]["message"] == "t"
    assert bodies == [{"messages": [{"serialized": "AP8A/w=="}]}, {"messages": [{"serialized": "dHQ="}]}]
    with unreachable(shop), use(record_mode="none"):
        assert go() == [b"\x00\xff\x00\xff", "tt", "t"]


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


ANOTHER = base64.b64encode(text("another").SerializeToString()).decode()
NO_MESSAGE = base64.b64encode(b"\xff\xff").decode()


@pytest.mark.parametrize("way", [callers.iterate, callers.async_for])
def test_a_message_of_which_one_form_was_edited_is_an_error(shop: Shop, use: Use, tmp_path: Path, way: Any) -> None:
    path = tmp_path / "c.yaml"
    with use():
        recorded = way(shop.target, "Count")
    whole = path.read_text()
    members: list[dict[str, Any]] = [{"message": "another"}, {"serialized": ANOTHER}, {"serialized": NO_MESSAGE}]
    for change in [*members, {"message": {"no": "text"}}]:
        edit(path, lambda body: body["messages"][1].update(change))  # noqa: B023 - run at once
        with (
            use(record_mode="none"),
            pytest.raises(Disagreement, match=r"c\.yaml, interaction 1 .*, message 2: "),
        ):
            way(shop.target, "Count")
        path.write_text(whole)
    edit(path, lambda body: body["messages"].__setitem__(1, {"serialized": ANOTHER}))  # the bytes alone count
    with use(record_mode="none"):
        values = [message.value for message in way(shop.target, "Count").messages]
    assert values == ["x 0", "another", "x 2", "x 3"]
    assert len(recorded.messages) == 4


def _in_body(change: Callable[[list[Any]], Any]) -> Callable[[dict[str, Any]], None]:
    def apply(response: dict[str, Any]) -> None:
        body = json.loads(response["body"]["string"])
        change(body["messages"])
        response["body"]["string"] = json.dumps(body)

    return apply


#: Damage to a recorded response, and the message that names it.
DAMAGED: list[tuple[Callable[[dict[str, Any]], Any], str]] = [
    (lambda response: response.update(body={"string": "{}"}), "no list of messages"),
    (_in_body(lambda messages: messages.append({"message": "x"})), "no serialized bytes"),
    (_in_body(lambda messages: messages[0].update(serialized="%")), "not base64"),
    (_in_body(lambda messages: messages.clear()), "0 messages"),
    (lambda response: response.update(grpc={"code": "FINE"}), "'FINE' is not a gRPC status"),
    (lambda response: response.update(trailers={"x-bin": ["%"]}), "x-bin is not base64"),
    (lambda response: response.update(headers=["x"]), "not a mapping"),
    (lambda response: response.update(body={"string": "x"}), "not JSON"),
    (lambda response: response.update(body={"string": "[]"}), "not a JSON object"),
]


def test_a_damaged_interaction_is_an_error_that_names_the_place(shop: Shop, use: Use, tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    with use():
        callers.call(shop.target, "Say")
    recorded = path.read_text()
    for change, problem in DAMAGED:
        whole = yaml.safe_load(recorded)
        change(whole["interactions"][0]["response"])
        path.write_text(yaml.safe_dump(whole))
        with use(record_mode="none"), pytest.raises(vcr_grpc.UnreadableInteraction, match=problem) as raised:
            callers.call(shop.target, "Say")
        assert "c.yaml, interaction 1" in str(raised.value)
        assert "record it again" in str(raised.value)
    path.write_text(recorded)
    edit(path, lambda body: body.update(message="another"), "request")
    with use(record_mode="none", match_on=("uri",)), pytest.raises(Disagreement, match="request"):
        callers.call(shop.target, "Say")


# One message in two forms, read by types older and newer than the one it was recorded with


def card(*fields: str, **enum_values: int) -> type[Message]:
    """A type ``cards.Card`` with these text fields (numbered in order) and an enum field ``suit``."""
    file = descriptor_pb2.FileDescriptorProto(name="cards.proto", package="cards", syntax="proto3")
    suits = file.enum_type.add(name="Suit")
    for name, number in {"NONE": 0, **enum_values}.items():
        suits.value.add(name=name, number=number)
    message = file.message_type.add(name="Card")
    message.field.add(name="suit", number=100, type="TYPE_ENUM", type_name=".cards.Suit", label="LABEL_OPTIONAL")
    for number, name in enumerate(fields, 1):
        message.field.add(name=name, number=number, type="TYPE_STRING", label="LABEL_OPTIONAL")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("cards.Card"))


OLD = card("front")
NEW = card("front", "back", SPADES=1)


def made(type: Any, **fields: Any) -> bytes:
    data: bytes = type(**fields).SerializeToString()
    return data


def test_what_an_older_type_recorded_a_newer_one_reads() -> None:
    data = made(NEW, front="a", back="b", suit=1)
    entry = messages.written(data, OLD)
    assert entry["message"] == {"front": "a", "suit": 1}
    assert entry["unknown_fields"] is True
    assert messages.read(entry, NEW, "") == data


def test_what_a_newer_type_recorded_an_older_one_reads() -> None:
    data = made(NEW, front="a", back="b", suit=1)
    entry = messages.written(data, NEW)
    assert entry["message"] == {"front": "a", "back": "b", "suit": "SPADES"}
    assert "unknown_fields" not in entry
    entry["message"]["suit"] = 1
    assert messages.read(entry, OLD, "") == data


def test_a_readable_form_that_differs_from_the_bytes_is_an_error() -> None:
    """The mark of unknown fields excuses no field that was known."""
    for recorded_with, reader, change, message in (
        (OLD, OLD, {"front": "edited"}, "at front: readable 'edited', bytes 'a'"),
        (OLD, NEW, {"front": "edited"}, "at front: readable 'edited', bytes 'a'"),
        (NEW, NEW, {"back": None}, "at back: readable absent, bytes 'b'"),
        (NEW, NEW, {"bakc": "b"}, "bakc"),
    ):
        entry = messages.written(made(NEW, front="a", back="b"), recorded_with)
        changed = entry["message"] | change
        entry["message"] = {name: value for name, value in changed.items() if value is not None}
        with pytest.raises(Disagreement, match=message):
            messages.read(entry, reader, "")


def test_numbers_agree_with_themselves() -> None:
    for value in (float("nan"), float("inf"), -0.0, 5.0, 1e300, 0.1):
        data = made(DoubleValue, value=value)
        assert messages.read(messages.written(data, DoubleValue), DoubleValue, "") == data


def test_a_message_without_a_json_form_is_kept_as_bytes() -> None:
    data = made(any_pb2.Any, type_url="type.example/no.such.Type", value=b"x")
    entry = messages.written(data, any_pb2.Any)
    assert set(entry) == {"serialized"}
    assert messages.read(entry, any_pb2.Any, "") == data


def test_the_type_of_a_message_is_found_through_the_deserializer_or_by_name() -> None:
    data = made(StringValue, value="x")
    assert messages.type_of(StringValue.FromString) is StringValue
    assert messages.type_of(lambda d: StringValue.FromString(bytes(d)), data) is StringValue
    assert messages.type_of(bytes.decode, data) is None
    assert messages.type_of(None, data) is None
    assert messages.type_of(None, None, "google.protobuf.StringValue") is StringValue
    assert messages.type_of(None, None, "no.such.Type") is None
    assert messages.type_of(lambda d: 1 / 0, data) is None


def test_a_target_becomes_an_address_without_its_resolver() -> None:
    for target, host, port in (
        ("api.x.ai", "api.x.ai", None),
        ("api.x.ai:443", "api.x.ai:443", 443),
        ("dns:///localhost:50051", "localhost:50051", 50051),
        ("dns://8.8.8.8/localhost:50051", "localhost:50051", 50051),
        ("dns:localhost:1", "localhost:1", 1),
        ("ipv4:127.0.0.1:1", "127.0.0.1:1", 1),
        ("ipv6:[::1]:1", "[::1]:1", 1),
        ("unix:/run/a.sock", "unix%3A%2Frun%2Fa.sock", None),
        ("ipv4:127.0.0.1:1,127.0.0.2:1", "127.0.0.1%3A1%2C127.0.0.2%3A1", None),
    ):
        call = OutgoingCall(target, "/a.B/C", (), b"", None, None, stream=False)
        request = call.request()
        assert call.uri == f"grpc://{host}/a.B/C"
        assert (request.path, request.scheme, request.port) == ("/a.B/C", "grpc", port)


def test_metadata_keeps_its_order_also_where_values_of_other_names_are_between() -> None:
    pairs = (("b", "1"), ("a", "2"), ("b", "3"), ("c-bin", b"\xff"))
    for sent in (pairs, pairs[1:], ()):
        assert metadata.from_headers(metadata.to_headers(sent), "", metadata.order_of(sent)) == sent
    assert metadata.from_headers({"a": ["2"], "d": ["4"]}, "", metadata.order_of(pairs)) == (("a", "2"), ("d", "4"))
