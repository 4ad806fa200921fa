//! {{name}} as a subject of the suite: an agent, which asks a model and runs the tools that it calls.

mod agent;
mod http;
mod json;
mod protocol;

use json::{object, text, Json};

/// Run the agent on one response, and report what ran, in order. Replace `agent::run` by your agent.
fn read(exchange: &Json) -> Result<Json, String> {
    let mut runs = Vec::new();
    let mut tool = |name: &str, arguments: Json| {
        runs.push(object(vec![("name", text(name)), ("arguments", arguments)]));
        format!("result {} of {name}", runs.len())
    };
    let base_url = exchange.get("base_url").text().unwrap_or("");
    let ended = agent::run(base_url, exchange.get("functions").items(), &mut tool);
    let mut answer = vec![("runs", Json::List(runs))];
    if let Err(error) = &ended {
        answer.push(("error", text(error)));
    }
    Ok(object(answer))
}

fn main() -> std::io::Result<()> {
    let hello = object(vec![
        ("name", text("{{name}}")),
        ("version", text("0.1")),
        ("input", text("base_url")),
        ("wires", Json::List(vec![text("openai.chat")])),
        ("claims", Json::List(vec![text("runs")])),
    ]);
    protocol::serve(hello, read)
}
