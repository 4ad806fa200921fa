"""The tool definitions of the recorded requests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.normalizer.recorded.rows import EXCUSED, lines
from toolparity.normalizer.errors import MalformedBody
from toolparity.schemas import SourceTool, read_tools

#: Providers whose rules the table has for the wires that several providers serve.
JUDGED = {"openai.chat": {"openai": "", "xai": "xai"}, "openai.responses": {"openai": "", "xai": "xai"}}


class Declared(NamedTuple):
    """The tools of one recorded request. ``target``: the rules that apply, or None. ``status``: of the response."""

    id: str
    wire: str
    target: str | None
    status: int
    body: str
    tools: list[SourceTool]


def requests_with_tools(folder: Path) -> Iterator[Declared]:
    """Yield every recorded request that declares function tools."""
    for wire in sorted(file.name.removesuffix(".jsonl.gz") for file in folder.glob("*.jsonl.gz")):
        for row in map(json.loads, lines(folder, wire)):
            if tools := [] if any(id in row["id"] for id in EXCUSED) else _tools(row["request"], row["wire"]):
                yield Declared(row["id"], row["wire"], _target(row), row["status"] or 200, row["body"] or "", tools)


def _tools(request: Any, wire: str) -> list[SourceTool]:
    declared = {k: v for k, v in request.items() if k in ("tools", "toolConfig")} if isinstance(request, dict) else {}
    if wire == "openai.responses":  # which does not read the member `function`: the response repeats empty parameters
        declared["tools"] = [tool for tool in declared.get("tools") or () if "function" not in tool]
    for tool in declared.get("tools") or ():
        function = tool.get("function") if isinstance(tool, dict) else None
        if isinstance(function, dict) and isinstance(function.get("parameters"), str):  # xai.grpc
            function["parameters"] = json.loads(function["parameters"])
    try:
        return read_tools(declared)
    except MalformedBody:
        return []


def _target(row: dict[str, Any]) -> str | None:
    wire = row["wire"]
    if wire in JUDGED:
        dialect = JUDGED[wire].get(row["provider"])
        return None if dialect is None else f"{wire}/{dialect}" if dialect else wire
    if wire == "google.gemini":
        written = json.dumps(row["request"])
        older = "parametersJsonSchema" not in written and "parameters_json_schema" not in written
        return "google.gemini/parameters" if older else wire
    return str(wire)
