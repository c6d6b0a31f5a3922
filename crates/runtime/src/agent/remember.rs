//! What an event says of memory.

use r1_event::payload::Typed;
use r1_protocol::data::{EventData, MemoryBy, MemoryRead, MemoryWrite, PhaseTransition};

use super::conversation::Conversation;
use super::state::RunState;
use crate::memory::{Held, Tier, Value};

/// The most that the model is told of its identity without asking.
const MAX_TOLD: usize = 64 << 10;

impl RunState {
    /// The workspace whose lasting memory the run has: that of a copy is the original's.
    #[must_use]
    pub fn memory_workspace(&self) -> &str {
        self.spec.workspace_source.as_ref().map_or(&self.workspace_path, |source| &source.path)
    }

    /// What the model is told before anything else: what the run was given, and who it is here.
    #[must_use]
    pub fn told_first(&self) -> String {
        format!("{}{}", self.system, self.identity)
    }

    pub(super) fn remember(&mut self, typed: &Typed) {
        match typed.r#type.as_str() {
            MemoryRead::TYPE => {
                let Some(read) = MemoryRead::read(typed) else { return };
                self.memory.was_read(&read);
                if read.by == MemoryBy::Runtime && read.hit && Tier::of(&read.tier, &read.store) == Some(Tier::L0) {
                    self.identify();
                }
            }
            MemoryWrite::TYPE => {
                if let Some(write) = MemoryWrite::read(typed) {
                    self.memory.was_written(&write);
                }
            }
            PhaseTransition::TYPE => self.memory.phase_ended(),
            _ => {}
        }
    }

    /// Every request begins with the identity that was told so far.
    fn identify(&mut self) {
        let mut told =
            String::from("\nWhat you know of yourself and this workspace (memory L0, which you only read):\n");
        for (key, entry) in self.memory.entries(Tier::L0) {
            let line = match &entry.held {
                Held::Here(Value::Text(text) | Value::Json(text)) if told.len() + text.len() <= MAX_TOLD => {
                    format!("- {key}: {text}\n")
                }
                held => format!("- {key}: {} bytes, which `memory_get` gives you\n", held.size()),
            };
            told.push_str(&line);
        }
        self.preamble.truncate(super::fold::PREAMBLE);
        self.preamble.push(told.clone().into_bytes());
        self.identity = told;
        let messages = self.conversation.messages().as_ref().clone();
        self.conversation = Conversation::rebuilt(&self.preamble_slices(), messages);
    }
}
