//! What events say: a type for each kind, and the canonical bytes of each.
//!
//! [`Payload`] is the closed set R1 writes plus [`Payload::Other`] for what it does not know. Every
//! struct keeps the keys it has no field for in `extra`, byte for byte, so that decoding and encoding
//! again loses nothing a newer writer said. Stores and exports never encode again: they keep the bytes.

#[macro_use]
mod field;
#[macro_use]
mod map;
mod kinds;

use bytes::Bytes;

pub(crate) use field::is_of_type;
pub use field::{Field, FieldSpec, FieldType, PayloadError, Presence, Raw};
pub use kinds::*;
pub use map::Extra;

use crate::cbor::{self, Malformed, Rules};
use crate::kind::Kind;

/// The longest payload a log takes; larger content belongs in a blob.
pub const MAX_PAYLOAD: usize = 16 << 20;

macro_rules! payload_enum {
    ($($kind:ident($body:ty),)+) => {
        /// What an event says.
        #[derive(Clone, Debug, PartialEq)]
        #[expect(missing_docs, reason = "each variant is documented on its kind and its struct")]
        pub enum Payload {
            $($kind($body),)+
            /// A kind this R1 does not know: its number and its payload as it is.
            Other(u64, Bytes),
        }

        impl Payload {
            /// The kind that goes into the header.
            #[must_use]
            pub const fn kind(&self) -> Kind {
                match self {
                    $(Self::$kind(_) => Kind::$kind,)+
                    Self::Other(number, _) => Kind::Other(*number),
                }
            }

            /// The canonical bytes.
            #[must_use]
            pub fn encode(&self) -> Bytes {
                match self {
                    $(Self::$kind(body) => {
                        let mut out = Vec::new();
                        body.write(&mut out);
                        out.into()
                    })+
                    Self::Other(_, bytes) => bytes.clone(),
                }
            }

            /// Reads the payload of an event of this kind.
            pub fn decode(kind: Kind, bytes: &Bytes) -> Result<Self, PayloadError> {
                if let Kind::Other(number) = kind {
                    return Ok(Self::Other(number, bytes.clone()));
                }
                cbor::check(bytes, Rules { canonical: false, utf8: true, ..Rules::READABLE })?;
                Self::decode_well_formed(kind, bytes)
            }

            /// Reads a payload that is known to be well-formed, whatever its size and depth.
            pub(crate) fn decode_well_formed(kind: Kind, bytes: &Bytes) -> Result<Self, PayloadError> {
                Ok(match kind {
                    $(Kind::$kind => Self::$kind(map::decode_whole(bytes)?),)+
                    Kind::Other(number) => Self::Other(number, bytes.clone()),
                })
            }
        }

        /// The keys of this kind's payload; none for a kind without a name.
        #[must_use]
        pub const fn fields(kind: Kind) -> &'static [FieldSpec] {
            let field_type = match kind {
                $(Kind::$kind => <$body as Field>::TYPE,)+
                Kind::Other(_) => return &[],
            };
            match field_type {
                FieldType::Struct(fields) => fields,
                _ => &[],
            }
        }
    };
}

payload_enum! {
    RunStarted(Box<RunStarted>),
    UserMessageAppended(UserMessageAppended),
    TurnStarted(TurnStarted),
    ReasoningEmitted(ReasoningEmitted),
    AssistantMessageCompleted(Box<AssistantMessageCompleted>),
    ToolCallScheduled(ToolCallScheduled),
    ToolCallCompleted(ToolCallCompleted),
    ToolCallFailed(ToolCallFailed),
    SideEffectRecorded(SideEffectRecorded),
    BudgetExceeded(BudgetExceeded),
    ContextTruncated(ContextTruncated),
    RunCompleted(RunCompleted),
    RunFailed(RunFailed),
    RunCancelled(RunCancelled),
    RunResumed(RunResumed),
    TurnFailed(TurnFailed),
    Typed(Typed),
}

/// Checks that `bytes` may stand in a v2 log: a canonical map within the limits.
pub(crate) fn check_v2(bytes: &[u8]) -> Result<(), UnfitPayload> {
    visit_v2(bytes, |_, _| {})
}

/// Checks a payload as [`check_v2`] does and shows each text key with its item on the way, so that a
/// check and a look at the content cost one pass.
pub(crate) fn visit_v2<'a>(bytes: &'a [u8], visit: impl FnMut(&'a [u8], &'a [u8])) -> Result<(), UnfitPayload> {
    if bytes.len() > MAX_PAYLOAD {
        return Err(UnfitPayload::Oversized { bytes: bytes.len() });
    }
    if !is_map(bytes) {
        cbor::check(bytes, Rules::CANONICAL)?;
        return Err(UnfitPayload::NotAMap);
    }
    Ok(cbor::scan::visit_map(bytes, Rules::CANONICAL, visit)?)
}

/// Whether an item is a map.
pub(crate) fn is_map(item: &[u8]) -> bool {
    item.first().is_some_and(|first| first >> 5 == 5)
}

/// Checks what a Typed event says beyond being a map: a type that no other kind has, and a map of data.
pub(crate) fn check_typed(typed: &Typed) -> Result<(), UnfitPayload> {
    crate::projection::refuse_reserved(&typed.r#type)?;
    if is_map(typed.data.bytes()) { Ok(()) } else { Err(UnfitPayload::DataNotAMap { type_name: typed.r#type.clone() }) }
}

/// Why a payload may not stand in a log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnfitPayload {
    /// More than [`MAX_PAYLOAD`].
    #[error("a payload of {bytes} bytes is over the limit of {MAX_PAYLOAD}; store it as a blob and name its hash")]
    Oversized {
        /// Its size.
        bytes: usize,
    },
    /// Not canonical CBOR.
    #[error("the payload is not canonical CBOR")]
    Malformed(#[from] Malformed),
    /// Canonical CBOR, but not a map.
    #[error("the payload is not a map")]
    NotAMap,
    /// Not what Starling writes for this kind.
    #[error("a v1 log cannot hold this {kind}: it has keys or values that Starling does not write")]
    NotV1 {
        /// The kind.
        kind: Kind,
    },
    /// A Typed event whose `data` is something else than a map.
    #[error("the data of `{type_name}` is not a map")]
    DataNotAMap {
        /// The type given.
        type_name: String,
    },
    /// A Typed event that poses as one of the kinds 2–16.
    #[error("`{type_name}` is the type of {kind} events and cannot be a Typed event's")]
    ReservedType {
        /// The type given.
        type_name: String,
        /// The kind it belongs to.
        kind: Kind,
    },
}
