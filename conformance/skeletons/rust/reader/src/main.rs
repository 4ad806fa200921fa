//! {{name}} as a subject of the suite: it gets the bytes of a response.

mod base64;
mod json;
mod openai_chat;
mod protocol;

use json::{object, text, Json};
use openai_chat::Answer;

/// Return the calls of one response. Replace `openai_chat::read` by your library.
fn read(exchange: &Json) -> Result<Answer, String> {
    let status = exchange.get("status").index().unwrap_or(200);
    if status >= 400 {
        return Err(format!("HTTP status {status}"));
    }
    let mut body = Vec::new();
    for piece in exchange.get("pieces").items() {
        body.extend(base64::decode(piece.text().unwrap_or(""))?);
    }
    openai_chat::read(&body, exchange.get("stream") == &Json::Bool(true))
}

fn main() -> std::io::Result<()> {
    let hello = object(vec![
        ("name", text("{{name}}")),
        ("version", text("0.1")),
        ("wires", Json::List(vec![text("openai.chat")])),
        ("claims", Json::List(vec![text("stream")])),
    ]);
    protocol::serve(hello, read)
}
