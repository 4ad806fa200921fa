"""The examples of the page about orchestration."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from tests.conformance.pages import blocks
from tests.turns.playing import Say, call, script
from toolparity.turns.log import Log
from toolparity.turns.orchestration import Coordinator, Limits

from .staging import LONG, Counting, Sequenced

SEARCHED = script([call("search", course="MCP")], [Say("It is about servers.")])


async def test_the_examples_of_the_page_run(tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    for block in blocks("orchestration.md"):
        if block.language == "python":
            exec(block.text, names)
    provider = Sequenced("openai.chat", SEARCHED)
    done = await names["ask"](provider, "What is MCP about?")
    assert (done.answer, done.level) == ("It is about servers.", "tool")
    assert "outline was used in place of" in done.text
    assert provider.asked().tools[0].parameters["required"] == ["course"]  # type: ignore[index]
    provider = Sequenced("openai.chat", LONG, fails=[1])
    with Log(tmp_path / "turns.db") as log:
        async with log.record() as recorder:
            result = await Coordinator(provider, Counting().tools(), observers=[recorder]).run("Go.")
        assert await names["recovered"](log, recorder.turn) == result.recoveries != []
    file, whole = io.BytesIO(), io.BytesIO()

    def make_coordinator(**more: Any) -> Coordinator:
        return Coordinator(Sequenced("openai.chat", LONG), Counting().tools(), **more)

    await names["recorded"](make_coordinator, file)
    assert names["check"](file.getvalue()) is None
    await names["record_all"](Sequenced("openai.chat", SEARCHED), whole)
    assert await names["changed"](whole.getvalue()) is None
    names["Limits"] = lambda rounds: Limits(rounds=0)
    assert (await names["changed"](whole.getvalue())).path == "round_started.last"
