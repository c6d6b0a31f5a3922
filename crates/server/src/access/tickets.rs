//! Tickets: traded once, within seconds, for a browser's session, so that no token is ever in a URL.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use r1_runtime::world::NoRandomness;

use super::caller::Identity;
use super::secret::{self, Hashed};

/// So long a ticket is good.
pub(crate) const LIFETIME: Duration = Duration::from_secs(30);

/// More are not kept at a time; the oldest goes.
const MOST: usize = 256;

/// Tickets that were given out.
#[derive(Default)]
pub(crate) struct Tickets(Mutex<HashMap<Hashed, (Identity, Instant)>>);

impl Tickets {
    /// A ticket for the same caller.
    pub(crate) fn give(&self, identity: Identity, now: Instant) -> Result<String, NoRandomness> {
        let secret = secret::mint("r1k_")?;
        let mut tickets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tickets.retain(|_, (_, given)| is_good(*given, now));
        if tickets.len() >= MOST {
            let oldest = tickets.iter().min_by_key(|(_, (_, given))| *given).map(|(key, _)| *key);
            oldest.and_then(|key| tickets.remove(&key));
        }
        tickets.insert(Hashed::of(&secret), (identity, now));
        Ok(secret)
    }

    /// Whose ticket it was; it is good no more.
    pub(crate) fn take(&self, secret: &str, now: Instant) -> Option<Identity> {
        let taken = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&Hashed::of(secret));
        taken.filter(|(_, given)| is_good(*given, now)).map(|(identity, _)| identity)
    }
}

fn is_good(given: Instant, now: Instant) -> bool {
    now.saturating_duration_since(given) < LIFETIME
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;
    use r1_protocol::data::Via;

    use super::super::grant::{Caps, Grant};
    use super::*;

    #[test]
    fn a_ticket_is_good_once_and_for_thirty_seconds() {
        let (tickets, now) = (Tickets::default(), Instant::now());
        let who = Identity::new("operator", "ada", Grant::Caps(Caps::default()), Via::Http, &HeaderMap::new());
        let ticket = tickets.give(who.clone(), now).unwrap();
        assert_eq!(tickets.take(&ticket, now), Some(who.clone()));
        assert_eq!(tickets.take(&ticket, now), None);
        let late = tickets.give(who, now).unwrap();
        assert_eq!(tickets.take(&late, now + LIFETIME), None);
    }
}
