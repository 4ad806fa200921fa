"""Document 001: a model that writes its calls as text is stopped at its second call."""

from __future__ import annotations

from typing import Any

from play import EmulatedProvider, Headings, Toolbox, call, events_of, holds, of_type, scripted

from toolparity import Response, ResponseHeaders, StreamDecoder
from toolparity.textmode import TextMode, TextReader, ToolLimitReached, UserCancelled, aread_stream
from toolparity.turns import CallStarted, Dropped, Turn, TurnBlockStop
from toolparity.turns.testing import Say

HEADINGS = Headings()
FIRST = "<tool:read_files>\n<param:path>file.txt</param:path>\n</tool:read_files>"
SECOND = "<tool:replace_in_file>\n<param:path>file.txt</param:path>\n</tool:replace_in_file>"
BOTH = f"I look first.\n\n{FIRST}\n\n{SECOND}\n\nAnd then this text follows for quite a while, which is not needed."
NAMES = ("read_files", "replace_in_file")
HEADERS = {"anthropic-ratelimit-requests-remaining": "99", "request-id": "req_1"}


class Counted(EmulatedProvider):
    """Counts the chunks that the client took. Its answers have headers about rate limits."""

    chunks = 0

    async def ask(self, body: Any) -> Any:
        yield ResponseHeaders.of(HEADERS)
        async for chunk in super().ask(body):
            self.chunks += 1
            yield chunk


def turn_of(text: str, wire: str = "anthropic.messages", **options: Any) -> tuple[Turn, Counted, Toolbox]:
    """A turn whose model writes this text, and then an answer."""
    toolbox = Toolbox(*NAMES)
    provider = Counted(wire, scripted([Say(text)], [Say("Done.")], tools=()))
    mode = TextMode("tool-xml", **options)
    return Turn(provider, toolbox.tools, policy="first", prepare=mode.prepare, reader=mode.reader), provider, toolbox


async def read(text: str, **options: Any) -> tuple[Response, list[str]]:
    """The response that a reader makes of a stream with this text, and whether the stream was closed."""
    turn, provider, _ = turn_of(text)
    await turn.run("Please help.")
    body, closed = provider.bodies[0], list[str]()
    reader = TextReader("tool-xml", StreamDecoder("anthropic.messages"), tools=NAMES, headers=HEADERS)
    chunks = EmulatedProvider.ask(provider, body)
    response = await aread_stream(chunks, reader, close=lambda: closed.append("closed"), **options)
    await chunks.aclose()
    return response, closed


HEADINGS.introduces("Problem Analysis", "a model that disregards the rule of one tool in a message")


@HEADINGS.shows("Issue", "a second tool block in one message must not act without the result of the first")
async def issue() -> str:
    turn, _, toolbox = turn_of(BOTH)
    await turn.run("Please help.")
    holds(toolbox.ran == ["read_files"], toolbox.ran)
    return f"the message has two blocks; ran {toolbox.ran}"


@HEADINGS.shows("Current Behavior (Problematic)", "the second block begins right after the first")
async def current() -> str:
    turn, _, toolbox = turn_of(BOTH, limit=None)
    dropped = of_type(await events_of(turn), Dropped)
    holds(toolbox.ran == ["read_files"] and [ref.name for ref in dropped[0].dropped] == ["replace_in_file"], dropped)
    return "without a limit the whole message is generated, and the policy drops its second call"


@HEADINGS.shows("Desired Behavior", "generation stops after the first complete block, as a normal success")
async def desired() -> str:
    response, closed = await read(BOTH)
    stop = response.choices[0].stop.reason
    holds(response.complete and response.error is None and stop == "tool_calls" and closed == ["closed"], response)
    return f"complete, no error, stop reason {stop}; the stream was closed"


HEADINGS.introduces("Approaches Considered", "three options")


@HEADINGS.shows("❌ Option 1: Stop Sequences (Attempted)", "a stop sequence swallows the closing tag of the block")
async def stop_sequences() -> str:
    cut = (await read(FIRST.removesuffix("</tool:read_files>")))[0]
    mode = TextMode("tool-xml", stop_sequences=("</tool:read_files>",))
    toolbox = Toolbox(*NAMES)
    provider = EmulatedProvider(
        "anthropic.messages", scripted([Say(FIRST.removesuffix("</tool:read_files>"))], [Say("Done.")], tools=())
    )
    await Turn(provider, toolbox.tools, prepare=mode.prepare, reader=mode.reader).run("Please help.")
    holds([call.status for call in cut.calls] == ["truncated"], cut)
    return (
        f"without its tag the block is {cut.calls[0].status} and does not run; named as a stop sequence: {toolbox.ran}"
    )


