# pip install langgraph==1.2.24 langchain==1.5.2 langchain-xai==1.3.0
import json, langchain.agents, langchain.chat_models, langchain.tools
from threading import Thread
from wsgiref.simple_server import make_server

ran, sent = [], []
def provider(request, start):
    sent.append(request["wsgi.input"].read(int(request["CONTENT_LENGTH"])))
    start("200 OK" if len(sent) == 1 else "400 End", [("content-type", "application/json")])
    return [open("no-object.xai.responses.plain.json", "rb").read()]
server = make_server("127.0.0.1", 0, provider)
Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}"
@langchain.tools.tool("grade", description="A tool.", args_schema={"type": "object"})
def tool_0(**arguments): ran.append(["grade", arguments])
model = langchain.chat_models.init_chat_model("xai:m", base_url=url, api_key="none", use_responses_api=True)
agent = langchain.agents.create_agent(model, [tool_0])
agent.invoke({"messages": "Hello"})
print(json.dumps({"ran": ran}, default=str))
# expected: grade([1]), grade("A"), grade(3), grade({"points":3})
