# pip install cohere==7.3.1
import json
from cohere import ClientV2
from threading import Thread
from wsgiref.simple_server import make_server

def provider(request, start):
    request["wsgi.input"].read(int(request["CONTENT_LENGTH"]))
    start("200 OK", [("content-type", "application/json")])
    return [open("call-sent-again-with-its-id.cohere.chat.plain.json", "rb").read()]
server = make_server("127.0.0.1", 0, provider)
Thread(target=server.serve_forever, daemon=True).start()

client = ClientV2("none", base_url=f"http://127.0.0.1:{server.server_port}", max_retries=0)
answer = client.chat(model="m", messages=[])

print(json.dumps({
    "calls": [[call.function.name, call.function.arguments] for call in answer.message.tool_calls or ()],
}, default=str))
# expected: open_gate({"gate":"north"})
