//! `tool.http.*`, `tool.web_fetch.*` and `tool.web_search.*`.

objects! {
    /// One result of a search.
    WebSearchHit {
        required { title: String, url: String, snippet: String, }
    }
}

events! {
    /// A request is about to be sent.
    "tool.http.requested" ToolHttpRequested Core {
        identity { tool_call_id: String, }
        required {
            method: String,
            /// Without user and password.
            url: String,
            /// Names only: values may be secret.
            header_keys: Vec<String>,
        }
    }

    /// An answer came.
    "tool.http.response" ToolHttpResponse Core {
        identity { tool_call_id: String, }
        required { status: u64, duration_ms: u64, body_truncated: bool, }
        optional { body_artifact_id: String, redirects: Vec<String>, }
    }

    /// A page is about to be fetched.
    "tool.web_fetch.requested" ToolWebFetchRequested Core {
        identity { tool_call_id: String, }
        required {
            method: String,
            /// Without user and password.
            url: String,
            /// Names only: values may be secret.
            header_keys: Vec<String>,
        }
    }

    /// A page came.
    "tool.web_fetch.response" ToolWebFetchResponse Core {
        identity { tool_call_id: String, }
        required { status: u64, duration_ms: u64, body_truncated: bool, }
        optional { body_artifact_id: String, redirects: Vec<String>, extracted_text_artifact_id: String, }
    }

    /// A search of the web is about to be made.
    "tool.web_search.requested" ToolWebSearchRequested Core {
        identity { tool_call_id: String, }
        required { query: String, provider: String, }
    }

    /// Results of a search of the web.
    "tool.web_search.response" ToolWebSearchResponse Core {
        identity { tool_call_id: String, }
        required {
            status: u64,
            duration_ms: u64,
            /// At most 50.
            hits: Vec<WebSearchHit>,
        }
        optional { results_artifact_id: String, }
    }
}
