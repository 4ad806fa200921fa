"""The examples of the page about orchestration."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

from tests.turns.playing import Say, at_once, call, script
from toolparity.turns.log import Log
from toolparity.turns.orchestration import Coordinator, Limits

from .staging import LONG, Counting, Sequenced

PAGE = Path(__file__).resolve().parents[3] / "docs" / "pages" / "orchestration.md"


def test_the_examples_of_the_page_run(tmp_path: Path) -> None:
    namespace: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL):
        exec(block, namespace)
    provider = Sequenced("openai.chat", script([call("search", course="MCP")], [Say("It is about servers.")]))
    done = at_once(namespace["ask"](provider, "What is MCP about?"))
    assert (done.answer, done.level) == ("It is about servers.", "tool")
    assert "outline was used in place of" in done.text
    assert provider.asked().tools[0].parameters["required"] == ["course"]  # type: ignore[index]

    async def logged() -> None:
        provider = Sequenced("openai.chat", LONG, fails={1: RuntimeError("gone")})
        with Log(tmp_path / "turns.db") as log:
            async with log.record() as recorder:
                result = await Coordinator(provider, Counting().tools(), observers=[recorder]).run("Go.")
            assert await namespace["recovered"](log, recorder.turn) == result.recoveries != []

    at_once(logged())
    file = io.BytesIO()

    def make_coordinator(**more: Any) -> Coordinator:
        return Coordinator(Sequenced("openai.chat", LONG), Counting().tools(), **more)

    at_once(namespace["recorded"](make_coordinator, file))
    assert namespace["check"](file.getvalue()) is None
    whole = io.BytesIO()
    played = script([call("search", course="MCP")], [Say("It is about servers.")])
    at_once(namespace["record_all"](Sequenced("openai.chat", played), whole))
    assert at_once(namespace["changed"](whole.getvalue())) is None
    namespace["Limits"] = lambda rounds: Limits(rounds=0)
    assert at_once(namespace["changed"](whole.getvalue())).path == "round_started.last"
