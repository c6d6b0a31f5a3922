//! What a keyring says of a key.

use std::fmt;

use jiff::Timestamp;
use r1_event::seal::{Revoked, SealKey};
use r1_event::{KeyId, UnixNanos};
use serde::{Deserialize, Serialize};

use super::{Jwk, KeyError, PublicKey};

/// One key of a keyring, checked: its id follows from its public key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    kid: KeyId,
    public: PublicKey,
    /// What it may sign.
    pub usage: Usage,
    /// For whom it speaks.
    pub scope: Scope,
    /// Who holds it, for example `agent:r1-1a2b3c4d`.
    pub subject: String,
    /// From when it counts.
    pub not_before: Timestamp,
    /// Until when it counts.
    pub not_after: Option<Timestamp>,
    /// Whether and why it no longer counts.
    pub revocation: Option<Revocation>,
}

/// What a key may sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Usage {
    /// Receipts, seals and checkpoints of runs.
    Receipt,
    /// Statements for third-party verifiers.
    Attest,
    /// Notes of a transparency log.
    Log,
}

/// For whom a key speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// One agent on one machine.
    Agent,
    /// A team.
    Team,
    /// A whole organisation.
    Tenant,
}

impl Usage {
    /// The word in the keyring.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Receipt => "receipt",
            Self::Attest => "attest",
            Self::Log => "log",
        }
    }
}

impl Scope {
    /// The word in the keyring.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Team => "team",
            Self::Tenant => "tenant",
        }
    }
}

/// A key that no longer counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revocation {
    /// Since when; [`Timestamp::MIN`] if nobody says.
    pub at: Timestamp,
    /// Why.
    pub reason: RevocationReason,
}

impl Revocation {
    /// Whether something that did not count under `before` would count again under this.
    #[must_use]
    pub fn weakens(self, before: Self) -> bool {
        match (before.reason, self.reason) {
            (_, RevocationReason::Compromised) => false,
            (RevocationReason::Compromised, RevocationReason::Retired) => true,
            (RevocationReason::Retired, RevocationReason::Retired) => self.at > before.at,
        }
    }
}

impl fmt::Display for Revocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, reason } = self;
        f.write_str(reason.word())?;
        if *at == Timestamp::MIN { Ok(()) } else { write!(f, " {at}") }
    }
}

/// Why a key no longer counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RevocationReason {
    /// Someone else may have it: nothing it ever signed counts.
    Compromised,
    /// It was replaced: what it signed before counts.
    Retired,
}

impl RevocationReason {
    /// The word in the keyring.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Compromised => "compromised",
            Self::Retired => "retired",
        }
    }
}

/// A time of a log as keyrings have it.
#[must_use]
pub fn moment(at: UnixNanos) -> Timestamp {
    // 64 bits of nanoseconds never leave the years that a moment can be in.
    Timestamp::from_nanosecond(at.0.into()).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// The other way round; what lies beyond 64 bits of nanoseconds is their end.
fn unix_nanos(moment: Timestamp) -> UnixNanos {
    let nanos = moment.as_nanosecond();
    UnixNanos(i64::try_from(nanos).unwrap_or(if nanos < 0 { i64::MIN } else { i64::MAX }))
}

/// The entry as it stands in its file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    v: u64,
    kid: String,
    public: Jwk,
    r#use: Usage,
    scope: Scope,
    subject: String,
    not_before: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_after: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked_reason: Option<RevocationReason>,
}

impl Entry {
    /// An entry for a new key that signs from `not_before` on: Ed25519 receipts, seals and checkpoints, P-256
    /// attestations.
    #[must_use]
    pub fn new(public: impl Into<PublicKey>, scope: Scope, subject: impl Into<String>, not_before: Timestamp) -> Self {
        let public = public.into();
        Self {
            kid: public.kid(),
            public,
            usage: match public {
                PublicKey::Ed25519(_) => Usage::Receipt,
                PublicKey::P256(_) => Usage::Attest,
            },
            scope,
            subject: subject.into(),
            not_before,
            not_after: None,
            revocation: None,
        }
    }

