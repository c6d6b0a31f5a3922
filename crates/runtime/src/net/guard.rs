//! The one place where it is decided whether an address may be connected to.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use super::NetError;
use super::address::is_public;

/// Finds the addresses of a name.
pub trait ResolveNames: Send + Sync {
    /// All addresses of `name`, at this time.
    fn resolve(&self, name: &str) -> BoxFuture<'static, std::io::Result<Vec<IpAddr>>>;
}

/// As this machine does it.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemNames;

impl ResolveNames for SystemNames {
    fn resolve(&self, name: &str) -> BoxFuture<'static, std::io::Result<Vec<IpAddr>>> {
        let name = name.to_owned();
        Box::pin(async move { Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect()) })
    }
}

/// Why a name gets no connection.
#[derive(Debug, thiserror::Error)]
#[error("{host} is {what}")]
pub(super) struct Refusal {
    pub host: String,
    pub what: String,
}

/// Checks names and addresses.
pub(super) struct Guard {
    names: Arc<dyn ResolveNames>,
    /// In lower case.
    allowed: Vec<String>,
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("allowed", &self.allowed).finish_non_exhaustive()
    }
}

impl Guard {
    pub(super) fn new(names: Arc<dyn ResolveNames>, allowed: &[String]) -> Self {
        Self { names, allowed: allowed.iter().map(|host| host.to_ascii_lowercase()).collect() }
    }

    /// What can be told from the URL alone. Addresses are never resolved, so this is where they are checked; the
    /// URL's parser has already read every way to write one.
    pub(super) fn check_url(&self, url: &Url) -> Result<(), NetError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(NetError::Scheme(url.scheme().to_owned()));
        }
        let address = match url.host() {
            Some(Host::Ipv4(address)) => IpAddr::V4(address),
            Some(Host::Ipv6(address)) => IpAddr::V6(address),
            // The resolver, which checks names, does not learn the port.
            Some(Host::Domain(name)) if self.allows_name(name) && !self.allows(url) => {
                return Err(NetError::Private {
                    host: name.to_owned(),
                    what: "allowed on another port only".to_owned(),
                });
            }
            Some(Host::Domain(_)) => return Ok(()),
            None => return Err(NetError::Failed("the URL names no host".to_owned())),
        };
        if is_public(address) || self.allows(url) { Ok(()) } else { Err(refused(url, address)) }
    }

    /// For connections that someone else makes: at least at this moment the name leads nowhere private.
    pub(super) async fn check_names(&self, url: &Url) -> Result<(), NetError> {
        let Some(Host::Domain(name)) = url.host() else { return Ok(()) };
        // A name that only the proxy knows is the proxy's to judge.
        let addresses = self.names.resolve(name).await.unwrap_or_default();
        match addresses.into_iter().find(|address| !is_public(*address)) {
            Some(address) if !self.allows(url) => Err(refused(url, address)),
            Some(_) | None => Ok(()),
        }
    }

    fn allows(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default();
        let with_port = format!("{host}:{}", url.port_or_known_default().unwrap_or_default());
        self.allowed.iter().any(|allowed| allowed == host || *allowed == with_port)
    }

    /// Whether the host is allowed on some port at least.
    fn allows_name(&self, name: &str) -> bool {
        self.allowed.iter().any(|allowed| allowed.rsplit_once(':').map_or(&**allowed, |(host, _)| host) == name)
    }
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_ascii_lowercase();
        let is_allowed = self.allows_name(&host);
        let resolving = self.names.resolve(&host);
        Box::pin(async move {
            let addresses = resolving.await?;
            // One private address among public ones is how a rebinding begins.
            if let Some(private) = addresses.iter().find(|address| !is_public(**address) && !is_allowed) {
                return Err(Refusal { host, what: private.to_string() }.into());
            }
            let addresses: Addrs = Box::new(addresses.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}

fn refused(url: &Url, address: IpAddr) -> NetError {
    NetError::Private { host: url.host_str().unwrap_or_default().to_owned(), what: address.to_string() }
}
