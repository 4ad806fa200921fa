# pip install pydantic-ai-slim[openai]==2.68.0
import json, os
from pydantic_ai import Agent, Tool
from threading import Thread
from wsgiref.simple_server import make_server
ran, sent = [], []
def provider(request, start):
    sent.append(request["wsgi.input"].read(int(request["CONTENT_LENGTH"])))
    start("200 OK" if len(sent) == 1 else "400 End", [("content-type", "text/event-stream")])
    return [open("cut-call-that-parses.openai.chat.stream.sse", "rb").read()]
server = make_server("127.0.0.1", 0, provider)
Thread(target=server.serve_forever, daemon=True).start()
os.environ |= {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"http://127.0.0.1:{server.server_port}/v1"}
def tool(name):
    return Tool(lambda **arguments: ran.append([name, arguments]), name=name)
agent = Agent("openai-chat:m", tools=[tool(name) for name in ['delete_rows']])
async def read(context, events): _ = [event async for event in events]
try: agent.run_sync("Hello", event_stream_handler=read)
except Exception: pass  # the second request fails
print(json.dumps({"ran": ran}, default=str))
