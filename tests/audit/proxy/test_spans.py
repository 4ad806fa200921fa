"""Spans by the semantic conventions for generative AI."""

from __future__ import annotations

import json

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from tests.support.traffic import chat_body
from toolparity.audit.proxy.copies import ExchangeCopy
from toolparity.audit.proxy.judge import Judge
from toolparity.audit.proxy.judgement import JudgeOptions
from toolparity.audit.proxy.spans import Spans

_TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


def _copy(status: int = 200, body: str = chat_body("look")) -> ExchangeCopy:
    copy = ExchangeCopy(1, 100.0, "POST", "https://api.openai.com/v1/chat/completions", [])
    copy.request_headers = [(b"traceparent", f"00-{_TRACE}-00f067aa0ba902b7-01".encode())]
    copy.request = json.dumps({"model": "gpt-5-mini", "messages": [{"role": "user", "content": "private"}]}).encode()
    copy.status, copy.chunks, copy.ending = status, [body.encode()], "complete"
    copy.responded, copy.ended = 101.0, 102.5
    return copy


def _spans(copy: ExchangeCopy) -> tuple[ReadableSpan, ...]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    Spans("https://api.openai.com", provider)(Judge(JudgeOptions("first", 0))(copy))
    return exporter.get_finished_spans()


def test_an_exchange_is_a_span_of_the_client_in_the_trace_of_the_request() -> None:
    (span,) = _spans(_copy())
    assert (span.name, span.kind, span.status.status_code) == ("chat gpt-5-mini", SpanKind.CLIENT, StatusCode.UNSET)
    assert (span.start_time, span.end_time) == (100_000_000_000, 102_500_000_000)
    assert span.parent is not None
    assert f"{span.parent.trace_id:032x}" == _TRACE
    expected = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "server.port": 443}
    expected |= {"gen_ai.response.finish_reasons": ("tool_calls",), "server.address": "api.openai.com"}
    assert expected.items() <= dict(span.attributes or {}).items()
    codes = [dict(event.attributes or {})["toolparity.code"] for event in span.events]
    assert (codes, "private" in span.to_json()) == (["dropped-call"], False)


def test_an_error_of_the_provider_is_the_error_of_the_span_and_other_endpoints_make_none() -> None:
    (span,) = _spans(_copy(429, '{"error": {"message": "slow down", "type": "rate_limit_error"}}'))
    assert span.status.status_code is StatusCode.ERROR
    assert dict(span.attributes or {})["error.type"] == "rate_limit_error"
    copy = _copy()
    copy.url, copy.method, copy.chunks = "https://api.openai.com/v1/models", "GET", [b'{"data": []}']
    assert not _spans(copy)
