"""What the members of chunks report does not depend on where the bytes are cut (law `any-split`), or on a stream.

A recorded stream has the same members in every chunk; a made one may change any member, or give it once, at any place.
"""

from __future__ import annotations

import copy
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from google.protobuf.json_format import MessageToDict
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from xai_sdk.proto import chat_pb2

from tests.support.decoding import codes, decoded, feed
from tests.support.emit import ANSWERS, emit_body, emit_stream, payload, say, scripted_call
from tests.support.events import chunk, cut, grpc_call, sse
from tests.support.merging import merged
from tests.support.thoroughness import examples
from tests.support.wires import WIRES
from toolparity import Response, StreamDecoder, normalize
from toolparity.normalizer.events import BlockDelta
from toolparity.normalizer.wires.anthropic_messages import schema as anthropic_schema
from toolparity.normalizer.wires.openai_chat import schema as chat_schema
from toolparity.normalizer.wires.openai_responses import schema as responses_schema

TEXT = '{"a":1,"b":[2,"three"]}'
PARTS = cut(TEXT, 3)
WORDS = ["Hel", "lo", "!"]
#: What a member may be given; some of it has another type than the wire defines.
VALUES = st.sampled_from([None, "", "a", "b", 0, 1, 1700000000, 2.5, True, [], {}, ["x"], {"x": 1}])


def events_of(wire: str) -> list[dict[str, Any]]:
    """The events of a stream with thinking (on openai.chat), a text and a call."""
    thoughts = [chunk(reasoning_content=text) for text in "Hm"] if wire == "openai.chat" else []
    payloads = (payload(wire, frame) for frame in emit_stream(wire, [say(*WORDS), scripted_call(PARTS, "a", "f")]))
    return [*thoughts, *(event for event in payloads if isinstance(event, dict) and event.get("choices", True))]


def _members(*structs: type[msgspec.Struct], structural: tuple[str, ...]) -> list[str]:
    names = {field.encode_name for struct in structs for field in msgspec.structs.fields(struct)}
    return [*sorted(name for name in names if name not in structural and " " not in name), "strange"]


#: The members of each wire that may be anything.
STREAMS: dict[str, list[str]] = {
    "openai.chat": _members(chat_schema.Body, chat_schema.Piece, structural=("choices",)),
    "openai.responses": _members(responses_schema.Event, structural=("type",)),
    "anthropic.messages": _members(anthropic_schema.Event, anthropic_schema.Piece, structural=("type", "at")),
}


def assert_same(wire: str, whole: list[bytes], other: list[bytes]) -> None:
    (one, shown), (two, events) = feed(wire, whole), feed(wire, other)
    assert one == two
    assert one.findings == two.findings
    assert merged(shown) == merged(events)


def holders(wire: str, event: dict[str, Any]) -> list[dict[str, Any]]:
    """The objects of an event whose members vary: the event, and what is in a chunk of openai.chat."""
    if wire != "openai.chat":
        return [event]
    choice = event["choices"][0]
    return [event, event, event, choice, choice["delta"], *choice["delta"].get("tool_calls", ())]


@pytest.mark.parametrize("wire", STREAMS)
def test_members_that_change_between_chunks_give_the_same_response_at_any_cut(wire: str) -> None:
    @examples(400, plain=20, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def holds(data: st.DataObject) -> None:
        events = events_of(wire)
        chosen = data.draw(st.lists(st.sampled_from(STREAMS[wire]), min_size=1, max_size=3, unique=True))
        for _ in range(data.draw(st.integers(1, 8))):
            holder = data.draw(st.sampled_from(holders(wire, data.draw(st.sampled_from(events)))))
            holder[data.draw(st.sampled_from(chosen))] = data.draw(VALUES)
        singly = [sse(event) for event in events]
        whole = b"".join(singly) + b"data: [DONE]\n\n"
        places = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=12)))
        assert_same(wire, [whole], [*singly, b"data: [DONE]\n\n"])
        assert_same(wire, [whole], [whole[start:end] for start, end in pairwise([0, *places, len(whole)])])

    holds()


@pytest.mark.thorough(keep=1, per="{wire}")
@pytest.mark.parametrize("wire", STREAMS)
@pytest.mark.parametrize("value", ["late", 1700000001, {"x": 1}], ids=repr)
def test_each_member_given_once_at_each_place_gives_the_same_response_at_any_cut(wire: str, value: Any) -> None:
    made = events_of(wire)
    for member in STREAMS[wire]:
        for place in range(len(made)):
            events = copy.deepcopy(made)
            events[place][member] = value
            singly = [sse(event) for event in events]
            assert_same(wire, [b"".join(singly)], singly)


