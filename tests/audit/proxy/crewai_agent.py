"""An agent of crewAI, with its loop: python crewai_agent.py BASE_URL QUESTION. It runs in crewAI's environment."""

import os
import sys

os.environ.update(CREWAI_DISABLE_TELEMETRY="true", OTEL_SDK_DISABLED="true", CREWAI_TRACING_ENABLED="false")

from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool


@tool("get_weather")
def get_weather(city: str) -> str:
    """Return tomorrow's weather in a city."""
    return f"sunny in {city}"


@tool("list_events")
def list_events(day: str) -> str:
    """Return what the calendar holds on a day."""
    return f"nothing on {day}"


base, question = sys.argv[1:]
llm = LLM(model="openai/gpt-5-mini", base_url=base, api_key="a-key")
agent = Agent(role="helper", goal="help", backstory="", tools=[get_weather, list_events], llm=llm)
Crew(agents=[agent], tasks=[Task(description=question, expected_output="advice", agent=agent)]).kickoff()
