//! The agent's list of things to do.

use futures_util::future::BoxFuture;
use r1_protocol::data::{Todo, TodoStatus, ToolKind, ToolTodoWriteUpdated};
use serde::Deserialize;
use serde_json::{Value, json};

use super::work::lost;
use super::{BadInput, Subject, Tool, ToolCall, ToolContext, ToolError, ToolOutput, ToolSpec, input};

/// The longest list.
const MAX_TODOS: usize = 200;

/// Replaces the list.
#[derive(Debug)]
pub struct TodoWrite {
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    todos: Vec<Item>,
}

#[derive(Debug, Deserialize)]
struct Item {
    content: String,
    status: Status,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Pending,
    InProgress,
    Completed,
}

impl TodoWrite {
    /// The tool.
    #[must_use]
    pub fn new() -> Self {
        let description = "Keeps your list of things to do, so that you and the user see how far you are. Send the \
            whole list each time: it replaces the one before. Use it for work of three steps or more; keep exactly \
            one item `in_progress`, and mark items `completed` as soon as they are done.";
        let input_schema = json!({
            "type": "object",
            "properties": {
                "todos": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "content": { "type": "string", "description": "What is to be done." },
                            "status": { "type": "string", "enum": ["pending", "in_progress", "completed"] },
                        },
                        "required": ["content", "status"],
                    },
                },
            },
            "required": ["todos"],
            "additionalProperties": false,
        });
        let spec = ToolSpec {
            name: "todo_write".into(),
            kind: ToolKind::TodoWrite,
            description: description.into(),
            input_schema,
            idempotent: true,
            prepares: false,
            mcp: None,
        };
        Self { spec }
    }
}

impl Default for TodoWrite {
    fn default() -> Self {
        Self::new()
    }
}

fn read(input: &Value) -> Result<Vec<Todo>, BadInput> {
    let Input { todos } = input::read(input)?;
    if todos.len() > MAX_TODOS {
        return Err(BadInput(format!("a list of {} items is too long; {MAX_TODOS} is the most", todos.len())));
    }
    let todo = |Item { content, status }| {
        let status = match status {
            Status::Pending => TodoStatus::Pending,
            Status::InProgress => TodoStatus::InProgress,
            Status::Completed => TodoStatus::Completed,
        };
        Todo { content, status }
    };
    Ok(todos.into_iter().map(todo).collect())
}

impl Tool for TodoWrite {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn subject(&self, input: &Value) -> Result<Subject, BadInput> {
        read(input).map(|_| Subject::Internal)
    }

    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let todos = read(&call.input)?;
            let done = todos.iter().filter(|todo| todo.status == TodoStatus::Completed).count();
            let summary = format!("{done} of {} done", todos.len());
            let updated = ToolTodoWriteUpdated { tool_call_id: call.call_id.clone(), todos, ..Default::default() };
            context.events.emit(updated).await.map_err(lost)?;
            Ok(ToolOutput { output: summary.clone().into(), summary, artifact_id: None })
        })
    }
}
