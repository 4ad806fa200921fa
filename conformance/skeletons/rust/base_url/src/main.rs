//! {{name}} as a subject of the suite: it gets an address, and fetches the response with its own client.

mod http;
mod json;
mod openai_chat;
mod protocol;

use json::{object, text, Json};
use openai_chat::Answer;

/// Return the calls of one response. Replace `http::post` and `openai_chat::read` by your client.
fn read(exchange: &Json) -> Result<Answer, String> {
    let stream = exchange.get("stream").clone();
    let mut request = match exchange.get("request") {
        Json::Object(members) => members.clone(),
        _ => Vec::new(),
    };
    request.retain(|(name, _)| name != "stream");
    request.push(("stream".to_string(), stream.clone()));
    let url = format!(
        "{}/chat/completions",
        exchange.get("base_url").text().unwrap_or("")
    );
    let response =
        http::post(&url, &Json::Object(request).to_string()).map_err(|error| error.to_string())?;
    if response.status >= 400 {
        return Err(format!("HTTP status {}", response.status));
    }
    openai_chat::read(&response.body, stream == Json::Bool(true))
}

fn main() -> std::io::Result<()> {
    let hello = object(vec![
        ("name", text("{{name}}")),
        ("version", text("0.1")),
        ("input", text("base_url")),
        ("wires", Json::List(vec![text("openai.chat")])),
        ("claims", Json::List(vec![text("stream")])),
    ]);
    protocol::serve(hello, read)
}
