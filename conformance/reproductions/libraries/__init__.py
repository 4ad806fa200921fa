"""The code that asks each library, one module per library with a function ``code(ask) -> Code``."""

from __future__ import annotations

from collections.abc import Callable

from ..code import Ask, Code
from . import (
    anthropic_sdk,
    any_llm,
    boto3,
    cohere_sdk,
    google_genai,
    google_genai_interactions,
    instructor,
    javascript_sdks,
    langchain_core,
    langgraph_agent,
    litellm,
    mistralai,
    ollama_sdk,
    openai_agents,
    openai_agents_runner,
    openai_sdk,
    pydantic_ai,
    pydantic_ai_agent,
    python_frameworks,
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
    "cohere-sdk": cohere_sdk.code,
    "google-genai": google_genai.code,
    "google-genai-interactions": google_genai_interactions.code,
    "ollama-sdk": ollama_sdk.code,
    "boto3": boto3.code,
    "litellm": litellm.code,
    "langchain-core": langchain_core.code,
    "pydantic-ai": pydantic_ai.code,
    "openai-agents": openai_agents.code,
    "any-llm": any_llm.code,
    "instructor": instructor.code,
    "mistralai": mistralai.code,
    "smolagents": smolagents.code,
    "haystack": python_frameworks.haystack,
    "vercel-ai": vercel_ai.code,
    "openai-node": javascript_sdks.openai,
    "anthropic-node": javascript_sdks.anthropic,
    "google-genai-node": javascript_sdks.google_genai,
    "langchain-node": javascript_sdks.langchain,
    "openai-agents-runner": openai_agents_runner.code,
    "pydantic-ai-agent": pydantic_ai_agent.code,
    "vercel-ai-agent": vercel_ai_agent.code,
    "langgraph-agent": langgraph_agent.code,
    "strands-agent": python_frameworks.strands,
    "google-adk-agent": python_frameworks.google_adk,
}
