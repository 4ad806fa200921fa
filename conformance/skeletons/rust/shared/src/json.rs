//! JSON values, read and written with the standard library alone. Numbers keep their text.

use std::fmt;

#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

/// Deeper values are an error, so that no input can overflow the stack.
const MAX_DEPTH: usize = 256;

impl Json {
    pub fn parse(text: &str) -> Result<Json, String> {
        let mut parser = Parser { text, at: 0 };
        let value = parser.value(0)?;
        parser.skip_space();
        if parser.at < text.len() {
            return Err(parser.error("a second value"));
        }
        Ok(value)
    }

    /// The member of an object; null if the value is not an object or has no such member.
    pub fn get(&self, name: &str) -> &Json {
        match self {
            Json::Object(members) => members
                .iter()
                .rev()
                .find(|(key, _)| key == name)
                .map_or(&Json::Null, |(_, value)| value),
            _ => &Json::Null,
        }
    }

    /// The items of a list; empty for other values.
    pub fn items(&self) -> &[Json] {
        match self {
            Json::List(items) => items,
            _ => &[],
        }
    }

    /// The text; None for other values.
    pub fn text(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number as an index; None for other values.
    #[allow(dead_code)] // not every kind of subject needs it
    pub fn index(&self) -> Option<usize> {
        match self {
            Json::Number(text) => text.parse().ok(),
            _ => None,
        }
    }
}

pub fn text(value: &str) -> Json {
    Json::Text(value.to_string())
}

pub fn object(members: Vec<(&str, Json)>) -> Json {
    Json::Object(
        members
            .into_iter()
            .map(|(name, value)| (name.to_string(), value))
            .collect(),
    )
}

impl fmt::Display for Json {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Json::Null => write!(out, "null"),
            Json::Bool(value) => write!(out, "{value}"),
            Json::Number(value) => write!(out, "{value}"),
            Json::Text(value) => write_text(value, out),
            Json::List(items) => {
                write!(out, "[")?;
                for (place, item) in items.iter().enumerate() {
                    write!(out, "{}{item}", if place > 0 { "," } else { "" })?;
                }
                write!(out, "]")
            }
            Json::Object(members) => {
                write!(out, "{{")?;
                for (place, (name, value)) in members.iter().enumerate() {
                    write!(out, "{}", if place > 0 { "," } else { "" })?;
                    write_text(name, out)?;
                    write!(out, ":{value}")?;
                }
                write!(out, "}}")
            }
        }
    }
}

fn write_text(value: &str, out: &mut fmt::Formatter) -> fmt::Result {
    write!(out, "\"")?;
    for character in value.chars() {
        match character {
            '"' | '\\' => write!(out, "\\{character}")?,
            '\0'..='\x1f' => write!(out, "\\u{:04x}", character as u32)?,
            _ => write!(out, "{character}")?,
        }
    }
    write!(out, "\"")
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn value(&mut self, depth: usize) -> Result<Json, String> {
        if depth > MAX_DEPTH {
            return Err(self.error("a value that is nested too deeply"));
        }
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.list(depth),
            Some(b'"') => Ok(Json::Text(self.string()?)),
            Some(b'-' | b'0'..=b'9') => Ok(self.number()),
            _ => {
                for (word, value) in [
                    ("null", Json::Null),
                    ("true", Json::Bool(true)),
                    ("false", Json::Bool(false)),
                ] {
                    if self.text[self.at..].starts_with(word) {
                        self.at += word.len();
                        return Ok(value);
                    }
                }
                Err(self.error("no value"))
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, String> {
        let mut members = Vec::new();
        self.at += 1;
        while self.peek() != Some(b'}') {
            if !members.is_empty() {
                self.expect(b',')?;
            }
            self.skip_space();
            let name = self.string()?;
            self.expect(b':')?;
            members.push((name, self.value(depth + 1)?));
        }
        self.at += 1;
        Ok(Json::Object(members))
    }

    fn list(&mut self, depth: usize) -> Result<Json, String> {
        let mut items = Vec::new();
        self.at += 1;
        while self.peek() != Some(b']') {
            if !items.is_empty() {
                self.expect(b',')?;
            }
            items.push(self.value(depth + 1)?);
        }
        self.at += 1;
        Ok(Json::List(items))
    }

    fn number(&mut self) -> Json {
        let rest = &self.text[self.at..];
        let end = rest
            .find(|c: char| !matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E'))
            .unwrap_or(rest.len());
        self.at += end;
        Json::Number(rest[..end].to_string())
    }

    fn string(&mut self) -> Result<String, String> {
        if self.text.as_bytes().get(self.at) != Some(&b'"') {
            return Err(self.error("no text"));
        }
        self.at += 1;
        let mut value = String::new();
        loop {
            let rest = &self.text[self.at..];
            let end = rest
                .find(['"', '\\'])
                .ok_or_else(|| self.error("a text without an end"))?;
            value.push_str(&rest[..end]);
            self.at += end + 1;
            if rest.as_bytes()[end] == b'"' {
                return Ok(value);
            }
            value.push(self.escaped()?);
        }
    }

    fn escaped(&mut self) -> Result<char, String> {
        let letter = self.text.as_bytes().get(self.at).copied();
        self.at += 1;
        match letter {
            Some(b'n') => Ok('\n'),
            Some(b'r') => Ok('\r'),
            Some(b't') => Ok('\t'),
            Some(b'b') => Ok('\u{8}'),
            Some(b'f') => Ok('\u{c}'),
            Some(b'u') => {
                let first = self.hex()?;
                if (0xd800..0xdc00).contains(&first) && self.text[self.at..].starts_with("\\u") {
                    self.at += 2;
                    let second = self.hex()?;
                    let code =
                        0x10000 + ((first - 0xd800) << 10) + (second.wrapping_sub(0xdc00) & 0x3ff);
                    return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
            }
            Some(character @ (b'"' | b'\\' | b'/')) => Ok(character as char),
            _ => Err(self.error("an unknown escape")),
        }
    }

    fn hex(&mut self) -> Result<u32, String> {
        let digits = self
            .text
            .get(self.at..self.at + 4)
            .ok_or_else(|| self.error("a short escape"))?;
        self.at += 4;
        u32::from_str_radix(digits, 16).map_err(|_| self.error("an escape that is not hexadecimal"))
    }

    fn expect(&mut self, byte: u8) -> Result<(), String> {
        if self.peek() != Some(byte) {
            return Err(self.error(&format!("no {:?}", byte as char)));
        }
        self.at += 1;
        Ok(())
    }

    fn peek(&mut self) -> Option<u8> {
        self.skip_space();
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(
            self.text.as_bytes().get(self.at),
            Some(b' ' | b'\n' | b'\r' | b'\t')
        ) {
            self.at += 1;
        }
    }

    fn error(&self, found: &str) -> String {
        format!("not JSON: {found} at byte {}", self.at)
    }
}
