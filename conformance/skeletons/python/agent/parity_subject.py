"""{{name}} as a subject of the suite: an agent, which asks a model and runs the tools that it calls."""

import agent


class Subject:
    name = "{{name}}"
    version = "0.1"
    input = "base_url"
    wires = ["openai.chat"]
    claims = ["runs"]

    def read(self, exchange):
        """Run the agent on one response. Replace `agent.run` by your agent: the tools record their runs."""
        agent.run(exchange.base_url, {tool.name: tool for tool in exchange.tools})
        return {}
