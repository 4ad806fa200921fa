"""Rules of xAI, on its gRPC wire and on the OpenAI wires that it serves. Its tools are always strict."""

from __future__ import annotations

from msgspec.structs import replace

from .model import Cap, Keyword, SchemaRules, ToolRules, ignored, refused

_GUIDE = "https://docs.x.ai/docs/guides/structured-outputs"
_TOOLS = "https://docs.x.ai/docs/guides/function-calling"
_FORMATS = ("date", "time", "date-time", "email", "uuid", "ipv4", "ipv6", "uri")

SCHEMAS = SchemaRules(
    keywords={
        **refused(_GUIDE, "minContains", "maxContains"),
        **ignored(_GUIDE, "not", "if", "then", "else"),
        "format": Keyword("ignored", _GUIDE, _FORMATS),
    },
    others=Keyword("accepted", _GUIDE),
    shapes={
        "root-object": _TOOLS,
        "acyclic": _GUIDE,
        "no-boolean": _GUIDE,
        "variants": _GUIDE,
        "items-schema": _GUIDE,
        "resolvable": _GUIDE,
        "closed-by-default": _GUIDE,
    },
)
GRPC = ToolRules(
    wire="xai.grpc",
    name="[a-zA-Z0-9_-]{1,64}",
    name_source=_TOOLS,
    schema_source=_TOOLS,
    strict_scope="always",
    plain=SCHEMAS,
    caps={"tools": Cap(200, _TOOLS)},
)
CHAT = replace(GRPC, wire="openai.chat", dialect="xai")
RESPONSES = replace(GRPC, wire="openai.responses", dialect="xai")