    /// The key's name.
    #[must_use]
    pub const fn kid(&self) -> &KeyId {
        &self.kid
    }

    /// The key.
    #[must_use]
    pub const fn public(&self) -> &PublicKey {
        &self.public
    }

    /// Whether the key may be used for new signatures of this kind at this time.
    #[must_use]
    pub fn may_sign(&self, usage: Usage, at: Timestamp) -> bool {
        self.usage == usage
            && self.not_before <= at
            && self.not_after.is_none_or(|end| at <= end)
            && self.revocation.is_none()
    }

    /// The key as one for seals and checkpoints; `None` if it is of a kind that cannot make any.
    #[must_use]
    pub fn seal_key(&self) -> Option<SealKey> {
        let public = *self.public.ed25519()?;
        let revoked = self.revocation.map(|revocation| match revocation.reason {
            RevocationReason::Compromised => Revoked::Altogether,
            RevocationReason::Retired => Revoked::After(unix_nanos(revocation.at)),
        });
        let not_after = self.not_after.map(unix_nanos);
        Some(SealKey { public, for_runs: self.usage == Usage::Receipt, not_after, revoked })
    }

    /// Reads an entry and checks that its id follows from its key.
    pub fn from_json(json: &[u8]) -> Result<Self, KeyError> {
        #[derive(Deserialize)]
        struct Versioned {
            v: u64,
        }
        // The version first: a newer entry may well have fields that would be refused here.
        let Versioned { v } = serde_json::from_slice(json).map_err(KeyError::NotAnEntry)?;
        if v != 1 {
            return Err(KeyError::Newer { found: v });
        }
        let file: File = serde_json::from_slice(json).map_err(KeyError::NotAnEntry)?;
        let public = PublicKey::try_from(&file.public)?;
        let kid = public.kid();
        if file.kid != kid.to_string() {
            return Err(KeyError::WrongKid { claimed: file.kid, actual: kid });
        }
        let revoked_at = read_optional_time(file.revoked_at.as_deref(), "revoked_at")?;
        Ok(Self {
            kid,
            public,
            usage: file.r#use,
            scope: file.scope,
            subject: file.subject,
            not_before: read_time(&file.not_before, "not_before")?,
            not_after: read_optional_time(file.not_after.as_deref(), "not_after")?,
            // Without a reason the worst is assumed; without a time, that it never counted.
            revocation: (revoked_at.is_some() || file.revoked_reason.is_some()).then(|| Revocation {
                at: revoked_at.unwrap_or(Timestamp::MIN),
                reason: file.revoked_reason.unwrap_or(RevocationReason::Compromised),
            }),
        })
    }

    /// The content of the entry's file.
    #[must_use]
    pub fn to_json(&self) -> String {
        let Self { kid, public, usage, scope, subject, not_before, not_after, revocation } = self;
        let file = File {
            v: 1,
            kid: kid.to_string(),
            public: Jwk::from(public),
            r#use: *usage,
            scope: *scope,
            subject: subject.clone(),
            not_before: not_before.to_string(),
            not_after: not_after.map(|end| end.to_string()),
            revoked_at: revocation.map(|given| given.at).filter(|at| *at > Timestamp::MIN).map(|at| at.to_string()),
            revoked_reason: revocation.map(|revocation| revocation.reason),
        };
        // Plain strings and lists: there is nothing that could fail.
        let mut json = serde_json::to_string_pretty(&file).unwrap_or_default();
        json.push('\n');
        json
    }
}

fn read_time(text: &str, field: &'static str) -> Result<Timestamp, KeyError> {
    text.parse().map_err(|_| KeyError::BadTime { field })
}

fn read_optional_time(text: Option<&str>, field: &'static str) -> Result<Option<Timestamp>, KeyError> {
    text.map(|text| read_time(text, field)).transpose()
}
