"""The streamed and the plain form of one answer give one canonical response (law `stream-parity`)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.support.decoding import codes, decoded
from tests.support.emit import ANSWERS, emit_body, emit_stream
from tests.support.wires import WIRES
from toolparity import Response, normalize


def skeleton(response: Response) -> dict[str, Any]:
    """The canonical JSON without usage, raw forms, ids of items, and white space in the texts of arguments."""
    plain = msgspec.to_builtins(response)
    for choice in plain["choices"]:
        choice["stop"]["raw"] = None
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
