"""Three typed tools with LangGraph, by LangChain's `create_agent`; a checkpointer keeps the conversation."""

from trial import FOLDER, OTHER_MESSAGES, URL, Charter, main, work, work_async

# The agent begins here.
from datetime import date
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI


def find_boat(harbour: str, kind: str = "sail") -> list[str]:
    """Find boats."""
    return work("find_boat", ["Ana", "Flor"])


async def book(boat: str, day: date) -> dict:
    """Book a boat."""
    return await work_async("book", {"boat": boat, "weekday": f"{day:%A}"})


def price(boat: str, days: int = 1) -> float:
    """Price a boat."""
    return work("price", 120.0 * days)


model = ChatOpenAI(model="gpt-5-mini", base_url=URL, api_key="any")
agent = create_agent(model, [find_boat, book, price], system_prompt="You let boats.")
# The agent ends here.
from langchain.agents.middleware import ModelFallbackMiddleware
from langchain.agents.structured_output import ProviderStrategy
from langchain_anthropic import ChatAnthropic
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

thread = {"configurable": {"thread_id": "boats"}}


async def asked(given: object) -> str:
    async with AsyncSqliteSaver.from_conn_string(str(FOLDER / "checkpoints.db")) as saver:
        agent.checkpointer = saver
        return (await agent.ainvoke(given, thread))["messages"][-1].content


async def run(message: str) -> str:
    return await asked({"messages": message})


async def resume() -> str:
    return await asked(None)


async def charter(message: str) -> Charter:
    second = ChatAnthropic(model="claude-haiku-4-5", base_url=OTHER_MESSAGES, api_key="any")
    typed = create_agent(
        model,
        [find_boat, book, price],
        system_prompt="You let boats.",
        response_format=ProviderStrategy(Charter),
        middleware=[ModelFallbackMiddleware(second)],
    )
    return (await typed.ainvoke({"messages": message}))["structured_response"]


if __name__ == "__main__":
    main(run, resume, charter)
