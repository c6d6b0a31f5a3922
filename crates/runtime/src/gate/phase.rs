//! The phases of a task, and the places between them where gates stand.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How far a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Nothing was done yet.
    Start,
    /// It is thought about.
    Plan,
    /// It is done.
    Execute,
    /// It is checked.
    Verify,
    /// It is handed over.
    Commit,
    /// It succeeded: no other way leads here.
    End,
}

impl Phase {
    /// All of them, in the order of a task that needs no rework.
    pub const ALL: [Self; 6] = [Self::Start, Self::Plan, Self::Execute, Self::Verify, Self::Commit, Self::End];

    /// The word in the log.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Start => "START",
            Self::Plan => "PLAN",
            Self::Execute => "EXECUTE",
            Self::Verify => "VERIFY",
            Self::Commit => "COMMIT",
            Self::End => "END",
        }
    }

    /// The phase that follows if all goes well.
    #[must_use]
    pub const fn next(self) -> Option<Self> {
        match self {
            Self::Start => Some(Self::Plan),
            Self::Plan => Some(Self::Execute),
            Self::Execute => Some(Self::Verify),
            Self::Verify => Some(Self::Commit),
            Self::Commit => Some(Self::End),
            Self::End => None,
        }
    }
}

/// Which border of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// Where it begins.
    Entry,
    /// Where it ends.
    Exit,
}

impl Side {
    /// The word in the log.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Entry => "entry",
            Self::Exit => "exit",
        }
    }
}

/// A border of a phase, where gates stand: `EXECUTE.exit`. Only the four phases in which something is done
/// have borders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Boundary {
    phase: Phase,
    side: Side,
}

impl Boundary {
    /// All of them, in the order in which a task meets them.
    pub const ALL: [Self; 8] = [
        Self { phase: Phase::Plan, side: Side::Entry },
        Self { phase: Phase::Plan, side: Side::Exit },
        Self { phase: Phase::Execute, side: Side::Entry },
        Self { phase: Phase::Execute, side: Side::Exit },
        Self { phase: Phase::Verify, side: Side::Entry },
        Self { phase: Phase::Verify, side: Side::Exit },
        Self { phase: Phase::Commit, side: Side::Entry },
        Self { phase: Phase::Commit, side: Side::Exit },
    ];

    /// The border; `None` for a phase that has none.
    #[must_use]
    pub const fn new(phase: Phase, side: Side) -> Option<Self> {
        match phase {
            Phase::Plan | Phase::Execute | Phase::Verify | Phase::Commit => Some(Self { phase, side }),
            Phase::Start | Phase::End => None,
        }
    }

    /// Of which phase.
    #[must_use]
    pub const fn phase(self) -> Phase {
        self.phase
    }

    /// Which of its two.
    #[must_use]
    pub const fn side(self) -> Side {
        self.side
    }
}

/// A step from one phase to another: `EXECUTE>VERIFY`. Others than the legal ones cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Transition {
    from: Phase,
    to: Phase,
}

impl Transition {
    /// All of them: forward first, then those that take work up again.
    pub const ALL: [Self; 8] = [
        Self { from: Phase::Start, to: Phase::Plan },
        Self { from: Phase::Plan, to: Phase::Execute },
        Self { from: Phase::Execute, to: Phase::Verify },
        Self { from: Phase::Verify, to: Phase::Commit },
        Self { from: Phase::Commit, to: Phase::End },
        Self { from: Phase::Execute, to: Phase::Plan },
        Self { from: Phase::Verify, to: Phase::Execute },
        Self { from: Phase::Verify, to: Phase::Plan },
    ];

    /// The step, if it is a legal one.
    #[must_use]
    pub fn new(from: Phase, to: Phase) -> Option<Self> {
        Self::ALL.into_iter().find(|legal| *legal == Self { from, to })
    }

    /// The step forward from this phase.
    #[must_use]
    pub fn forward(from: Phase) -> Option<Self> {
        from.next().map(|to| Self { from, to })
    }

