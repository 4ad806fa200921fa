# pip install any-llm-sdk[anthropic]==1.40.2
import any_llm, json
from threading import Thread
from wsgiref.simple_server import make_server

def provider(request, start):
    request["wsgi.input"].read(int(request["CONTENT_LENGTH"]))
    start("200 OK", [("content-type", "text/event-stream")])
    return [open("search-pauses-and-goes-on.anthropic.messages.stream.sse", "rb").read()]
server = make_server("127.0.0.1", 0, provider)
Thread(target=server.serve_forever, daemon=True).start()

options = {"model": "m", "provider": "anthropic", "api_key": "none"}
options |= {"client_args": {"max_retries": 0}, "api_base": f"http://127.0.0.1:{server.server_port}"}
messages = [{"role": "user", "content": "Hello"}]
answer = list(any_llm.completion(messages=messages, stream=True, **options))
print(json.dumps({
    "calls": [choice.model_dump(exclude_none=True) for chunk in answer for choice in chunk.choices],
}, default=str))
# expected: nothing