@HEADINGS.shows("❌ Option 2: Custom Stop Markers", "rejected: no further instruction to the model")
async def markers() -> str:
    turn, provider, _ = turn_of(BOTH)
    await turn.run("Please help.")
    holds("system" not in provider.bodies[0] and len(provider.bodies[0]["messages"]) == 1, provider.bodies[0])
    return "the request has the user's message alone; nothing was added to it"


@HEADINGS.shows("✅ Option 3: Streaming Processor Detection (Selected)", "code detects the second block in the stream")
async def detection() -> str:
    response, _ = await read(BOTH)
    codes = [finding.code for finding in response.findings]
    holds("tool-limit" in codes and [call.status for call in response.calls] == ["complete"], codes)
    return f"findings {codes}; the first call is complete"


HEADINGS.introduces("Implementation Architecture", "where the error is handled")


@HEADINGS.shows("Key Insight", "the provider's side handles it; the agent gets a normal answer, the model no error")
async def key_insight() -> str:
    turn, provider, _ = turn_of(BOTH)
    outcome = await turn.run("Please help.")
    last = str(provider.bodies[1]["messages"][-1])
    holds(outcome.text == "Done." and "read_files ran" in last and "limit" not in last, last)
    return "the next request has the result of the first call and no word of the limit"


@HEADINGS.shows("Error Flow Comparison", "a user's cancelling discards the message; the limit is an early success")
async def error_flow() -> str:
    def cancel(event: object) -> None:
        raise UserCancelled("the user pressed stop")

    try:
        await read(BOTH, on_event=cancel)
    except UserCancelled as error:
        response, _ = await read(BOTH)
        holds(len(response.calls) == 1, response)
        return f"cancelled: {error.what}, no response; limit: a response with 1 call"
    holds(False, "the cancelling was ignored")
    return ""


HEADINGS.introduces("Implementation Plan", "five steps")


@HEADINGS.shows("1. Create New Error Type", "errors for the limit and for the user's cancelling, of one family")
async def error_types() -> str:
    [family] = set(ToolLimitReached.__bases__) & set(UserCancelled.__bases__)
    return f"{ToolLimitReached.__name__} and {UserCancelled.__name__} are a {family.__name__}"


@HEADINGS.shows("2. Modify XML Streaming Processor", "the error comes at the start of the second block, at once")
async def processor() -> str:
    turn, provider, _ = turn_of(BOTH)
    await turn.run("Please help.")
    reader, fed = TextReader("tool-xml", StreamDecoder("anthropic.messages"), tools=NAMES), 0
    try:
        async for chunk in EmulatedProvider.ask(provider, provider.bodies[0]):
            fed += 1
            reader.feed(chunk)
    except ToolLimitReached as reached:
        holds(reached.number == 2, reached)
        return f"raised in chunk {fed} for call {reached.number}"
    holds(False, "not raised")
    return ""


@HEADINGS.shows("3. Update LLM Providers", "the provider stops taking chunks, and returns what it has")
async def providers() -> str:
    turn, provider, _ = turn_of(BOTH)
    await turn.run("Please help.")
    limited = provider.chunks
    turn, whole, _ = turn_of(BOTH, limit=None)
    await turn.run("Please help.")
    holds(limited < whole.chunks, (limited, whole.chunks))
    return f"{limited} chunks of both answers instead of {whole.chunks}; connections closed: {provider.closed}"


@HEADINGS.shows("4. Update Streaming Callback Type", "the callback can end the stream by raising an error")
async def callback() -> str:
    seen: list[str] = []
    await read(BOTH, on_event=lambda event: seen.append(type(event).__name__))
    holds("BlockStart" in seen and "ChoiceStop" not in seen, seen)
    return f"the callback saw {len(seen)} events up to the limit; what it raises reaches the caller"


