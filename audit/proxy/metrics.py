"""Metrics in the text format of Prometheus (version 0.0.4)."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from .judgement import Judgement

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

#: Upper bounds of the histogram's buckets, in seconds.
_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
#: The most combinations of labels of a counter. Further ones are counted together as "other".
_MOST_LABELS = 1000

_Labels = tuple[tuple[str, str], ...]


class Metrics:
    """Counts judgements. ``gauges``: name -> (help text, function that returns the current value).

    ``recorded``: how many exchanges were recorded, or why they were not.
    """

    def __init__(self) -> None:
        self.gauges: dict[str, tuple[str, Callable[[], float]]] = {}
        self.recorded: Mapping[str, int] = {}
        self._lock = threading.Lock()
        self._counters = {name: Counter[_Labels]() for name in _COUNTERS}
        self._waited = [0] * (len(_BUCKETS) + 1)
        self._waited_sum = 0.0

    def __call__(self, judgement: Judgement) -> None:
        wire = judgement.wire or "unknown"
        status = "none" if judgement.status is None else f"{judgement.status // 100}xx"
        with self._lock:
            self._count("exchanges_total", wire=wire, status=status, ending=judgement.ending)
            if judgement.unjudged is not None:
                self._count("unjudged_total", reason=judgement.unjudged)
            for direction, messages in (("sent", judgement.sent), ("received", judgement.received)):
                if messages:
                    self._count("websocket_messages_total", messages, direction=direction)
            for finding in judgement.findings:
                self._count(
                    "findings_total", wire=wire, about=finding.about, code=finding.code, severity=finding.severity
                )
            if judgement.calls:
                self._count("calls_total", len(judgement.calls), wire=wire)
            for direction, tokens in (("input", judgement.input_tokens), ("output", judgement.output_tokens)):
                if tokens:
                    self._count("tokens_total", tokens, wire=wire, direction=direction)
            if judgement.waited is not None:
                self._waited[bisect_left(_BUCKETS, judgement.waited)] += 1
                self._waited_sum += judgement.waited

    def text(self) -> str:
        """Return the metrics in the text format."""
        with self._lock:
            lines = [*self._counter_lines(), *self._histogram_lines()]
        if self.recorded:
            lines += _head("recorded_total", "Exchanges by the result of recording them.", "counter")
            lines += [
                f'toolparity_proxy_recorded_total{{result="{result}"}} {count}'
                for result, count in sorted(dict(self.recorded).items())
            ]
        for name, (help, value) in self.gauges.items():
            lines += [*_head(name, help, "gauge"), f"toolparity_proxy_{name} {value():g}"]
        return "\n".join(lines) + "\n"

    def _count(self, name: str, amount: int = 1, /, **labels: str) -> None:
        counter = self._counters[name]
        key = tuple(labels.items())
        if key not in counter and len(counter) >= _MOST_LABELS:
            key = tuple((label, "other") for label in labels)
        counter[key] += amount

    def _counter_lines(self) -> Iterator[str]:
        for name, counter in self._counters.items():
            yield from _head(name, _COUNTERS[name], "counter")
            for labels, value in sorted(counter.items()):
                members = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels)
                yield f"toolparity_proxy_{name}{{{members}}} {value}"

    def _histogram_lines(self) -> Iterator[str]:
        name = "response_start_seconds"
        yield from _head(name, "Time from a request to the header section of its response.", "histogram")
        total = 0
        for bound, count in zip((*(f"{bound:g}" for bound in _BUCKETS), "+Inf"), self._waited, strict=True):
            total += count
            yield f'toolparity_proxy_{name}_bucket{{le="{bound}"}} {total}'
        yield f"toolparity_proxy_{name}_sum {self._waited_sum:.6f}"
        yield f"toolparity_proxy_{name}_count {total}"


#: Name -> help text.
_COUNTERS = {
    "exchanges_total": "Exchanges that ended.",
    "unjudged_total": "Exchanges that were not judged, by reason.",
    "websocket_messages_total": "Messages of WebSocket sessions.",
    "findings_total": "Findings.",
    "calls_total": "Client calls in responses.",
    "tokens_total": "Tokens that the provider reported.",
}


def _head(name: str, help: str, kind: str) -> Iterator[str]:
    yield f"# HELP toolparity_proxy_{name} {help}"
    yield f"# TYPE toolparity_proxy_{name} {kind}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
