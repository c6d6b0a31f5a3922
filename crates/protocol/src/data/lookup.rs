//! Tools that look and remember: `tool.file_read.*`, `tool.glob.*`, `tool.grep.*`, `tool.todo_write.*`.

words! {
    /// How far a thing to do is.
    TodoStatus { Pending = "pending", InProgress = "in_progress", Completed = "completed", }
}

objects! {
    /// A line that a search found.
    GrepMatch {
        required {
            path: String,
            /// From 1.
            line: u64,
            text: String,
        }
    }

    /// A thing to do.
    Todo {
        required { content: String, status: TodoStatus, }
    }
}

events! {
    /// A file was read.
    "tool.file_read.completed" ToolFileReadCompleted Artifact {
        identity { tool_call_id: String, }
        required { path: String, size_bytes: u64, lines: u64, }
        optional { snippet_artifact_id: String, start_line: u64, end_line: u64, }
    }

    /// Paths were matched against a pattern.
    "tool.glob.completed" ToolGlobCompleted Core {
        identity { tool_call_id: String, }
        required {
            pattern: String,
            /// At most 1,000.
            matches: Vec<String>,
            match_count: u64,
            truncated: bool,
        }
    }

    /// Files were searched.
    "tool.grep.completed" ToolGrepCompleted Core {
        identity { tool_call_id: String, }
        required {
            pattern: String,
            files_searched: u64,
            /// At most 500.
            matches: Vec<GrepMatch>,
            match_count: u64,
            truncated: bool,
        }
    }

    /// The list of things to do, whole.
    "tool.todo_write.updated" ToolTodoWriteUpdated Core {
        identity { tool_call_id: String, }
        required { todos: Vec<Todo>, }
    }
}
