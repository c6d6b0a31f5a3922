//! Which events may come from outside.

use r1_protocol::data::{BeaconEvent, EventData, StokeDelegationSettle};

use super::caller::{Caller, Role};

/// Whether `caller` may have an event of this type appended as it is. What R1 itself writes, gates, phases,
/// memory and skills among it, comes into being by what it does and never by what it is told.
#[must_use]
pub fn may_append(type_name: &str, caller: &Caller) -> bool {
    match caller.role {
        Role::Operator => type_name.starts_with("external."),
        Role::Bridge => matches!(type_name, BeaconEvent::TYPE | StokeDelegationSettle::TYPE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_r1_writes_itself_comes_from_nobody_else() {
        let operator = Caller::default();
        let bridge = Caller { role: Role::Bridge, ..Caller::default() };
        assert!(may_append("external.build", &operator) && !may_append("external.build", &bridge));
        for told_by_bridges in ["beacon.event", "stoke.delegation.settle"] {
            assert!(may_append(told_by_bridges, &bridge) && !may_append(told_by_bridges, &operator));
        }
        for own in r1_protocol::registry::all().filter(|known| !known.name.starts_with("external.")) {
            let is_a_bridges = matches!(own.name, "beacon.event" | "stoke.delegation.settle");
            assert!(!may_append(own.name, &operator), "{}", own.name);
            assert_eq!(may_append(own.name, &bridge), is_a_bridges, "{}", own.name);
        }
    }
}
