//! Every provider against a server that speaks its wire format.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod conformance;
mod dialect;
mod dialects;
mod requests;
mod server;
mod special;

provider_conformance!(anthropic, dialects::Anthropic);
provider_conformance!(openai_responses, dialects::OpenaiResponses);
provider_conformance!(openai_chat, dialects::OpenaiChat);
provider_conformance!(gemini, dialects::Gemini);

use conformance::provider_conformance;
