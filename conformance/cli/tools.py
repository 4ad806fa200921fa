"""`toolparity tools`: checks tool definitions against the rules of the providers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from toolparity.cassettes.cli import exits
from toolparity.cassettes.cli.names import Group, Named
from toolparity.normalizer import json_codec
from toolparity.normalizer.errors import MalformedBody
from toolparity.schemas import TARGETS, SourceTool, ToolDefinition, ToolViolation, check_tools, read_tools


@click.group(cls=Group, name="tools", epilog=exits.EPILOG)
def command() -> None:
    """Check tool definitions against the rules of the providers."""


@command.command()
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--mcp", "server", metavar="SERVER", help="Check the tools that an MCP server lists: its command, or its URL."
)
@click.option(
    "--wire",
    "targets",
    multiple=True,
    type=Named("wire", TARGETS),
    help="A wire, or a wire in the dialect of a provider (WIRE/DIALECT). Repeatable.  [default: all of them]",
)
@click.option("--strict", is_flag=True, help="Check every tool as strict.")
@click.option("--ignored", is_flag=True, help="Also print what a provider drops or does not enforce.")
@click.option("--json", "as_data", is_flag=True, help="Print one JSON line per violation.")
@click.pass_context
def check(
    ctx: click.Context,
    *,
    files: tuple[Path, ...],
    server: str | None,
    targets: tuple[str, ...],
    strict: bool,
    ignored: bool,
    as_data: bool,
) -> None:
    """Print which provider would refuse which tool, and why.

    FILE is JSON: a list of tools of OpenAI, Anthropic, Gemini, Bedrock or MCP, or a request that declares tools. - is
    standard input. Exits with 1 if a provider would refuse a tool. Several files are checked one by one.

    \b
    Examples:
      toolparity tools check tools.json
      toolparity tools check --mcp "npx -y @modelcontextprotocol/server-filesystem ."
      toolparity tools check request.json --wire openai.chat --strict
    """
    if bool(files) == (server is not None):
        raise click.UsageError("pass either FILE or --mcp SERVER")
    documents = {str(file): _read(file) for file in files} or {"": _listing(server or "")}
    refusing = total = 0
    for name, document in documents.items():
        tools = read_tools(document)
        total += len(tools)
        if len(documents) > 1 and not as_data:
            click.echo(f"{name}:")
        definitions = [_as_strict(tool.definition) if strict else tool.definition for tool in tools]
        for target in targets or TARGETS:
            found = check_tools(definitions, target)
            refused = [violation for violation in found if violation.effect == "refused"]
            refusing += bool(refused)
            shown = found if ignored else refused
            for line in _as_lines(name, target, tools, shown) if as_data else _as_text(target, tools, shown):
                click.echo(line)
            if not as_data:
                names = {violation.tool for violation in refused}
                click.echo(f"{target}: {len(names)} of {len(tools)} tools refused")
    ctx.exit(exits.code(failed=bool(refusing), ran=total))


def _read(file: Path) -> Any:
    with click.open_file(str(file), "rb") as source:
        data = source.read()
    try:
        return json_codec.decode(data)
    except ValueError as error:
        raise MalformedBody(f"not JSON: {error}", where=str(file)) from None


def _listing(server: str) -> Any:
    from toolparity.turns import McpServer

    async def listed() -> list[dict[str, Any]]:
        async with McpServer(server) as connected:
            return [definition.raw for definition in connected.definitions]

    return {"tools": asyncio.run(listed())}


def _as_strict(tool: ToolDefinition) -> ToolDefinition:
    return msgspec.structs.replace(tool, strict=True)


def _as_text(target: str, tools: Sequence[SourceTool], found: Sequence[ToolViolation]) -> list[str]:
    return [
        f"{target}: {v.name}: {tools[v.tool].located(v.pointer)}: {v.message} [{v.rule}, {v.effect}] {v.source}"
        for v in found
    ]


def _as_lines(file: str, target: str, tools: Sequence[SourceTool], found: Sequence[ToolViolation]) -> list[str]:
    rows = [
        {"file": file, "target": target, **msgspec.to_builtins(v), "pointer": tools[v.tool].located(v.pointer)}
        for v in found
    ]
    return [json_codec.text(row) for row in rows]
