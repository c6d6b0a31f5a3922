//! A bad line: a proxy that cuts every connection somewhere.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// Leads to a server, for some bytes at a time.
pub(crate) struct Proxy {
    pub(crate) url: String,
    target: Arc<Mutex<String>>,
    task: AbortHandle,
}

impl Proxy {
    /// Cuts every connection after a number of bytes that nobody can foresee.
    pub(crate) async fn start(target: &str) -> Self {
        let mut random: u64 = 0x9e37_79b9_7f4a_7c15;
        let cuts = std::iter::from_fn(move || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(random >> 33).ok().map(|number| number % 9_000)
        });
        Self::with_cuts(target, cuts).await
    }

    /// Cuts the first connections after so many bytes each, and the rest not at all.
    pub(crate) async fn with_cuts<I>(target: &str, cuts: I) -> Self
    where
        I: IntoIterator<Item = usize, IntoIter: Send + 'static>,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let target = Arc::new(Mutex::new(address(target)));
        let (leads_to, mut cuts) = (target.clone(), cuts.into_iter());
        let task = tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                let target = leads_to.lock().unwrap().clone();
                tokio::spawn(pass(client, target, cuts.next().unwrap_or(usize::MAX)));
            }
        });
        Self { url, target, task: task.abort_handle() }
    }

    /// New connections go there.
    pub(crate) fn lead_to(&self, target: &str) {
        *self.target.lock().unwrap() = address(target);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn address(url: &str) -> String {
    url.strip_prefix("http://").unwrap().to_owned()
}

/// Passes `allowed` bytes of the answer on, then drops both ends.
async fn pass(mut client: TcpStream, target: String, mut allowed: usize) {
    let Ok(mut server) = TcpStream::connect(target).await else { return };
    let (mut from_client, mut from_server) = ([0; 4096], [0; 4096]);
    loop {
        tokio::select! {
            read = client.read(&mut from_client) => match read {
                Ok(0) | Err(_) => return,
                Ok(count) => if server.write_all(&from_client[..count]).await.is_err() { return },
            },
            read = server.read(&mut from_server) => match read {
                Ok(0) | Err(_) => return,
                Ok(count) => {
                    let count = count.min(allowed);
                    allowed -= count;
                    if client.write_all(&from_server[..count]).await.is_err() || allowed == 0 {
                        return;
                    }
                }
            },
        }
    }
}
