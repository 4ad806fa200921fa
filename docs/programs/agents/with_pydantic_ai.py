"""Three typed tools with pydantic-ai; the program keeps the conversation, also that of a run that ends early."""

from trial import OTHER_MESSAGES, URL, Charter, main, work, work_async

# The agent begins here.
from datetime import date
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


def find_boat(harbour: str, kind: str = "sail") -> list[str]:
    return work("find_boat", ["Ana", "Flor"])


async def book(boat: str, day: date) -> dict:
    return await work_async("book", {"boat": boat, "weekday": f"{day:%A}"})


def price(boat: str, days: int = 1) -> float:
    return work("price", 120.0 * days)


model = OpenAIChatModel("gpt-5-mini", provider=OpenAIProvider(base_url=URL, api_key="any"))
agent = Agent(model, instructions="You let boats.", tools=[find_boat, book, price])
# The agent ends here.
from pydantic_ai import NativeOutput, capture_run_messages
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.providers.anthropic import AnthropicProvider

history = []


async def run(message: str) -> str:
    with capture_run_messages() as messages:
        try:
            return (await agent.run(message, message_history=history)).output
        finally:
            history[:] = messages


async def resume() -> str:
    return await run("Charter a boat.")  # nothing was stored


async def charter(message: str) -> Charter:
    second = AnthropicModel("claude-haiku-4-5", provider=AnthropicProvider(base_url=OTHER_MESSAGES, api_key="any"))
    return (await agent.run(message, model=FallbackModel(model, second), output_type=NativeOutput(Charter))).output


if __name__ == "__main__":
    main(run, resume, charter)
