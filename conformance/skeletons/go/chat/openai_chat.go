// A small reader of Chat Completions. Replace it by your library, which then reads the responses.
package main

import (
	"bytes"
	"encoding/json"
)

// Call is one call of the model. Arguments is the JSON text.
type Call struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Answer has either Error or Calls.
type Answer struct {
	Error    string  `json:"error,omitempty"`
	Calls    []*Call `json:"calls,omitempty"`
	Complete bool    `json:"complete"`
}

// MarshalJSON writes the calls also if there are none: an answer without calls and without an error is malformed.
func (answer Answer) MarshalJSON() ([]byte, error) {
	if answer.Error != "" {
		return json.Marshal(map[string]string{"error": answer.Error})
	}
	return json.Marshal(map[string]any{"calls": answer.Calls, "complete": answer.Complete})
}

type chunk struct {
	Error   json.RawMessage `json:"error"`
	Choices []struct {
		Index        int     `json:"index"`
		FinishReason *string `json:"finish_reason"`
		Delta        *part   `json:"delta"`
		Message      *part   `json:"message"`
	} `json:"choices"`
}

type part struct {
	ToolCalls []struct {
		Index    *int   `json:"index"`
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// readChat returns the calls of a response, and whether it is complete.
func readChat(body []byte, stream bool) Answer {
	payloads := [][]byte{body}
	if stream {
		payloads = events(body)
	}
	answer := Answer{Calls: []*Call{}}
	calls := map[[2]int]*Call{}
	for _, payload := range payloads {
		var message chunk
		if err := json.Unmarshal(payload, &message); err != nil {
			return Answer{Error: err.Error()}
		}
		if len(message.Error) > 0 && string(message.Error) != "null" {
			return Answer{Error: string(message.Error)}
		}
		for _, choice := range message.Choices {
			answer.Complete = answer.Complete || choice.FinishReason != nil
			pieces := choice.Delta
			if pieces == nil {
				pieces = choice.Message
			}
			if pieces == nil {
				continue
			}
			for place, piece := range pieces.ToolCalls {
				if piece.Index != nil {
					place = *piece.Index
				}
				call := calls[[2]int{choice.Index, place}]
				if call == nil {
					call = &Call{}
					calls[[2]int{choice.Index, place}] = call
					answer.Calls = append(answer.Calls, call)
				}
				if call.ID == "" {
					call.ID = piece.ID
				}
				if call.Name == "" {
					call.Name = piece.Function.Name
				}
				call.Arguments += piece.Function.Arguments
			}
		}
	}
	return answer
}

// events returns the JSON texts of server-sent events.
func events(body []byte) [][]byte {
	body = bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n"))
	body = bytes.ReplaceAll(body, []byte("\r"), []byte("\n"))
	var payloads, data [][]byte
	for _, line := range append(bytes.Split(body, []byte("\n")), nil) {
		if bytes.HasPrefix(line, []byte("data:")) {
			data = append(data, bytes.TrimPrefix(line[5:], []byte(" ")))
		} else if len(line) == 0 && len(data) > 0 {
			if payload := bytes.Join(data, []byte("\n")); string(payload) != "[DONE]" {
				payloads = append(payloads, payload)
			}
			data = nil
		}
	}
	return payloads
}
