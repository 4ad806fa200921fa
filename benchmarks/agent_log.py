"""Write a log of agents with long conversations: `python -m benchmarks.agent_log FILE [--rounds 150] [--agents 8]`.

Each row of the JSON lines is a request with the whole history, and its response. To see the size of its part file:

    python -m benchmarks.agent_log agents.jsonl
    toolparity audit part -o agents.part agents.jsonl
    ls -l agents.jsonl agents.part
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def rows(rounds: int, agents: int) -> Iterator[dict[str, Any]]:
    """Yield the exchanges of one agent after another; each round calls one tool."""
    drawn = random.Random(1)
    vocabulary = ["".join(drawn.choices(_LETTERS, k=drawn.randint(2, 9))) for _ in range(4000)]

    def words(count: int) -> str:
        return " ".join(drawn.choices(vocabulary, k=count))

    for agent in range(agents):
        history: list[dict[str, Any]] = [
            {"role": "system", "content": words(300)},
            {"role": "user", "content": words(60)},
        ]
        for number in range(rounds):
            id = f"call_{drawn.getrandbits(96):024x}"
            function = {"name": "read_file", "arguments": json.dumps({"path": words(3)})}
            call = {"id": id, "type": "function", "function": function}
            message = {"role": "assistant", "content": words(20), "tool_calls": [call]}
            choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
            body = {"id": f"chatcmpl-{id}", "object": "chat.completion", "model": "m", "choices": [choice]}
            request = {"model": "m", "messages": history}
            yield {"id": f"{agent}-{number}", "wire": "openai.chat", "request": request, "body": json.dumps(body)}
            history = [*history, message, {"role": "tool", "tool_call_id": id, "content": words(100)}]


def main() -> None:
    """Write the log that the arguments describe."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--rounds", type=int, default=150)
    parser.add_argument("--agents", type=int, default=8)
    given = parser.parse_args()
    with given.file.open("w") as file:
        for row in rows(given.rounds, given.agents):
            file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
