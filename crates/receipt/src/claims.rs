//! What a valid receipt proves, whoever made it, and what it does not.

/// What it proves.
pub const PROVES: [&str; 4] = [
    "the holder of the key signed exactly these events, in this order and with these edges",
    "no event was added, removed, changed or linked anew since then",
    "the recorded gates allowed each recorded transition, or a named operator overrode them",
    "with --log: this log is meant, and no shorter or rewritten one",
];

/// What it does not prove.
pub const DOES_NOT_PROVE: [&str; 4] = [
    "that the events are true, or that nothing happened outside of the log",
    "when it was signed, or that there is no other receipt of the run",
    "that the gates were good, or that the operator is who the name says",
    "that what is withheld or erased was harmless; what is short can be guessed from its hash",
];
