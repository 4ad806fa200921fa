//! A small agent for Chat Completions. Replace it by your agent, which then runs the tools.

use crate::http;
use crate::json::{object, text, Json};

/// Runs a tool by its name, and returns the text for the model.
type Tool<'a> = &'a mut dyn FnMut(&str, Json) -> String;

/// Ask the model, run the tools that it calls, and send their results. `functions`: the declarations of the tools.
pub fn run(base_url: &str, functions: &[Json], tool: Tool) -> Result<(), String> {
    let mut messages = vec![object(vec![
        ("role", text("user")),
        ("content", text("Hello")),
    ])];
    let choice = ask(base_url, &messages, functions)?;
    if choice.get("finish_reason").text() != Some("tool_calls") {
        return Ok(()); // refused, filtered, cut, or only text
    }
    let message = choice.get("message");
    messages.push(message.clone());
    for call in message.get("tool_calls").items() {
        let content = result(call.get("function"), functions, tool);
        messages.push(object(vec![
            ("role", text("tool")),
            ("tool_call_id", call.get("id").clone()),
            ("content", text(&content)),
        ]));
    }
    ask(base_url, &messages, functions).map(|_| ())
}

/// Run one call if its tool exists and its arguments are an object, and return the text for the model.
fn result(called: &Json, functions: &[Json], tool: Tool) -> String {
    let name = called.get("name").text().unwrap_or("");
    if !functions
        .iter()
        .any(|function| function.get("name").text() == Some(name))
    {
        return format!("unknown tool: {name}");
    }
    let arguments = match called.get("arguments").text() {
        None | Some("") => "{}",
        Some(arguments) => arguments,
    };
    match Json::parse(arguments) {
        Ok(arguments @ Json::Object(_)) => tool(name, arguments),
        Ok(_) => "the arguments are not an object".to_string(),
        Err(error) => format!("the arguments are {error}"),
    }
}

/// Send the messages and the declarations of the tools, and return the first choice of the response.
fn ask(base_url: &str, messages: &[Json], functions: &[Json]) -> Result<Json, String> {
    let mut request = vec![
        ("model", text("any")),
        ("messages", Json::List(messages.to_vec())),
    ];
    let tools = functions.iter().map(|function| {
        object(vec![
            ("type", text("function")),
            ("function", function.clone()),
        ])
    });
    if !functions.is_empty() {
        request.push(("tools", Json::List(tools.collect())));
    }
    let url = format!("{base_url}/chat/completions");
    let response =
        http::post(&url, &object(request).to_string()).map_err(|error| error.to_string())?;
    if response.status >= 400 {
        return Err(format!("HTTP status {}", response.status));
    }
    let body = Json::parse(&String::from_utf8_lossy(&response.body))?;
    let choice = body.get("choices").items().first();
    choice
        .cloned()
        .ok_or_else(|| "the response has no choice".to_string())
}
