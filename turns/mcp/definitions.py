"""Definitions of tools as an MCP server lists them, their digests, and what their annotations mean for a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from toolparity.normalizer import json_codec
from toolparity.normalizer.digests import digest

if TYPE_CHECKING:
    from mcp_types import Tool

#: The members of a definition that the model, the approval or the result depends on. The digest leaves out the others.
_MEMBERS = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
_LENGTH = 43  # letters and digits that hold 256 bits


class McpDefinition(Struct, frozen=True):
    """The definition of a tool by an MCP server. ``raw``: in MCP's form. ``digest``: changes with the definition."""

    name: str
    raw: dict[str, Any]
    digest: str

    @classmethod
    def of(cls, tool: Tool) -> McpDefinition:
        """Return the definition of a listed tool."""
        raw = tool.model_dump(mode="json", by_alias=True, exclude_unset=True)
        members = {name: raw[name] for name in _MEMBERS if raw.get(name) is not None}
        text = json_codec.text(msgspec.to_builtins(members, order="deterministic"))
        return cls(tool.name, raw, digest(text, _LENGTH))

    @property
    def description(self) -> str | None:
        """The description for the model, or the title if there is none."""
        return self.raw.get("description") or self.title

    @property
    def title(self) -> str | None:
        """The name for people."""
        return self.raw.get("title") or self._hints.get("title")

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON schema of the arguments."""
        return {"type": "object", **self.raw["inputSchema"]}

    @property
    def output(self) -> dict[str, Any] | None:
        """The JSON schema of the structured result, if it has one."""
        return self.raw.get("outputSchema")

    @property
    def read_only(self) -> bool:
        """Whether the server states that the tool changes nothing."""
        return self._hints.get("readOnlyHint") is True

    @property
    def destructive(self) -> bool:
        """Whether the tool may destroy something: unless the server states otherwise, as the specification has it."""
        return not self.read_only and self._hints.get("destructiveHint") is not False

    @property
    def idempotent(self) -> bool:
        """Whether the server states that a call may be repeated without a further effect."""
        return self.read_only or self._hints.get("idempotentHint") is True

    @property
    def _hints(self) -> dict[str, Any]:
        return self.raw.get("annotations") or {}
