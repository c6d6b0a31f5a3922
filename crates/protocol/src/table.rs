//! The macros that mirror the protocol's tables.

/// Declares an open set of words as an enum that keeps a word it does not know.
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($variant:ident = $word:literal,)+ })+) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "each variant is named after its word")]
        pub enum $name {
            $($variant,)+
            /// A word that this R1 does not know.
            Other(String),
        }

        impl $name {
            /// The known words.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The word in the log.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)+
                    Self::Other(word) => word,
                }
            }
        }

        impl From<&str> for $name {
            fn from(word: &str) -> Self {
                match word {
                    $($word => Self::$variant,)+
                    other => Self::Other(other.into()),
                }
            }
        }

        impl Default for $name {
            /// No word at all: a field that was forgotten fails the strict schema instead of lying.
            fn default() -> Self {
                Self::Other(String::new())
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer).map(|word| Self::from(&*word))
            }
        }

        impl $crate::registry::Shaped for $name {
            const SHAPE: $crate::registry::Shape = $crate::registry::Shape::Words(Self::WORDS);
        }
    )+};
}

/// The key of a field: its name, but for those that Rust reserves.
macro_rules! key {
    (r#where) => {
        "where"
    };
    (r#final) => {
        "final"
    };
    ($name:ident) => {
        stringify!($name)
    };
}