@HEADINGS.shows("5. Testing Strategy", "one block; two blocks; a second block that is not complete; parameters")
async def cases() -> str:
    texts = {"one": FIRST, "two": BOTH, "incomplete": f"{FIRST}\n\n<tool:replace_in"}
    found = {}
    for name, text in texts.items():
        turn, _, toolbox = turn_of(text)
        await turn.run("Please help.")
        found[name] = (toolbox.ran, toolbox.arguments)
    holds(set(map(str, found.values())) == {str((["read_files"], [{"path": "file.txt"}]))}, found)
    return "in each case read_files ran once, with path file.txt"


HEADINGS.introduces("Technical Details", "state, message, content and log")


@HEADINGS.shows("XML Processor State Tracking", "the count of tools is that of one message")
async def state() -> str:
    toolbox, mode = Toolbox(*NAMES), TextMode("tool-xml")
    script = scripted([Say(FIRST)], [Say(SECOND)], [Say("Done.")], tools=())
    provider = EmulatedProvider("anthropic.messages", script)
    await Turn(provider, toolbox.tools, prepare=mode.prepare, reader=mode.reader).run("Please help.")
    holds(toolbox.ran == list(NAMES), toolbox.ran)
    return f"two messages with one call each: {toolbox.ran}"


@HEADINGS.shows("Error Message Format", "one message that a provider can recognize")
async def message() -> str:
    reader = TextReader("tool-xml", StreamDecoder("anthropic.messages"), tools=NAMES)
    turn, provider, _ = turn_of(BOTH)
    await turn.run("Please help.")
    try:
        async for chunk in EmulatedProvider.ask(provider, provider.bodies[0]):
            reader.feed(chunk)
    except ToolLimitReached as reached:
        return f"a type instead of a text to search: {type(reached).__name__}({reached.what!r}, {reached.number=})"
    holds(False, "not raised")
    return ""


@HEADINGS.shows("Response Preservation", "blocks, usage and rate limits stay; the partial second block goes")
async def preservation() -> str:
    response, _ = await read(BOTH)
    kinds = [type(block).__name__ for block in response.choices[0].blocks]
    holds(kinds == ["Text", "ToolCall"] and response.extra.get("rate_limit"), response)
    for wire in ("anthropic.messages", "openai.chat"):  # which report the tokens of the answer last
        turn, _, _ = turn_of(BOTH, wire)
        outcome = await turn.run("Please help.")
        usage = turn.state.rounds[0].usage
        holds(usage and usage.estimated and usage.input_tokens and (usage.output_tokens or 0) >= len(FIRST) // 4, usage)
        holds(list(outcome.rate_limit.values()) == ["99"], outcome.rate_limit)
    return (
        f"blocks {kinds}; in a turn, usage {usage.input_tokens} + {usage.output_tokens}, marked as estimated, and "
        f"rate limit {outcome.rate_limit}"
    )


@HEADINGS.shows("Logging", "the limit and what was collected are recorded")
async def logged() -> str:
    response, _ = await read(BOTH)
    messages = [finding.message for finding in response.findings if finding.code in ("tool-limit", "dropped-call")]
    holds(messages, response.findings)
    return "; ".join(messages)


@HEADINGS.shows("Benefits", "reliable, early, unseen by the user, in one place, and optional")
async def benefits() -> str:
    _, provider, toolbox = turn_of(BOTH)
    mode = TextMode("tool-xml", limit=None)
    events = await events_of(Turn(provider, toolbox.tools, prepare=mode.prepare, reader=mode.reader))
    started = [event.name for event in of_type(events, CallStarted)]
    holds(started == list(NAMES), started)
    return f"TextMode(limit=None) switches it off: {started}"


HEADINGS.introduces("Implementation Order", "the order of the steps above")


@HEADINGS.shows("Notes", "for calls written as text only; native calls are untouched, and so is the agent's logic")
async def notes() -> str:
    toolbox = Toolbox(*NAMES)
    script = scripted([call("read_files", path="a"), call("replace_in_file", path="a")], [Say("Done.")])
    provider = EmulatedProvider("anthropic.messages", script)
    turn = Turn(provider, toolbox.tools, reader=TextMode("tool-xml").reader)
    stops = of_type(await events_of(turn), TurnBlockStop)
    holds(toolbox.ran == list(NAMES), toolbox.ran)
    return f"two native calls ran under a text reader: {toolbox.ran} ({len(stops)} blocks)"
