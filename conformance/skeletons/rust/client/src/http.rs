//! A minimal HTTP client. Replace it by your client.

use std::io::{self, Read, Write};
use std::net::TcpStream;

/// The status and the body of a response.
pub struct Response {
    pub status: usize,
    pub body: Vec<u8>,
}

/// Send a JSON text to `url`, which must begin with http://. HTTP/1.0 lets the body end with the connection.
pub fn post(url: &str, json: &str) -> io::Result<Response> {
    let (host, path) = url
        .strip_prefix("http://")
        .and_then(|rest| rest.find('/').map(|slash| rest.split_at(slash)))
        .ok_or_else(|| io::Error::other(format!("not an address with a path: {url}")))?;
    let mut connection = TcpStream::connect(host)?;
    write!(
        connection,
        "POST {path} HTTP/1.0\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{json}",
        json.len()
    )?;
    let mut received = Vec::new();
    connection.read_to_end(&mut received)?;
    let end = received
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .ok_or_else(|| io::Error::other("the response has no end of its headers"))?;
    let head = String::from_utf8_lossy(&received[..end]).into_owned();
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
    Ok(Response {
        status: status.ok_or_else(|| io::Error::other("the response has no status"))?,
        body: received[end + 4..].to_vec(),
    })
}
