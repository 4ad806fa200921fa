"""Adaptation of tool definitions to a provider: schemas that it accepts, and the way back for the arguments.

adapted = adapt_tools(tools, "openai.chat")
adapted.tools                                # definitions that the provider accepts
adapted.losses                               # each change, with a code and its effect
adapted.restore(call.name, call.arguments)   # the original name and arguments
"""

from __future__ import annotations

from .losses import TOOL_LOSSES, ToolLoss
from .tools import Adapted, adapt_tools

__all__ = ["TOOL_LOSSES", "Adapted", "ToolLoss", "adapt_tools"]
