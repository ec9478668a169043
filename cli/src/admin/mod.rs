//! The admin address of a run: `/metrics` for Prometheus, `/livez` and `/readyz` for whoever starts and stops processes, `/statusz` for people and
//! scripts (docs/operations.md).
//!
//! Promises: an address that cannot be listened on ends the run before any work; answers are made from counters that the run keeps anyway, so that nobody
//! waits for whoever asks; reading only. For a network that is trusted: there is neither TLS nor a password.

mod state;
mod statusz;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::Builder;

use tiny_http::{Header, Method, Request, Response, Server};

pub(crate) use state::{Phase, State};
pub(crate) use statusz::seconds;

use crate::args::AdminArgs;
use crate::failure::Failure;
use crate::metrics;
use crate::output::complain;

/// Threads that answer, so that one slow reader does not keep `/livez` from being answered.
const THREADS: usize = 2;
const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";
/// What is answered, and where it is described.
const PATHS: &str = "/metrics  /livez  /readyz  /statusz\n";

/// Listens where the arguments say and answers from `state` as long as the process lives. Nothing is started without an address.
///
/// # Errors
/// `admin-address`: taken, not ours, or no address.
pub(crate) fn start(args: &AdminArgs, state: &Arc<State>) -> anyhow::Result<()> {
    let Some(address) = &args.admin_addr else { return Ok(()) };
    let (server, local) = listen(address)?;
    let server = Arc::new(server);
    for n in 0..THREADS {
        let (server, state) = (Arc::clone(&server), Arc::clone(state));
        let answer = move || server.incoming_requests().for_each(|request| respond(request, &state));
        let spawned = Builder::new().name(format!("starmill-admin-{n}")).spawn(answer);
        spawned.map_err(|error| Failure::new("thread", format!("the admin thread cannot be started: {error}")))?;
    }
    complain!("admin address: http://{local}");
    Ok(())
}

fn listen(address: &str) -> Result<(Server, SocketAddr), Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        let advice = "give another --admin-addr HOST:PORT, or end the process that has it";
        Failure::new("admin-address", format!("cannot listen on {address}: {error}; {advice}"))
    };
    let listener = TcpListener::bind(address).map_err(|error| failed(&error))?;
    let local = listener.local_addr().map_err(|error| failed(&error))?;
    let server = Server::from_listener(listener, None).map_err(|error| failed(&error))?;
    Ok((server, local))
}

fn respond(request: Request, state: &State) {
    let (status, kind, body) = answer(request.method(), request.url(), state);
    let mut response = Response::from_string(body).with_status_code(status);
    if let Ok(header) = Header::from_bytes("Content-Type", kind) {
        response.add_header(header);
    }
    // Whoever asked and went away needs no answer.
    let _ = request.respond(response);
}

/// Status, content type and body.
fn answer(method: &Method, url: &str, state: &State) -> (u16, &'static str, String) {
    if !matches!(method, Method::Get | Method::Head) {
        return (405, TEXT, "GET and HEAD only\n".to_owned());
    }
    match url.split_once('?').map_or(url, |(path, _)| path) {
        "/metrics" => match metrics::text(state) {
            Ok(text) => (200, metrics::CONTENT_TYPE, text),
            Err(error) => (500, TEXT, format!("metrics cannot be written: {error}\n")),
        },
        "/livez" => (200, TEXT, "alive\n".to_owned()),
        "/readyz" => match state.not_ready() {
            None => (200, TEXT, "ready\n".to_owned()),
            Some(reason) => (503, TEXT, format!("{reason}\n")),
        },
        "/statusz" => (200, JSON, format!("{}\n", statusz::statusz(state))),
        "/" => (200, TEXT, PATHS.to_owned()),
        _ => (404, TEXT, format!("not here; there are {PATHS}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(path: &str, state: &State) -> (u16, String) {
        let (status, _, body) = answer(&Method::Get, path, state);
        (status, body)
    }

    #[test]
    fn readiness_follows_the_phases_and_names_the_reason() {
        let state = State::new("postgres", Arc::default());
        assert_eq!(get("/readyz", &state), (503, "starting: opening the sources\n".to_owned()));
        state.enter(Phase::Standby("server process 7".to_owned()));
        assert_eq!(get("/readyz", &state), (503, "standby: another starmill writes: server process 7\n".to_owned()));
        state.enter(Phase::Running);
        assert_eq!(get("/readyz?verbose", &state), (200, "ready\n".to_owned()));
        state.progress.stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(get("/readyz", &state), (503, "stopping\n".to_owned()));
        assert_eq!(get("/livez", &state).0, 200);
    }

    #[test]
    fn only_what_is_there_is_answered() {
        let state = State::new("null", Arc::default());
        assert_eq!(get("/metricsx", &state).0, 404);
        assert_eq!(answer(&Method::Post, "/metrics", &state).0, 405);
        assert_eq!(get("/", &state), (200, PATHS.to_owned()));
    }

    #[test]
    fn what_is_no_address_is_told_as_such() {
        for address in ["nonsense", "127.0.0.1", "127.0.0.1:99999", "203.0.113.1:80"] {
            let failure = listen(address).err().unwrap();
            assert_eq!(failure.code, "admin-address");
            assert!(failure.message.contains(address), "{}", failure.message);
        }
    }
}
