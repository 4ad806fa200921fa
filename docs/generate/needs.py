"""The tables of gateways-for-coding-agents.md: what each agent needs from a gateway."""

from __future__ import annotations

from pathlib import Path

from docs.generate import filled
from toolparity.conformance.clients import AGENTS
from toolparity.conformance.clients.table import CodingAgent, coding_agent


def table(agent: CodingAgent) -> str:
    """Return the table of an agent."""
    lines = [
        f"`{agent.package}` {agent.version}, {len(agent.needs)} needs:",
        "",
        "| need | what | without it | shown by |",
        "|---|---|---|---|",
    ]
    for id, need in agent.needs.items():
        optional = " (optional)" if need.optional else ""
        lines.append(f"| `{id}` | {need.title}{optional} | it {need.without} | {need.source} |")
    return "\n".join([*lines, ""])


def files() -> dict[Path, str]:
    """Return the page."""
    return filled("gateways-for-coding-agents.md", {f"needs of {name}": table(coding_agent(name)) for name in AGENTS})
