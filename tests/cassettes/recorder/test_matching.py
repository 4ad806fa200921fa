"""A request matches by its meaning, not its notation; a request without a match reports what differs."""

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
from toolparity.normalizer.errors import ToolparityError
from toolparity.turns.secrets.placeholder import placeholder

URL = "https://api.example.com/v1/chat/completions"
BODY = {"model": "m", "messages": [{"role": "user", "content": "Hello"}], "temperature": 1, "stream": True}


def request(body: Any = BODY, uri: str = URL, method: str = "POST") -> Request:
    data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    return Request(method, uri, data, {})


def matches(sent: Any, recorded: Any) -> bool:
    """Whether two requests, or two bodies, match."""
    one, other = (each if isinstance(each, Request) else request(each) for each in (sent, recorded))
    try:
        for matcher in matching.MATCHERS.values():
            matcher(one, other)
    except AssertionError:
        return False
    return True


def test_the_order_of_keys_and_the_notation_of_numbers_do_not_count() -> None:
    for body in (
        BODY,
        b'{"stream":true,"temperature":1,"messages":[{"content":"Hello","role":"user"}],"model":"m"}',
        b'{"model":"m","messages":[{"role":"user","content":"Hello"}],"temperature":1.0,"stream":true}',
        b'{"model":"m","messages":[{"role":"user","content":"Hello"}],"temperature":1e0,"stream":true}',
        b'{ "model":"m",\n"messages":[{"role":"user", "content":"\\u0048ello"}], "stream":true, "temperature":10E-1}',
    ):
        assert matches(body, BODY), body


def test_a_lost_or_changed_field_does_not_match() -> None:
    for field in BODY:
        lost = {name: value for name, value in BODY.items() if name != field}
        assert not matches(lost, BODY), field
        assert not matches(BODY, lost), field
    hello = {"role": "user", "content": "Hello"}
    messages: list[Any] = [[], {}, [hello, hello], [hello | {"name": None}], [hello | {"content": "hello"}]]
    others = {"temperature": (2, True, "1", None), "stream": (1, "true"), "messages": messages, "model": ("M",)}
    for field, values in others.items():
        for value in values:
            assert not matches({**BODY, field: value}, BODY), (field, value)


#: What counts -> a body that is sent, and one that is recorded.
DIFFERENT: dict[str, tuple[Any, Any]] = {
    "order of a list": ({"stop": ["a", "b"]}, {"stop": ["b", "a"]}),
    "large integers": (b'{"seed":9007199254740993}', b'{"seed":9007199254740992}'),
    "long fractions": (b'{"p":0.10000000000000001}', b'{"p":0.1}'),
    "multipart": (b"--b1\r\n\r\nx", b"--b2\r\n\r\nx"),
    "binary": (b"\x00\x01", b"\x00\x02"),
    "a member twice": (b'{"a":1,"a":1}', b'{"a":1}'),
    "not JSON": (b'{"a":NaN}', b'{"a": NaN}'),
    "no body": (b"", b"{}"),
    "no body at all": (None, b"null"),
    "a gRPC message over HTTP": ({"message": "a", "serialized": "x"}, {"message": "a", "serialized": "y"}),
    "a new member": ({"message": "a"}, {"message": "a", "serialized": "y"}),
}


def test_bodies_that_differ_do_not_match() -> None:
    for name, (sent, recorded) in DIFFERENT.items():
        assert (matches(sent, recorded), matches(recorded, recorded)) == (False, True), name


def form(boundary: str, *contents: str, end: str = "\r\n") -> bytes:
    lines = [f"--{boundary}{end}Content-Disposition: form-data; name=f{end}{end}{each}{end}" for each in contents]
    return "".join([*lines, f"--{boundary}--{end}"]).encode()


@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_the_boundary_of_a_multipart_body_does_not_count(end: str) -> None:
    assert matches(form("b1", "x", "y", end=end), form("===?'b2", "x", "y", end=end))
    assert not matches(form("b1", "x", "z", end=end), form("b2", "x", "y", end=end))
    assert not matches(form("b1", "x", end=end), form("b2", "x", "y", end=end))
    assert not matches(form("b1", "x", end=end), form("b1", "x", end=end).replace(b"name=f", b"name=g"))
    assert not matches(form("b1", "--b9"), form("b2", "--b8")), "the boundary of a body inside another counts"


