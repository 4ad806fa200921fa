"""Writes what LiteLLM passes to its logging callbacks: chat, plain and streamed, Responses, and a failed request.

``model_map_information``, a table of prices that is longer than all the rest, is left out.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # no request to the internet

import agent
import litellm
from litellm.integrations.custom_logger import CustomLogger


class Writer(CustomLogger):
    """Keeps the payload of each request."""

    payloads: list[Any]

    def __init__(self) -> None:
        super().__init__()
        self.payloads = []

    def log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        payload = dict(kwargs["standard_logging_object"])
        payload.pop("model_map_information", None)
        self.payloads.append(payload)

    log_failure_event = log_success_event


def main(openai_base: str, target: str) -> None:
    """Play the conversations and write the payloads."""
    writer = Writer()
    litellm.callbacks = [writer]
    options = {"api_base": openai_base, "api_key": "any", "num_retries": 0}
    model = f"openai/{agent.CHAT_MODEL}"

    def complete(messages: Any) -> Any:
        answer = litellm.completion(model=model, messages=messages, tools=agent.CHAT_TOOLS, **options)
        return answer.choices[0].message.model_dump()

    def stream(messages: Any) -> Any:
        chunks = litellm.completion(model=model, messages=messages, tools=agent.CHAT_TOOLS, stream=True, **options)
        return agent.message_of(chunks)

    agent.chat(complete)
    agent.chat(stream, lossy=False)
    answer = litellm.responses(model=model, input=agent.QUESTION, tools=agent.RESPONSES_TOOLS, **options)
    agent.COUNTS["exchanges"] += 1
    agent.COUNTS["calls"] += sum(item.type == "function_call" for item in answer.output)
    with suppress(litellm.exceptions.APIError, litellm.exceptions.NotFoundError, litellm.exceptions.BadRequestError):
        litellm.completion(model=model, messages=[{"role": "user", "content": "Nothing answers this."}], **options)
    agent.COUNTS["exchanges"] += 1
    for _ in range(200):  # LiteLLM calls the callbacks in a thread
        if len(writer.payloads) == agent.COUNTS["exchanges"]:
            break
        time.sleep(0.1)
    text = "".join(json.dumps(payload, default=str) + "\n" for payload in writer.payloads)
    Path(target).write_text(text, "utf-8")
    agent.report(litellm=version("litellm"))


main(*sys.argv[1:])
