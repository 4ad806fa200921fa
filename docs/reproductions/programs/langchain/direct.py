"""Prints what LangChain's chat models return for one response body."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import loopback as given
import reading
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI
from langchain_xai import ChatXAI

told = {"model": "model", "api_key": "none", "max_retries": 0}
if given.provider == "anthropic":
    model = ChatAnthropic(base_url=given.url, max_tokens=1024, **told)
else:
    told |= {"base_url": f"{given.url}/v1", "use_responses_api": given.wire == "openai.responses"}
    model = ChatXAI(**told) if given.provider == "xai" else ChatOpenAI(stream_usage=True, **told)
model = model.bind_tools(given.chat_tools)


def messages():
    if not given.stream:
        (choices,) = model.bound.generate([[HumanMessage("Hello")]], **model.kwargs).generations
        return [choice.message for choice in choices]
    total = None
    for chunk in model.stream("Hello"):
        total = chunk if total is None else total + chunk
    return [total]


given.show(lambda: reading.langchain(messages()))
