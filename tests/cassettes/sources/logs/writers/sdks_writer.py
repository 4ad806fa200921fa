"""Writes what an SDK keeps, or sends to its server, which is a receiver on loopback: ``NAME BASE… TARGET``.

NAME is a function of this module. It gets the URL of the receiver and the addresses of the emulated providers, and
returns the rows. What describes the machine is left out.
"""

from __future__ import annotations

import gc
import gzip
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import agent

_RECEIVED: list[tuple[str, bytes]] = []


def keep(path: str, headers: Any, body: bytes) -> None:
    """Keep a request."""
    _RECEIVED.append((path, gzip.decompress(body) if headers.get("content-encoding") == "gzip" else body))


def sent(end: str) -> list[Any]:
    return [json.loads(body) for path, body in _RECEIVED if path.endswith(end)]


def play(bases: Sequence[str], wrap_openai: Any = lambda sdk: sdk, wrap_anthropic: Any = lambda sdk: sdk) -> None:
    """Play the conversations with the SDKs of the providers."""
    import openai

    agent.openai_conversations(wrap_openai(openai.OpenAI(base_url=bases[0], api_key="any")))
    if len(bases) > 1:
        import anthropic

        agent.anthropic_conversation(wrap_anthropic(anthropic.Anthropic(base_url=bases[1], api_key="any")))


def agents(url: str, *bases: str) -> list[Any]:
    import agents as sdk
    from agents.tracing.processors import BackendSpanExporter, BatchTraceProcessor
    from openai import AsyncOpenAI

    exporter = BatchTraceProcessor(BackendSpanExporter(api_key="any", endpoint=f"{url}/traces"))
    sdk.set_trace_processors([exporter])
    for model in (sdk.OpenAIChatCompletionsModel, sdk.OpenAIResponsesModel):
        made = model(agent.CHAT_MODEL, AsyncOpenAI(base_url=bases[0], api_key="any"))
        weather = sdk.Agent("weather", model=made, tools=[sdk.function_tool(agent.get_weather)])
        run = sdk.Runner.run_sync(weather, agent.QUESTION)
        agent.count(len(run.raw_responses), [part.type for one in run.raw_responses for part in one.output])
    exporter.shutdown()
    return [row for body in sent("/traces") for row in body["data"]]


def braintrust(url: str, *bases: str) -> list[Any]:
    from braintrust import init_logger, logger, wrap_anthropic, wrap_openai

    project = logger.OrgProjectMetadata("o", logger.ObjectMetadata("p", "p", {}))
    with logger._internal_with_memory_background_logger() as rows:
        init_logger(project="p")._lazy_metadata = logger.LazyValue(lambda: project, use_mutex=False)
        play(bases, wrap_openai, wrap_anthropic)
        return [row for row in rows.pop() if row.pop("context", True)]


def datadog(url: str, *bases: str) -> list[Any]:
    os.environ |= {"DD_LLMOBS_OVERRIDE_ORIGIN": url, "DD_TRACE_AGENT_URL": url, "DD_REMOTE_CONFIGURATION_ENABLED": "0"}
    os.environ |= {"_DD_LLMOBS_OVERRIDE_ORIGIN": url, "DD_INSTRUMENTATION_TELEMETRY_ENABLED": "0"}
    from ddtrace import patch
    from ddtrace.llmobs import LLMObs

    LLMObs.enable(ml_app="a", agentless_enabled=True, api_key="any", site="localhost")
    patch(openai=True, anthropic=True)
    play(bases)
    LLMObs.flush()
    LLMObs.disable()
    return [row for body in sent("/llmobs") for row in body]


def inspect(url: str, *bases: str) -> Any:
    os.environ |= {"OPENAI_BASE_URL": bases[0], "OPENAI_API_KEY": "any", "INSPECT_DISPLAY": "none"}
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.solver import generate, use_tools
    from inspect_ai.tool import ToolDef

    tool = ToolDef(agent.get_weather_soon, "get_weather", parameters={"city": "A city."})
    task = Task([Sample(agent.QUESTION)], solver=[use_tools(tool), generate()])
    with tempfile.TemporaryDirectory() as folder:
        args = {"responses_api": False}
        eval(task, model=f"openai/{agent.CHAT_MODEL}", log_dir=folder, log_format="json", model_args=args)
        row = json.loads(next(Path(folder).glob("*.json")).read_text("utf-8"))
    agent.count(3, ["function_call"] * 5)  # the script of the provider
    return json.dumps(row | {"eval": {"task": row["eval"]["task"], "packages": row["eval"]["packages"]}}, indent=1)


def langfuse(url: str, *bases: str) -> list[Any]:
    os.environ |= {"LANGFUSE_PUBLIC_KEY": "pk-lf-any", "LANGFUSE_SECRET_KEY": "sk-lf-any", "LANGFUSE_HOST": url}
    import telemetry
    from langfuse import get_client
    from langfuse.openai import openai
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    play(bases, lambda sdk: openai.OpenAI(base_url=bases[0], api_key="any"))
    get_client().flush()
    bodies = [body for path, body in _RECEIVED if path.endswith("/v1/traces")]
    return [telemetry.document(ExportTraceServiceRequest.FromString(body)) for body in bodies]


