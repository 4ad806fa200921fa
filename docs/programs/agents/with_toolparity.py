"""Three typed tools with toolparity."""

from trial import FOLDER, OTHER_MESSAGES, URL, Charter, main, work, work_async

# The agent begins here.
from datetime import date
from toolparity.turns import Agent
from toolparity.turns.clients import client


def find_boat(harbour: str, kind: str = "sail") -> list[str]:
    return work("find_boat", ["Ana", "Flor"])


async def book(boat: str, day: date) -> dict:
    return await work_async("book", {"boat": boat, "weekday": f"{day:%A}"})


def price(boat: str, days: int = 1) -> float:
    return work("price", 120.0 * days)


provider = client("openai.chat", model="gpt-5-mini", base_url=URL, api_key="any")
agent = Agent(provider, [find_boat, book, price], instructions="You let boats.")
# The agent ends here.
from toolparity.turns.log import Log

log = Log(FOLDER / "turns.db", lease=1)
conversation = agent.conversation()


async def run(message: str) -> str:
    async with log.record() as recorder:
        return (await conversation.send(message, observers=[recorder])).text


async def resume() -> str:
    [turn] = await log.left()
    async with log.take(turn) as recorder:
        return (await agent.turn(state=recorder.state, observers=[recorder]).run()).text


async def charter(message: str) -> Charter:
    second = client("anthropic.messages", model="claude-haiku-4-5", base_url=OTHER_MESSAGES, api_key="any")
    return (await agent.run(message, output=Charter, fallback=second)).output


if __name__ == "__main__":
    main(run, resume, charter)
