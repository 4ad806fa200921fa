# pip install google-adk==2.13.0
import asyncio, google.adk.agents.run_config as configs, google.adk.models, google.adk.runners, google.adk.tools, json
from threading import Thread
from wsgiref.simple_server import make_server
ran, sent = [], []
def provider(request, start):
    sent.append(request["wsgi.input"].read(int(request["CONTENT_LENGTH"])))
    start("200 OK" if len(sent) == 1 else "400 End", [("content-type", "text/event-stream")])
    return [open("comments-between-events.google.gemini.stream.sse", "rb").read()]
server = make_server("127.0.0.1", 0, provider)
Thread(target=server.serve_forever, daemon=True).start()
class Tool(google.adk.tools.BaseTool):
    def _get_declaration(self): return google.genai.types.FunctionDeclaration(name=self.name)
    async def run_async(self, *, args, tool_context): ran.append([self.name, args])
model = google.adk.models.Gemini(base_url=f"http://127.0.0.1:{server.server_port}", client_kwargs={"api_key": "none"})
tools = [Tool(name=name, description="") for name in ['switch_light']]
agent = google.adk.Agent(name="agent", model=model, tools=tools)
sse = configs.RunConfig(streaming_mode=configs.StreamingMode.SSE)
asyncio.run(google.adk.runners.InMemoryRunner(agent).run_debug("Hello", run_config=sse))
print(json.dumps({"ran": ran}, default=str))
