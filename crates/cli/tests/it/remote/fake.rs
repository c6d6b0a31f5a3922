//! Something that answers like a daemon, as badly as a test wants it to.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

pub(crate) struct Daemon {
    /// `http://127.0.0.1:…`
    pub(crate) url: String,
    tokens: Arc<Mutex<Vec<Option<String>>>>,
}

pub(crate) struct Request {
    /// With its query.
    pub(crate) path: String,
    headers: Vec<(String, String)>,
}

pub(crate) struct Answer {
    status: u16,
    content_type: &'static str,
    body: String,
    /// Whether it says how long it is; a stream does not.
    whole: bool,
}

impl Daemon {
    /// Answers every request with what `answer` says, until the test ends.
    pub(crate) fn start(answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let tokens = Arc::new(Mutex::new(Vec::new()));
        let (answer, seen) = (Arc::new(answer), tokens.clone());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (answer, seen) = (answer.clone(), seen.clone());
                thread::spawn(move || serve(stream.unwrap(), &*answer, &seen));
            }
        });
        Self { url, tokens }
    }

    /// What requests said who they are, in their order.
    pub(crate) fn tokens(&self) -> Vec<Option<String>> {
        self.tokens.lock().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, answer: &dyn Fn(&Request) -> Answer, seen: &Mutex<Vec<Option<String>>>) {
    let request = read(&stream);
    seen.lock().unwrap().push(request.header("authorization").map(Into::into));
    let Answer { status, content_type, body, whole } = answer(&request);
    let length = if whole { format!("content-length: {}\r\n", body.len()) } else { String::new() };
    let head = format!("HTTP/1.1 {status} x\r\ncontent-type: {content_type}\r\n{length}connection: close\r\n\r\n");
    stream.write_all((head + &body).as_bytes()).unwrap();
}

fn read(stream: &TcpStream) -> Request {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let path = line.split(' ').nth(1).unwrap().to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.push((name.to_lowercase(), value.to_owned()));
    }
    let request = Request { path, headers };
    let length = request.header("content-length").map_or(0, |length| length.parse().unwrap());
    reader.read_exact(&mut vec![0; length]).unwrap();
    request
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

impl Answer {
    pub(crate) fn json(value: &serde_json::Value) -> Self {
        Self { status: 200, content_type: "application/json", body: value.to_string(), whole: true }
    }

    pub(crate) fn status(status: u16, body: &str) -> Self {
        Self { status, content_type: "application/json", body: body.into(), whole: true }
    }

    pub(crate) fn stream(body: String) -> Self {
        Self { status: 200, content_type: "text/event-stream", body, whole: false }
    }
}
