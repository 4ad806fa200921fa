// The protocol of the suite: each line on standard input is a JSON object, and the program prints one JSON object for
// it. Print nothing else on standard output; standard error is for your messages.
package main

import (
	"bufio"
	"encoding/json"
	"io"
	"log"
	"os"
)

// Hello declares what the subject reads and claims.
type Hello struct {
	Name    string   `json:"name"`
	Version string   `json:"version"`
	Input   string   `json:"input"`
	Wires   []string `json:"wires"`
	Claims  []string `json:"claims"`
}

// Exchange is one response to read. Pieces are the bytes of the response; a subject with the input base_url gets BaseURL
// instead, and an agent the Functions to declare to its model.
type Exchange struct {
	Op      string                     `json:"op"`
	Wire    string                     `json:"wire"`
	Stream  bool                       `json:"stream"`
	Status  int                        `json:"status"`
	Request map[string]json.RawMessage `json:"request"`
	Pieces  [][]byte                   `json:"pieces"`
	BaseURL string                     `json:"base_url"`

	Functions []Function `json:"functions"`
}

// Function is a tool that an agent offers to its model. Parameters is a JSON schema.
type Function struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// serve answers the lines of the suite until standard input ends.
func serve(hello Hello, read func(Exchange) any) {
	input, output := bufio.NewReader(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		line, err := input.ReadBytes('\n')
		if err == io.EOF {
			return
		}
		var exchange Exchange
		if err := json.Unmarshal(line, &exchange); err != nil {
			log.Fatal(err)
		}
		if exchange.Op == "hello" {
			err = output.Encode(hello)
		} else {
			err = output.Encode(read(exchange))
		}
		if err != nil {
			log.Fatal(err)
		}
	}
}