    /// From where.
    #[must_use]
    pub const fn from(self) -> Phase {
        self.from
    }

    /// Where to.
    #[must_use]
    pub const fn to(self) -> Phase {
        self.to
    }

    /// Whether it leads on, and does not take work up again.
    #[must_use]
    pub fn is_forward(self) -> bool {
        self.from.next() == Some(self.to)
    }

    /// The borders that it crosses. Whoever takes work up again leaves nothing behind: only the entry counts.
    #[must_use]
    pub fn boundaries(self) -> Vec<Boundary> {
        let exit = if self.is_forward() { Boundary::new(self.from, Side::Exit) } else { None };
        exit.into_iter().chain(Boundary::new(self.to, Side::Entry)).collect()
    }
}

/// No phase, border or step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no {what}; write it like `{example}`")]
pub struct NotAPlace {
    /// What stands there.
    pub text: String,
    what: &'static str,
    example: &'static str,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Boundary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.phase, self.side)
    }
}

impl fmt::Display for Transition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}>{}", self.from, self.to)
    }
}

impl FromStr for Phase {
    type Err = NotAPlace;

    fn from_str(text: &str) -> Result<Self, NotAPlace> {
        let found = Self::ALL.into_iter().find(|phase| phase.as_str() == text);
        found.ok_or_else(|| NotAPlace { text: text.to_owned(), what: "phase", example: "EXECUTE" })
    }
}

impl FromStr for Boundary {
    type Err = NotAPlace;

    fn from_str(text: &str) -> Result<Self, NotAPlace> {
        let found = Self::ALL.into_iter().find(|boundary| boundary.to_string() == text);
        found.ok_or_else(|| NotAPlace { text: text.to_owned(), what: "boundary", example: "EXECUTE.exit" })
    }
}

impl FromStr for Transition {
    type Err = NotAPlace;

    fn from_str(text: &str) -> Result<Self, NotAPlace> {
        let found = Self::ALL.into_iter().find(|transition| transition.to_string() == text);
        found.ok_or_else(|| NotAPlace { text: text.to_owned(), what: "transition", example: "EXECUTE>VERIFY" })
    }
}

/// In files and logs they are their words.
macro_rules! as_text {
    ($($name:ty)*) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

as_text! { Phase Boundary Transition }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_back() {
        for phase in Phase::ALL {
            assert_eq!(phase.to_string().parse(), Ok(phase));
        }
        for boundary in Boundary::ALL {
            assert_eq!(boundary.to_string().parse(), Ok(boundary));
        }
        for transition in Transition::ALL {
            assert_eq!(transition.to_string().parse(), Ok(transition));
        }
        assert!("START.exit".parse::<Boundary>().is_err());
        assert!("START>END".parse::<Transition>().is_err());
        assert!("plan".parse::<Phase>().is_err());
    }

    #[test]
    fn a_step_crosses_the_exit_only_on_its_way_forward() {
        let crossed = |text: &str| {
            let boundaries = text.parse::<Transition>().unwrap().boundaries();
            boundaries.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(crossed("START>PLAN"), "PLAN.entry");
        assert_eq!(crossed("EXECUTE>VERIFY"), "EXECUTE.exit VERIFY.entry");
        assert_eq!(crossed("COMMIT>END"), "COMMIT.exit");
        assert_eq!(crossed("VERIFY>PLAN"), "PLAN.entry");
    }

    #[test]
    fn steps_that_skip_a_phase_or_go_back_from_commit_cannot_be_made() {
        assert_eq!(Transition::new(Phase::Plan, Phase::Verify), None);
        assert_eq!(Transition::new(Phase::Commit, Phase::Execute), None);
        assert_eq!(Transition::new(Phase::Plan, Phase::Start), None);
        assert_eq!(Transition::forward(Phase::End), None);
        assert_eq!(Transition::ALL.iter().filter(|step| step.is_forward()).count(), 5);
    }
}
