"""Telemetry of turns with OpenTelemetry: spans and metrics by its semantic conventions for generative AI.

    agent = Agent(provider, tools, telemetry=Telemetry())

| span                  | covers                                                      | kind     |
|-----------------------|-------------------------------------------------------------|----------|
| `invoke_agent {name}` | one run of a turn, until it is over or waits                | internal |
| `chat {model}`        | one request to the model and its answer, a retry separately | client   |
| `execute_tool {name}` | one run of a tool, also one that runs in place of another   | internal |

Only this package imports OpenTelemetry, and a program imports it only to pass a `Telemetry`. Install the extra `otel`.
"""

from importlib.util import find_spec

from toolparity.normalizer.errors import MissingExtra

if find_spec("opentelemetry") is None:
    raise MissingExtra("telemetry needs opentelemetry-api", hint="pip install 'toolparity[otel]'")

from .spans import Telemetry

__all__ = ["Telemetry"]
