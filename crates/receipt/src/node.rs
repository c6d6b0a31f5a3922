//! One event of a receipt: a node of its graph.

use std::fmt;
use std::str::FromStr;

use r1_event::Digest;
use sha2::Digest as _;

use crate::json::{Object, Value, write_text};

/// The name of a node: the SHA-256 of what it says and follows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(Digest);

impl NodeId {
    const PREFIX: &'static str = "sha256:";

    /// The id of a node with this type, these predecessors (sorted) and this canonical body.
    #[must_use]
    pub fn of(node_type: &str, preds: &[Self], body: &str) -> Self {
        let mut hash = sha2::Sha256::new();
        hash.update(b"{\"body\":");
        hash.update(body);
        hash.update(b",\"preds\":[");
        let mut name = String::with_capacity(80);
        for (index, pred) in preds.iter().enumerate() {
            name.clear();
            pred.write_quoted(&mut name, index > 0);
            hash.update(&name);
        }
        hash.update(b"],\"type\":");
        name.clear();
        write_text(&mut name, node_type);
        hash.update(&name);
        hash.update(b"}");
        Self(Digest::new(hash.finalize().into()))
    }

    /// The bare digest.
    #[must_use]
    pub const fn digest(&self) -> &Digest {
        &self.0
    }

    /// The name that STOKE lines carry: `node-sha256-` and the same digits.
    #[must_use]
    pub fn ledger(&self) -> String {
        format!("node-sha256-{}", self.0)
    }

    /// Appends the id in quotes, after a comma if asked for.
    pub(crate) fn write_quoted(&self, out: &mut String, comma: bool) {
        if comma {
            out.push(',');
        }
        out.push('"');
        out.push_str(Self::PREFIX);
        self.0.push_hex(out);
        out.push('"');
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", Self::PREFIX, self.0)
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for NodeId {
    type Err = InvalidNodeId;

    fn from_str(text: &str) -> Result<Self, InvalidNodeId> {
        let digits = text.strip_prefix(Self::PREFIX).ok_or(InvalidNodeId)?;
        read_hex(digits).map(|bytes| Self(Digest::new(bytes))).ok_or(InvalidNodeId)
    }
}

/// A text that is not `sha256:` and 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected `sha256:` followed by 64 lower-case hexadecimal digits")]
pub struct InvalidNodeId;

/// `N` bytes in lower-case hexadecimal digits, and nothing else.
pub(crate) fn read_hex<const N: usize>(digits: &str) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    if digits.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

macro_rules! node_types {
    ($($(#[doc = $doc:literal])* $name:ident $word:literal,)+) => {
        /// What a node is. The nine of the format; there are no others.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum NodeType {
            $($(#[doc = $doc])* $name,)+
        }

        impl NodeType {
            /// All nine.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// The word in the receipt.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $(Self::$name => $word,)+ }
            }

            /// The type that `word` names.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$name),)+
                    _ => None,
                }
            }
        }
    };
}

node_types! {
    /// A model's answer, or its failure.
    Thought "THOUGHT",
    /// One attempt at a tool call.
    ToolCall "TOOL_CALL",
    /// Something was looked up in memory; also how a run begins.
    MemoryRead "MEMORY_READ",
    /// Something was put into memory.
    MemoryWrite "MEMORY_WRITE",
    /// A task went on to another phase.
    PhaseTransition "PHASE_TRANSITION",
    /// A gate's verdict on a transition.
    GateDecision "GATE_DECISION",
    /// Something that was made; also the log itself.
    Artifact "ARTIFACT",
    /// A decision in the making of a skill.
    SkillAuthoringDecision "SKILL_AUTHORING_DECISION",
    /// An event of a beacon.
    BeaconLedgerEvent "BEACON_LEDGER_EVENT",
}

impl NodeType {
    /// Whether the next thought follows from nodes of this type.
    pub(crate) const fn is_context(self) -> bool {
        !matches!(self, Self::SkillAuthoringDecision | Self::BeaconLedgerEvent)
    }
}

impl fmt::Display for NodeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Why a node's body is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stub {
    /// The payload of its event was erased.
    Erased,
    /// Whoever made the receipt kept it back.
    Withheld,
    /// Its event was pruned.
    Pruned,
}

impl Stub {
    /// All three.
    pub const ALL: &'static [Self] = &[Self::Erased, Self::Withheld, Self::Pruned];

    /// The word in the receipt.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Erased => "erased",
            Self::Withheld => "withheld",
            Self::Pruned => "pruned",
        }
    }

    /// The canonical body that says so.
    #[must_use]
    pub const fn body(self) -> &'static str {
        match self {
            Self::Erased => r#"{"stub":"erased"}"#,
            Self::Withheld => r#"{"stub":"withheld"}"#,
            Self::Pruned => r#"{"stub":"pruned"}"#,
        }
    }

    /// The stub that a canonical body is.
    #[must_use]
    pub fn from_body(body: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|stub| stub.body() == body)
    }
}

/// What later nodes and verifiers need of a node when its body is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skeleton {
    /// Its name.
    pub id: NodeId,
    /// Its type.
    pub node_type: NodeType,
    /// What it follows, sorted.
    pub preds: Vec<NodeId>,
}

/// A node whose id is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Name, type and edges.
    pub skeleton: Skeleton,
    /// The canonical body; for a stub the one that says so.
    pub body: String,
}

impl Node {
    /// The node that says this and follows those.
    #[must_use]
    pub fn new(node_type: NodeType, mut preds: Vec<NodeId>, body: &Object<'_>) -> Self {
        preds.sort_unstable();
        preds.dedup();
        let mut text = String::with_capacity(512);
        body.write(&mut text);
        let id = NodeId::of(node_type.word(), &preds, &text);
        Self { skeleton: Skeleton { id, node_type, preds }, body: text }
    }

    /// A node whose body is not there.
    #[must_use]
    pub fn stub(skeleton: Skeleton, stub: Stub) -> Self {
        Self { skeleton, body: stub.body().into() }
    }

    /// Its name.
    #[must_use]
    pub const fn id(&self) -> NodeId {
        self.skeleton.id
    }

    /// Its type.
    #[must_use]
    pub const fn node_type(&self) -> NodeType {
        self.skeleton.node_type
    }

    /// What it says.
    #[must_use]
    pub fn body(&self) -> Object<'_> {
        match crate::json::walk::read_checked(&self.body) {
            Value::Object(body) => body,
            _ => Object::default(),
        }
    }

    /// Appends the canonical event object.
    pub(crate) fn write(&self, out: &mut String) {
        let Skeleton { id, node_type, preds } = &self.skeleton;
        out.push_str("{\"body\":");
        out.push_str(&self.body);
        out.push_str(",\"id\":");
        id.write_quoted(out, false);
        out.push_str(",\"preds\":[");
        for (index, pred) in preds.iter().enumerate() {
            pred.write_quoted(out, index > 0);
        }
        out.push_str("],\"type\":\"");
        out.push_str(node_type.word());
        out.push_str("\"}");
    }

    /// The canonical event object, as a file of its own would hold it.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }
}

/// 64 hexadecimal digits of the SHA-256 of `bytes`.
pub(crate) fn sha256_hex(bytes: impl AsRef<[u8]>) -> String {
    r1_event::id::to_hex(&sha2::Sha256::digest(bytes))
}
