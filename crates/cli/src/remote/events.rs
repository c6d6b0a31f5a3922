//! A run's events from a daemon, live: over as many connections as it takes, each event once.

use std::time::Duration;

use futures_util::stream::{self, Stream};
use r1_protocol::api::Run;
use r1_protocol::data::Time;
use r1_runtime::control::view::EventView;
use r1_runtime::provider::sse::{SseDecoder, SseEvent};
use reqwest::{Method, Response, StatusCode};
use serde::Deserialize;
use serde_json::Value;

use super::Remote;
use super::client::retry_after;
use crate::error::CliError;

/// The largest envelope: a daemon that sends more has lost its way.
const MAX_EVENT: usize = 64 << 20;
/// Silence longer than this is a dead connection: a daemon says something every 15 seconds.
const SILENCE: Duration = Duration::from_secs(45);
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// For so many attempts in a row nothing came: the daemon is gone.
const ATTEMPTS: u32 = 20;

/// An event as it was sent.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    /// The envelope, byte for byte.
    pub(crate) text: String,
    /// Place in the run, from 0.
    pub(crate) sequence: u64,
    pub(crate) occurred_at: String,
    pub(crate) run_id: String,
    pub(crate) type_name: String,
    pub(crate) data: Value,
}

impl Sent {
    /// The event as local commands show theirs. What only the log knows is left out.
    pub(crate) fn view(&self) -> EventView {
        EventView {
            run_id: self.run_id.clone(),
            seq: self.sequence + 1,
            ts: Time::from(self.occurred_at.as_str()).nanos().map_or(0, |at| at.0),
            kind: 0,
            type_name: self.type_name.clone(),
            hash: String::new(),
            data: self.data.clone(),
            erased: self.data["erased"] == true,
            damaged: false,
            envelope: None,
        }
    }
}

/// Every event of a run from place `from` on, as it comes; ends when the run has ended.
pub(crate) fn follow(remote: &Remote, run: &Run, from: u64) -> impl Stream<Item = Result<Sent, CliError>> {
    let state = Follow {
        remote,
        path: format!("runs/{}/events", run.id),
        next: from,
        was_there: false,
        connection: None,
        ready: Vec::new().into_iter(),
        failures: 0,
        over: false,
    };
    stream::unfold(state, |mut state| async move { state.next().await.map(|item| (item, state)) })
}

struct Follow<'a> {
    remote: &'a Remote,
    path: String,
    /// The first place that is not known yet.
    next: u64,
    /// Whether the daemon has answered once.
    was_there: bool,
    connection: Option<(Response, SseDecoder)>,
    ready: std::vec::IntoIter<Sent>,
    failures: u32,
    over: bool,
}

#[derive(Deserialize)]
struct Envelope {
    run_id: String,
    sequence: u64,
    occurred_at: String,
    #[serde(rename = "type")]
    type_name: String,
    data: Value,
}

impl Follow<'_> {
    async fn next(&mut self) -> Option<Result<Sent, CliError>> {
        loop {
            if let Some(event) = self.ready.next() {
                return Some(Ok(event));
            }
            if self.over {
                return None;
            }
            if let Err(err) = self.read_on().await {
                self.over = true;
                return Some(Err(err));
            }
        }
    }

    async fn read_on(&mut self) -> Result<(), CliError> {
        let Some((response, decoder)) = &mut self.connection else { return self.connect().await };
        let mut events = Vec::new();
        match tokio::time::timeout(SILENCE, response.chunk()).await {
            Ok(Ok(Some(bytes))) => {
                self.failures = 0;
                if decoder.push(&bytes, &mut events).is_err() {
                    return Err(CliError::new("the daemon sent an event that is too large"));
                }
            }
            // Cut off, ended, or silent: whoever asks again learns which.
            Ok(Ok(None) | Err(_)) | Err(_) => self.connection = None,
        }
        self.take(events)
    }

    fn take(&mut self, events: Vec<SseEvent>) -> Result<(), CliError> {
        let mut ready = Vec::with_capacity(events.len());
        for SseEvent { data: text, .. } in events {
            let envelope: Envelope = serde_json::from_str(&text)
                .map_err(|err| CliError::new("the daemon sent something that is no event").because(err))?;
            let Envelope { run_id, sequence, occurred_at, type_name, data } = envelope;
            // At least once is what a daemon promises; once is what a reader wants.
            if sequence < self.next {
                continue;
            }
            self.next = sequence + 1;
            ready.push(Sent { text, sequence, occurred_at, run_id, type_name, data });
        }
        self.ready = ready.into_iter();
        Ok(())
    }

    async fn connect(&mut self) -> Result<(), CliError> {
        if self.failures > 0 {
            let doubled = FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(self.failures - 1));
            tokio::time::sleep(doubled.min(LONGEST_PAUSE)).await;
        }
        self.failures += 1;
        let request = self.remote.request(Method::GET, &self.path, &[]).header("accept", "text/event-stream");
        let request = match self.next.checked_sub(1) {
            Some(last) => request.header("last-event-id", last),
            None => request,
        };
        let answer = match request.send().await {
            Ok(answer) => answer,
            // A daemon that was there a moment ago is being restarted.
            Err(_) if self.was_there && self.failures < ATTEMPTS => return Ok(()),
            Err(err) => return Err(self.remote.unreachable(err)),
        };
        self.was_there = true;
        match answer.status() {
            StatusCode::OK => self.connection = Some((answer, SseDecoder::new(MAX_EVENT))),
            StatusCode::NO_CONTENT => self.over = true,
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS if self.failures < ATTEMPTS => {
                let wait = retry_after(&answer).unwrap_or(FIRST_PAUSE);
                tokio::time::sleep(wait.min(LONGEST_PAUSE)).await;
            }
            _ => return Err(self.remote.refused(answer).await),
        }
        Ok(())
    }
}
