//! A small reader of Chat Completions. Replace it by your library, which then reads the responses.

use crate::json::{object, text, Json};

/// One call of the model. `arguments` is the JSON text.
#[derive(Default)]
pub struct Call {
    pub id: String,
    pub name: String,
    pub arguments: String,
}

/// The calls of a response, and whether it is complete.
pub struct Answer {
    pub calls: Vec<Call>,
    pub complete: bool,
}

impl From<Answer> for Json {
    fn from(answer: Answer) -> Json {
        let calls = answer.calls.iter().map(|call| {
            object(vec![
                ("id", text(&call.id)),
                ("name", text(&call.name)),
                ("arguments", text(&call.arguments)),
            ])
        });
        object(vec![
            ("calls", Json::List(calls.collect())),
            ("complete", Json::Bool(answer.complete)),
        ])
    }
}

/// Return the calls of a response, and whether it is complete.
pub fn read(body: &[u8], stream: bool) -> Result<Answer, String> {
    let body = String::from_utf8_lossy(body);
    let payloads = if stream {
        events(&body)
    } else {
        vec![body.into_owned()]
    };
    let mut calls: Vec<((usize, usize), Call)> = Vec::new();
    let mut complete = false;
    for payload in payloads {
        let message = Json::parse(&payload)?;
        if message.get("error") != &Json::Null {
            return Err(message.get("error").to_string());
        }
        for choice in message.get("choices").items() {
            complete |= choice.get("finish_reason").text().is_some();
            let part = match choice.get("delta") {
                Json::Null => choice.get("message"),
                delta => delta,
            };
            for (place, piece) in part.get("tool_calls").items().iter().enumerate() {
                let key = (
                    choice.get("index").index().unwrap_or(0),
                    piece.get("index").index().unwrap_or(place),
                );
                let known = calls
                    .iter()
                    .position(|(other, _)| *other == key)
                    .unwrap_or_else(|| {
                        calls.push((key, Call::default()));
                        calls.len() - 1
                    });
                let call = &mut calls[known].1;
                let function = piece.get("function");
                if call.id.is_empty() {
                    call.id = piece.get("id").text().unwrap_or("").to_string();
                }
                if call.name.is_empty() {
                    call.name = function.get("name").text().unwrap_or("").to_string();
                }
                call.arguments
                    .push_str(function.get("arguments").text().unwrap_or(""));
            }
        }
    }
    Ok(Answer {
        calls: calls.into_iter().map(|(_, call)| call).collect(),
        complete,
    })
}

/// Return the JSON texts of server-sent events.
fn events(body: &str) -> Vec<String> {
    let body = body.replace("\r\n", "\n").replace('\r', "\n");
    let mut payloads = Vec::new();
    let mut data: Vec<&str> = Vec::new();
    for line in body.split('\n').chain([""]) {
        if let Some(value) = line.strip_prefix("data:") {
            data.push(value.strip_prefix(' ').unwrap_or(value));
        } else if line.is_empty() && !data.is_empty() {
            payloads.push(data.join("\n"));
            data.clear();
        }
    }
    payloads.retain(|payload| payload != "[DONE]");
    payloads
}
