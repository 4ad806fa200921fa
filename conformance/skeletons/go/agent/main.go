// {{name}} as a subject of the suite: an agent, which asks a model and runs the tools that it calls.
package main

import (
	"encoding/json"
	"fmt"
)

var hello = Hello{
	Name:    "{{name}}",
	Version: "0.1",
	Input:   "base_url",
	Wires:   []string{"openai.chat"},
	Claims:  []string{"runs"},
}

// Run is one run of a tool.
type Run struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// Answer has all runs, in order, and the error that ended the agent.
type Answer struct {
	Runs  []Run  `json:"runs"`
	Error string `json:"error,omitempty"`
}

// read runs the agent on one response. Replace runAgent by your agent.
func read(exchange Exchange) any {
	answer := Answer{Runs: []Run{}}
	tools := []Tool{}
	for _, function := range exchange.Functions {
		name := function.Name
		tools = append(tools, Tool{function, func(arguments json.RawMessage) string {
			answer.Runs = append(answer.Runs, Run{name, arguments})
			return fmt.Sprintf("result %d of %s", len(answer.Runs), name)
		}})
	}
	if err := runAgent(exchange.BaseURL, tools); err != nil {
		answer.Error = err.Error()
	}
	return answer
}

func main() {
	serve(hello, read)
}
