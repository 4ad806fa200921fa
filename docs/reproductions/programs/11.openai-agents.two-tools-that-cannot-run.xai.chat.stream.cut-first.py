# pip install openai-agents==0.24.0
import asyncio, httpx2, json
from agents import OpenAIChatCompletionsModel, ModelSettings, ModelTracing
from openai import AsyncOpenAI
body = open("two-tools-that-cannot-run.xai.chat.stream.cut-first.sse", "rb").read()
def provider(request):
    headers = {"content-type": "text/event-stream"}
    return httpx2.Response(200, headers=headers, content=body)
http = httpx2.AsyncClient(transport=httpx2.MockTransport(provider))
client = AsyncOpenAI(api_key="none", base_url="https://api.x.ai/v1", http_client=http)
prompt = (None, "Hello", ModelSettings(include_usage=True), [], None, [], ModelTracing.DISABLED)
ids = dict.fromkeys(["previous_response_id", "conversation_id", "prompt"])
model = OpenAIChatCompletionsModel("m", client)
async def ask():
    events = [event async for event in model.stream_response(*prompt, **ids)]
    ends = ("response.completed", "response.incomplete", "response.failed")
    return [event.response for event in events if event.type in ends][-1]
answer = asyncio.run(ask())
print(json.dumps({"answer": answer}, default=str))
# expected: an error, or values that show that the stream broke