/// The table of an object's keys.
macro_rules! field_table {
    (
        $(identity { $($(#[doc = $idoc:literal])* $id:ident: $idty:ty,)* })?
        $(required { $($(#[doc = $rdoc:literal])* $req:ident: $reqty:ty,)* })?
        $(optional { $($(#[doc = $odoc:literal])* $opt:ident: $optty:ty,)* })?
    ) => {
        &[
            $($(field_table!(@row Identity $id $idty; $($idoc)*),)*)?
            $($(field_table!(@row Required $req $reqty; $($rdoc)*),)*)?
            $($(field_table!(@row Optional $opt $optty; $($odoc)*),)*)?
        ]
    };
    (@row $presence:ident $name:ident $rust:ty; $($doc:literal)*) => {
        $crate::registry::Field {
            name: key!($name),
            summary: concat!($($doc),*).trim_ascii(),
            shape: <$rust as $crate::registry::Shaped>::SHAPE,
            presence: $crate::registry::Presence::$presence,
        }
    };
}

/// Declares objects that stand inside of events' `data`.
macro_rules! objects {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident {
            $(identity { $($(#[doc = $idoc:literal])* $id:ident: $idty:ty,)* })?
            $(required { $($(#[doc = $rdoc:literal])* $req:ident: $reqty:ty,)* })?
            $(optional { $($(#[doc = $odoc:literal])* $opt:ident: $optty:ty,)* })?
        }
    )+) => {$(
        $(#[doc = $doc])*
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default)]
        #[allow(missing_docs, reason = "most fields say what they are by their name")]
        pub struct $name {
            $($($(#[doc = $idoc])* pub $id: $idty,)*)?
            $($($(#[doc = $rdoc])* pub $req: $reqty,)*)?
            $($($(#[doc = $odoc])* #[serde(skip_serializing_if = "Option::is_none")] pub $opt: Option<$optty>,)*)?
        }

        impl $crate::registry::Shaped for $name {
            const SHAPE: $crate::registry::Shape = $crate::registry::Shape::Struct(field_table! {
                $(identity { $($(#[doc = $idoc])* $id: $idty,)* })?
                $(required { $($(#[doc = $rdoc])* $req: $reqty,)* })?
                $(optional { $($(#[doc = $odoc])* $opt: $optty,)* })?
            });
        }
    )+};
}

/// Declares event types that R1 writes as Typed events: for each its struct and its row.
///
/// `or Kind` says that some log kind is served as this type too. `owns key` says that a key which
/// every event may carry is one of this type's own.
macro_rules! events {
    ($(
        $(#[doc = $doc:literal])*
        $type:literal $name:ident $status:ident $(or $kind:ident)? $(owns $own:ident)? {
            $(identity { $($(#[doc = $idoc:literal])* $id:ident: $idty:ty,)* })?
            $(required { $($(#[doc = $rdoc:literal])* $req:ident: $reqty:ty,)* })?
            $(optional { $($(#[doc = $odoc:literal])* $opt:ident: $optty:ty,)* })?
        }
    )+) => {
        $(event_struct! {
            [$($own)?]
            $(#[doc = $doc])*
            #[doc = ""]
            #[doc = concat!("The `data` of `", $type, "`.")]
            $name {
                $($($(#[doc = $idoc])* pub $id: $idty,)*)?
                $($($(#[doc = $rdoc])* pub $req: $reqty,)*)?
                $($($(#[doc = $odoc])* #[serde(skip_serializing_if = "Option::is_none")] pub $opt: Option<$optty>,)*)?
            }
        }

        impl $crate::data::EventData for $name {
            const TYPE: &'static str = $type;
        })+

        pub(super) const EVENTS: &[$crate::registry::EventType] = &[$($crate::registry::EventType {
            name: $type,
            summary: concat!($($doc),*).trim_ascii(),
            status: $crate::registry::Status::$status,
            kinds: &[r1_event::Kind::Typed, $(r1_event::Kind::$kind)?],
            fields: field_table! {
                $(identity { $($(#[doc = $idoc])* $id: $idty,)* })?
                $(required { $($(#[doc = $rdoc])* $req: $reqty,)* })?
                $(optional { $($(#[doc = $odoc])* $opt: $optty,)* })?
            },
            open: false,
        },)+];
    };
}

/// The struct of an event's `data`: its own fields, and those that every event may carry.
macro_rules! event_struct {
    ([] $(#[$doc:meta])* $name:ident { $($fields:tt)* }) => {
        event_struct! { @with $(#[$doc])* $name { $($fields)*
            /// Absent on the main lane.
            #[serde(skip_serializing_if = "Option::is_none")] pub lane_id: Option<String>,
            /// Who caused it through a control action.
            #[serde(skip_serializing_if = "Option::is_none")] pub actor: Option<$crate::data::Actor>,
        } }
    };
    ([lane_id] $(#[$doc:meta])* $name:ident { $($fields:tt)* }) => {
        event_struct! { @with $(#[$doc])* $name { $($fields)*
            /// Who caused it through a control action.
            #[serde(skip_serializing_if = "Option::is_none")] pub actor: Option<$crate::data::Actor>,
        } }
    };
    ([actor] $(#[$doc:meta])* $name:ident { $($fields:tt)* }) => {
        event_struct! { @with $(#[$doc])* $name { $($fields)*
            /// Absent on the main lane.
            #[serde(skip_serializing_if = "Option::is_none")] pub lane_id: Option<String>,
        } }
    };
    (@with $(#[$doc:meta])* $name:ident { $($fields:tt)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default)]
        #[allow(missing_docs, reason = "most fields say what they are by their name")]
        pub struct $name {
            $($fields)*
            /// JSON Pointers to what a redactor replaced.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub redacted_paths: Option<Vec<String>>,
            /// The foreign record it was derived from.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub origin: Option<$crate::data::Object>,
        }
    };
}

/// Declares rows of event types that have no struct: those of the log's own kinds, those that only
/// others write, and families. A body that ends in `..others` may hold anything else.
macro_rules! rows {
    ($(
        $(#[doc = $doc:literal])*
        $type:literal $status:ident $kind:ident {
            $(identity { $($(#[doc = $idoc:literal])* $id:ident: $idty:ty,)* })?
            $(required { $($(#[doc = $rdoc:literal])* $req:ident: $reqty:ty,)* })?
            $(optional { $($(#[doc = $odoc:literal])* $opt:ident: $optty:ty,)* })?
            $(..$open:ident)?
        }
    )+) => {
        pub(super) const ROWS: &[$crate::registry::EventType] = &[$($crate::registry::EventType {
            name: $type,
            summary: concat!($($doc),*).trim_ascii(),
            status: $crate::registry::Status::$status,
            kinds: &[r1_event::Kind::$kind],
            fields: field_table! {
                $(identity { $($(#[doc = $idoc])* $id: $idty,)* })?
                $(required { $($(#[doc = $rdoc])* $req: $reqty,)* })?
                $(optional { $($(#[doc = $odoc])* $opt: $optty,)* })?
            },
            open: !stringify!($($open)?).is_empty(),
        },)+];
    };
}
