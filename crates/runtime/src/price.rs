//! What tokens cost.
//!
//! Money is counted in whole micros (millionths of a US dollar). A run stores the [`Price`] that it was
//! started with, so that what it costs does not change when a list of prices does.

mod catalog;
mod written;

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::model::Usage;

const MILLION: u128 = 1_000_000;

/// What a model costs.
///
/// Written as `{input, cached_input, cache_write, output, long_context}`; who leaves out the prices of the
/// cache pays for those tokens as for others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "written::Price", into = "written::Price")]
pub struct Price {
    /// What it usually costs.
    pub rates: Rates,
    /// What it costs instead when much is read at once, least first.
    pub long_context: Vec<LongContext>,
}

/// Micros per million tokens: at $3.00 a million, 3,000,000.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// Read anew.
    pub input: u64,
    /// Read from the provider's cache.
    pub cached_input: u64,
    /// Written to it.
    pub cache_write: u64,
    /// Said, reasoning included.
    pub output: u64,
}

/// Other rates for all tokens of a call that reads much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongContext {
    /// They hold for calls that read more than this, cached tokens included.
    pub above_input_tokens: u64,
    /// The rates.
    pub rates: Rates,
}

impl Price {
    /// A price that is the same for every call.
    #[must_use]
    pub const fn flat(rates: Rates) -> Self {
        Self { rates, long_context: Vec::new() }
    }

    /// What a call costs, in micros, rounded up to the next one.
    #[must_use]
    pub fn cost(&self, usage: &Usage) -> u64 {
        let Usage { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens } = *usage;
        let read = input_tokens.saturating_add(cache_read_tokens).saturating_add(cache_write_tokens);
        let rates = self.rates_for(read);
        let charge = |tokens: u64, rate: u64| u128::from(tokens) * u128::from(rate);
        let total = [
            charge(input_tokens, rates.input),
            charge(cache_read_tokens, rates.cached_input),
            charge(cache_write_tokens, rates.cache_write),
            charge(output_tokens, rates.output),
        ]
        .into_iter()
        .fold(0, u128::saturating_add);
        u64::try_from(total.div_ceil(MILLION)).unwrap_or(u64::MAX)
    }

    /// How much the model may say for so many micros, whatever it reads.
    #[must_use]
    pub fn affordable_output(&self, micros: u64) -> u64 {
        let long = self.long_context.iter().map(|long| long.rates.output);
        match long.fold(self.rates.output, u64::max) {
            0 => u64::MAX,
            rate => u64::try_from(u128::from(micros) * MILLION / u128::from(rate)).unwrap_or(u64::MAX),
        }
    }

    fn rates_for(&self, input_tokens: u64) -> &Rates {
        let long = self.long_context.iter().rev().find(|long| input_tokens > long.above_input_tokens);
        long.map_or(&self.rates, |long| &long.rates)
    }
}

/// The prices that are known: those of the user, then those of a public list that is part of R1.
#[derive(Clone, Debug, Default)]
pub struct PriceBook {
    overrides: BTreeMap<String, Price>,
}

impl PriceBook {
    /// A book in which `overrides` come first. Their names are `provider/model`, or `model` for every
    /// provider.
    #[must_use]
    pub const fn new(overrides: BTreeMap<String, Price>) -> Self {
        Self { overrides }
    }

