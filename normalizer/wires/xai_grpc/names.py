"""Reserved tool names and the limit on tools of xAI."""

from __future__ import annotations

#: Names of xAI's hosted tools. xAI refuses functions with these names (XAI-08).
RESERVED = frozenset(
    """
    attachment_search browse_page code_execution collections_search file_search image_generation live_search
    tool_search web_search x_search
    """.split()  # noqa: SIM905 - a list of words reads better so
)
TOOLS_AT_MOST = 128
