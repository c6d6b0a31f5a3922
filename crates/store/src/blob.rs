//! Content that is too large for an event, named by its BLAKE3 hash.

pub(crate) mod files;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use r1_event::Digest;

use crate::error::BlobError;

/// A stream of a blob's content, in pieces of bounded size.
pub type BlobContent = BoxStream<'static, Result<Bytes, std::io::Error>>;

/// A stored blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlobInfo {
    /// BLAKE3 of its bytes.
    pub hash: Digest,
    /// How many bytes.
    pub size: u64,
}

/// Content-addressed storage: the same bytes are kept once, and are checked against their name
/// whenever they are read.
pub trait BlobStore: Send + Sync {
    /// Stores content; durable when it returns. Memory stays bounded whatever the size.
    fn put(&self, content: BlobContent) -> BoxFuture<'_, Result<BlobInfo, BlobError>>;

    /// Size of a blob, if it is there.
    fn stat(&self, hash: Digest) -> BoxFuture<'_, Result<Option<BlobInfo>, BlobError>>;

    /// The content. The stream ends with an error if the bytes are not those of the name.
    fn get(&self, hash: Digest) -> BoxFuture<'_, Result<BlobContent, BlobError>>;
}
