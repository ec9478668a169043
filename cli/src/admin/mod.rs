//! The admin address of a run: `/metrics` for Prometheus, `/livez` and `/readyz` for whoever starts and stops processes, `/statusz` for people and
//! scripts (docs/operations.md).
//!
//! Promises: an address that cannot be listened on ends the run before any work; answers are made from counters that the run keeps anyway, so that nobody
//! waits for whoever asks; reading only. For a network that is trusted: there is neither TLS nor a password.

mod http;
mod state;
mod statusz;

use std::sync::Arc;

use http::Answer;
pub(crate) use state::{Phase, State};
pub(crate) use statusz::seconds;

use crate::args::AdminArgs;
use crate::metrics;
use crate::output::complain;

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
    let state = Arc::clone(state);
    let local = http::serve(address, move |method, path| answer(method, path, &state))?;
    complain!("admin address: http://{local}");
    Ok(())
}

fn answer(method: &str, path: &str, state: &State) -> Answer {
    if !matches!(method, "GET" | "HEAD") {
        return (405, TEXT, "GET and HEAD only\n".to_owned());
    }
    match path {
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
        let (status, _, body) = answer("GET", path, state);
        (status, body)
    }

    #[test]
    fn readiness_follows_the_phases_and_names_the_reason() {
        let state = State::new("postgres", Arc::default());
        assert_eq!(get("/readyz", &state), (503, "starting: opening the sources\n".to_owned()));
        state.enter(Phase::Standby("server process 7".to_owned()));
        assert_eq!(get("/readyz", &state), (503, "standby: another starmill writes: server process 7\n".to_owned()));
        state.enter(Phase::Running);
        assert_eq!(get("/readyz", &state), (200, "ready\n".to_owned()));
        state.progress.stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(get("/readyz", &state), (503, "stopping\n".to_owned()));
        assert_eq!(get("/livez", &state).0, 200);
    }

    #[test]
    fn only_what_is_there_is_answered() {
        let state = State::new("null", Arc::default());
        assert_eq!(get("/metricsx", &state).0, 404);
        assert_eq!(answer("POST", "/metrics", &state).0, 405);
        assert_eq!(get("/", &state), (200, PATHS.to_owned()));
    }
}
