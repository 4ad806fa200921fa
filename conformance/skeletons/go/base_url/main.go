// {{name}} as a subject of the suite: it gets an address, and fetches the response with its own client.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

var hello = Hello{
	Name:    "{{name}}",
	Version: "0.1",
	Input:   "base_url",
	Wires:   []string{"openai.chat"},
	Claims:  []string{"stream"},
}

// read returns the calls of one response. Replace fetch and readChat by your client.
func read(exchange Exchange) any {
	body, err := fetch(exchange)
	if err != nil {
		return Answer{Error: err.Error()}
	}
	return readChat(body, exchange.Stream)
}

// fetch sends the request once, and returns the body of the response.
func fetch(exchange Exchange) ([]byte, error) {
	request := map[string]any{}
	for name, value := range exchange.Request {
		request[name] = value
	}
	request["stream"] = exchange.Stream
	body, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	response, err := http.Post(exchange.BaseURL+"/chat/completions", "application/json", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode >= 400 {
		return nil, fmt.Errorf("HTTP status %d", response.StatusCode)
	}
	return io.ReadAll(response.Body)
}

func main() {
	serve(hello, read)
}
