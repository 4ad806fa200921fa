"""Orchestrated turns: limits, circuit breakers, fallback tools, recovery and briefings around the turn machine.

    from toolparity.turns.orchestration import ContextBuilder, Coordinator, Limits
    orchestrated = await Coordinator(provider, tools, limits=Limits(rounds=4)).run("…")

| part                       | module        | what it does                                              |
|----------------------------|---------------|-----------------------------------------------------------|
| query coordinator          | `coordinator` | enforces `limits`, chooses the level of recovery          |
| reasoning engine           | `engine`      | sends a request if its breaker and the time limit allow   |
| tool execution dispatcher  | `dispatcher`  | applies breakers and fallbacks to each call               |
| context synthesizer        | `context`     | fits a request into a token budget (`memory`)             |
| summarizer                 | `summarizer`  | lets a model write summaries and the intent               |
| response assembler         | `assembler`   | adds a note on uncertainty to the answer                  |
| listeners                  | `listeners`   | decide on each phase before it begins (`steering`)        |

`notes` are what a turn reports of its phases and recoveries. `recording` records a turn and replays its
steps, and `rerun` repeats it with all of these parts.
"""

from .assembler import Orchestrated
from .breakers import Breakers
from .context import Built, ContextBuilder
from .coordinator import Coordinator
from .limits import Limits
from .listeners import Add, Change, Listener, Veto
from .memory import Session, session_of, stated_intent
from .notes import (
    Failover,
    FinalPhase,
    Instructed,
    OrchestrationNote,
    Phase,
    ReasoningPhase,
    Recovery,
    RetryNote,
    Steering,
    SynthesisPhase,
    ToolExecutionPhase,
    note_of,
)
from .recording import RecordingObserver, record, replay
from .rerun import Rerun, RerunDifference, rerun
from .summarizer import ModelSummarizer

__all__ = [
    "Coordinator",
    "Limits",
    "Listener",
    "Veto",
    "Change",
    "Add",
    "Orchestrated",
    "Breakers",
    "ContextBuilder",
    "Built",
    "Session",
    "session_of",
    "stated_intent",
    "ModelSummarizer",
    "record",
    "RecordingObserver",
    "replay",
    "rerun",
    "Rerun",
    "RerunDifference",
    "FinalPhase",
    "OrchestrationNote",
    "Phase",
    "ReasoningPhase",
    "Recovery",
    "RetryNote",
    "Failover",
    "Instructed",
    "Steering",
    "SynthesisPhase",
    "ToolExecutionPhase",
    "note_of",
]
