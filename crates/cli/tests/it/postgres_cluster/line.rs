//! The line between a node and the database, which can be cut.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Relays connections to the database while it is whole.
#[derive(Clone)]
pub(crate) struct Line {
    pub(crate) address: SocketAddr,
    whole: Arc<watch::Sender<bool>>,
}

impl Line {
    pub(crate) async fn to(database: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let line = Self { address: listener.local_addr().unwrap(), whole: Arc::new(watch::Sender::new(true)) };
        let whole = line.whole.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(relay(client, database.clone(), whole.subscribe()));
            }
        });
        line
    }

    /// Breaks every connection, and lets no new one through.
    pub(crate) fn cut(&self) {
        self.whole.send_replace(false);
    }

    pub(crate) fn mend(&self) {
        self.whole.send_replace(true);
    }
}

async fn relay(mut client: TcpStream, database: String, mut whole: watch::Receiver<bool>) {
    if !*whole.borrow() {
        return;
    }
    let Ok(mut server) = TcpStream::connect(database).await else { return };
    tokio::select! {
        _ = tokio::io::copy_bidirectional(&mut client, &mut server) => {}
        _ = whole.wait_for(|whole| !whole) => {}
    }
}
