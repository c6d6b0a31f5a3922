//! What a server answered, in a form that a model takes.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::Value;

/// The result as the model receives it: its text if it has any, else its structured form.
pub(super) fn for_model(result: &CallToolResult) -> Value {
    let texts: Vec<String> = result.content.iter().map(text_of).collect();
    match &result.structured_content {
        Some(structured) if texts.is_empty() => structured.clone(),
        _ => Value::String(texts.join("\n")),
    }
}

fn text_of(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => format!("[image, {}, {} bytes in base64]", image.mime_type, image.data.len()),
        ContentBlock::Audio(audio) => format!("[audio, {}, {} bytes in base64]", audio.mime_type, audio.data.len()),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => format!("{uri}\n{text}"),
            ResourceContents::BlobResourceContents { uri, blob, .. } => {
                format!("[{uri}, {} bytes in base64]", blob.len())
            }
            _ => "[resource]".to_owned(),
        },
        ContentBlock::ResourceLink(link) => format!("[{}]({})", link.name, link.uri),
        _ => "[content of a kind that is not known here]".to_owned(),
    }
}
