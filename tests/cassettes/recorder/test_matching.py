"""A request that lost a field finds no answer; one that is only spelled otherwise does; a miss says what differs."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from vcr.errors import CannotOverwriteExistingCassetteException
from vcr.request import Request

from toolparity.cassettes import matching
from toolparity.cassettes.errors import RequestNotRecorded
from toolparity.cassettes.matching import UnrecordedRequest, differences
from toolparity.cassettes.recorder.vcr import StrictCassette
from toolparity.cassettes.secrets.placeholder import placeholder
from toolparity.normalizer.errors import ToolparityError

URL = "https://api.example.com/v1/chat/completions"
BODY = {"model": "m", "messages": [{"role": "user", "content": "Hello"}], "temperature": 1, "stream": True}


def request(body: Any = BODY, uri: str = URL, method: str = "POST") -> Request:
    data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    return Request(method, uri, data, {})


def matches(sent: Request, recorded: Request) -> bool:
    try:
        for matcher in matching.MATCHERS.values():
            matcher(sent, recorded)
    except AssertionError:
        return False
    return True


def test_the_same_request_matches() -> None:
    assert matches(request(), request())


@pytest.mark.parametrize(
    "body",
    [
        b'{"stream":true,"temperature":1,"messages":[{"content":"Hello","role":"user"}],"model":"m"}',
        b'{"model":"m","messages":[{"role":"user","content":"Hello"}],"temperature":1.0,"stream":true}',
        b'{"model":"m","messages":[{"role":"user","content":"Hello"}],"temperature":1e0,"stream":true}',
        b'{ "model":"m",\n"messages":[{"role":"user", "content":"\\u0048ello"}], "stream":true, "temperature":10E-1}',
    ],
    ids=["key order", "1.0", "1e0", "white space and escapes"],
)
def test_the_order_of_keys_and_the_spelling_of_numbers_do_not_count(body: bytes) -> None:
    assert matches(request(body), request())


@pytest.mark.parametrize("field", sorted(BODY))
def test_a_lost_field_does_not_match(field: str) -> None:
    lost = {name: value for name, value in BODY.items() if name != field}
    assert not matches(request(lost), request())
    assert not matches(request(), request(lost))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("temperature", 2),
        ("temperature", True),
        ("temperature", "1"),
        ("temperature", None),
        ("stream", 1),
        ("stream", "true"),
        ("messages", []),
        ("messages", {}),
        ("messages", [{"role": "user", "content": "hello"}]),
        ("messages", [{"role": "user", "content": "Hello"}, {"role": "user", "content": "Hello"}]),
        ("messages", [{"role": "user", "content": "Hello", "name": None}]),
        ("model", "M"),
    ],
    ids=lambda value: json.dumps(value) if not isinstance(value, str) else value,
)
def test_a_changed_field_does_not_match(path: str, value: Any) -> None:
    assert not matches(request({**BODY, path: value}), request())


def test_the_order_of_a_list_counts() -> None:
    assert not matches(request({"stop": ["a", "b"]}), request({"stop": ["b", "a"]}))


def test_numbers_that_no_float_tells_apart_are_told_apart() -> None:
    assert not matches(request(b'{"seed":9007199254740993}'), request(b'{"seed":9007199254740992}'))
    assert not matches(request(b'{"p":0.10000000000000001}'), request(b'{"p":0.1}'))


@pytest.mark.parametrize(
    ("sent", "recorded"),
    [
        (b"--b1\r\n\r\nx", b"--b2\r\n\r\nx"),
        (b"\x00\x01", b"\x00\x02"),
        (b'{"a":1,"a":1}', b'{"a":1}'),
        (b'{"a":NaN}', b'{"a": NaN}'),
        (b"", b"{}"),
        (None, b"null"),
    ],
    ids=["multipart", "binary", "a member twice", "no JSON", "no body", "no body at all"],
)
def test_what_is_no_json_is_compared_byte_for_byte(sent: bytes | None, recorded: bytes) -> None:
    assert not matches(request(sent), request(recorded))
    assert matches(request(recorded), request(recorded))


def form(boundary: str, *contents: str, end: str = "\r\n") -> bytes:
    lines = [f"--{boundary}{end}Content-Disposition: form-data; name=f{end}{end}{each}{end}" for each in contents]
    return "".join([*lines, f"--{boundary}--{end}"]).encode()


@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_the_boundary_of_a_multipart_body_does_not_count(end: str) -> None:
    assert matches(request(form("b1", "x", "y", end=end)), request(form("===?'b2", "x", "y", end=end)))
    assert not matches(request(form("b1", "x", "z", end=end)), request(form("b2", "x", "y", end=end)))
    assert not matches(request(form("b1", "x", end=end)), request(form("b2", "x", "y", end=end)))
    assert not matches(
        request(form("b1", "x", end=end)), request(form("b1", "x", end=end).replace(b"name=f", b"name=g"))
    )


def test_the_boundary_of_one_body_inside_another_counts() -> None:
    assert not matches(request(form("b1", "--b9")), request(form("b2", "--b8")))


def test_the_method_and_the_address_count() -> None:
    assert not matches(request(method="GET"), request())
    assert not matches(request(uri=URL + "/1"), request())
    assert not matches(request(uri="https://api.example.org/v1/chat/completions"), request())
    assert not matches(request(uri="http://api.example.com/v1/chat/completions"), request())
    assert not matches(request(uri=URL + "?beta=true"), request())


def test_credentials_and_the_order_of_a_query_do_not_count() -> None:
    assert matches(
        request(uri=URL + "?b=2&a=1&key=mine"), request(uri="https://API.example.com:443/v1/chat/completions?a=1&b=2")
    )


@pytest.mark.parametrize("name", ["token", "sig", "signature", "user"])
def test_every_other_member_of_a_query_counts(name: str) -> None:
    assert not matches(request(uri=f"{URL}?{name}=a"), request(uri=f"{URL}?{name}=b"))
    assert not matches(request(), request(uri=f"{URL}?{name}=b"))


def test_of_a_scrubbed_member_of_a_query_only_the_name_counts() -> None:
    recorded = request(uri=f"{URL}?signature={placeholder('theirs' * 4)}")
    assert matches(request(uri=f"{URL}?signature={placeholder('mine' * 5)}"), recorded)
    assert not matches(request(), recorded)


def headed(**headers: str) -> Request:
    return Request("POST", URL, b"{}", {name.replace("_", "-"): value for name, value in headers.items()})


def test_headers_that_choose_an_interface_count_where_any_is_recorded() -> None:
    recorded = headed(anthropic_version="2023-06-01", anthropic_beta="a, b", accept="x")
    assert matches(headed(Anthropic_Version="2023-06-01", anthropic_beta="b,a", accept="y"), recorded)
    assert not matches(headed(anthropic_version="1999-01-01", anthropic_beta="a,b"), recorded)
    assert not matches(headed(anthropic_version="2023-06-01", anthropic_beta="a"), recorded)
    assert not matches(headed(anthropic_version="2023-06-01"), recorded)
    assert not matches(
        headed(anthropic_version="2023-06-01", anthropic_beta="c"), headed(anthropic_version="2023-06-01")
    )
    assert not matches(headed(), headed(openai_beta="responses=v1"))
    assert matches(headed(anthropic_version="2023-06-01"), headed(accept="x")), "an imported one keeps none of them"


def test_a_miss_says_which_header_differs() -> None:
    sent = headed(anthropic_version="1999-01-01")
    error = missed(cassette(headed(anthropic_version="2023-06-01")), sent)
    assert error.differences == ["the header anthropic-version: 2023-06-01 -> 1999-01-01"]


def test_a_body_over_http_that_looks_like_a_grpc_message_is_none() -> None:
    assert not matches(request({"message": "a", "serialized": "x"}), request({"message": "a", "serialized": "y"}))
    assert not matches(request({"message": "a"}), request({"message": "a", "serialized": "y"}))


def rpc(message: dict[str, Any], data: bytes = b"x", **more: Any) -> Request:
    body = {"message": message, "serialized": base64.b64encode(data).decode(), "type": "a.B", **more}
    return Request("POST", "grpc://api.example.com/a.Service/Call", json.dumps(body).encode(), {})


def test_a_grpc_request_is_compared_by_its_message() -> None:
    assert matches(rpc({"model": "m"}, b"one order"), rpc({"model": "m"}, b"another"))
    assert not matches(rpc({"model": "m"}), rpc({"model": "m", "n": 1}))


def test_a_grpc_request_with_unknown_fields_is_compared_by_its_bytes_too() -> None:
    known = rpc({"model": "m"}, b"a", unknown_fields=True)
    assert not matches(known, rpc({"model": "m"}, b"b", unknown_fields=True))
    assert matches(known, rpc({"model": "m"}, b"a", unknown_fields=True))


def cassette(*requests: Request) -> StrictCassette:
    made = StrictCassette("talk.yaml", match_on=list(matching.MATCHERS.values()), record_mode="none")
    for one in requests:
        made.append(one, {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": b"{}"}})
    made.rewound = True
    return made


def missed(cassette: StrictCassette, sent: Request) -> UnrecordedRequest:
    with pytest.raises(UnrecordedRequest) as raised:
        cassette.can_play_response_for(sent)
    assert cassette.missed == [raised.value]
    return raised.value


def test_a_miss_shows_the_nearest_request_and_what_differs() -> None:
    other = {**BODY, "messages": [{"role": "user", "content": "Something else"}], "model": "other", "seed": 1}
    sent = {"model": "m", "messages": [{"role": "user", "content": "Hello!"}], "stream": True, "n": 2}
    error = missed(cassette(request(other), request()), request(sent))
    assert error.differences == [
        'messages[0].content: "Hello" -> "Hello!"',
        "temperature: removed, was 1",
        "n: added 2",
    ]
    assert error.nearest is not None
    assert json.loads(error.nearest.body) == BODY
    assert error.reason == "no_match"
    text = str(error)
    assert "interaction 2 of 2" in text
    assert all(one in text for one in error.differences)
    assert text.startswith("talk.yaml: POST https://api.example.com/v1/chat/completions is not recorded")


@pytest.mark.parametrize("sent", [request({"a": 1}), request(uri="https://other.example.com/"), request(b"\x00")])
@pytest.mark.parametrize("recorded", [[], [request()], [request(), request(b"bytes")]], ids=["none", "one", "two"])
def test_no_miss_says_that_a_cassette_cannot_be_overwritten(sent: Request, recorded: list[Request]) -> None:
    text = str(missed(cassette(*recorded), sent)).lower()
    assert "overwrit" not in text
    assert "record" in text


def test_what_catches_vcrpys_error_catches_this_one() -> None:
    error = missed(cassette(request()), request({"a": 1}))
    assert isinstance(error, CannotOverwriteExistingCassetteException)
    assert isinstance(error, RequestNotRecorded)
    assert isinstance(error, ToolparityError)
    assert json.loads(error.failed_request.body) == {"a": 1}


def test_a_request_that_was_played_says_so() -> None:
    made = cassette(request())
    assert made.can_play_response_for(request())
    made.play_response(request())
    error = missed(made, request())
    assert error.reason == "already_played"
    assert "recorded once and played as often" in str(error)


def test_a_long_list_of_differences_is_cut() -> None:
    body = {f"member{n}": n for n in range(30)}
    error = missed(cassette(request({})), request(body))
    assert len(error.differences) == 30
    assert "and 18 more" in str(error)
    assert "member29" not in str(error)


def test_secrets_in_a_query_are_not_shown() -> None:
    made = cassette(request())
    made._before_record_request = lambda one: Request(one.method, one.uri.replace("mine", "REDACTED"), one.body, {})
    assert "mine" not in str(missed(made, request({"a": 1}, uri=URL + "?key=mine")))


def test_differences_of_bodies_that_are_no_json_are_short() -> None:
    (found,) = differences(b"x" * 1000, b"y" * 1000)
    assert str(found) == f"the body: 1000 bytes {b'x' * 24!r} -> 1000 bytes {b'y' * 24!r}"
