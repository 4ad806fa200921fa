// A small agent for Chat Completions. Replace it by your agent, which then runs the tools.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
)

// Tool is a function that the model may call.
type Tool struct {
	Function
	Run func(arguments json.RawMessage) string
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type message struct {
	ToolCalls []struct {
		ID       string   `json:"id"`
		Function function `json:"function"`
	} `json:"tool_calls"`
}

type response struct {
	Choices []struct {
		FinishReason string          `json:"finish_reason"`
		Message      json.RawMessage `json:"message"`
	} `json:"choices"`
}

// runAgent asks the model, runs the tools that it calls, and sends their results.
func runAgent(baseURL string, tools []Tool) error {
	messages := []any{map[string]string{"role": "user", "content": "Hello"}}
	answer, err := ask(baseURL, messages, tools)
	if err != nil {
		return err
	}
	choice := answer.Choices[0]
	if choice.FinishReason != "tool_calls" {
		return nil // refused, filtered, cut, or only text
	}
	var assistant message
	if err := json.Unmarshal(choice.Message, &assistant); err != nil {
		return err
	}
	messages = append(messages, choice.Message)
	for _, call := range assistant.ToolCalls {
		content := result(call.Function, tools)
		messages = append(messages, map[string]string{"role": "tool", "tool_call_id": call.ID, "content": content})
	}
	_, err = ask(baseURL, messages, tools)
	return err
}

// result runs one call if its tool exists and its arguments are an object, and returns the text for the model.
func result(called function, tools []Tool) string {
	for _, tool := range tools {
		if tool.Name != called.Name {
			continue
		}
		arguments := []byte(called.Arguments)
		if len(arguments) == 0 {
			arguments = []byte("{}")
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal(arguments, &object); err != nil || object == nil {
			return "the arguments are not a JSON object"
		}
		return tool.Run(arguments)
	}
	return "unknown tool: " + called.Name
}

// ask sends the messages and the declarations of the tools, and returns the response, which has a choice.
func ask(baseURL string, messages []any, tools []Tool) (*response, error) {
	request := map[string]any{"model": "any", "messages": messages}
	declared := []any{}
	for _, tool := range tools {
		declared = append(declared, map[string]any{"type": "function", "function": tool.Function})
	}
	if len(declared) > 0 {
		request["tools"] = declared
	}
	body, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	received, err := http.Post(baseURL+"/chat/completions", "application/json", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer received.Body.Close()
	if received.StatusCode >= 400 {
		return nil, fmt.Errorf("HTTP status %d", received.StatusCode)
	}
	answer := &response{}
	if err := json.NewDecoder(received.Body).Decode(answer); err != nil {
		return nil, err
	}
	if len(answer.Choices) == 0 {
		return nil, fmt.Errorf("the response has no choice")
	}
	return answer, nil
}
