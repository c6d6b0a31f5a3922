//! Sessions of browsers. They live in memory: after a restart a browser signs in again.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use r1_runtime::world::NoRandomness;

use super::caller::Identity;
use super::secret::{self, Hashed};

/// The cookie.
pub(crate) const COOKIE_NAME: &str = "r1_session";

/// So long a session lives after its last use.
pub(crate) const LIFETIME: Duration = Duration::from_secs(12 * 60 * 60);

/// More sessions than this are not kept; the one that was used least recently goes.
const MOST: usize = 256;

/// All sessions.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<HashMap<Hashed, Session>>);

struct Session {
    identity: Identity,
    last_used: Instant,
}

impl Session {
    fn is_alive(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.last_used) < LIFETIME
    }
}

impl Sessions {
    /// Opens a session for whoever a ticket was made for; its cookie's value.
    pub(crate) fn open(&self, identity: &Identity, now: Instant) -> Result<String, NoRandomness> {
        let secret = secret::mint("r1s_")?;
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|_, session| session.is_alive(now));
        if sessions.len() >= MOST {
            let oldest = sessions.iter().min_by_key(|(_, session)| session.last_used).map(|(key, _)| *key);
            oldest.and_then(|key| sessions.remove(&key));
        }
        sessions.insert(Hashed::of(&secret), Session { identity: identity.in_browser(), last_used: now });
        Ok(secret)
    }

    /// Whose session it is; from now on it lives as long as a new one.
    pub(super) fn touch(&self, secret: &str, now: Instant) -> Option<Identity> {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let session = sessions.get_mut(&Hashed::of(secret))?;
        if !session.is_alive(now) {
            return None;
        }
        session.last_used = now;
        Some(session.identity.clone())
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;
    use r1_protocol::data::Via;

    use super::super::grant::{Caps, Grant};
    use super::*;

    fn ada() -> Identity {
        Identity::new("operator", "ada", Grant::Caps(Caps::default()), Via::Http, &HeaderMap::new())
    }

    #[test]
    fn a_session_lives_as_long_as_it_is_used() {
        let (sessions, mut now) = (Sessions::default(), Instant::now());
        let cookie = sessions.open(&ada(), now).unwrap();
        for _ in 0..3 {
            now += LIFETIME - Duration::from_secs(1);
            assert_eq!(sessions.touch(&cookie, now).unwrap().name, "ada");
        }
        assert_eq!(sessions.touch(&cookie, now + LIFETIME), None);
        assert_eq!(sessions.touch("r1s_other", now), None);
    }

    #[test]
    fn sessions_are_bounded() {
        let (sessions, mut now) = (Sessions::default(), Instant::now());
        let first = sessions.open(&ada(), now).unwrap();
        for _ in 0..MOST {
            now += Duration::from_secs(1);
            sessions.open(&ada(), now).unwrap();
        }
        assert_eq!(sessions.touch(&first, now), None);
    }
}
