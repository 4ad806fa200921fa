"""What coding agents need from a gateway: `toolparity check --gateway URL --as claude-code`.

- `claude_code.toml`, `codex.toml`: the tables, each observed in one version of the agent
- `table`: the form of a table
- `need`: the checks that its needs name
- `play`: sends the requests of a table through a gateway, and judges each need

docs/programs/clients/drive.py drives the agents themselves. It shows what they send that a table does not have, and
what they do when a gateway fails.
"""

#: The agents. The file of a table has the name of the agent, with an underscore.
AGENTS = ("claude-code", "codex")
#: What precedes the consequence of a missing need in the reason of its verdict.
SO = "; so "
