//! Bodies that come piece by piece.

use axum::body::Body;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, TryStream};

/// A body of these pieces.
///
/// What stands between it and the socket may ask once more after the last piece (compression does), which not
/// every stream takes.
pub(crate) fn of<S>(pieces: S) -> Body
where
    S: TryStream + Stream<Item = Result<S::Ok, S::Error>> + Send + 'static,
    S::Ok: Into<Bytes>,
    S::Error: Into<axum::BoxError>,
{
    Body::from_stream(pieces.fuse())
}
