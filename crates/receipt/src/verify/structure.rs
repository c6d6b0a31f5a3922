//! The graph stage: events, ids, edges, order.

use std::collections::HashMap;

use super::{Event, Events, Failure};
use crate::file::{Parts, Receipt};
use crate::node::{NodeId, NodeType};
use crate::order;
use crate::verdict::Reason;

pub(super) fn check<'a>(receipt: &'a Receipt<'a>) -> Result<Events<'a>, Failure> {
    let parts = all_parts(receipt)?;
    let list = typed(&parts)?;
    check_ids(&list)?;
    let places = places(&parts)?;
    for (index, parts) in parts.iter().enumerate() {
        if let Some(missing) = parts.preds.iter().find(|pred| !places.contains_key(pred)) {
            let failure = Failure::at(Reason::DanglingPred, index, parts.id);
            return Err(failure.with("an event of this receipt", missing.to_string()));
        }
    }
    check_order(&parts)?;
    Ok(Events { list, places })
}

fn all_parts<'a>(receipt: &'a Receipt<'a>) -> Result<Vec<&'a Parts<'a>>, Failure> {
    let parts = receipt.events.iter().enumerate().map(|(index, event)| {
        event.parts.as_ref().ok_or_else(|| Failure { event_index: Some(index), ..Failure::of(Reason::BadEvent) })
    });
    parts.collect()
}

fn typed<'a>(parts: &[&'a Parts<'a>]) -> Result<Vec<Event<'a>>, Failure> {
    let typed = parts.iter().enumerate().map(|(index, parts)| {
        let node_type = NodeType::from_word(&parts.type_name).ok_or_else(|| {
            let failure = Failure::at(Reason::UnknownEventType, index, parts.id);
            failure.with("one of the nine types", parts.type_name.clone())
        })?;
        Ok(Event { node_type, parts })
    });
    typed.collect()
}

fn check_ids(list: &[Event<'_>]) -> Result<(), Failure> {
    for (index, Event { node_type, parts }) in list.iter().enumerate() {
        // What a stub was cannot be told from it.
        if parts.stub().is_some() {
            continue;
        }
        let id = NodeId::of(node_type.word(), &parts.preds, parts.body);
        if id != parts.id {
            return Err(Failure::at(Reason::BadEventId, index, parts.id).with(id.to_string(), parts.id.to_string()));
        }
    }
    Ok(())
}

fn places(parts: &[&Parts<'_>]) -> Result<HashMap<NodeId, usize>, Failure> {
    let mut places = HashMap::with_capacity(parts.len());
    for (index, parts) in parts.iter().enumerate() {
        if places.insert(parts.id, index).is_some() {
            return Err(Failure::at(Reason::DuplicateEvent, index, parts.id));
        }
    }
    Ok(places)
}

fn check_order(parts: &[&Parts<'_>]) -> Result<(), Failure> {
    let order = order::canonical(parts.iter().map(|parts| (parts.id, &parts.preds[..])));
    if order.len() < parts.len() {
        let mut out = vec![false; parts.len()];
        order.iter().for_each(|at| out[*at] = true);
        let first = out.iter().position(|out| !out).unwrap_or_default();
        return Err(Failure::at(Reason::Cycle, first, parts[first].id));
    }
    match order.iter().enumerate().find(|(index, at)| index != *at) {
        None => Ok(()),
        Some((index, at)) => {
            let failure = Failure::at(Reason::WrongOrder, index, parts[index].id);
            Err(failure.with(parts[*at].id.to_string(), parts[index].id.to_string()))
        }
    }
}
