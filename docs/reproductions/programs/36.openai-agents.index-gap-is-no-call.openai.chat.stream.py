# pip install openai-agents==0.24.0
import asyncio, httpx2, json
from agents import OpenAIChatCompletionsModel, ModelSettings, ModelTracing
from openai import AsyncOpenAI
body = open("index-gap-is-no-call.openai.chat.stream.sse", "rb").read()
def provider(request):
    headers = {"content-type": "text/event-stream"}
    return httpx2.Response(200, headers=headers, content=body)
http = httpx2.AsyncClient(transport=httpx2.MockTransport(provider))
client = AsyncOpenAI(api_key="none", base_url="https://api.openai.com/v1", http_client=http)
prompt = (None, "Hello", ModelSettings(include_usage=True), [], None, [], ModelTracing.DISABLED)
ids = dict.fromkeys(["previous_response_id", "conversation_id", "prompt"])
model = OpenAIChatCompletionsModel("m", client)
async def ask():
    events = [event async for event in model.stream_response(*prompt, **ids)]
    ends = ("response.completed", "response.incomplete", "response.failed")
    return [event.response for event in events if event.type in ends][-1]
answer = asyncio.run(ask())
print(json.dumps({"calls": [item.model_dump(exclude_none=True) for item in answer.output]}, default=str))
# expected: ring_bell({"times":2})
