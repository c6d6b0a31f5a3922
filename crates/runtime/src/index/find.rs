//! From any written form of an id to a run.

use r1_event::RunId;
use r1_protocol::id;
use r1_store::{DocumentQuery, StoreError};
use ulid::Ulid;

use super::Index;
use super::drawer::{Entry, facet, load, read};
use super::run::{RunEntry, SERVED_AS};

impl Index {
    /// The run that an id names in any of its forms: as the store spells it, as it is served, as a session,
    /// or as the UUID with the same bits.
    pub async fn find(&self, given: &str) -> Result<Option<RunId>, StoreError> {
        Ok(self.entry(given).await?.and_then(|entry| entry.stored_id.parse().ok()))
    }

    pub(super) async fn entry(&self, given: &str) -> Result<Option<RunEntry>, StoreError> {
        self.catch_up().await?;
        let served = served_form(given);
        let ulid = served.as_deref().and_then(|served| served.strip_prefix("run_"));
        let forms: Vec<RunId> =
            [Some(given), served.as_deref(), ulid].into_iter().flatten().filter_map(|form| form.parse().ok()).collect();
        for run in forms {
            if self.store.head(&run).await?.is_some() {
                self.see(&run).await?;
                return load(&self.store, run.as_str()).await;
            }
        }
        let Some(served) = served else { return Ok(None) };
        let query = DocumentQuery { facets: vec![facet(SERVED_AS, &served)], limit: 1, ..DocumentQuery::default() };
        Ok(self.store.documents(RunEntry::COLLECTION, query).await?.first().and_then(read))
    }
}

/// `run_` and the ULID that is in the given form, if there is one.
fn served_form(given: &str) -> Option<String> {
    let bare = ["run_", "chat_", "sess_"].iter().find_map(|prefix| given.strip_prefix(prefix)).unwrap_or(given);
    let ulid = Ulid::from_string(bare).or_else(|_| uuid(bare)).ok()?;
    Some(format!("run_{ulid}"))
}

fn uuid(text: &str) -> Result<Ulid, std::num::ParseIntError> {
    let digits: String = text.chars().filter(|c| *c != '-').collect();
    // Any other number of digits is no UUID, and this text is no number.
    let digits = if digits.len() == 32 { digits.as_str() } else { "-" };
    u128::from_str_radix(digits, 16).map(Ulid)
}

/// A session id as it is served, from any form of it.
pub(super) fn session_form(given: &str) -> String {
    served_form(given).and_then(|served| id::session_id(&served)).unwrap_or_else(|| given.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_an_id_is_one_id() {
        let ulid = "01K0E8M9ZQ4T7V2W5X8Y1Z3A6B";
        let uuid = format!("{:032x}", Ulid::from_string(ulid).unwrap().0);
        let dashed = [&uuid[..8], &uuid[8..12], &uuid[12..16], &uuid[16..20], &uuid[20..]].join("-");
        for form in [ulid.into(), ulid.to_lowercase(), format!("run_{ulid}"), format!("chat_{ulid}"), uuid, dashed] {
            assert_eq!(served_form(&form), Some(format!("run_{ulid}")), "{form}");
            assert_eq!(session_form(&form), format!("chat_{ulid}"));
        }
        assert_eq!(served_form("nightly build"), None);
        assert_eq!(session_form("nightly build"), "nightly build");
    }
}
