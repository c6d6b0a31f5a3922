//! What a check of a receipt may find: a closed list, in the order in which it is looked for.

use std::fmt;

/// A step of the check. Each begins only when the one before found nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Bytes, JSON, the four keys, canonical spelling.
    Form,
    /// Events, ids, edges, order.
    Graph,
    /// Whether the signing key is known.
    KeyFound,
    /// The signature.
    Signature,
    /// Whether the key counts for this receipt.
    KeyAllowed,
    /// What events say, alone and together.
    Contract,
    /// The log that the receipt names.
    Log,
    /// Whether a whole run is meant.
    Completeness,
    /// The check itself could not be made.
    Call,
}

macro_rules! reasons {
    ($($(#[doc = $doc:literal])* $name:ident $word:literal $stage:ident $exit:literal,)+) => {
        /// Why a receipt is not valid. Earlier ones are looked for first.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Reason {
            $($(#[doc = $doc])* $name,)+
        }

        impl Reason {
            /// Every reason there is, in order.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// The word that is printed.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $(Self::$name => $word,)+ }
            }

            /// Where it is found.
            #[must_use]
            pub const fn stage(self) -> Stage {
                match self { $(Self::$name => Stage::$stage,)+ }
            }

            /// The exit code.
            #[must_use]
            pub const fn exit(self) -> u8 {
                match self { $(Self::$name => $exit,)+ }
            }
        }
    };
}

reasons! {
    /// A limit is passed.
    TooLarge "too_large" Form 1,
    /// Not UTF-8.
    BadUtf8 "bad_utf8" Form 1,
    /// Not JSON, or more than one value, or half of a surrogate pair.
    BadJson "bad_json" Form 1,
    /// A key stands twice in an object.
    DuplicateKey "duplicate_key" Form 1,
    /// Nested deeper than allowed.
    TooDeep "too_deep" Form 1,
    /// A number that is no small integer.
    BadNumber "bad_number" Form 1,
    /// Not the four keys with what belongs there, or a null.
    BadShape "bad_shape" Form 1,
    /// Another version of the format.
    UnknownSpecVersion "unknown_spec_version" Form 1,
    /// Not the canonical bytes.
    NotCanonical "not_canonical" Form 1,
    /// Not the four keys of an event with what belongs there.
    BadEvent "bad_event" Graph 1,
    /// A type that is none of the nine.
    UnknownEventType "unknown_event_type" Graph 1,
    /// The id does not follow from the event.
    BadEventId "bad_event_id" Graph 1,
    /// An event stands there twice.
    DuplicateEvent "duplicate_event" Graph 1,
    /// A predecessor that is not there.
    DanglingPred "dangling_pred" Graph 1,
    /// An event precedes itself.
    Cycle "cycle" Graph 1,
    /// Not in the canonical order.
    WrongOrder "wrong_order" Graph 1,
    /// Not the name of a key.
    BadKeyId "bad_key_id" KeyFound 1,
    /// Nobody here knows that key.
    KeyUnknown "key_unknown" KeyFound 3,
    /// A key for which anyone could sign.
    WeakKey "weak_key" KeyFound 1,
    /// Not the form of a signature.
    BadSignatureEncoding "bad_signature_encoding" Signature 1,
    /// Not a signature of this key over this receipt.
    SignatureMismatch "signature_mismatch" Signature 1,
    /// The key is for something else.
    KeyUse "key_use" KeyAllowed 3,
    /// The key speaks for someone else.
    KeyScope "key_scope" KeyAllowed 3,
    /// The run ended before the key counted.
    KeyNotYetValid "key_not_yet_valid" KeyAllowed 3,
    /// The run ended when the key no longer counted.
    KeyExpired "key_expired" KeyAllowed 3,
    /// The key was revoked.
    KeyRevoked "key_revoked" KeyAllowed 3,
    /// An event does not say what its type must say.
    BadBody "bad_body" Contract 1,
    /// What may not be left out was left out.
    StubForbidden "stub_forbidden" Contract 1,
    /// An event precedes an earlier one.
    SeqOrder "seq_order" Contract 1,
    /// Not exactly one beginning.
    BadRoot "bad_root" Contract 1,
    /// Not exactly one end, or one that contradicts itself.
    BadRunLog "bad_run_log" Contract 1,
    /// The seal is not that of its key over that log.
    SealMismatch "seal_mismatch" Contract 1,
    /// An attempt at a call ends twice.
    CallConflict "call_conflict" Contract 1,
    /// What was read is not what was written.
    MemoryConflict "memory_conflict" Contract 1,
    /// The agent's identity was changed in a run.
    L0Written "l0_written" Contract 1,
    /// A phase follows one that it may not follow.
    PhaseOrder "phase_order" Contract 1,
    /// The rules changed within a task.
    PresetChanged "preset_changed" Contract 1,
    /// A transition without a decision that it needs.
    GateMissing "gate_missing" Contract 1,
    /// A transition although a gate said no.
    GateNotAllowed "gate_not_allowed" Contract 1,
    /// An override by someone who may not, or of something else.
    OverrideInvalid "override_invalid" Contract 1,
    /// A gate that the verifier demands was not required.
    GatePolicyUnmet "gate_policy_unmet" Contract 1,
    /// Another log than the one that the receipt names.
    LogMismatch "log_mismatch" Log 1,
    /// The log gives other events.
    GraphMismatch "graph_mismatch" Log 1,
    /// No run is named.
    RunUnbound "run_unbound" Completeness 4,
    /// The run went on.
    RunOpen "run_open" Completeness 4,
    /// The beginning of the run is gone.
    RunPruned "run_pruned" Completeness 4,
    /// Asked in a way that cannot be answered.
    Usage "usage" Call 2,
    /// A file cannot be read.
    Io "io" Call 2,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl Stage {
    /// The word that is printed.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Form => "form",
            Self::Graph => "graph",
            Self::KeyFound => "key_found",
            Self::Signature => "signature",
            Self::KeyAllowed => "key_allowed",
            Self::Contract => "contract",
            Self::Log => "log",
            Self::Completeness => "completeness",
            Self::Call => "call",
        }
    }
}

/// What a check comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every stage passed.
    Valid,
    /// It is not what it claims to be.
    Invalid(Reason),
    /// It is whole, but the key does not count here.
    Untrusted(Reason),
    /// It holds as far as it goes.
    Incomplete(Reason),
}

impl Verdict {
    /// What a reason comes to.
    #[must_use]
    pub const fn of(reason: Option<Reason>) -> Self {
        match reason {
            None => Self::Valid,
            Some(reason) => match reason.exit() {
                3 => Self::Untrusted(reason),
                4 => Self::Incomplete(reason),
                _ => Self::Invalid(reason),
            },
        }
    }

    /// Why, unless it is valid.
    #[must_use]
    pub const fn reason(self) -> Option<Reason> {
        match self {
            Self::Valid => None,
            Self::Invalid(reason) | Self::Untrusted(reason) | Self::Incomplete(reason) => Some(reason),
        }
    }

    /// The word that is printed.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Valid => "VALID",
            Self::Invalid(_) => "INVALID",
            Self::Untrusted(_) => "UNTRUSTED",
            Self::Incomplete(_) => "INCOMPLETE",
        }
    }

    /// The exit code.
    #[must_use]
    pub const fn exit(self) -> u8 {
        match self.reason() {
            None => 0,
            Some(reason) => reason.exit(),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())?;
        self.reason().map_or(Ok(()), |reason| write!(f, " {reason}"))
    }
}
