"""Writes the runs that the SDK of LangSmith sends to its server: a run as it begins, updated by its end.

The members of ``extra`` that describe the machine are left out.
"""

from __future__ import annotations

import json
import os
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ |= {"LANGSMITH_TRACING": "true", "LANGSMITH_API_KEY": "sample"}

import agent
import anthropic
import langsmith
import openai
from langsmith.wrappers import wrap_anthropic, wrap_openai

_RUNS: dict[str, Any] = {}


def keep(path: str, headers: Any, body: bytes) -> None:
    """Create or update a run."""
    run = json.loads(body)
    run.setdefault("id", path.rpartition("/")[2])
    (run.get("extra") or {}).pop("runtime", None)
    _RUNS.setdefault(run["id"], {}).update(run)


def main(openai_base: str, anthropic_base: str, target: str) -> None:
    """Play the conversations and write what was received."""
    with agent.receiver(keep) as url:
        extra: Any = {"client": langsmith.Client(api_url=url, auto_batch_tracing=False, info={})}
        agent.openai_conversations(wrap_openai(openai.OpenAI(base_url=openai_base, api_key="any"), tracing_extra=extra))
        sdk = anthropic.Anthropic(base_url=anthropic_base, api_key="any")
        agent.anthropic_conversation(wrap_anthropic(sdk, tracing_extra=extra))
    Path(target).write_text("".join(json.dumps(run) + "\n" for run in _RUNS.values()), "utf-8")
    agent.report(langsmith=version("langsmith"), openai=version("openai"), anthropic=version("anthropic"))


main(*sys.argv[1:])
