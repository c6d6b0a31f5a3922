//! Blobs of a memory store.

use bytes::{Bytes, BytesMut};
use futures_util::future::{self, BoxFuture};
use futures_util::{FutureExt as _, StreamExt as _, stream};
use r1_event::Digest;

use super::Opening;
use super::shelf::Blob;
use crate::blob::{BlobContent, BlobInfo, BlobStore};
use crate::clock;
use crate::error::BlobError;

/// How much of a blob one piece of its stream carries.
const PIECE: usize = 64 << 10;

#[derive(Debug)]
pub(super) struct MemoryBlobs {
    opening: Opening,
}

impl MemoryBlobs {
    pub(super) const fn new(opening: Opening) -> Self {
        Self { opening }
    }

    fn find(&self, hash: Digest) -> Result<Option<Bytes>, BlobError> {
        Ok(self.opening.enter()?.blobs.get(&hash).map(|blob| blob.content.clone()))
    }
}

impl BlobStore for MemoryBlobs {
    fn put(&self, mut content: BlobContent) -> BoxFuture<'_, Result<BlobInfo, BlobError>> {
        async move {
            let mut bytes = BytesMut::new();
            while let Some(piece) = content.next().await {
                bytes.extend_from_slice(&piece.map_err(BlobError::Input)?);
            }
            let (content, stored_at) = (bytes.freeze(), clock::now());
            let info = BlobInfo { hash: Digest::blake3(&content), size: content.len() as u64 };
            self.opening.enter()?.blobs.insert(info.hash, Blob { content, stored_at });
            Ok(info)
        }
        .boxed()
    }

    fn stat(&self, hash: Digest) -> BoxFuture<'_, Result<Option<BlobInfo>, BlobError>> {
        let found = self.find(hash).map(|content| content.map(|bytes| BlobInfo { hash, size: bytes.len() as u64 }));
        future::ready(found).boxed()
    }

    fn get(&self, hash: Digest) -> BoxFuture<'_, Result<BlobContent, BlobError>> {
        let found = self.find(hash).and_then(|content| content.ok_or(BlobError::NotFound { hash }));
        future::ready(found.map(pieces)).boxed()
    }
}

fn pieces(content: Bytes) -> BlobContent {
    // Memory cannot rot unnoticed, so the name is not checked again here.
    let rest = |mut rest: Bytes| (!rest.is_empty()).then(|| (rest.split_to(rest.len().min(PIECE)), rest));
    stream::iter(std::iter::successors(rest(content), move |(_, left)| rest(left.clone())).map(|(piece, _)| Ok(piece)))
        .boxed()
}