def test_the_method_and_the_address_count_without_credentials_and_order() -> None:
    assert not matches(request(method="GET"), request())
    for other in (f"{URL}/1", URL.replace(".com", ".org"), URL.replace("https", "http"), f"{URL}?beta=true"):
        assert not matches(request(uri=other), request()), other
    assert matches(request(uri=URL + "?b=2&a=1&key=mine"), request(uri=URL.replace("api", "API") + "?a=1&b=2"))
    assert matches(request(uri=URL.replace(".com", ".com:443")), request())
    for name in ("token", "sig", "signature", "user"):
        assert not matches(request(uri=f"{URL}?{name}=a"), request(uri=f"{URL}?{name}=b")), name
        assert not matches(request(), request(uri=f"{URL}?{name}=b")), name
    scrubbed = request(uri=f"{URL}?signature={placeholder('theirs' * 4)}")
    assert matches(request(uri=f"{URL}?signature={placeholder('mine' * 5)}"), scrubbed)
    assert not matches(request(), scrubbed)


def headed(**headers: str) -> Request:
    return Request("POST", URL, b"{}", {name.replace("_", "-"): value for name, value in headers.items()})


def test_headers_that_choose_an_interface_count_if_any_is_recorded() -> None:
    version = {"anthropic_version": "2023-06-01"}
    recorded = headed(**version, anthropic_beta="a, b", accept="x")
    assert matches(headed(Anthropic_Version="2023-06-01", anthropic_beta="b,a", accept="y"), recorded)
    assert not matches(headed(anthropic_version="1999-01-01", anthropic_beta="a,b"), recorded)
    assert not matches(headed(**version, anthropic_beta="a"), recorded)
    assert not matches(headed(**version), recorded)
    assert not matches(headed(**version, anthropic_beta="c"), headed(**version))
    assert not matches(headed(), headed(openai_beta="responses=v1"))
    assert matches(headed(**version), headed(accept="x")), "an imported one keeps none of them"
    error = missed(cassette(headed(**version)), headed(anthropic_version="1999-01-01"))
    assert error.differences == ["the header anthropic-version: 2023-06-01 -> 1999-01-01"]


def rpc(message: dict[str, Any], data: bytes = b"x", **more: Any) -> Request:
    body = {"message": message, "serialized": base64.b64encode(data).decode(), "type": "a.B", **more}
    return Request("POST", "grpc://api.example.com/a.Service/Call", json.dumps(body).encode(), {})


def test_a_grpc_request_is_compared_by_its_message_and_unknown_fields_by_their_bytes() -> None:
    assert matches(rpc({"model": "m"}, b"one order"), rpc({"model": "m"}, b"another"))
    assert not matches(rpc({"model": "m"}), rpc({"model": "m", "n": 1}))
    unknown = rpc({"model": "m"}, b"a", unknown_fields=True)
    assert not matches(unknown, rpc({"model": "m"}, b"b", unknown_fields=True))
    assert matches(unknown, rpc({"model": "m"}, b"a", unknown_fields=True))


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
    assert (error.nearest is not None and json.loads(error.nearest.body), error.reason) == (BODY, "no_match")
    text = str(error)
    assert text.startswith("talk.yaml: POST https://api.example.com/v1/chat/completions is not recorded")
    assert [part for part in ("interaction 2 of 2", *error.differences) if part not in text] == []


def test_no_miss_reports_that_a_cassette_cannot_be_overwritten() -> None:
    for recorded in ([], [request()], [request(), request(b"bytes")]):
        for sent in (request({"a": 1}), request(uri="https://other.example.com/"), request(b"\x00")):
            error: Any = missed(cassette(*recorded), sent)
            text = str(error).lower()
            assert ("overwrit" in text, "record" in text) == (False, True), (recorded, sent)
            for kind in (CannotOverwriteExistingCassetteException, RequestNotRecorded, ToolparityError):
                assert isinstance(error, kind), "handlers of vcrpy's error catch it"
            assert error.failed_request.body == sent.body


def test_a_miss_of_a_played_request_names_that_reason() -> None:
    made = cassette(request())
    assert made.can_play_response_for(request())
    made.play_response(request())
    error = missed(made, request())
    assert error.reason == "already_played"
    assert "recorded once and played as often" in str(error)


def test_long_differences_are_cut_and_secrets_in_a_query_not_shown() -> None:
    error = missed(cassette(request({})), request({f"member{n}": n for n in range(30)}))
    assert len(error.differences) == 30
    assert "and 18 more" in str(error)
    assert "member29" not in str(error)
    (found,) = differences(b"x" * 1000, b"y" * 1000)
    assert str(found) == f"the body: 1000 bytes {b'x' * 24!r} -> 1000 bytes {b'y' * 24!r}"
    made = cassette(request())
    made._before_record_request = lambda one: Request(one.method, one.uri.replace("mine", "REDACTED"), one.body, {})
    assert "mine" not in str(missed(made, request({"a": 1}, uri=URL + "?key=mine")))