def test_the_last_value_of_a_member_and_the_first_id_and_model_are_kept() -> None:
    members = ("created", "service_tier", "system_fingerprint")
    events = [event | dict.fromkeys(members, place) for place, event in enumerate(events_of("openai.chat"))]
    for place, event in enumerate(events):
        event["id"] = event["model"] = "" if place < 4 else f"given_{place}"
    for pieces in ([sse(*events, done=True)], [sse(event) for event in events]):
        response, _ = feed("openai.chat", pieces)
        assert (response.id, response.model) == ("given_4", "given_4")
        assert response.extra == dict.fromkeys(members, len(events) - 1)


@pytest.mark.parametrize("wire", STREAMS)
def test_the_deltas_of_a_block_in_one_chunk_become_one_event_after_the_first(wire: str) -> None:
    singly = [sse(event) for event in events_of(wire)]
    without = StreamDecoder(wire, events=False)
    assert [without.feed(each) for each in singly] == [[]] * len(singly)
    response, events = feed(wire, [b"".join(singly)])
    assert without.finish() == response
    apart = [event.text for event in feed(wire, singly)[1] if isinstance(event, BlockDelta)]
    assert [text for text in apart if text] == [*(["H", "m"] if wire == "openai.chat" else []), *WORDS, *PARTS]
    together = [event for event in events if isinstance(event, BlockDelta)]
    assert "".join(event.text for event in together) == "".join(apart)
    for key in {event.key for event in together}:
        assert len([event for event in together if event.key == key]) <= 2


# xai.grpc: the same messages, as bytes, objects or protobuf JSON


def test_fields_that_change_between_messages_give_the_same_response_in_any_form() -> None:
    messages = [
        chat_pb2.GetChatCompletionChunk(
            id=("", "x1", "x2")[place],
            model=("", "m", "n")[place],
            system_fingerprint=("fp_1", "fp_2", "")[place],
            citations=["https://a"] * place,
            created={"seconds": 10 + place},
            outputs=[chat_pb2.CompletionOutputChunk(index=0, delta=delta, finish_reason=4 * (place == 2))],
        )
        for place, delta in enumerate(_deltas())
    ]
    whole, shown = feed("xai.grpc", [message.SerializeToString() for message in messages])
    plain = [MessageToDict(message, preserving_proto_field_name=True) for message in messages]
    for form in (messages, plain):
        assert feed("xai.grpc", form) == (whole, shown)  # type: ignore[arg-type]
    assert (whole.id, whole.model) == ("x1", "m")
    assert (whole.extra["system_fingerprint"], whole.extra["citations"]) == ("fp_2", ["https://a"] * 3)


def _deltas() -> list[chat_pb2.Delta]:
    words = [chat_pb2.Delta(role="ROLE_ASSISTANT", content=word) for word in ("Hel", "lo")]
    return [*words, chat_pb2.Delta(tool_calls=[grpc_call("a", "f", TEXT)])]


def skeleton(response: Response) -> dict[str, Any]:
    """The canonical JSON without usage, raw forms, ids of items, and white space in the texts of arguments.

    Gemini explains its finish reason in most bodies and few streams, so its `finishMessage` does not count.
    """
    plain = msgspec.to_builtins(response)
    for choice in plain["choices"]:
        choice["stop"]["raw"] = None
        choice["extra"].pop("finishMessage", None)
        for block in choice["blocks"]:
            block["arguments_text"] = "".join((block.get("arguments_text") or "").split())
            for member in ("wire_id", "raw", "extra"):
                block.pop(member, None)
    return {key: plain[key] for key in ("wire", "model", "choices", "error", "complete")}


@pytest.mark.parametrize("wire", WIRES)
def test_TRUNC_03_the_body_and_the_stream_of_an_answer_have_the_same_canonical_form(wire: str) -> None:
    for name, parts in ANSWERS.items():
        stop = "max_tokens" if name.endswith("limit") else ""
        plain, streamed = normalize(emit_body(wire, parts, stop), wire), decoded(wire, emit_stream(wire, parts, stop))
        assert skeleton(streamed) == skeleton(plain), name
        assert codes(streamed) == codes(plain), name
