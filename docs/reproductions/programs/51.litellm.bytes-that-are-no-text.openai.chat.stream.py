# pip install litellm==1.110.2
import json, litellm
from threading import Thread
from wsgiref.simple_server import make_server

def provider(request, start):
    request["wsgi.input"].read(int(request["CONTENT_LENGTH"]))
    start("200 OK", [("content-type", "text/event-stream")])
    return [open("bytes-that-are-no-text.openai.chat.stream.sse", "rb").read()]
server = make_server("127.0.0.1", 0, provider)
Thread(target=server.serve_forever, daemon=True).start()

options = {"model": "openai/gpt-5-mini", "api_key": "none", "max_retries": 0}
options |= {"api_base": f"http://127.0.0.1:{server.server_port}/v1"}
messages = [{"role": "user", "content": "Hello"}]
options |= {"stream": True, "stream_options": {"include_usage": True}}
chunks = list(litellm.completion(messages=messages, **options))
answer = litellm.stream_chunk_builder(chunks, messages=messages)
print(json.dumps({"calls": [choice.message.model_dump(exclude_none=True) for choice in answer.choices]}, default=str))
# expected: get_weather({"city":"T�kyo"})
