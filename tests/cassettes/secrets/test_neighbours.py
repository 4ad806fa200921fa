"""Adjacent texts are separate: scrubbing many gives what scrubbing each alone gives."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cassettes.secrets.cassettes import answer, cassette
from tests.cassettes.secrets.fakes import fake
from tests.support.thoroughness import examples
from toolparity.cassettes.secrets import Scrubber, scan

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


def _parts(texts: list[str]) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": [{"type": "text", "text": text} for text in texts]}]}


def _items(texts: list[str]) -> dict[str, Any]:
    return {"input": [{"role": "user", "content": text} for text in texts]}


def _history(texts: list[str]) -> dict[str, Any]:
    """A request that talks of recordings: a member called as gRPC's is, but not where a recording has it."""
    return {**_messages(texts), "tools": [{"name": "send", "parameters": {"properties": {"serialized": {}}}}]}


@examples(60)
@given(texts=_texts, shape=st.sampled_from([_messages, _parts, _items, _history]))
def test_texts_of_a_request_are_scrubbed_each_alone(texts: list[str], shape: Any) -> None:
    scrubber = Scrubber({})
    body = json.dumps(shape(texts)).encode()
    alone = [json.loads(scrubber.body(json.dumps({"content": text}).encode()))["content"] for text in texts]
    assert scrubber.body(body) == json.dumps(shape(alone)).encode()


@pytest.mark.parametrize("shape", [_messages, _parts, _items, _history])
def test_a_text_that_ends_in_an_address_is_not_joined_with_the_next(shape: Any) -> None:
    address = fake("e-mail")
    given = cassette(
        request=json.dumps(shape([f"write to {address}", "Done", "thanks"])).encode(), response=answer(address)
    )
    clean = Scrubber({}).cassette(given)
    written = Scrubber({}).cassette(given)["requests"][0].body.decode()
    assert '"Done"' in written
    assert '"thanks"' in written
    assert address not in written
    assert scan(clean, {}) == []
