//! Failures of memory and of the making of skills.

use r1_runtime::control::memory::OperateError;
use r1_runtime::control::skill::SkillError;
use r1_runtime::memory::MemoryError;

use super::{CliError, worded};

impl From<OperateError> for CliError {
    fn from(err: OperateError) -> Self {
        match err {
            OperateError::Memory(err) => err.into(),
            OperateError::Command(err) => err.into(),
            OperateError::History(err) => err.into(),
            OperateError::Operator(err) => err.into(),
            OperateError::Store(err) => err.into(),
            err @ OperateError::ReadOnly { .. } => worded(err).failed(),
            err @ (OperateError::NeedsRun { .. } | OperateError::NeedsWorkspace { .. } | OperateError::Nothing) => {
                worded(err)
            }
        }
    }
}

impl From<MemoryError> for CliError {
    fn from(err: MemoryError) -> Self {
        match err {
            MemoryError::Content(err) => err.into(),
            MemoryError::Store(err) => err.into(),
            err @ MemoryError::AppendOnly { .. } => {
                worded(err).failed().hint("wait for its end, or end it with `r1 cancel RUN`")
            }
            err @ MemoryError::Missing { .. } => worded(err).failed().hint("see what there is with `r1 memory list`"),
            err @ (MemoryError::BadKey
            | MemoryError::KeyGiven
            | MemoryError::NoKey { .. }
            | MemoryError::NoAliases
            | MemoryError::BadAlias
            | MemoryError::TooLarge { .. }
            | MemoryError::Writer(_)
            | MemoryError::Blob(_)) => worded(err),
        }
    }
}

impl From<SkillError> for CliError {
    fn from(err: SkillError) -> Self {
        match err {
            SkillError::Operator(err) => err.into(),
            err @ (SkillError::Model(_) | SkillError::Unreadable { .. }) => {
                worded(err).failed().hint("answer the questions yourself, without `--auto`")
            }
            err @ (SkillError::Unfinished | SkillError::Blob(_)) => worded(err),
        }
    }
}
