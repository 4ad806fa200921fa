// {{name}} as a subject of the suite: it gets the bytes of a response.
package main

import (
	"bytes"
	"fmt"
)

var hello = Hello{
	Name:    "{{name}}",
	Version: "0.1",
	Input:   "pieces",
	Wires:   []string{"openai.chat"},
	Claims:  []string{"stream"},
}

// read returns the calls of one response. Replace readChat by your library.
func read(exchange Exchange) any {
	if exchange.Status >= 400 {
		return Answer{Error: fmt.Sprintf("HTTP status %d", exchange.Status)}
	}
	return readChat(bytes.Join(exchange.Pieces, nil), exchange.Stream)
}

func main() {
	serve(hello, read)
}
