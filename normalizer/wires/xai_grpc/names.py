"""The names that xAI keeps for itself, and how much it takes."""

from __future__ import annotations

#: Names of xAI's own tools, refused for functions (failure XAI-08).
RESERVED = frozenset(
    """
    attachment_search browse_page code_execution collections_search file_search image_generation live_search
    tool_search web_search x_search
    """.split()  # noqa: SIM905 - a list of words reads better so
)
TOOLS_AT_MOST = 128
