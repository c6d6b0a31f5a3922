//! `tool.shell.*` and `tool.git.*`.

words! {
    /// What keeps a command in its place.
    SandboxLayer { Bwrap = "bwrap", Landlock = "landlock", SandboxExec = "sandbox-exec", None = "none", }

    /// Which stream of a process.
    Stream { Stdout = "stdout", Stderr = "stderr", }

    /// How a chunk's bytes are spelled where they are not UTF-8.
    ChunkEncoding { Base64 = "base64", }
}

events! {
    /// A command is about to be spawned.
    "tool.shell.command" ToolShellCommand Core {
        identity { tool_call_id: String, }
        required {
            argv: Vec<String>,
            cwd: String,
            /// All names that are really passed.
            env_keys: Vec<String>,
            sandbox_layer: SandboxLayer,
        }
        optional { timeout_ms: u64, command_string: String, network: bool, }
    }

    /// A piece of a command's output, after redaction.
    "tool.shell.output_chunk" ToolShellOutputChunk Core {
        identity { tool_call_id: String, }
        required {
            stream: Stream,
            data: String,
            /// Place of the chunk's first byte in its stream, counted after decoding.
            byte_offset: u64,
        }
        optional {
            /// Absent: `data` is the bytes as UTF-8.
            encoding: ChunkEncoding,
        }
    }

    /// A spawned command ended.
    "tool.shell.exited" ToolShellExited Core {
        identity { tool_call_id: String, }
        required {
            /// −1 when a signal killed it.
            exit_code: i64,
            /// The signal's name, such as `SIGKILL`.
            signal: Option<String>,
            stdout_bytes: u64,
            stderr_bytes: u64,
            /// Whether there was more output than chunks tell.
            truncated: bool,
        }
    }

    /// The git tool ran a command.
    "tool.git.completed" ToolGitCompleted Added {
        identity { tool_call_id: String, }
        required { argv: Vec<String>, exit_code: i64, }
        optional { head_before: String, head_after: String, }
    }
}
