# pip install any-llm-sdk[xai]==1.40.2
import any_llm, grpc, json
from concurrent.futures import ThreadPoolExecutor
from google.protobuf.json_format import Parse
from xai_sdk.proto import chat_pb2, chat_pb2_grpc
class Provider(chat_pb2_grpc.ChatServicer):
    def GetCompletionChunk(self, request, context):
        for line in open("reasoning-beside-calls.xai.grpc.stream.jsonl"):
            yield Parse(line, chat_pb2.GetChatCompletionChunk())
server = grpc.server(ThreadPoolExecutor())
chat_pb2_grpc.add_ChatServicer_to_server(Provider(), server)
port = server.add_insecure_port("127.0.0.1:0")
server.start()
options = {"model": "m", "provider": "xai", "api_key": "none"}
options |= {"client_args": {"api_host": f"127.0.0.1:{port}", "use_insecure_channel": True}}
messages = [{"role": "user", "content": "Hello"}]
answer = list(any_llm.completion(messages=messages, stream=True, **options))
print(json.dumps({
    "calls": [choice.model_dump(exclude_none=True) for chunk in answer for choice in chunk.choices],
}, default=str))