def langsmith(url: str, *bases: str) -> list[Any]:
    os.environ |= {"LANGSMITH_TRACING": "true", "LANGSMITH_API_KEY": "sample"}
    from langsmith import Client
    from langsmith.wrappers import wrap_anthropic, wrap_openai

    extra: Any = {"client": Client(api_url=url, auto_batch_tracing=False, info={})}
    play(bases, lambda sdk: wrap_openai(sdk, tracing_extra=extra), lambda sdk: wrap_anthropic(sdk, tracing_extra=extra))
    runs: dict[str, Any] = {}
    for path, body in _RECEIVED:  # a run as it begins, updated by its end
        run = json.loads(body)
        (run.get("extra") or {}).pop("runtime", None)
        runs.setdefault(run.get("id", path.rpartition("/")[2]), {}).update(run)
    return list(runs.values())


def litellm(url: str, *bases: str) -> list[Any]:
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # no request to the internet
    import litellm
    from litellm.integrations.custom_logger import CustomLogger

    class Writer(CustomLogger):  # type: ignore[misc]
        def log_success_event(self, kwargs: Any, *others: Any, **named: Any) -> None:
            rows.append({**kwargs["standard_logging_object"], "model_map_information": None})  # a table of prices

        log_failure_event = log_success_event

    rows: list[Any] = []
    litellm.callbacks = [Writer()]
    options = {"api_base": bases[0], "api_key": "any", "num_retries": 0, "model": f"openai/{agent.CHAT_MODEL}"}
    ask = partial(litellm.completion, tools=agent.CHAT_TOOLS, **options)
    agent.chat(lambda messages: ask(messages=messages).choices[0].message.model_dump())
    agent.chat(lambda messages: agent.message_of(ask(messages=messages, stream=True)), lossy=False)
    answer = litellm.responses(input=agent.QUESTION, tools=agent.RESPONSES_TOOLS, **options)
    agent.count(1, [item.type for item in answer.output])
    with suppress(litellm.exceptions.APIError, litellm.exceptions.NotFoundError, litellm.exceptions.BadRequestError):
        ask(messages=[{"role": "user", "content": "Nothing answers this."}])
    agent.count(1, [])
    while len(rows) < agent.COUNTS["exchanges"]:  # LiteLLM calls the callbacks in a thread
        time.sleep(0.1)
    return json.loads(json.dumps(rows, default=str))


def logfire(url: str, *bases: str) -> list[Any]:
    import logfire
    import openai
    import telemetry

    spans, sdk = telemetry.Spans(), openai.OpenAI(base_url=bases[0], api_key="any")
    logfire.configure(send_to_logfire=False, console=False, additional_span_processors=[spans.processor])
    logfire.instrument_openai(sdk)
    agent.openai_conversations(sdk)
    agent.responses_conversation(sdk)
    return list(spans.documents())


def instrumentation(url: str, *arguments: str) -> list[Any]:
    """Record spans of the instrumentation in a package: OpenInference, or OpenLLMetry."""
    import telemetry

    package, *bases = arguments
    spans = telemetry.Spans()
    import_module(f"{package}.openai").OpenAIInstrumentor().instrument(tracer_provider=spans.provider)
    import_module(f"{package}.anthropic").AnthropicInstrumentor().instrument(tracer_provider=spans.provider)
    play(bases)
    return list(spans.documents())


def mlflow(url: str, *bases: str) -> list[Any]:
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"MLFLOW_ALLOW_FILE_STORE": "true", "MLFLOW_ENABLE_ASYNC_TRACE_LOGGING": "false"}
        import mlflow

        mlflow.set_tracking_uri(f"file://{folder}/runs")
        mlflow.openai.autolog()
        play(bases)
        rows = [json.loads(trace.to_json()) for trace in mlflow.search_traces(return_type="list")]
    return [{"info": {"trace_id": row["info"]["trace_id"]}, "data": row["data"]} for row in reversed(rows)]


def opentelemetry(url: str, *arguments: str) -> Any:
    """The first argument is "events" (old conventions: messages as log records), "no-contents" (the same without), or
    "attributes" (new conventions: messages as attributes of the span), or "console" (as the console exporter writes).
    """
    mode, *bases = arguments
    capture = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
    if mode == "events":
        os.environ[capture] = "true"  # read at import
    elif mode != "no-contents":
        os.environ |= {capture: "SPAN_ONLY", "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental"}
    import telemetry
    from opentelemetry.instrumentation.openai_v2 import OpenAIInstrumentor
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor

    spans, records, logger = telemetry.Spans(), InMemoryLogRecordExporter(), LoggerProvider()
    logger.add_log_record_processor(SimpleLogRecordProcessor(records))
    OpenAIInstrumentor().instrument(tracer_provider=spans.provider, logger_provider=logger)
    play(bases)
    if mode == "console":
        return "\n".join(span.to_json() for span in spans.ended)
    return [*telemetry.log_documents(records.get_finished_logs()), *spans.documents()]


def opik(url: str, *bases: str) -> list[Any]:
    os.environ |= {"OPIK_URL_OVERRIDE": f"{url}/api"}
    from opik import flush_tracker
    from opik.integrations.openai import track_openai

    play(bases, track_openai)
    gc.collect()  # the span of a stream ends with its iterator
    flush_tracker(timeout=5)
    return [row for body in sent("/spans/batch") for row in body["spans"]]


def main(name: str, *arguments: str) -> None:
    """Write the rows as lines, or the text."""
    *rest, target = arguments
    with agent.receiver(keep) as url:
        rows = globals()[name](url, *rest)
    text = rows if isinstance(rows, str) else "\n".join(map(json.dumps, rows))
    Path(target).write_text(f"{text}\n", "utf-8")
    agent.report()


main(*sys.argv[1:])
