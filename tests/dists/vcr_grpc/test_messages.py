"""One message in two forms, read by types older and newer than the one it was recorded with; addresses of targets."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import Message
from google.protobuf.wrappers_pb2 import DoubleValue, StringValue

from toolparity.cassettes.vcr_grpc import Disagreement, messages
from toolparity.cassettes.vcr_grpc.interaction import OutgoingCall


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
