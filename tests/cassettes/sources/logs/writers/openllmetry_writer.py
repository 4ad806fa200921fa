"""Writes spans of OpenLLMetry, the instrumentation of Traceloop, for the SDKs of OpenAI and Anthropic."""

from __future__ import annotations

import sys
from importlib.metadata import version

import agent
import anthropic
import openai
import telemetry
from opentelemetry.instrumentation.anthropic import AnthropicInstrumentor
from opentelemetry.instrumentation.openai import OpenAIInstrumentor


def main(openai_base: str, anthropic_base: str, target: str) -> None:
    """Play a conversation with each provider, and one that is streamed."""
    spans = telemetry.Spans()
    OpenAIInstrumentor().instrument(tracer_provider=spans.provider)
    AnthropicInstrumentor().instrument(tracer_provider=spans.provider)
    agent.openai_conversations(openai.OpenAI(base_url=openai_base, api_key="any"))
    agent.anthropic_conversation(anthropic.Anthropic(base_url=anthropic_base, api_key="any"))
    telemetry.write(target, spans.documents())
    names = ("opentelemetry-instrumentation-openai", "opentelemetry-instrumentation-anthropic", "openai", "anthropic")
    agent.report(**{name: version(name) for name in names})


main(*sys.argv[1:])
