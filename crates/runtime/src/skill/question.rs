//! What is asked.

/// A part of the making of a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// What it is.
    Identity,
    /// When it is used.
    Trigger,
    /// How it is done.
    Procedure,
    /// With what.
    Tools,
    /// How one knows that it was done well.
    Check,
}

impl Stage {
    /// As events name it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Trigger => "trigger",
            Self::Procedure => "procedure",
            Self::Tools => "tools",
            Self::Check => "check",
        }
    }
}

/// What an answer must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// The name of a skill.
    Name,
    /// One line of at most so many characters.
    Line(usize),
    /// Text of any length, but some.
    Text,
    /// Items, one per line; at least so many.
    Items(usize),
    /// Names of tools; none is fine.
    Tools,
}

/// One question.
#[derive(Debug, PartialEq, Eq)]
pub struct Question {
    /// `skill.name`, …
    pub id: &'static str,
    /// The part that it belongs to.
    pub stage: Stage,
    /// The place in SKILL.md: a key of its front matter, or a section.
    pub path: &'static str,
    /// As a person is asked.
    pub text: &'static str,
    /// Whether the answer may have several lines.
    pub many: bool,
    pub(super) shape: Shape,
}

impl Question {
    /// All of them, in the order in which they are asked.
    pub const ALL: &'static [Self] = &[
        Self::new("skill.name", Stage::Identity, "/name", "What is it called? (a-z, 0-9 and hyphens)", Shape::Name),
        Self::new(
            "skill.description",
            Stage::Identity,
            "/description",
            "What does it do, and when is it of use? (one line)",
            Shape::Line(1024),
        ),
        Self::new("skill.when", Stage::Trigger, "#when-to-use", "When should an agent reach for it?", Shape::Text),
        Self::new(
            "skill.inputs",
            Stage::Procedure,
            "#inputs",
            "What must be known before? (may be none)",
            Shape::Items(0),
        ),
        Self::new("skill.steps", Stage::Procedure, "#steps", "Which steps, in order?", Shape::Items(1)),
        Self::new("skill.tools", Stage::Tools, "/allowed-tools", "Which tools may it use? (may be none)", Shape::Tools),
        Self::new("skill.examples", Stage::Procedure, "#examples", "What are examples? (may be none)", Shape::Items(0)),
        Self::new("skill.limits", Stage::Check, "#limits", "What must it not do? (may be none)", Shape::Items(0)),
        Self::new("skill.check", Stage::Check, "#check", "How does one see that it worked?", Shape::Text),
    ];

    const fn new(id: &'static str, stage: Stage, path: &'static str, text: &'static str, shape: Shape) -> Self {
        let many = match shape {
            Shape::Name | Shape::Line(_) | Shape::Tools => false,
            Shape::Text | Shape::Items(_) => true,
        };
        Self { id, stage, path, text, many, shape }
    }

    /// The question with this id.
    #[must_use]
    pub fn find(id: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|question| question.id == id)
    }
}
