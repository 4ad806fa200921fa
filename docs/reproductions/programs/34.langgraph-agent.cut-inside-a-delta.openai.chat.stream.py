# pip install langgraph==1.2.24 langchain==1.5.2 langchain-openai==1.7.4
import json, langchain.agents, langchain.chat_models, langchain.tools
from threading import Thread
from wsgiref.simple_server import make_server
ran, sent = [], []
def provider(request, start):
    sent.append(request["wsgi.input"].read(int(request["CONTENT_LENGTH"])))
    start("200 OK" if len(sent) == 1 else "400 End", [("content-type", "text/event-stream")])
    return [open("cut-inside-a-delta.openai.chat.stream.sse", "rb").read()]
server = make_server("127.0.0.1", 0, provider)
Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}"
@langchain.tools.tool("switch_light", description="A tool.", args_schema={"type": "object"})
def tool_0(**arguments): ran.append(["switch_light", arguments])
model = langchain.chat_models.init_chat_model("openai:m", base_url=url, api_key="none")
agent = langchain.agents.create_agent(model, [tool_0])
try: list(agent.stream({"messages": "Hello"}, stream_mode="messages"))
except Exception: pass  # the second request fails
print(json.dumps({"ran": ran}, default=str))
# expected: nothing of it runs
