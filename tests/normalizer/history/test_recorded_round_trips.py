"""A recorded request that is read and written back states the same: with all members, and with canonical fields alone.

The statements of both bodies are read without the normalizer (``views.py``).
"""

from __future__ import annotations

import json
import re
import tomllib
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message as Proto
from msgspec.structs import replace

from tests.normalizer.history.views import statements, value
from tests.normalizer.recorded.rows import Row, accepted, decode
from tests.support.wires import WIRES
from toolparity.normalizer.conversation import Assistant, Message, Request
from toolparity.normalizer.model import Block, Opaque, Wire
from toolparity.normalizer.requests import read_request, write_request
from toolparity.normalizer.wires.write_context import AS_WRITTEN
from toolparity.normalizer.wires.xai_grpc.schema import request_from

MISSES = tomllib.loads(Path(__file__).with_name("round_trip_misses.toml").read_text("utf-8"))["miss"]
#: The fewest requests that a provider accepted.
LEAST = {"openai.chat": 7000, "openai.responses": 2000, "anthropic.messages": 2000, "xai.grpc": 40, "cohere.chat": 85}
LEAST |= {"ollama.chat": 16, "google.interactions": 16, "bedrock.converse": 370, "google.gemini": 1200}
#: On xai.grpc, only an extra member states which blocks were one message.
FORMS = [(wire, how) for wire in WIRES for how in ("as read", "erased") if (wire, how) != ("xai.grpc", "erased")]
_LISTS = ("parts", "tools")


def plain(given: Any) -> Any:
    """Return a value without nulls, with names in camel case, and with the list that Gemini may leave out."""
    if isinstance(given, list):
        return [plain(item) for item in given]
    if not isinstance(given, dict):
        return given
    listed = {name: [inner] if name in _LISTS and isinstance(inner, dict) else inner for name, inner in given.items()}
    members = {re.sub(r"_([a-z])", lambda match: match[1].upper(), name): plain(each) for name, each in listed.items()}
    return {name: inner for name, inner in members.items() if inner is not None}


def stated(wire: Wire, given: Any, ids: bool, erased: bool) -> Any:
    """Return the conversation of a body in order, results of one turn in the order of their ids, and all else."""
    body = MessageToDict(given, preserving_proto_field_name=True) if isinstance(given, Proto) else given
    body = json.loads(body) if isinstance(body, str) else body
    found: list[Any] = []
    for kind, turn in groupby(statements(wire, plain(body) if wire == "google.gemini" else body), lambda one: one.kind):
        items = [(one.id * ids, one.name, one.failed, plain(value(one.text)) or "") for one in turn]
        if kind in ("call", "result"):
            found.append((kind, sorted(items, key=str) if kind == "result" else items))
        elif erased and kind not in ("media", "other"):
            found.append((kind, "".join("".join(str(text).split()) for *_, text in items)))
        elif not erased:
            found.append((kind, [text for *_, text in items]))
    conversation = [turn for turn in found if turn[1] not in ("", [""], [{}])]
    others = body.keys() - {"messages", "input", "contents"}
    return conversation, plain({name: body[name] for name in others if body[name] not in ("", [], {})})


def without_extra(request: Request) -> Request:
    """Return the request without the ``extra`` members of the model's answers.

    Signatures of Gemini's texts and calls remain, because no canonical field has them; so does ``raw`` of the results
    of server tools, because it is their canonical field.
    """

    def block(given: Block) -> Block:
        signature = {k: v for k, v in given.extra.items() if k == "thoughtSignature"}
        return given if isinstance(given, Opaque) else replace(given, extra=signature)

    def message(given: Message) -> Message:
        if not isinstance(given, Assistant):
            return given
        choices = [replace(c, blocks=[block(b) for b in c.blocks], extra={}) for c in given.response.choices]
        extra = {k: v for k, v in given.extra.items() if k != AS_WRITTEN} if request.wire == "openai.chat" else {}
        return Assistant(replace(given.response, choices=choices, extra={}), extra)

    return replace(request, messages=[message(given) for given in request.messages])


@pytest.mark.thorough(keep=17)
@pytest.mark.parametrize(("wire", "how"), FORMS)
def test_a_recorded_request_states_the_same_when_written_back_or_is_a_listed_miss(
    recordings: Path, wire: Wire, how: str
) -> None:
    erased, count = how == "erased", 0
    used: set[str] = set()
    listed = [miss["id"] for miss in MISSES if miss["wire"] == wire]
    for row in accepted(recordings, wire):
        if wire == "cohere.chat" and "messages" not in row.request:
            continue  # of version 1
        count += 1
        request = read_request(row.request, wire, provider=row.provider)
        encoded = write_request(without_extra(request) if erased else request)
        before = request_from(row.request) if wire == "xai.grpc" else row.request
        ids = not erased and wire not in ("xai.grpc", "google.gemini", "ollama.chat")  # a result may have no id there
        same = stated(wire, before, ids, erased) == stated(wire, encoded.body, ids, erased)
        if not same or (encoded.losses and not erased):
            matching = [id for id in listed if re.fullmatch(id, row.id)]
            assert matching, f"{row.id} states something else"
            used |= {*matching}
    assert count >= LEAST[wire]
    assert erased or used == {*listed}


def test_a_recorded_response_of_openai_responses_goes_back_item_by_item(recordings: Path) -> None:
    compared = 0
    for row in accepted(recordings, "openai.responses"):
        output = output_of(row)
        if not output or output[-1].get("type") == "reasoning":  # a thought that nothing follows cannot go back
            continue
        turns: list[Message] = [Assistant(decode(row, request=row.request))]
        encoded = write_request(Request("openai.responses", None, turns, provider=row.provider))
        # Some gateways add members to items that a history never contains.
        items = [{k: v for k, v in item.items() if k not in ("item_id", "output_index")} for item in output]
        sent, back = (
            stated("openai.responses", {"input": given}, True, False) for given in (items, encoded.body["input"])
        )
        assert (sent, encoded.losses) == (back, []), row.id
        compared += 1
    assert compared > 1000


def output_of(row: Row) -> list[dict[str, Any]]:
    """Return the items of a recorded response, if they are in its body or in its terminal event."""
    if row.status != 200 or row.body_encoding or row.body is None:
        return []
    if not row.stream:
        return json.loads(row.body).get("output") or []
    for line in reversed(row.body.splitlines()):
        if line.startswith("data: {") and '"type":"response.completed"' in line.replace(" ", "")[:40]:
            return json.loads(line.removeprefix("data: "))["response"].get("output") or []
    return []
