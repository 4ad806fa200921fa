"""The public names of `toolparity.normalizer.turns.telemetry`. Needs the extra `otel`."""

from ..normalizer.turns.telemetry import Telemetry

__all__ = ["Telemetry"]
