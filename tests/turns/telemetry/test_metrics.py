"""The metrics of turns, checked against the semantic conventions."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.metrics import NoOpMeter
from opentelemetry.semconv._incubating.metrics import gen_ai_metrics

from tests.turns.playing import Counting, Emulated, Fault, Round, Say, at_once, call, script
from toolparity.turns import Turn
from toolparity.turns.telemetry.conventions import DURATION, TIME_TO_FIRST_CHUNK, TOKEN_USAGE, Histogram

from .convention import METRICS, labels_deviate
from .measuring import Measured

PLAYED = script([call("look", city="Ulm")], [Say("Done.")])


def measured(played: Any, wire: str = "anthropic.messages", **options: Any) -> Measured:
    kept = Measured()
    turn = Turn(Emulated(wire, played), Counting().tools(), telemetry=kept.telemetry, backoff=None, **options)
    at_once(turn.run("Go."))
    return kept


@pytest.mark.parametrize("wire", ["openai.chat", "anthropic.messages", "xai.grpc", "google.gemini"])
def test_each_request_is_a_value_of_the_metrics_with_the_attributes_of_the_conventions(wire: str) -> None:
    points = measured(PLAYED, wire).points()
    assert points.keys() - {TOKEN_USAGE.name} == {DURATION.name, TIME_TO_FIRST_CHUNK.name}
    for name, values in points.items():
        assert [list(labels_deviate(value.attributes, METRICS[name])) for value in values] == [[]] * len(values)
    assert [value.count for value in points[DURATION.name]] == [2]


def test_tokens_are_counted_by_type() -> None:
    kept = measured(PLAYED)
    values = {value.attributes["gen_ai.token.type"]: value.sum for value in kept.points()[TOKEN_USAGE.name]}
    usage = kept.span("invoke_agent").attributes
    assert usage is not None
    assert values == {"input": usage["gen_ai.usage.input_tokens"], "output": usage["gen_ai.usage.output_tokens"]}


def test_a_failed_request_has_the_type_of_its_error_and_no_tokens() -> None:
    points = measured(script(Round([Say("Hi")], fault=Fault("authentication")))).points()
    [value] = points[DURATION.name]
    assert value.attributes["error.type"] == "authentication"
    assert points.keys() == {DURATION.name}


def test_metrics_are_defined_as_in_the_package_of_the_conventions_with_the_recommended_buckets() -> None:
    class Meter(NoOpMeter):
        def create_histogram(self, name: str, unit: str = "", description: str = "", **_: Any) -> Any:
            return name, unit, description

    create: dict[Histogram, Any] = {
        TOKEN_USAGE: gen_ai_metrics.create_gen_ai_client_token_usage,
        DURATION: gen_ai_metrics.create_gen_ai_client_operation_duration,
        TIME_TO_FIRST_CHUNK: gen_ai_metrics.create_gen_ai_client_operation_time_to_first_chunk,
    }
    assert [create[histogram](Meter("m")) for histogram in create] == [histogram[:3] for histogram in create]
    seconds = [round(0.01 * 2**power, 2) for power in range(14)]
    [value, *_] = measured(PLAYED).points()[DURATION.name]
    assert list(value.explicit_bounds) == list(TIME_TO_FIRST_CHUNK.boundaries) == seconds
    assert list(TOKEN_USAGE.boundaries) == [4**power for power in range(14)]
