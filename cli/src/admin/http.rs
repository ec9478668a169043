//! HTTP for the admin address: one request a connection, a thread for each, answers that fit into memory.
//!
//! Promises: a connection lives for a few seconds at most, whatever its other side does, and their number is bounded, so that `/livez` is answered
//! beside clients that are slow or send nonsense; running out of files for a while does not end the server. (A server that shares a pool
//! of threads between connections lets a few idle ones keep everyone else waiting.)

use std::io::{Error, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::Builder;
use std::time::{Duration, Instant};

use crate::failure::Failure;

/// Status, content type and body.
pub(crate) type Answer = (u16, &'static str, String);

/// From the first byte of a request to the last of its answer.
const CONNECTION_TIME_MAX: Duration = Duration::from_secs(5);
/// More connections at a time are closed unanswered.
const CONNECTIONS_MAX: usize = 64;
const REQUEST_BYTES_MAX: usize = 8 << 10;
const HEADERS_MAX: usize = 64;
/// After connections could not be taken, which mostly means that there are too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Answers requests, given as method and path without its query, on threads of its own as long as the process lives. Returns where it listens.
///
/// # Errors
/// `admin-address`: taken, not ours, or no address.
pub(crate) fn serve(address: &str, answer: impl Fn(&str, &str) -> Answer + Send + Sync + 'static) -> Result<SocketAddr, Failure> {
    let failed = |error: Error| {
        let advice = "give another --admin-addr HOST:PORT, or end the process that has it";
        Failure::new("admin-address", format!("cannot listen on {address}: {error}; {advice}"))
    };
    let listener = TcpListener::bind(address).map_err(failed)?;
    let local = listener.local_addr().map_err(failed)?;
    let accept = move || {
        let answer = Arc::new(answer);
        loop {
            let Ok((stream, _)) = listener.accept() else {
                std::thread::sleep(ACCEPT_PAUSE);
                continue;
            };
            let answer = Arc::clone(&answer);
            // Each thread holds one count; this one holds the first.
            if Arc::strong_count(&answer) <= CONNECTIONS_MAX + 1 {
                let talk = move || talk(stream, answer.as_ref());
                // Without a thread the connection is closed, and whoever asked asks again.
                let _ = Builder::new().name("starmill-admin-answer".into()).spawn(talk);
            }
        }
    };
    let spawned = Builder::new().name("starmill-admin".into()).spawn(accept);
    spawned
        .map_err(|error| Failure::new("thread", format!("the admin thread cannot be started: {error}; raise the limit of processes")))?;
    Ok(local)
}

/// One request and its answer. What goes wrong is told to the other side, if it listens, and concerns nobody else.
fn talk(mut stream: TcpStream, answer: &dyn Fn(&str, &str) -> Answer) {
    let until = Instant::now() + CONNECTION_TIME_MAX;
    let plain = |status, text: &str| (status, "text/plain; charset=utf-8", format!("{text}\n"));
    let (method, (status, kind, body)) = match request(&mut stream, until) {
        Ok(Some((method, path))) => {
            let answer = answer(&method, &path);
            (method, answer)
        }
        Ok(None) => (String::new(), plain(400, "not a request that is understood")),
        Err(error) if matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock) => (String::new(), plain(408, "too slow")),
        Err(_) => return,
    };
    let mut text = format!(
        "HTTP/1.1 {status} {}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        reason(status),
        body.len()
    );
    if method != "HEAD" {
        text.push_str(&body);
    }
    let _ = stream.set_write_timeout(Some(CONNECTION_TIME_MAX));
    let _ = stream.write_all(text.as_bytes());
}

/// Method and path of a request; `None` if it is none.
fn request(stream: &mut TcpStream, until: Instant) -> std::io::Result<Option<(String, String)>> {
    let mut bytes = Vec::new();
    let mut part = [0; 1024];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        let read = stream.read(&mut part)?;
        if read == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(&part[..read]);
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(&bytes) {
            Ok(status) if status.is_complete() => {
                let (Some(method), Some(target)) = (request.method, request.path) else { return Ok(None) };
                let path = target.split('?').next().unwrap_or(target);
                return Ok(Some((method.to_owned(), path.to_owned())));
            }
            Ok(_) if bytes.len() <= REQUEST_BYTES_MAX => {}
            _ => return Ok(None),
        }
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(text: &[u8]) -> String {
        let local = serve("127.0.0.1:0", |method, path| (200, "text/plain", format!("{method} {path}"))).unwrap();
        let mut stream = TcpStream::connect(local).unwrap();
        stream.write_all(text).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn what_is_no_address_is_told_as_such() {
        for address in ["nonsense", "127.0.0.1", "127.0.0.1:99999", "203.0.113.1:80"] {
            let failure = serve(address, |_, _| (200, "", String::new())).unwrap_err();
            assert_eq!(failure.code, "admin-address");
            assert!(failure.message.contains(address), "{}", failure.message);
        }
    }

    #[test]
    fn requests_are_answered_and_nonsense_is_refused() {
        assert!(ask(b"GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n").ends_with("Content-Length: 6\r\nConnection: close\r\n\r\nGET /a"));
        assert!(ask(b"HEAD /a HTTP/1.0\r\n\r\n").ends_with("Content-Length: 7\r\nConnection: close\r\n\r\n"));
        assert!(ask(&[0xff; 100]).starts_with("HTTP/1.1 400 "));
        assert!(ask(&[b"GET / HTTP/1.1\r\nX: ".as_slice(), &[b'x'; REQUEST_BYTES_MAX]].concat()).starts_with("HTTP/1.1 400 "));
    }
}
