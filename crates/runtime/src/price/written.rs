//! Prices in files: one flat table each.

use serde::{Deserialize, Serialize};

use super::{LongContext, Rates};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Price {
    input: u64,
    cached_input: Option<u64>,
    cache_write: Option<u64>,
    output: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    long_context: Vec<Long>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Long {
    above_input_tokens: u64,
    input: u64,
    cached_input: Option<u64>,
    cache_write: Option<u64>,
    output: u64,
}

impl From<Price> for super::Price {
    fn from(written: Price) -> Self {
        let Price { input, cached_input, cache_write, output, long_context } = written;
        let mut long_context: Vec<_> = long_context.into_iter().map(LongContext::from).collect();
        long_context.sort_by_key(|long| long.above_input_tokens);
        Self { rates: rates(input, cached_input, cache_write, output), long_context }
    }
}

impl From<super::Price> for Price {
    fn from(price: super::Price) -> Self {
        let Rates { input, cached_input, cache_write, output } = price.rates;
        let long_context = price.long_context.into_iter().map(Long::from).collect();
        Self { input, cached_input: Some(cached_input), cache_write: Some(cache_write), output, long_context }
    }
}

impl From<Long> for LongContext {
    fn from(written: Long) -> Self {
        let Long { above_input_tokens, input, cached_input, cache_write, output } = written;
        Self { above_input_tokens, rates: rates(input, cached_input, cache_write, output) }
    }
}

impl From<LongContext> for Long {
    fn from(long: LongContext) -> Self {
        let Rates { input, cached_input, cache_write, output } = long.rates;
        let above_input_tokens = long.above_input_tokens;
        Self { above_input_tokens, input, cached_input: Some(cached_input), cache_write: Some(cache_write), output }
    }
}

fn rates(input: u64, cached_input: Option<u64>, cache_write: Option<u64>, output: u64) -> Rates {
    Rates { input, cached_input: cached_input.unwrap_or(input), cache_write: cache_write.unwrap_or(input), output }
}
