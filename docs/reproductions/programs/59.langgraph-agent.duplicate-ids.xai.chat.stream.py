# pip install langgraph==1.2.24 langchain==1.5.2 langchain-xai==1.3.0
import json, langchain.agents, langchain.chat_models, langchain.tools
from threading import Thread
from wsgiref.simple_server import make_server
ran, sent = [], []
def provider(request, start):
    sent.append(request["wsgi.input"].read(int(request["CONTENT_LENGTH"])))
    start("200 OK" if len(sent) == 1 else "400 End", [("content-type", "text/event-stream")])
    return [open("duplicate-ids.xai.chat.stream.sse", "rb").read()]
server = make_server("127.0.0.1", 0, provider)
Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}"
@langchain.tools.tool("charge_card", description="A tool.", args_schema={"type": "object"})
def tool_0(**arguments): ran.append(["charge_card", arguments])
model = langchain.chat_models.init_chat_model("xai:m", base_url=url, api_key="none")
agent = langchain.agents.create_agent(model, [tool_0])
try: list(agent.stream({"messages": "Hello"}, stream_mode="messages"))
except Exception: pass  # the second request fails
print(json.dumps({"ran": ran, "sent": json.loads(sent[1])}, default=str))
# expected: the rule answered-once
