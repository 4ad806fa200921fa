"""The example of the page about telemetry."""

from __future__ import annotations

from typing import Any

from tests.conformance.pages import DOCS, blocks
from tests.turns.playing import Emulated, Say, at_once, call, script
from toolparity.turns import Turn
from toolparity.turns.telemetry.conventions import DURATION, TIME_TO_FIRST_CHUNK, TOKEN_USAGE

from .convention import deviations
from .measuring import Measured, attributes

PAGE = "telemetry.md"


def test_the_page_example_makes_the_spans_that_the_page_shows() -> None:
    code, shown = (block.text for block in blocks(PAGE))
    names: dict[str, Any] = {}
    exec(compile(code, PAGE, "exec", dont_inherit=True), names)
    kept = Measured()
    played = script([call("find_boat", harbour="Horta")], [Say("Ana.")], tools=("find_boat",))
    outcome = at_once(names["charter"](Emulated("openai.chat", played), "Go.", tracer_provider=kept.tracer_provider))
    assert outcome.text == "Ana."
    assert [span.name for span in kept.spans] == [line.strip() for line in shown.splitlines()]
    assert not [text for span in kept.spans for text in deviations(span)]


def test_the_page_names_every_span_metric_and_attribute() -> None:
    page = (DOCS / PAGE).read_text("utf-8")
    kept = Measured(content=True, agent="a", conversation="c")
    played = script([call("look")], [Say("Done.")], tools=("look",))
    at_once(Turn(Emulated("anthropic.messages", played), [look], telemetry=kept.telemetry, max_tokens=9).run("Go."))
    names = {name for span in kept.spans for name in attributes(span)}
    families = ("gen_ai.request.", "gen_ai.response.", "gen_ai.usage.")
    assert not [name for name in names if f"`{name}`" not in page and not name.startswith(families)]
    assert not [metric.name for metric in (DURATION, TIME_TO_FIRST_CHUNK, TOKEN_USAGE) if metric.name not in page]


def look() -> str:
    """Look."""
    return "seen"
