"""The code that asks each library, one module per library with a function ``code(ask) -> Code``."""

from __future__ import annotations

from collections.abc import Callable

from ..code import Ask, Code
from . import (
    anthropic_sdk,
    any_llm,
    instructor,
    langchain,
    langgraph_agent,
    litellm,
    mistralai,
    openai_agents,
    openai_agents_runner,
    openai_sdk,
    pydantic_ai,
    pydantic_ai_agent,
    smolagents,
    vercel_ai,
    vercel_ai_agent,
    xai_sdk,
)

#: Subject -> the function that writes the code for it.
LIBRARIES: dict[str, Callable[[Ask], Code]] = {
    "openai-sdk": openai_sdk.code,
    "anthropic-sdk": anthropic_sdk.code,
    "xai-sdk": xai_sdk.code,
    "litellm": litellm.code,
    "langchain": langchain.code,
    "pydantic-ai": pydantic_ai.code,
    "openai-agents": openai_agents.code,
    "any-llm": any_llm.code,
    "instructor": instructor.code,
    "mistralai": mistralai.code,
    "smolagents": smolagents.code,
    "vercel-ai": vercel_ai.code,
    "openai-agents-runner": openai_agents_runner.code,
    "pydantic-ai-agent": pydantic_ai_agent.code,
    "vercel-ai-agent": vercel_ai_agent.code,
    "langgraph-agent": langgraph_agent.code,
}
