//! From what a person types to a run.

use r1_event::{RunId, Seq};
use r1_store::{DamagedRun, Listed, PageLimit, PostgresUrl, RunFilter, SharedStore, StoreError};
use ulid::Ulid;

use crate::control::check::damage;
use crate::control::operator::{OPERATOR, run_started};

/// How many matches an error names.
const NAMED: usize = 5;

/// The run that `given` names: any unique prefix of its id in any written form (`run_…`, `chat_…`,
/// `sess_…`, the bare ULID, the UUID with the same bits), or `last` for the newest one.
pub async fn resolve(store: &SharedStore, given: &str) -> Result<RunId, ResolveError> {
    if given == "last" {
        return last(store).await?.ok_or(ResolveError::NoRuns);
    }
    if let Ok(run) = given.parse::<RunId>() {
        match store.head(&run).await {
            Ok(Some(_)) => return Ok(run),
            // The listing has more to say about it.
            Ok(None) | Err(StoreError::Damaged { .. }) => {}
            Err(err) => return Err(err.into()),
        }
    }
    let mut matches = Vec::new();
    for form in Form::all(given) {
        let filter = RunFilter { id_prefix: Some(form.id_prefix.clone()), limit: 100, ..RunFilter::default() };
        for entry in store.list(filter).await?.entries {
            match entry {
                Listed::Run(run) => matches.extend(Some(run.run_id).filter(|run| form.fits(run))),
                // Whatever else begins so: this is what may have been meant.
                Listed::Damaged(entry) if entry.id.parse().is_ok_and(|run| form.fits(&run)) => {
                    return Err(ResolveError::Damaged(entry));
                }
                Listed::Damaged(_) => {}
            }
        }
    }
    matches.sort();
    matches.dedup();
    match matches.len() {
        0 if PostgresUrl::recognise(given).is_some() => Err(ResolveError::Address),
        0 => Err(ResolveError::NotFound { given: given.into() }),
        1 => Ok(matches.remove(0)),
        count => {
            let shortest = shortest_unique(&matches[0], &matches[1]);
            matches.truncate(NAMED);
            Err(ResolveError::Ambiguous { given: given.into(), count, matches, shortest })
        }
    }
}

/// The newest run. What an operator did since, to another run or to what is remembered, is not what they mean; what
/// can no longer be read may be.
async fn last(store: &SharedStore) -> Result<Option<RunId>, ResolveError> {
    let (mut newest, mut after) = (None, None);
    loop {
        let page = store.list(RunFilter { after, limit: 20, ..RunFilter::default() }).await?;
        for entry in page.entries {
            let run = match entry {
                Listed::Run(summary) => summary.run_id,
                Listed::Damaged(entry) => return Err(ResolveError::Damaged(entry)),
            };
            let first = store.read(&run, Seq::FIRST, PageLimit::ONE).await?.records;
            let kind = first.first().and_then(run_started).and_then(|started| started.run_kind);
            if kind.as_deref() != Some(OPERATOR) {
                return Ok(Some(run));
            }
            newest.get_or_insert(run);
        }
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(newest),
        }
    }
}

/// One way to read what was typed.
struct Form {
    id_prefix: String,
    /// Digits of the UUID that must fit too: a prefix of hexadecimal digits ends inside a ULID's character.
    uuid_digits: Option<String>,
}

impl Form {
    fn all(given: &str) -> Vec<Self> {
        let plain = |id_prefix: String| Self { id_prefix, uuid_digits: None };
        let written = ["run_", "chat_", "sess_"].iter().find_map(|prefix| given.strip_prefix(prefix));
        let ulid = written.unwrap_or(given).to_ascii_uppercase();
        let mut forms = vec![plain(format!("run_{ulid}"))];
        // A v1 log's run is a bare ULID, or any text at all.
        forms.push(plain(ulid));
        forms.push(plain(given.to_owned()));
        forms.extend(Self::uuid(given));
        forms
    }

    fn uuid(given: &str) -> Option<Self> {
        let digits: String = given.chars().filter(|c| *c != '-').collect::<String>().to_ascii_lowercase();
        let is_uuid = given.contains('-') || digits.len() == 32;
        if !is_uuid || digits.is_empty() || digits.len() > 32 || !digits.chars().all(|c| c.is_ascii_hexdigit()) {
            return None;
        }
        let padded = format!("{digits:0<32}");
        let ulid = Ulid(u128::from_str_radix(&padded, 16).ok()?).to_string();
        // A ULID's 26 characters hold 130 bits, of which the first two are always zero.
        let certain = (digits.len() * 4 + 2) / 5;
        Some(Self { id_prefix: format!("run_{}", &ulid[..certain]), uuid_digits: Some(digits) })
    }

    fn fits(&self, run: &RunId) -> bool {
        let Some(digits) = &self.uuid_digits else { return true };
        let ulid = run.ulid_text().and_then(|text| Ulid::from_string(text).ok());
        ulid.is_some_and(|ulid| format!("{:032x}", ulid.0).starts_with(digits.as_str()))
    }
}

/// The shortest beginning of `run` that `other` does not have.
fn shortest_unique(run: &RunId, other: &RunId) -> String {
    let common = run.as_str().chars().zip(other.as_str().chars()).take_while(|(a, b)| a == b).count();
    run.as_str().chars().take(common + 1).collect()
}

/// What was typed names no run, or more than one.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// Nothing begins so.
    #[error("no run matches `{given}`")]
    NotFound {
        /// What was typed.
        given: String,
    },
    /// It is the address of a database, and not repeated: it may hold a password.
    #[error("the address of a PostgreSQL database is no run")]
    Address,
    /// Several do.
    #[error("`{given}` matches {count} runs")]
    Ambiguous {
        /// What was typed.
        given: String,
        /// How many.
        count: usize,
        /// The first few of them.
        matches: Vec<RunId>,
        /// What would name the first of them and no other.
        shortest: String,
    },
    /// Its entry in the store is damaged.
    #[error("{}", damage(.0))]
    Damaged(DamagedRun),
    /// `last` of nothing.
    #[error("there are no runs yet")]
    NoRuns,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
