# pip install langchain-core==1.8.3 langchain-xai==1.3.0
import json
from langchain_xai import ChatXAI
from threading import Thread
from wsgiref.simple_server import make_server

def provider(request, start):
    request["wsgi.input"].read(int(request["CONTENT_LENGTH"]))
    start("200 OK", [("content-type", "application/json")])
    return [open("control-characters-in-arguments.xai.chat.plain.json", "rb").read()]
server = make_server("127.0.0.1", 0, provider)
Thread(target=server.serve_forever, daemon=True).start()

url = f"http://127.0.0.1:{server.server_port}/v1"
model = ChatXAI(model="m", api_key="none", base_url=url, max_retries=0)
answer = model.invoke("Hello")

print(json.dumps({"calls": answer.tool_calls}, default=str))
# expected: {"line":"a b"}
