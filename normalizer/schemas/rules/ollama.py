"""Rules of Ollama. Its server decodes definitions into fixed types, which drop every other keyword without an error."""

from __future__ import annotations

from .model import Keyword, SchemaRules, ToolRules, accepted

_TYPES = "https://github.com/ollama/ollama/blob/main/api/types.go"
_UNMARSHAL = "https://github.com/ollama/ollama/issues/10328"

CHAT = ToolRules(
    wire="ollama.chat",
    name=".{1,256}",
    name_source=_TYPES,
    name_length=256,
    plain=SchemaRules(
        keywords=accepted(_TYPES, "anyOf", "type", "items", "description", "enum", "properties"),
        root={**accepted(_TYPES, "required"), "anyOf": Keyword("ignored", _TYPES), "enum": Keyword("ignored", _TYPES)},
        others=Keyword("ignored", _TYPES),
        shapes={"root-object": _UNMARSHAL, "root-members": _UNMARSHAL, "no-boolean": _UNMARSHAL, "resolvable": _TYPES},
    ),
)
