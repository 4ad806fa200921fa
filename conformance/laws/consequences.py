"""What a failure means for an application: one sentence per law and effect.

The sentences state what an application that uses the output as it is gets or does. They judge nothing.
"""

from __future__ import annotations

from toolparity.reports.results import Effect

CONSEQUENCES: dict[str, dict[Effect, str]] = {
    "conservation": {
        "lost": "The application does not get a call or text that the model sent. The call does not run, and no error"
        " reports it.",
        "duplicated": "The application gets a call that the model did not send, or one call twice, and cannot"
        " distinguish it from a real one.",
        "altered": "The application gets another text or call id than the model sent. A result with another id does not"
        " match its call.",
        "executed": "A call runs although the model did not request it, or the policy excludes it.",
        "misreported": "The application gets a wrong reason why a call did not run.",
        "refused": "The application gets an error instead of the complete response. The missing calls do not run.",
    },
    "order": {
        "altered": "The application gets the calls in another order than the model wrote them.",
    },
    "same-first": {
        "altered": "An application that runs one call per response runs another one than the model wrote first.",
        "executed": "An application that runs one call per response runs more than one, or another one.",
        "lost": "An application that runs one call per response runs none.",
    },
    "dropped-warned": {
        "lost": "Calls that do not run appear neither in the output nor in a warning. The application cannot answer"
        " them, and a provider refuses the next request without their results.",
        "executed": "A call runs that the policy drops.",
        "misreported": "The warning about calls that do not run names other calls or another number.",
    },
    "server-side": {
        "executed": "An application that runs the calls in the output runs one that the provider already ran.",
        "lost": "The application does not get a call that the provider ran, or one that waits for approval.",
    },
    "stream-parity": {
        "altered": "The same answer leads to other calls, text or stop reason when streaming is on.",
    },
    "any-split": {
        "altered": "The result depends on how the network splits the response. The same answer can give other calls.",
        "refused": "Whether the response raises an error depends on how the network splits it.",
    },
    "any-cut": {
        "misreported": "A stream whose connection breaks looks like a complete response. The application cannot know"
        " that the rest is missing.",
        "executed": "Calls of a stream that broke run, although the rest of the response is missing.",
        "altered": "A stream that breaks gives calls or text that the model did not send.",
        "lost": "A stream that breaks gives less than arrived: a call that had ended, or text, is missing.",
    },
    "arguments": {
        "altered": "The tool gets other arguments than the model wrote.",
        "misreported": "The application gets broken arguments as valid ones, or valid ones as broken.",
    },
    "stop": {
        "misreported": "The application gets a wrong reason why the answer ended, with which it decides whether to run"
        " calls, continue or stop.",
    },
    "incomplete": {
        "executed": "A call of a response that was cut, broken, filtered or failed runs.",
        "misreported": "The application cannot see that the response is incomplete, or discards a complete one.",
        "altered": "The application gets calls or text of an incomplete response that the model did not send.",
    },
    "unknown": {
        "lost": "Content of an unknown type is missing in the output, and the next request cannot send it back.",
        "misreported": "Nothing reports that the response has content of an unknown type.",
    },
    "answered": {
        "malformed": "The provider refuses the next request, and the conversation cannot continue.",
        "lost": "The next request lacks a call or a result. The model does not learn what the tool returned.",
        "duplicated": "The next request has a call or a result twice.",
        "altered": "The model gets a result at another call, or another result than the tool returned.",
        "refused": "The application gets an error after the tools ran. Their results do not reach the model.",
        "misreported": "The model gets an error of a tool as a success, or the reverse.",
    },
    "replay": {
        "lost": "The next request lacks content that the provider needs back, such as a reasoning signature.",
        "altered": "The next request changes earlier content, so prompt caches miss and signatures do not match.",
        "malformed": "The provider refuses the next request, and the conversation cannot continue.",
        "misreported": "The application gets a wrong list of what the next request could not carry.",
    },
    "handoff": {
        "lost": "Content is missing when the conversation continues at another provider.",
        "altered": "Content differs when the conversation continues at another provider.",
        "malformed": "The other provider refuses the conversation.",
        "misreported": "The application gets a wrong list of what the request to the other provider could not carry.",
    },
    "alike": {
        "altered": "The same answer leads to other calls, text or stop reason with another provider.",
    },
    "usage": {
        "misreported": "The application gets other token counts than the provider reports.",
    },
    "stream-form": {
        "lost": "Clients miss the start or the end of a block, or the whole event: a call does not run, or the client"
        " waits for the end until it times out.",
        "duplicated": "Clients that act on events see a block or a call twice, and can execute the call twice.",
        "altered": "Clients assign content to another block, drop it, or get it when the stream is over.",
    },
    "content": {
        "lost": "A member of the response is missing in the canonical form.",
        "duplicated": "The canonical form has a member more often than the response.",
        "altered": "A member of the canonical form differs from the response.",
        "misreported": "A member that describes the response is wrong in the canonical form.",
    },
}
