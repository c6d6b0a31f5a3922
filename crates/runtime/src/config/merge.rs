//! Laying one file's values over another's.

use toml::{Table, Value};

use super::origin::{Origin, Origins};

/// Lays `table` over `base`: tables are merged, lists of patterns and rules grow (the earlier file's
/// first), everything else is replaced.
pub(super) fn over(base: &mut Table, table: Table, origin: &Origin, origins: &mut Origins) {
    layer(base, table, "", origin, origins);
}

/// Sets one value by its dotted key.
pub(super) fn set(base: &mut Table, key: &str, value: Value, origin: &Origin, origins: &mut Origins) {
    let nested = key.rsplit('.').fold(value, |value, name| Value::Table(Table::from_iter([(name.to_owned(), value)])));
    if let Value::Table(table) = nested {
        over(base, table, origin, origins);
    }
}

/// Lists in which every file has its say.
const GROWING: [&str; 3] = ["policy.rule", "redaction.patterns", "redaction.variables"];

fn layer(base: &mut Table, table: Table, prefix: &str, origin: &Origin, origins: &mut Origins) {
    for (name, value) in table {
        let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        match (base.get_mut(&name), value) {
            (Some(Value::Table(below)), Value::Table(above)) => layer(below, above, &key, origin, origins),
            (Some(Value::Array(below)), Value::Array(above)) if GROWING.contains(&key.as_str()) => {
                below.extend(above);
                origins.set(key, origin);
            }
            (_, Value::Table(above)) => {
                let mut below = Table::new();
                layer(&mut below, above, &key, origin, origins);
                base.insert(name, Value::Table(below));
            }
            (_, value) => {
                base.insert(name, value);
                origins.set(key, origin);
            }
        }
    }
}
