"""Tool definitions and their providers: which rule of a provider a definition breaks, and one that breaks none.

    tools = [tool.definition for tool in read_tools(document)]
    for violation in check_tools(tools, "anthropic.messages"):
        print(violation.name, violation.pointer, violation.message)
    adapted = adapt_tools(tools, "anthropic.messages")
    name, arguments = adapted.restore(call.name, call.arguments)

The rules are data (`normalizer/schemas/rules/`), each with its source. They exist also for wires that the registry does
not have yet.
"""

from ..conversation import ToolDefinition
from .adapt import TOOL_LOSSES, Adapted, ToolLoss, adapt_tools
from .check import ToolViolation, check_tools
from .reading import SourceTool, read_tools
from .rules import TARGETS, rules_of
from .rules.model import CAPS, SHAPES, Cap, Keyword, SchemaRules, ToolRules

__all__ = [
    "CAPS",
    "SHAPES",
    "TARGETS",
    "TOOL_LOSSES",
    "Adapted",
    "Cap",
    "Keyword",
    "SchemaRules",
    "SourceTool",
    "ToolDefinition",
    "ToolLoss",
    "ToolRules",
    "ToolViolation",
    "adapt_tools",
    "check_tools",
    "read_tools",
    "rules_of",
]
