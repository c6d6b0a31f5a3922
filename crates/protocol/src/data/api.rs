//! `api.*`: consents and denials.

events! {
    /// A person allowed a client to do something.
    "api.consent" ApiConsent Added {
        required { client: String, caps: Vec<String>, tool: String, mode: String, }
    }

    /// A client lacked a capability.
    "api.denied" ApiDenied Added {
        required { tool: String, need: String, have: Vec<String>, }
    }
}
