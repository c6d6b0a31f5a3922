# Everyday targets; `just` alone lists them. The checks themselves live in ./test.

_list:
    @just --list

# What to run before a commit
quick:
    ./test --quick

# Everything that must hold
test:
    ./test

# Put the code into its form
fmt:
    cargo fmt --all

# One crate's tests: just crate event
crate name *arguments:
    cargo nextest run -p r1-{{name}} {{arguments}}

# All benchmarks, with the table they print
bench:
    cargo bench --workspace --bench '*'

# Fuzz one target, ten minutes unless told: just fuzz cbor 60
fuzz target seconds="600":
    mkdir -p fuzz/corpus/{{target}}
    cargo +nightly fuzz run {{target}} fuzz/corpus/{{target}} crates/event/tests/fixtures/v2 -- -max_total_time={{seconds}} -max_len=8192

# Write generated files anew
generate:
    cargo run --quiet -p r1-protocol --example generate
    python3 tools/conformance.py

# The demonstration
demo:
    cargo run --release -- demo
