# pip install langchain-core==1.8.3 langchain-openai==1.7.4
import json
from functools import reduce
from langchain_openai import ChatOpenAI
from operator import add
from threading import Thread
from wsgiref.simple_server import make_server

def provider(request, start):
    request["wsgi.input"].read(int(request["CONTENT_LENGTH"]))
    start("200 OK", [("content-type", "text/event-stream")])
    return [open("id-changes-in-a-call.openai.chat.stream.sse", "rb").read()]
server = make_server("127.0.0.1", 0, provider)
Thread(target=server.serve_forever, daemon=True).start()

url = f"http://127.0.0.1:{server.server_port}/v1"
model = ChatOpenAI(model="m", api_key="none", base_url=url, stream_usage=True)
answer = reduce(add, model.stream("Hello"))
print(json.dumps({"calls": answer.tool_calls}, default=str))
# expected: {"from":"Braga","to":"Porto"}
