"""Three typed tools with OpenAI Agents SDK; a session keeps the conversation."""

from trial import FOLDER, OTHER_CHAT, URL, Charter, main, work, work_async

# The agent begins here.
from datetime import date
from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool
from openai import AsyncOpenAI


@function_tool
def find_boat(harbour: str, kind: str = "sail") -> list[str]:
    return work("find_boat", ["Ana", "Flor"])


@function_tool
async def book(boat: str, day: date) -> dict:
    return await work_async("book", {"boat": boat, "weekday": f"{day:%A}"})


@function_tool
def price(boat: str, days: int = 1) -> float:
    return work("price", 120.0 * days)


model = OpenAIChatCompletionsModel("gpt-5-mini", AsyncOpenAI(base_url=URL, api_key="any"))
agent = Agent("boats", instructions="You let boats.", model=model, tools=[find_boat, book, price])
# The agent ends here.
from agents import SQLiteSession
from openai import APIStatusError

session = SQLiteSession("boats", FOLDER / "session.db")


async def run(message: str) -> str:
    return (await Runner.run(agent, message, session=session)).final_output


async def resume() -> str:
    return await run("Charter a boat.")


async def charter(message: str) -> Charter:
    typed = agent.clone(output_type=Charter)
    try:
        return (await Runner.run(typed, message)).final_output
    except APIStatusError:  # the SDK has no option for another model, so the agent runs again
        second = OpenAIChatCompletionsModel("gpt-5-mini", AsyncOpenAI(base_url=OTHER_CHAT, api_key="any"))
        return (await Runner.run(typed.clone(model=second), message)).final_output


if __name__ == "__main__":
    main(run, resume, charter)
