//! What can go wrong, by what the caller does next.

use std::ops::RangeInclusive;

use r1_event::{Digest, RunId, Seq};

use crate::command::Command;
use crate::lease::FencingToken;
use crate::run::Head;

/// The cause beneath a failure, from whichever backend.
pub type Source = Box<dyn std::error::Error + Send + Sync>;

/// A store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another program's file.
    #[error("{location} is not an R1 store ({found})")]
    Foreign {
        /// Where.
        location: String,
        /// What it looks like.
        found: String,
    },
    /// There is none, and none was to be made.
    #[error("there is no store at {location} yet")]
    Missing {
        /// Where.
        location: String,
    },
    /// What was given as an address is none. Nothing of it is repeated, for it may hold a password.
    #[error("the given address of a PostgreSQL database cannot be read: {reason}")]
    Address {
        /// How to write it.
        reason: &'static str,
    },
    /// Written by a newer R1. It is left untouched.
    #[error("{location} has store layout {found}; this r1 knows up to {supported}: use a newer r1")]
    Newer {
        /// Where.
        location: String,
        /// Its layout.
        found: u32,
        /// The newest this R1 knows.
        supported: u32,
    },
    /// The file is there but cannot be used as it is.
    #[error("{location} is damaged")]
    Damaged {
        /// Where.
        location: String,
        /// Why.
        #[source]
        source: Source,
    },
    /// It cannot be reached or written.
    #[error("cannot open {location}")]
    Unavailable {
        /// Where.
        location: String,
        /// Why.
        #[source]
        source: Source,
    },
    /// The server that has it does not let us in.
    #[error("cannot open {location}")]
    Unreachable {
        /// Where.
        location: String,
        /// What stands in the way.
        obstacle: Obstacle,
        /// What the server, or the way to it, said.
        #[source]
        source: Source,
    },
}

/// What stands between us and a server, by what is to be done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// No such name is known.
    UnknownHost,
    /// Nobody listens there.
    NobodyListens,
    /// It does not answer, or lets nobody in for now.
    NoAnswer,
    /// It has no such database.
    NoDatabase,
    /// It wants a password, and none is known.
    PasswordMissing,
    /// The password is wrong.
    PasswordWrong,
    /// It wants to speak TLS.
    WantsTls,
    /// It does not let this role in from here.
    NotAdmitted,
    /// The role may not do there what is needed.
    NotAllowed,
    /// Something else.
    Other,
}

/// A batch was not appended, or may not have been.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// The log ends elsewhere: read its head, and start the batch there.
    #[error("run {run} continues at seq {}, not at {expected}", head.next)]
    Conflict {
        /// The run.
        run: RunId,
        /// Where the batch begins.
        expected: Seq,
        /// Where the log ends.
        head: Head,
    },
    /// Someone else holds the run now: stop writing to it.
    #[error("the lease on run {run} is now held with token {current}")]
    Fenced {
        /// The run.
        run: RunId,
        /// The token that is good now.
        current: FencingToken,
    },
    /// The run has ended: nothing can be added.
    #[error("run {run} has ended; nothing can be appended to it")]
    Finished {
        /// The run.
        run: RunId,
    },
    /// Store the blob first.
    #[error("the batch for run {run} names blob {blob}, which is not in the store")]
    BlobMissing {
        /// The run.
        run: RunId,
        /// The blob.
        blob: Digest,
    },
    /// Whoever left the command no longer waits: make the batch without it.
    #[error("command {id} for run {run} was withdrawn")]
    CommandWithdrawn {
        /// The run.
        run: RunId,
        /// The command.
        id: String,
    },
    /// Someone else has done, or does, what the batch was asked for: read the document.
    #[error("what the batch for run {run} is to be noted in was changed meanwhile")]
    NoteMoved {
        /// The run.
        run: RunId,
    },
    /// An earlier write failed half way: open the store again.
    #[error("the store refuses writes since an earlier one failed ({reason}); open it again once that is mended")]
    Poisoned {
        /// What failed.
        reason: String,
    },
    /// Whether the batch is stored is not known: read the head before trying again.
    #[error("the commit for run {run} was not confirmed")]
    OutcomeUnknown {
        /// The run.
        run: RunId,
        /// Why.
        #[source]
        source: Source,
    },
    /// Nothing was written, for the store does not answer for now: try again later.
    #[error("nothing was appended to run {run}: the store does not answer for now")]
    Unavailable {
        /// The run.
        run: RunId,
        /// Why.
        #[source]
        source: Source,
    },
    /// Nothing was written.
    #[error("nothing was appended to run {run}")]
    Failed {
        /// The run.
        run: RunId,
        /// Why.
        #[source]
        source: Source,
    },
}

