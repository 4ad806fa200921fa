"""A process that runs or resumes a turn of a log, and appends its spans to a file as lines of JSON.

python -m tests.turns.telemetry.two_processes begin|approve|take LOG TURN SPANS
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import IO, Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

from tests.turns.playing import Emulated, Say, call, script
from toolparity.turns import Tool, Turn
from toolparity.turns.log import Log
from toolparity.turns.telemetry import Telemetry

PLAYED = script([call("look", city="Ulm"), call("post", text="hello")], [Say("Done.")], tools=("look", "post"))


def line(span: ReadableSpan) -> str:
    return span.to_json(indent=None) + "\n"


async def look(**_: Any) -> str:
    return "look ran"


async def post(**_: Any) -> str:
    return "post ran"


async def killed(**_: Any) -> str:
    os.kill(os.getpid(), signal.SIGKILL)
    return ""


async def main(act: str, url: str, id: str, spans: IO[str]) -> None:
    tracers = TracerProvider(shutdown_on_exit=False)
    tracers.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=spans, formatter=line)))
    options: dict[str, Any] = {"telemetry": Telemetry(agent="Boats", tracer_provider=tracers)}
    provider = Emulated("anthropic.messages", PLAYED)
    tools = [
        Tool(name="look", function=look),
        Tool(name="post", function=killed if act == "die" else post, approval=act in ("begin", "approve")),
    ]
    with Log(url) as log:
        if act in ("begin", "die"):
            async with log.record() as recorder:
                await Turn(provider, tools, observers=[recorder], id=id, **options).run("Go.")
            return
        with tracers.get_tracer("app").start_as_current_span("POST /approve"):
            async with log.take(id, force=True) as recorder:
                turn = Turn(provider, tools, observers=[recorder], state=recorder.state, **options)
                for waiting in turn.outcome.waiting:
                    turn.decide(waiting.id, True)
                await turn.run()


if __name__ == "__main__":
    with open(sys.argv[4], "a", encoding="utf-8") as file:
        asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], file))
