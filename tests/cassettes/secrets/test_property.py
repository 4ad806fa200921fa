"""A secret of any form, at any place, broken anywhere, in any encoding, never survives."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st
from xai_sdk.proto import chat_pb2 as chat

from tests.cassettes.secrets.cassettes import (
    answer,
    anthropic_arguments,
    cassette,
    chat_arguments,
    chat_stream,
    grpc_body,
    response_body,
    responses_arguments,
)
from tests.cassettes.secrets.fakes import FORMS, env_key, fake
from tests.cassettes.secrets.plant import grpc_texts, parsed, streamed
from tests.support.thoroughness import examples
from toolparity.cassettes.secrets import Scrubber, scan

#: Text beside a secret that is not part of one: nothing that a key or an address could resume.
_beside = st.text(st.sampled_from(' \n\t.,:;"\\/(){}<>éß漢😀'), max_size=12).map(lambda text: f"{text} ")
_after = _beside.map(lambda text: text[::-1])
_forms = st.sampled_from(sorted(FORMS))
_seeds = st.integers(0, 10**6)


@st.composite
def _broken(draw: st.DrawFn, text: str) -> list[str]:
    """A text in one to many pieces, cut anywhere."""
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=12)))
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


@examples(60)
@given(form=_forms, seed=_seeds, before=_beside, after=_after, data=st.data())
def test_a_secret_in_a_stream_never_survives(
    form: str, seed: int, before: str, after: str, data: st.DataObject
) -> None:
    secret = fake(form, seed)
    text = before + secret + after
    pieces = data.draw(_broken(text))
    arguments = data.draw(_broken(json.dumps({"note": text})))
    bodies = {
        "content": (chat_stream(pieces), streamed("choices", 0, "delta", "content")),
        "chat": (
            chat_arguments(arguments, ["{", "}"]),
            streamed("choices", 0, "delta", "tool_calls", 0, "function", "arguments", only="call_0"),
        ),
        "anthropic": (anthropic_arguments(arguments), streamed("delta", "partial_json")),
        "responses": (responses_arguments(arguments), streamed("delta")),
    }
    body, reads = bodies[data.draw(st.sampled_from(sorted(bodies)))]
    whole = cassette(response=body)
    plain = secret.replace("\n", "\\n")
    assert secret in reads(whole) or plain in reads(whole)
    clean = Scrubber({}).cassette(whole)
    assert secret not in reads(clean)
    assert plain not in reads(clean)
    assert len(response_body(clean)) == len(body)
    assert scan(clean, {}) == []
    assert scan(whole, {}) != []


@examples(300)
@given(
    st.lists(st.sampled_from(["jane", "acme", "io", "1", " ", *"@./_-+%:"]), max_size=12).map("".join),
    st.sampled_from(["jane@acme.io", "j@a-b.co.uk", "_j@acme.io", "%2Fjane@acme.io"]),
    st.lists(st.sampled_from(["jane", "acme", "io", "1", " ", *"@./_-+%:"]), max_size=12).map("".join),
)
def test_whatever_is_beside_an_address_the_scanner_finds_none_that_the_scrubber_left(
    before: str, address: str, after: str
) -> None:
    assert scan(Scrubber({}).cassette(cassette(response=answer(before + address + after))), {}) == []


@examples(40)
@given(form=_forms, seed=_seeds, data=st.data(), others=st.lists(st.sampled_from(["ab", "c d", "é"]), max_size=8))
def test_a_secret_in_a_grpc_stream_never_survives_in_either_half(
    form: str, seed: int, data: st.DataObject, others: list[str]
) -> None:
    secret = fake(form, seed)
    pieces = data.draw(_broken(f"it is {secret} !"))
    mine, other = data.draw(st.sampled_from([(0, 1), (1, 0)]))
    chunks = []
    for at in range(max(len(pieces), len(others))):
        outputs = [{"index": mine, "delta": {"content": pieces[at]}}] if at < len(pieces) else []
        outputs += [{"index": other, "delta": {"content": others[at]}}] if at < len(others) else []
        chunks.append(chat.GetChatCompletionChunk(id="1", outputs=outputs))
    whole = cassette(response=grpc_body(chunks))
    assert secret in grpc_texts(whole)
    clean = Scrubber({}).cassette(whole)
    assert secret not in grpc_texts(clean)
    assert scan(clean, {}) == []
    body = json.loads(response_body(clean))
    for entry in body["messages"]:
        exact = chat.GetChatCompletionChunk.FromString(base64.b64decode(entry["serialized"]))
        assert grpc_body([exact]) == grpc_body([chat.GetChatCompletionChunk(**entry["message"])])


def _escaped(text: str) -> str:
    return "".join(f"\\u{ord(char):04x}" if ord(char) < 0x10000 else char for char in text)


_SPELLINGS = {
    "plain": lambda text: text,
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64url": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "url": lambda text: quote(text, safe=""),
    "json": lambda text: json.dumps({"a": text}),
    "escaped": _escaped,
}


@examples(60)
@given(
    form=_forms,
    seed=_seeds,
    before=_beside,
    after=_after,
    spelling=st.lists(st.sampled_from(sorted(_SPELLINGS)), min_size=1, max_size=2),
)
def test_a_secret_in_any_spelling_never_survives(
    form: str, seed: int, before: str, after: str, spelling: list[str]
) -> None:
    text = before + fake(form, seed) + after
    for name in spelling:
        text = _SPELLINGS[name](text)
    whole = cassette(response=answer(f"see {text} there"))
    clean = Scrubber({}).cassette(whole)
    assert parsed(clean) != parsed(whole)
    assert len(response_body(clean)) == len(response_body(whole))
    assert scan(whole, {}) != []
    assert scan(clean, {}) == []


@examples(50)
@given(seed=_seeds, data=st.data())
def test_an_own_key_never_survives_whatever_is_beside_it(seed: int, data: st.DataObject) -> None:
    key = env_key(seed)
    environ = {"APP_SECRET": key}
    around = st.binary(max_size=20)
    raw = data.draw(around) + key.encode() + data.draw(around)
    text = data.draw(st.sampled_from([base64.b64encode(raw).decode(), raw.hex(), f"x{key}y", quote(key, safe="")]))
    body = chat_stream(data.draw(_broken(f"a {text} b")))
    whole = cassette(response=body)
    assert scan(whole, environ) != []
    clean = Scrubber(environ).cassette(whole)
    assert scan(clean, environ) == []
    assert len(response_body(clean)) == len(body)


# Adjacent texts are separate: scrubbing many gives what scrubbing each alone gives

_texts = st.lists(
    st.one_of(
        st.text(st.sampled_from("abc DE1.-_@ é"), max_size=12),
        st.builds(lambda seed: f"write to {fake('e-mail', seed)}", st.integers(0, 9)),
        st.builds(lambda seed: f"the key {fake('openai', seed)}", st.integers(0, 9)),
        st.sampled_from(["Done", "corp.com", "thanks", "me@", "sk-", "a1b2c3d4e5f6g7h8i9"]),
    ),
    min_size=1,
    max_size=6,
)


def _messages(texts: list[str]) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": text} for text in texts]}


#: The last one is a request about recordings: a member called as gRPC's is, but not where a recording has it.
_SHAPES: dict[str, Callable[[list[str]], dict[str, Any]]] = {
    "messages": _messages,
    "parts": lambda texts: {"messages": [{"role": "user", "content": [{"type": "text", "text": t} for t in texts]}]},
    "items": lambda texts: {"input": [{"role": "user", "content": text} for text in texts]},
    "about recordings": lambda texts: {
        **_messages(texts),
        "tools": [{"name": "send", "parameters": {"properties": {"serialized": {}}}}],
    },
}


@examples(60)
@given(texts=_texts, name=st.sampled_from(sorted(_SHAPES)))
def test_texts_of_a_request_are_scrubbed_each_alone(texts: list[str], name: str) -> None:
    shape = _SHAPES[name]
    scrubber = Scrubber({})
    body = json.dumps(shape(texts)).encode()
    alone = [json.loads(scrubber.body(json.dumps({"content": text}).encode()))["content"] for text in texts]
    assert scrubber.body(body) == json.dumps(shape(alone)).encode()
