"""The page does what it shows."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

from tests.turns.playing import Say, at_once, call, script
from toolparity.normalizer.turns.log import Log
from toolparity.normalizer.turns.orchestration import Coordinator

from .staging import LONG, Counting, Sequenced

PAGE = Path(__file__).resolve().parents[3] / "docs" / "orchestration.md"


def test_the_page_does_what_it_shows(tmp_path: Path) -> None:
    shown: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL):
        exec(block, shown)
    provider = Sequenced("openai.chat", script([call("search", course="MCP")], [Say("It is about servers.")]))
    done = at_once(shown["ask"](provider, "What is MCP about?"))
    assert (done.answer, done.level) == ("It is about servers.", "tool")
    assert "outline was used in place of" in done.text
    assert provider.asked().tools[0].parameters["required"] == ["course"]  # type: ignore[index]

    async def logged() -> None:
        provider = Sequenced("openai.chat", LONG, fails={1: RuntimeError("gone")})
        with Log(tmp_path / "turns.db") as log:
            async with log.record() as recorder:
                told = await Coordinator(provider, Counting().tools(), observers=[recorder]).run("Go.")
            assert await shown["recovered"](log, recorder.turn) == told.recoveries != []

    at_once(logged())
    file = io.BytesIO()

    def made(**more: Any) -> Coordinator:
        return Coordinator(Sequenced("openai.chat", LONG), Counting().tools(), **more)

    at_once(shown["recorded"](made, file))
    assert shown["check"](file.getvalue()) is None
