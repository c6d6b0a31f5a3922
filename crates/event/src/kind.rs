//! What an event is: the number in its header.

use std::fmt;

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $number:literal,)+) => {
        /// What an event says. The numbers are inside every event hash: append only, never renumber, never reuse.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Kind {
            $($(#[$doc])* $name,)+
            /// Written by a newer R1 or by another tool: kept and served as it is.
            Other(u64),
        }

        impl Kind {
            /// Every kind with a name, in order of number.
            pub const NAMED: &'static [Self] = &[$(Self::$name),+];

            /// The kind that `number` stands for in a header.
            #[must_use]
            pub const fn from_number(number: u64) -> Self {
                match number {
                    $($number => Self::$name,)+
                    other => Self::Other(other),
                }
            }

            /// The number in the header.
            #[must_use]
            pub const fn number(self) -> u64 {
                match self {
                    $(Self::$name => $number,)+
                    Self::Other(number) => number,
                }
            }

            /// The kind that Starling's exports call `name`.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $(stringify!($name) => Some(Self::$name),)+
                    _ => None,
                }
            }
        }

        impl fmt::Display for Kind {
            /// The name as Starling prints it: `RunStarted`, or `Kind(99)` where there is none.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$name => f.write_str(stringify!($name)),)+
                    Self::Other(number) => write!(f, "Kind({number})"),
                }
            }
        }
    };
}

kinds! {
    /// First event of every run.
    RunStarted = 1,
    /// A user's message.
    UserMessageAppended = 2,
    /// Before a model call.
    TurnStarted = 3,
    /// A block of the model's reasoning.
    ReasoningEmitted = 4,
    /// A model call ended; closes its turn.
    AssistantMessageCompleted = 5,
    /// A tool call is about to run.
    ToolCallScheduled = 6,
    /// A tool call succeeded.
    ToolCallCompleted = 7,
    /// A tool call failed, timed out or was stopped.
    ToolCallFailed = 8,
    /// A value from outside that the loop consumed: time, chance, other input.
    SideEffectRecorded = 9,
    /// A budget axis is used up; closes the open turn.
    BudgetExceeded = 10,
    /// The context was compacted.
    ContextTruncated = 11,
    /// Terminal: the run succeeded.
    RunCompleted = 12,
    /// Terminal: the run failed.
    RunFailed = 13,
    /// Terminal: the run was stopped.
    RunCancelled = 14,
    /// Seam: another process goes on with the run.
    RunResumed = 15,
    /// One attempt at a turn failed.
    TurnFailed = 16,
    /// Every other event: a type name and its data. Exists in v2 logs only.
    Typed = 17,
}

impl Kind {
    /// Whether a log ends with an event of this kind.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::RunCompleted | Self::RunFailed | Self::RunCancelled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_go_both_ways() {
        for (index, kind) in Kind::NAMED.iter().enumerate() {
            assert_eq!(kind.number(), index as u64 + 1);
            assert_eq!(Kind::from_number(kind.number()), *kind);
            assert_eq!(Kind::from_name(&kind.to_string()), Some(*kind));
        }
        assert_eq!(Kind::from_number(99).to_string(), "Kind(99)");
        assert_eq!(Kind::from_number(0).number(), 0);
    }
}
