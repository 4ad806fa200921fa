"""What is made of judgements: the metrics, the events of the page, and spans by OpenTelemetry's conventions."""

from __future__ import annotations

import asyncio
import json
import re

from msgspec.structs import replace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from tests.support.traffic import CHAT_URL, chat_body
from toolparity.audit.proxy.copies import ExchangeCopy
from toolparity.audit.proxy.feed import Feed
from toolparity.audit.proxy.judge import Judge
from toolparity.audit.proxy.judgement import JudgedFinding, Judgement, JudgeOptions
from toolparity.audit.proxy.metrics import Metrics
from toolparity.audit.proxy.spans import Spans

_JUDGEMENT = Judgement(1, 0.0, 0.0, "POST", "/", "complete", 200, 0.3)
_SAMPLE = re.compile(r'[a-z_]+(?:\{(?:[a-z]+="(?:[^"\\\n]|\\.)*",?)*\})? [0-9.e+-]+')
_TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


def test_every_line_of_the_metrics_is_a_comment_or_a_sample() -> None:
    metrics = Metrics()
    metrics.gauges = {"open_exchanges": ("Exchanges that are passing.", lambda: 3.0)}
    metrics.recorded = {"recorded": 2}
    findings = [JudgedFinding('a"\n\\b', "error", "")]
    metrics(replace(_JUDGEMENT, wire="openai.chat", input_tokens=5, findings=findings))
    lines = metrics.text().splitlines()
    assert all(line.startswith("# ") or _SAMPLE.fullmatch(line) for line in lines)
    assert {
        "toolparity_proxy_open_exchanges 3",
        'toolparity_proxy_recorded_total{result="recorded"} 2',
        'toolparity_proxy_tokens_total{wire="openai.chat",direction="input"} 5',
    } <= set(lines)


def test_a_histogram_counts_up_to_each_bound_and_labels_from_traffic_are_limited() -> None:
    metrics = Metrics()
    for seconds in (0.1, 0.3, 1000.0):
        metrics(replace(_JUDGEMENT, waited=seconds))
    counts = dict(re.findall(r'_bucket\{le="(.+?)"\} (\d+)', metrics.text()))
    assert [counts[bound] for bound in ("0.05", "0.1", "0.5", "120", "+Inf")] == ["0", "1", "2", "2", "3"]
    for number in range(3000):
        metrics(replace(_JUDGEMENT, findings=[JudgedFinding(f"code-{number}", "error", "")]))
    samples = re.findall(r"^toolparity_proxy_findings_total\{.* (\d+)$", metrics.text(), re.MULTILINE)
    assert len(samples) <= 1001
    assert sum(map(int, samples)) == 3000


async def _events(feed: Feed, seen: str | None, count: int) -> list[bytes]:
    events = feed.events(seen)
    return [await anext(events) for _ in range(count)]


def test_a_feed_resumes_after_the_last_event_forgets_the_oldest_and_restarts_for_another_run() -> None:
    feed = Feed(kept=3)
    for number in range(1, 6):
        feed(replace(_JUDGEMENT, number=number))
    reset, *events = asyncio.run(_events(feed, None, 4))
    assert reset == b"event: reset\ndata: {}\n\n"
    assert [b'"number":%d,' % number in event for number, event in zip((3, 4, 5), events, strict=True)] == [True] * 3
    id = events[1].split(b"\n")[0].removeprefix(b"id: ").decode()
    assert asyncio.run(_events(feed, id, 2)) == [b"", events[2]]
    assert asyncio.run(_events(feed, "00000000-1", 2)) == [reset, events[0]]


def _spans(status: int, body: str, method: str = "POST", url: str = CHAT_URL) -> tuple[ReadableSpan, ...]:
    copy = ExchangeCopy(1, 100.0, method, url, [(b"traceparent", f"00-{_TRACE}-00f067aa0ba902b7-01".encode())])
    copy.request = json.dumps({"model": "gpt-5-mini", "messages": [{"role": "user", "content": "private"}]}).encode()
    copy.status, copy.chunks, copy.ending = status, [body.encode()], "complete"
    copy.responded, copy.ended = 101.0, 102.5
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    Spans("https://api.openai.com", provider)(Judge(JudgeOptions("first", 0))(copy))
    return exporter.get_finished_spans()


def test_an_exchange_is_a_span_of_the_client_in_the_trace_of_the_request() -> None:
    (span,) = _spans(200, chat_body("look"))
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
    (span,) = _spans(429, '{"error": {"message": "slow down", "type": "rate_limit_error"}}')
    assert span.status.status_code is StatusCode.ERROR
    assert dict(span.attributes or {})["error.type"] == "rate_limit_error"
    assert not _spans(200, '{"data": []}', "GET", "https://api.openai.com/v1/models")
