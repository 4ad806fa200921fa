//! The protocol of the suite: each line on standard input is a JSON object, and the program prints one JSON object for
//! it. Print nothing else on standard output; standard error is for your messages.

use std::io::{self, BufRead, Write};

use crate::json::{object, text, Json};

/// Answer the lines of the suite until standard input ends. `hello` declares what the subject reads and claims.
pub fn serve<A: Into<Json>>(hello: Json, read: fn(&Json) -> Result<A, String>) -> io::Result<()> {
    for line in io::stdin().lock().lines() {
        let exchange = Json::parse(&line?).map_err(io::Error::other)?;
        let answer = match exchange.get("op").text() {
            Some("hello") => hello.clone(),
            _ => match read(&exchange) {
                Ok(answer) => answer.into(),
                Err(error) => object(vec![("error", text(&error))]),
            },
        };
        let mut output = io::stdout().lock();
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    Ok(())
}
