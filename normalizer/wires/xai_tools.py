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

#: The name that xAI refuses for a client function. Source: NousResearch/hermes-agent#95003 and #99499 (XAI-08).
REFUSED = frozenset(("tool_search",))
_HOSTED = REFUSED | {"browse_page", "code_execution", "collections_search", "file_search", "web_search", "x_search"}
#: Names of hosted tools, which differ by wire. xAI accepts a client function with one of them, but may report its calls
#: as hosted ones, or search itself: UKGovernmentBEIS/inspect_ai#5460, NousResearch/hermes-agent#42502.
RESERVED_ON_CHAT = _HOSTED | {"attachment_search"}
RESERVED_ON_RESPONSES = _HOSTED | {"code_interpreter"}
RESERVED_ON_GRPC = _HOSTED | {"attachment_search", "image_generation", "live_search"}
