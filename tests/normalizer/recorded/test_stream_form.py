"""Recorded streams of providers have the form of their wire (`toolparity.normalizer.stream_form`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.normalizer.recorded.rows import streams
from toolparity.normalizer import json_codec
from toolparity.normalizer.model import Wire
from toolparity.normalizer.stream_form import StreamForm, check_stream
from toolparity.normalizer.wires.registry import WIRES, spec

#: Providers that answer for others, or that are not known.
OTHERS = ("other", "openrouter")
#: Beginning of an id -> why the stream departs from the form.
EXPLAINED = {
    "vertexai-sdk-test-data.": "written by hand: answers that fail, and JSON outside of events",
    "prism.google.generate_content.stream-basic-text-1.": "the file lacks blank lines",
    "llm.openai.chat.test-tools-streaming-variant-": "written by hand: streams of other servers",
    "otel-js.openai.responses.mock-responses-": "written by hand",
    "pydantic-ai.openai.responses.test-background-mode-streaming-starting-after-": "resumed after its beginning",
    "pydantic-ai.xai.grpc.test-cancel-recorded-provider-stream-": "the client cancelled it",
}


@pytest.mark.parametrize("wire", WIRES)
def test_streams_of_providers_have_the_form_of_their_wire(wire: Wire, recordings: Path) -> None:
    irregular, explained, count = [], 0, 0
    for row in (row for row in streams(recordings, wire) if row.provider not in OTHERS and not row.failed):
        if row.frames is None:
            found = check_stream(row.data, wire)
        else:
            form, schema = StreamForm("xai.grpc"), spec(wire).part("schema")
            for message in row.messages:
                form.feed(None, json_codec.encode(schema.as_dict(schema.chunk_from(message))))
            found = form.finish()
        found = [each for each in found if each.rule != "unterminated-event"]  # some files end without a blank line
        count += 1
        explained += bool(found) and row.id.startswith(tuple(EXPLAINED))
        if found and not row.id.startswith(tuple(EXPLAINED)):
            irregular.append(f"{row.id}: {found[0]}")
    assert irregular == []
    assert count > explained or wire == "ollama.chat"
