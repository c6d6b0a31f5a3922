//! Every provider against a server that speaks its wire format.

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
