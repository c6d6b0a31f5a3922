//! The public list of prices that is part of R1.
//!
//! The list gives the price of a call, not its rates. Rates are what is stored, so they are found by asking
//! what calls of known sizes cost.

use std::time::SystemTime;

use genai_prices::{Calculator, PriceRequest, Usage, UsageKey};

use super::{LongContext, Price, Rates};

/// No model reads more at once.
const LARGEST_CONTEXT: u64 = 16_000_000;
/// More steps than any list has; a bound on the search.
const MOST_STEPS: usize = 8;

pub(super) fn price(provider: &str, base_url: Option<&str>, model: &str, at: SystemTime) -> Option<Price> {
    let calculator = Calculator::bundled();
    let by_address = calculator.find_provider(None, base_url).ok().flatten().filter(|_| base_url.is_some());
    let provider = by_address.map_or_else(|| listed_name(provider), |provider| provider.id());
    let question = Question { calculator, provider, model, at };

    let rates = question.rates(1)?;
    let mut long_context = Vec::new();
    let mut current = rates;
    let mut from = 1;
    while long_context.len() < MOST_STEPS && question.rates(LARGEST_CONTEXT)? != current {
        let above_input_tokens = question.last_with(current, from)?;
        current = question.rates(above_input_tokens + 1)?;
        long_context.push(LongContext { above_input_tokens, rates: current });
        from = above_input_tokens + 1;
    }
    Some(Price { rates, long_context })
}

/// The list's name of a provider that R1 calls otherwise.
fn listed_name(provider: &str) -> &str {
    match provider {
        "gemini" => "google",
        "xai" => "x-ai",
        other => other,
    }
}

#[derive(Clone, Copy)]
struct Question<'a> {
    calculator: &'a Calculator,
    provider: &'a str,
    model: &'a str,
    at: SystemTime,
}

impl Question<'_> {
    /// The rates of a call that reads `tokens`.
    fn rates(&self, tokens: u64) -> Option<Rates> {
        let tokens = tokens as f64;
        let input = |part: Option<UsageKey>| {
            let whole = [(UsageKey::INPUT_TOKENS, tokens)];
            self.dollars(whole.into_iter().chain(part.map(|key| (key, tokens)))).map(|cost| rate(cost.0, tokens))
        };
        let said = [(UsageKey::INPUT_TOKENS, tokens), (UsageKey::OUTPUT_TOKENS, tokens)];
        Some(Rates {
            input: input(None)?,
            cached_input: input(Some(UsageKey::CACHE_READ_TOKENS))?,
            cache_write: input(Some(UsageKey::CACHE_WRITE_TOKENS))?,
            output: self.dollars(said).map(|cost| rate(cost.1, tokens))?,
        })
    }

    /// The most tokens from `from` on that still cost `rates`, where the largest context does not.
    fn last_with(&self, rates: Rates, from: u64) -> Option<u64> {
        let (mut same, mut other) = (from, LARGEST_CONTEXT);
        while other - same > 1 {
            let middle = same + (other - same) / 2;
            if self.rates(middle)? == rates {
                same = middle;
            } else {
                other = middle;
            }
        }
        Some(same)
    }

    /// What is paid for reading and for saying.
    fn dollars(&self, usage: impl IntoIterator<Item = (UsageKey, f64)>) -> Option<(f64, f64)> {
        let mut counts = Usage::new();
        for (key, tokens) in usage {
            counts.insert(key, tokens);
        }
        let request = PriceRequest::new(self.model, &counts).with_provider_id(self.provider).with_timestamp(self.at);
        let cost = self.calculator.calculate(&request).ok()?;
        Some((cost.input_price, cost.output_price))
    }
}

/// Dollars for tokens as micros per million of them. Lists round to cents per million, so rounding to the
/// nearest only wipes a float's dust away; the cast saturates.
fn rate(dollars: f64, tokens: f64) -> u64 {
    (dollars / tokens * 1e12).round() as u64
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    const IN_2025: u64 = 1_750_000_000;

    #[test]
    fn well_known_models_have_their_prices_offline() {
        let price = price("openai", None, "gpt-4o", at(IN_2025)).unwrap();
        let rates = Rates { input: 2_500_000, cached_input: 1_250_000, cache_write: 2_500_000, output: 10_000_000 };
        assert_eq!(price, Price::flat(rates));
        let price = super::price("anthropic", None, "claude-sonnet-4-20250514", at(IN_2025)).unwrap();
        let rates = Rates { input: 3_000_000, cached_input: 300_000, cache_write: 3_750_000, output: 15_000_000 };
        assert_eq!(price.rates, rates);
    }

    #[test]
    fn steps_of_a_price_are_found() {
        let price = price("gemini", None, "gemini-2.5-pro", at(IN_2025)).unwrap();
        assert_eq!((price.rates.input, price.rates.output), (1_250_000, 10_000_000));
        let [long] = price.long_context.as_slice() else { panic!("one step: {price:?}") };
        assert_eq!(long.above_input_tokens, 200_000);
        assert_eq!((long.rates.input, long.rates.output), (2_500_000, 15_000_000));
    }

    #[test]
    fn a_provider_of_any_name_is_known_by_its_address() {
        let named = price("openai", None, "gpt-4o", at(IN_2025));
        assert!(named.is_some());
        assert_eq!(price("work", Some("https://api.openai.com/v1"), "gpt-4o", at(IN_2025)), named);
        assert_eq!(price("work", Some("http://localhost:8000/v1"), "gpt-4o", at(IN_2025)), None);
        assert_eq!(price("work", None, "gpt-4o", at(IN_2025)), None);
    }

    #[test]
    fn what_is_not_listed_has_no_price() {
        assert_eq!(price("openai", None, "no-such-model", at(IN_2025)), None);
        assert_eq!(price("ollama", Some("http://localhost:11434/v1"), "qwen3", at(IN_2025)), None);
    }
}
