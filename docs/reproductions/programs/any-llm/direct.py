"""Prints what any-llm returns for one response body. A stream's chunks are added up by index, as OpenAI documents."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import any_llm
import loopback as given
import reading

arguments = {"model": "model", "provider": given.provider, "api_key": "none", "stream": given.stream}
if given.wire == "xai.grpc":
    from grpc_loopback import address

    arguments["client_args"] = {"api_host": address, "use_insecure_channel": True}
else:
    arguments["api_base"] = given.url if given.provider == "anthropic" else f"{given.url}/v1"
    arguments["client_args"] = {"max_retries": 0}


def chat():
    answer = any_llm.completion(messages=[{"role": "user", "content": "Hello"}], tools=given.chat_tools, **arguments)
    return reading.added_up(answer) if given.stream else reading.completion(answer)


def responses():
    answer = any_llm.responses(input_data="Hello", tools=given.response_tools, **arguments)
    return reading.response(reading.last(answer) if given.stream else answer)


given.show(responses if given.wire == "openai.responses" else chat)
