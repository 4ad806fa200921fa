# pip install anthropic==2.14.0
import json
from anthropic import Anthropic
from threading import Thread
from wsgiref.simple_server import make_server

def provider(request, start):
    request["wsgi.input"].read(int(request["CONTENT_LENGTH"]))
    start("200 OK", [("content-type", "text/event-stream")])
    return [open("text-block-without-start.anthropic.messages.stream.sse", "rb").read()]
server = make_server("127.0.0.1", 0, provider)
Thread(target=server.serve_forever, daemon=True).start()

client = Anthropic(api_key="none", base_url=f"http://127.0.0.1:{server.server_port}", max_retries=0)
request = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "Hello"}]}
with client.messages.stream(**request) as stream:
    answer = stream.get_final_message()

print(json.dumps({"calls": [block.model_dump(exclude_none=True) for block in answer.content]}, default=str))
# expected: seat_map({"train":"IC 522"}), ticket_price({"class":2})
