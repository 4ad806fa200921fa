"""Writes spans of OpenInference, the instrumentation of Phoenix, or of OpenLLMetry, that of Traceloop.

PACKAGE is the one with the modules for the SDKs of OpenAI and Anthropic: `openinference.instrumentation` or
`opentelemetry.instrumentation`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.metadata import version

import agent
import anthropic
import openai
import telemetry


def main(package: str, openai_base: str, anthropic_base: str, target: str) -> None:
    """Play a conversation with each provider, and one that is streamed."""
    spans = telemetry.Spans()
    import_module(f"{package}.openai").OpenAIInstrumentor().instrument(tracer_provider=spans.provider)
    import_module(f"{package}.anthropic").AnthropicInstrumentor().instrument(tracer_provider=spans.provider)
    agent.openai_conversations(openai.OpenAI(base_url=openai_base, api_key="any"))
    agent.anthropic_conversation(anthropic.Anthropic(base_url=anthropic_base, api_key="any"))
    telemetry.write(target, spans.documents())
    distribution = package.replace(".", "-")
    names = (f"{distribution}-openai", f"{distribution}-anthropic", "openai", "anthropic")
    agent.report(**{name: version(name) for name in names})


main(*sys.argv[1:])
