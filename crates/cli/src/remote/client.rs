//! Asking a daemon.

use std::time::Duration;

use r1_event::RunId;
use r1_protocol::api::{ApiErrorBody, List, Object, Run};
use r1_runtime::world;
use reqwest::header::{AUTHORIZATION, HeaderValue, RETRY_AFTER};
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::token::Token;
use crate::error::CliError;

/// How long a daemon may take to take a connection, and to answer.
const PATIENCE: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(60));
/// How often a request is made again that a connection was lost under.
const ATTEMPTS: u32 = 4;
/// The longest pause between two of them.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// A daemon.
pub(crate) struct Remote {
    client: reqwest::Client,
    base: Url,
    token: Option<HeaderValue>,
    token_origin: String,
}

impl Remote {
    pub(crate) fn new(url: &str, token: Token) -> Result<Self, CliError> {
        let wrong =
            || CliError::new(format!("`{url}` is no address of a daemon")).hint("it looks like http://127.0.0.1:3948");
        let base: Url = url.parse().map_err(|_| wrong())?;
        if !matches!(base.scheme(), "http" | "https") || base.cannot_be_a_base() {
            return Err(wrong());
        }
        if base.password().is_some() || !base.username().is_empty() {
            return Err(CliError::new("a token does not belong into an address")
                .hint("put it into a file and name that with `--token-file`, or into R1_TOKEN"));
        }
        let bearer = |text: String| {
            let mut value = HeaderValue::try_from(format!("Bearer {text}"))
                .map_err(|_| CliError::new(format!("what is {} is no token", token.origin)))?;
            value.set_sensitive(true);
            Ok::<_, CliError>(value)
        };
        let header = token.text.clone().map(bearer).transpose()?;
        let client = reqwest::Client::builder()
            .connect_timeout(PATIENCE.0)
            .user_agent(concat!("r1/", env!("CARGO_PKG_VERSION")))
            // A token is for this daemon, not for whoever it sends us to.
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|err| CliError::new("cannot make HTTP requests").because(err))?;
        Ok(Self { client, base, token: header, token_origin: token.origin })
    }

    /// What a GET of `/hecate/v1/…` gives.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str, query: &[(&str, &str)]) -> Result<T, CliError> {
        let request = || self.request(Method::GET, path, query).timeout(PATIENCE.1);
        self.read(self.send(&request).await?).await
    }

    /// What a POST to `/hecate/v1/…` gives. Safe to make again: the daemon knows it by its key.
    pub(crate) async fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, CliError> {
        let key = world::new_id("key");
        let request =
            || self.request(Method::POST, path, &[]).header("idempotency-key", &key).json(body).timeout(PATIENCE.1);
        self.read(self.send(&request).await?).await
    }

    /// The run that was named: a whole id, any unique beginning of one, or `last`.
    pub(crate) async fn run(&self, given: &str) -> Result<Run, CliError> {
        if given.parse::<RunId>().is_ok_and(|id| id.is_native()) {
            let found: Object<Run> = self.get(&format!("runs/{given}"), &[]).await?;
            return Ok(found.data);
        }
        let mut cursor: Option<String> = None;
        let mut fitting: Vec<Run> = Vec::new();
        loop {
            let limit = if given == "last" { "1" } else { "200" };
            let mut query = vec![("limit", limit)];
            query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
            let page: List<Run> = self.get("runs", &query).await?;
            fitting.extend(page.data.into_iter().filter(|run| fits(&run.id, given)));
            match page.next_cursor {
                Some(next) if fitting.len() < 2 && given != "last" => cursor = Some(next),
                _ => break,
            }
        }
        match (fitting.pop(), fitting.is_empty()) {
            (Some(run), true) => Ok(run),
            (Some(_), false) => Err(CliError::new(format!("several runs match `{given}`")).hint("type more of the id")),
            (None, _) => Err(CliError::new(format!("no run matches `{given}`"))
                .hint(format!("list the runs with `r1 runs --url {}`", self.base))),
        }
    }

    pub(super) fn request(&self, method: Method, path: &str, query: &[(&str, &str)]) -> RequestBuilder {
        let mut url = self.base.clone();
        url.set_path(&format!("{}/hecate/v1/{path}", self.base.path().trim_end_matches('/')));
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let request = self.client.request(method, url);
        match &self.token {
            Some(token) => request.header(AUTHORIZATION, token.clone()),
            None => request,
        }
    }

    /// Makes a request until it is answered, unless nobody listens there at all.
    async fn send(&self, request: &dyn Fn() -> RequestBuilder) -> Result<Response, CliError> {
        let mut pause = Duration::from_millis(200);
        for attempt in 1.. {
            let wait = match request().send().await {
                Ok(answer) if answer.status() == StatusCode::SERVICE_UNAVAILABLE && attempt < ATTEMPTS => {
                    retry_after(&answer)
                }
                Ok(answer) => return Ok(answer),
                Err(err) if err.is_connect() || attempt == ATTEMPTS => return Err(self.unreachable(err)),
                Err(_) => None,
            };
            tokio::time::sleep(wait.unwrap_or(pause).min(LONGEST_PAUSE)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        Err(CliError::new("the daemon was not asked"))
    }

    async fn read<T: DeserializeOwned>(&self, answer: Response) -> Result<T, CliError> {
        if !answer.status().is_success() {
            return Err(self.refused(answer).await);
        }
        let strange = |err: reqwest::Error| {
            CliError::new(format!("what {} answered cannot be understood", self.base))
                .because(err.without_url())
                .hint("is it an R1 daemon, and of this version?")
        };
        answer.json().await.map_err(strange)
    }

    /// What the daemon says, for people.
    pub(super) async fn refused(&self, answer: Response) -> CliError {
        let status = answer.status();
        if status == StatusCode::UNAUTHORIZED {
            return CliError::new(format!("{} does not know this token", self.base)).hint(format!(
                "the token was looked for: {}; the daemon's own is in the file `token` of its home: name it with `--token-file FILE`",
                self.token_origin
            ));
        }
        match answer.json::<ApiErrorBody>().await {
            Ok(ApiErrorBody { error }) => {
                let details = error.details.iter().map(|detail| format!("{}: {}", detail.path, detail.reason));
                let details: Vec<_> = details.collect();
                let said = CliError::new(error.message);
                let said = if details.is_empty() { said } else { said.because(details.join("; ")) };
                match error.hint {
                    Some(hint) => said.hint(hint),
                    None => said,
                }
            }
            Err(_) => CliError::new(format!("{} answered {status}", self.base)).hint("is it an R1 daemon?"),
        }
    }

    pub(super) fn unreachable(&self, err: reqwest::Error) -> CliError {
        let hint =
            if err.is_connect() { "start it with `r1 serve`, or name another with `--url`" } else { "try again" };
        CliError::new(format!("no daemon answers at {}", self.base)).because(err.without_url()).hint(hint)
    }
}

/// Whether a run's id begins as was typed.
fn fits(id: &str, given: &str) -> bool {
    given == "last" || id.starts_with(given) || id.strip_prefix("run_").is_some_and(|id| id.starts_with(given))
}

pub(super) fn retry_after(answer: &Response) -> Option<Duration> {
    answer.headers().get(RETRY_AFTER)?.to_str().ok()?.parse().ok().map(Duration::from_secs)
}
