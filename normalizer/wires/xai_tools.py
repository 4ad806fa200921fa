"""Names of xAI's hosted tools."""

from __future__ import annotations

#: Canonical tool by call name, for calls whose type does not show that xAI runs them.
#: Source: docs.x.ai/developers/tools/tool-usage-details
TOOLS_OF_XAI: dict[str | None, str] = {
    **dict.fromkeys(("web_search_with_snippets", "browse_page", "open_page", "open_page_with_find"), "web_search"),
    **dict.fromkeys(("x_user_search", "x_keyword_search", "x_semantic_search", "x_thread_fetch"), "x_search"),
    **{name: name for name in ("web_search", "x_search", "code_execution", "collections_search")},
    **{name: name for name in ("search_images", "view_image", "view_x_video")},
}

_RESERVED = frozenset(
    ("browse_page", "code_execution", "collections_search", "file_search", "tool_search", "web_search", "x_search")
)
#: Names that xAI refuses for client tools, which differ by wire (XAI-08).
RESERVED_ON_CHAT = _RESERVED | {"attachment_search"}
RESERVED_ON_RESPONSES = _RESERVED | {"code_interpreter"}
RESERVED_ON_GRPC = _RESERVED | {"attachment_search", "image_generation", "live_search"}
