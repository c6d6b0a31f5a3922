//! A client of event streams that takes every rule literally.

use std::io::BufRead as _;
use std::time::Duration;

use reqwest::{Client, Response};

use crate::support::{HOST, TOKEN};

/// One block of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) id: Option<String>,
    pub(crate) event: Option<String>,
    pub(crate) data: Option<String>,
    pub(crate) retry: Option<String>,
    pub(crate) comments: Vec<String>,
}

/// An open stream.
pub(crate) struct Sse {
    pub(crate) response: Response,
    buffer: Vec<u8>,
    /// The first line that was not looked at.
    searched: usize,
    over: bool,
}

/// How long a test waits for what must come: far beyond what it takes, so that only what never comes fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

impl Sse {
    /// Opens a stream, which must be one.
    pub(crate) async fn open(url: &str, last_event_id: Option<&str>) -> Self {
        let response = request(url, last_event_id).await.unwrap();
        assert_eq!(response.status(), 200, "{url}");
        assert_eq!(response.headers()["content-type"], "text/event-stream; charset=utf-8");
        Self::of(response)
    }

    pub(crate) const fn of(response: Response) -> Self {
        Self { response, buffer: Vec::new(), searched: 0, over: false }
    }

    /// The next whole block; `None` at the end, in order or not.
    pub(crate) async fn block(&mut self) -> Option<Block> {
        loop {
            if let Some(end) = self.end_of_block() {
                let block: Vec<u8> = self.buffer.drain(..end).collect();
                self.searched = 0;
                return Some(parse(std::str::from_utf8(&block).unwrap()));
            }
            if self.over {
                return None;
            }
            match tokio::time::timeout(PATIENCE, self.response.chunk()).await.expect("nothing came") {
                Ok(Some(chunk)) => self.buffer.extend_from_slice(&chunk),
                Ok(None) | Err(_) => self.over = true,
            }
        }
    }

    /// Where the first block ends, if it is there as a whole.
    fn end_of_block(&mut self) -> Option<usize> {
        loop {
            let mut rest = &self.buffer[self.searched..];
            let length = rest.skip_until(b'\n').unwrap();
            if !self.buffer[..self.searched + length].ends_with(b"\n") || length == 0 {
                return None;
            }
            self.searched += length;
            if length == 1 {
                return Some(self.searched);
            }
        }
    }

    /// The next block with an event; `None` at the end.
    pub(crate) async fn event(&mut self) -> Option<Block> {
        loop {
            let block = self.block().await?;
            if block.data.is_some() {
                return Some(block);
            }
        }
    }

    /// All events until the end, and the last comment.
    pub(crate) async fn until_end(&mut self) -> (Vec<Block>, Option<String>) {
        let (mut events, mut last) = (Vec::new(), None);
        while let Some(block) = self.block().await {
            last = block.comments.last().cloned().or(last);
            if block.data.is_some() {
                events.push(block);
            }
        }
        (events, last)
    }
}

/// Asks for a stream.
pub(crate) async fn request(url: &str, last_event_id: Option<&str>) -> reqwest::Result<Response> {
    // The name that a proxy on another port would use.
    let request = Client::new().get(url).header("host", HOST).bearer_auth(TOKEN);
    let mut request = request.header("accept", "text/event-stream");
    if let Some(id) = last_event_id {
        request = request.header("last-event-id", id);
    }
    request.send().await
}

fn parse(text: &str) -> Block {
    let mut block = Block::default();
    for line in text.trim_end_matches('\n').split('\n') {
        match line.split_once(':') {
            Some(("", comment)) => block.comments.push(comment.trim().into()),
            Some(("id", id)) => block.id = Some(id.trim().into()),
            Some(("event", event)) => block.event = Some(event.trim().into()),
            Some(("retry", retry)) => block.retry = Some(retry.trim().into()),
            Some(("data", data)) => {
                assert_eq!(block.data, None, "one line of data per event");
                block.data = Some(data.strip_prefix(' ').unwrap().into());
            }
            _ => panic!("no line of an event stream: {line:?}"),
        }
    }
    block
}
