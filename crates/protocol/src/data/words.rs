//! Words and objects that several families share.

words! {
    /// Families of tools.
    ToolKind {
        Shell = "shell",
        Git = "git",
        Edit = "edit",
        MultiEdit = "multi_edit",
        FileRead = "file_read",
        FileWrite = "file_write",
        Glob = "glob",
        Grep = "grep",
        TodoWrite = "todo_write",
        Http = "http",
        WebFetch = "web_fetch",
        WebSearch = "web_search",
        Mcp = "mcp",
        Agent = "agent",
        Memory = "memory",
        Builtin = "builtin",
        External = "external",
    }

    /// Whose doing it was; who exactly is in `actor`.
    By {
        Operator = "operator",
        Agent = "agent",
        System = "system",
        Timeout = "timeout",
        Parent = "parent",
        Policy = "policy",
    }

    /// Kinds of actors.
    ActorKind { Operator = "operator", Agent = "agent", System = "system", }

    /// The way an actor came in.
    Via {
        Mcp = "mcp",
        Http = "http",
        Ws = "ws",
        Web = "web",
        Tui = "tui",
        Cli = "cli",
        Stdin = "stdin",
    }

    /// Axes of a budget.
    BudgetAxis {
        Usd = "usd",
        InputTokens = "input_tokens",
        OutputTokens = "output_tokens",
        Turns = "turns",
        WallClock = "wall_clock",
    }
}

objects! {
    /// Who caused an event through a control action.
    Actor {
        required { kind: ActorKind, }
        optional { id: String, client: String, via: Via, }
    }
}