impl AppendError {
    /// False means that trying again cannot store the batch twice.
    #[must_use]
    pub const fn may_have_written(&self) -> bool {
        match self {
            Self::OutcomeUnknown { .. } => true,
            Self::Conflict { .. }
            | Self::Fenced { .. }
            | Self::Finished { .. }
            | Self::BlobMissing { .. }
            | Self::CommandWithdrawn { .. }
            | Self::NoteMoved { .. }
            | Self::Poisoned { .. }
            | Self::Unavailable { .. }
            | Self::Failed { .. } => false,
        }
    }
}

/// A lease was not given.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    /// Wait until it runs out, or ask its owner.
    #[error("run {run} is being written by {owner}")]
    Held {
        /// The run.
        run: RunId,
        /// Who holds it.
        owner: String,
    },
    /// It was taken over or given back: stop writing to the run.
    #[error("the lease on run {run} was taken over or given back; the newest token is {current}")]
    Lost {
        /// The run.
        run: RunId,
        /// The newest token.
        current: FencingToken,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A command was not left.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// No such run.
    #[error("there is no run {run}")]
    NoRun {
        /// The run.
        run: RunId,
    },
    /// The run has ended: nobody will carry out a command for it.
    #[error("run {run} has ended and takes no commands")]
    Ended {
        /// The run.
        run: RunId,
    },
    /// Its writer does not keep up: try again later.
    #[error("{} commands are waiting for the writer of run {run}; try again later", Command::MOST_PENDING)]
    Full {
        /// The run.
        run: RunId,
    },
    /// Put what is large into a blob and name it.
    #[error("a command's id has 1 to {} bytes and its body up to {}", Command::MAX_ID, Command::MAX_BODY)]
    Unfit {
        /// Length of its id.
        id: usize,
        /// Length of its body.
        body: usize,
    },
    /// The store failed, and whether the command was left is not known: withdraw it before trying again.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Reading or keeping house failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No such run.
    #[error("there is no run {run}")]
    NoRun {
        /// The run.
        run: RunId,
    },
    /// No such event.
    #[error("run {run} has no event {seq}")]
    NoEvent {
        /// The run.
        run: RunId,
        /// The event.
        seq: Seq,
    },
    /// The request contradicts the log.
    #[error("refused for run {run}: {reason}")]
    Refused {
        /// The run.
        run: RunId,
        /// Why.
        reason: String,
    },
    /// What is stored is not what was written.
    #[error("what is stored for run {run} is damaged: {reason}")]
    Damaged {
        /// The run.
        run: RunId,
        /// How.
        reason: String,
    },
    /// Put what is large into a blob and name it.
    #[error("a document with {found} {what} cannot be stored; {} to {} can be", allowed.start(), allowed.end())]
    UnfitDocument {
        /// Of what it has too much or too little.
        what: &'static str,
        /// How much it has.
        found: usize,
        /// How much it may have.
        allowed: RangeInclusive<usize>,
    },
    /// An earlier write failed half way: open the store again.
    #[error("the store refuses writes since an earlier one failed ({reason}); open it again once that is mended")]
    Poisoned {
        /// What failed.
        reason: String,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// It does not answer for now: try again later. Whether a change was made is not known.
    #[error("the {backend} store does not answer for now")]
    Unavailable {
        /// Which.
        backend: &'static str,
        /// Why.
        #[source]
        source: Source,
    },
    /// The backend failed.
    #[error("the {backend} store failed")]
    Backend {
        /// Which.
        backend: &'static str,
        /// Why.
        #[source]
        source: Source,
    },
}

/// A blob was not stored or not read.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// No such blob.
    #[error("there is no blob {hash}")]
    NotFound {
        /// Its name.
        hash: Digest,
    },
    /// Its bytes are no longer those of its name.
    #[error("blob {hash} is damaged: its bytes hash to {found}")]
    Damaged {
        /// Its name.
        hash: Digest,
        /// What its bytes say.
        found: Digest,
    },
    /// Reading the content that was to be stored failed.
    #[error("the content could not be read")]
    Input(#[source] std::io::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