    /// What a model costs at a time, if anybody knows.
    ///
    /// The list knows providers by their addresses and by their usual names.
    #[must_use]
    pub fn price(&self, provider: &str, base_url: Option<&str>, model: &str, at: SystemTime) -> Option<Price> {
        let own = [format!("{provider}/{model}"), model.to_owned()];
        match own.iter().find_map(|name| self.overrides.get(name)) {
            Some(price) => Some(price.clone()),
            None => catalog::price(provider, base_url, model, at),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RATES: Rates = Rates { input: 3_000_000, cached_input: 300_000, cache_write: 3_750_000, output: 15_000_000 };

    fn usage(input: u64, output: u64, read: u64, write: u64) -> Usage {
        Usage { input_tokens: input, output_tokens: output, cache_read_tokens: read, cache_write_tokens: write }
    }

    #[test]
    fn a_cost_is_rounded_up_once() {
        let price = Price::flat(RATES);
        assert_eq!(price.cost(&usage(0, 0, 0, 0)), 0);
        assert_eq!(price.cost(&usage(1, 0, 0, 0)), 3);
        assert_eq!(price.cost(&usage(0, 0, 1, 0)), 1, "0.3 micros");
        assert_eq!(price.cost(&usage(0, 0, 1, 1)), 5, "0.3 + 3.75 micros, not 1 + 4 of rounding each");
        assert_eq!(price.cost(&usage(0, 0, 2, 2)), 9, "0.6 + 7.5 micros");
        assert_eq!(price.cost(&usage(1_000_000, 1_000_000, 1_000_000, 1_000_000)), 22_050_000);
    }

    #[test]
    fn what_no_number_can_hold_is_the_largest() {
        let dear = Price::flat(Rates { input: u64::MAX, ..RATES });
        assert_eq!(dear.cost(&usage(u64::MAX, u64::MAX, u64::MAX, u64::MAX)), u64::MAX);
    }

    #[test]
    fn what_is_affordable_is_paid_for() {
        let price = Price::flat(RATES);
        assert_eq!(price.affordable_output(14), 0);
        assert_eq!(price.affordable_output(100), 6);
        assert!(price.cost(&usage(0, 6, 0, 0)) <= 100);
        assert_eq!(Price::flat(Rates::default()).affordable_output(1), u64::MAX);
    }

    #[test]
    fn a_long_context_has_its_own_rates() {
        let long = LongContext { above_input_tokens: 200_000, rates: Rates { input: 6_000_000, ..RATES } };
        let price = Price { rates: RATES, long_context: vec![long] };
        assert_eq!(price.cost(&usage(200_000, 0, 0, 0)), 600_000);
        assert_eq!(price.cost(&usage(200_001, 0, 0, 0)), 1_200_006, "all of it, not only the rest");
        assert_eq!(price.cost(&usage(100_000, 0, 100_001, 0)), 630_001, "cached tokens are read too");
    }

    #[test]
    fn the_users_prices_come_first() {
        let mine = Price::flat(Rates { input: 1, ..Rates::default() });
        let theirs = Price::flat(Rates { input: 2, ..Rates::default() });
        let book = PriceBook::new(BTreeMap::from([
            ("openai/gpt-5".to_owned(), mine.clone()),
            ("gpt-5".to_owned(), theirs.clone()),
        ]));
        let price = |provider: &str, model: &str| book.price(provider, None, model, SystemTime::UNIX_EPOCH);
        assert_eq!(price("openai", "gpt-5"), Some(mine));
        assert_eq!(price("ollama", "gpt-5"), Some(theirs));
        assert_eq!(price("ollama", "qwen3"), None, "what is not known is not free");
    }

    #[test]
    fn a_price_survives_being_stored() {
        let price =
            Price { rates: RATES, long_context: vec![LongContext { above_input_tokens: 1, rates: Rates::default() }] };
        let stored = serde_json::to_string(&price).unwrap();
        assert_eq!(serde_json::from_str::<Price>(&stored).unwrap(), price);
    }

    #[test]
    fn a_price_is_easily_written() {
        let price: Price = toml::from_str("input = 1_000_000\noutput = 4_000_000").unwrap();
        let rates = Rates { input: 1_000_000, cached_input: 1_000_000, cache_write: 1_000_000, output: 4_000_000 };
        assert_eq!(price, Price::flat(rates));
        assert!(toml::from_str::<Price>("input = 1\noutput = 4\ncached = 1").is_err());
        assert!(toml::from_str::<Price>("input = 0.5\noutput = 4").is_err());
    }

    proptest! {
        #[test]
        fn more_tokens_never_cost_less(counts in any::<[u32; 4]>(), more in any::<[u32; 4]>()) {
            let [input, output, read, write] = counts.map(u64::from);
            let [more_input, more_output, more_read, more_write] = more.map(u64::from);
            let price = Price::flat(RATES);
            let less = price.cost(&usage(input, output, read, write));
            let whole =
                price.cost(&usage(input + more_input, output + more_output, read + more_read, write + more_write));
            prop_assert!(less <= whole);
        }
    }
}
