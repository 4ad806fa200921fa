# pip install cohere==7.3.1
import json
from cohere import ClientV2
from threading import Thread
from wsgiref.simple_server import make_server
def provider(request, start):
    request["wsgi.input"].read(int(request["CONTENT_LENGTH"]))
    start("200 OK", [("content-type", "text/event-stream")])
    return [open("call-sent-again-with-its-id.cohere.chat.stream.sse", "rb").read()]
server = make_server("127.0.0.1", 0, provider)
Thread(target=server.serve_forever, daemon=True).start()
client = ClientV2("none", base_url=f"http://127.0.0.1:{server.server_port}", max_retries=0)
calls, text, ended = {}, "", None
for event in client.chat_stream(model="m", messages=[]):
    said = getattr(getattr(event, "delta", None), "message", None)
    if event.type == "tool-call-start": calls[event.index] = [said.tool_calls.function.name, ""]
    if event.type == "tool-call-delta": calls[event.index][1] += said.tool_calls.function.arguments or ""
    if event.type == "content-delta": text += said.content.text or ""
    if event.type == "message-end": ended = event.delta
print(json.dumps({"calls": list(calls.values())}, default=str))
