//! Receipts that someone tampered with, and signed again if they could.

use ed25519_dalek::Signer as _;
use r1_protocol::canonical;
use r1_receipt::NodeId;
use r1_receipt::key::SecretKey;
use serde_json::{Value as Json, json};
use sha2::Digest as _;

use crate::sample;

/// A receipt taken apart.
#[derive(Clone)]
pub(crate) struct Forge {
    pub(crate) events: Vec<Event>,
    pub(crate) signing_key_id: String,
    pub(crate) spec_version: String,
    /// Whether to put the events into their order before signing.
    pub(crate) sort: bool,
    /// Whether to sign the log's own node again, too.
    pub(crate) reseal: bool,
}

#[derive(Clone)]
pub(crate) struct Event {
    pub(crate) type_name: String,
    /// Places of the events that it follows.
    pub(crate) preds: Vec<usize>,
    /// Other ids that it claims to follow.
    pub(crate) foreign: Vec<String>,
    pub(crate) body: Json,
    /// An id to claim instead of the right one; stubs keep theirs.
    pub(crate) id: Option<String>,
}

impl Forge {
    pub(crate) fn open(bytes: &[u8]) -> Self {
        let receipt: Json = serde_json::from_slice(bytes).unwrap();
        let list = receipt["events"].as_array().unwrap();
        let place = |id: &Json| list.iter().position(|event| event["id"] == *id).unwrap();
        let events = list.iter().map(|event| Event {
            type_name: event["type"].as_str().unwrap().into(),
            preds: event["preds"].as_array().unwrap().iter().map(place).collect(),
            foreign: Vec::new(),
            body: event["body"].clone(),
            id: event["body"].get("stub").and(event["id"].as_str()).map(Into::into),
        });
        Self {
            events: events.collect(),
            signing_key_id: receipt["signing_key_id"].as_str().unwrap().into(),
            spec_version: "1.0".into(),
            sort: true,
            reseal: false,
        }
    }

    /// The place of the first event of a type for which `wanted` holds.
    pub(crate) fn find(&self, type_name: &str, wanted: impl Fn(&Json) -> bool) -> usize {
        self.events.iter().position(|event| event.type_name == type_name && wanted(&event.body)).unwrap()
    }

    pub(crate) fn first(&self, type_name: &str) -> usize {
        self.find(type_name, |_| true)
    }

    pub(crate) fn run_log(&mut self) -> &mut Json {
        &mut self.events.last_mut().unwrap().body
    }

    /// Takes an event out; what followed it follows what it followed.
    pub(crate) fn remove(&mut self, place: usize) {
        let gone = self.events.remove(place);
        for event in &mut self.events {
            if event.preds.contains(&place) {
                event.preds.extend(&gone.preds);
            }
            event.preds.retain(|pred| *pred != place);
            for pred in &mut event.preds {
                *pred -= usize::from(*pred > place);
            }
        }
    }

    /// Leaves out what an event says.
    pub(crate) fn stub(&mut self, place: usize, word: &str) {
        self.events[place].id = Some(self.ids()[place].clone());
        self.events[place].body = json!({ "stub": word });
    }

    pub(crate) fn ids(&self) -> Vec<String> {
        let mut ids: Vec<Option<String>> = self.events.iter().map(|event| event.id.clone()).collect();
        // An event is named when all that it follows is; what remains is on a cycle.
        for _ in 0..=self.events.len() {
            for (place, event) in self.events.iter().enumerate() {
                let preds: Option<Vec<String>> = event.preds.iter().map(|pred| ids[*pred].clone()).collect();
                if let (None, Some(mut preds)) = (&ids[place], preds) {
                    preds.extend(event.foreign.clone());
                    preds.sort();
                    preds.dedup();
                    let object = json!({ "body": event.body, "preds": preds, "type": event.type_name });
                    ids[place] = Some(format!("sha256:{}", hex(&sha2::Sha256::digest(canonical::to_vec(&object)))));
                }
            }
        }
        ids.into_iter().map(Option::unwrap_or_default).collect()
    }

    /// The receipt, signed with the key of the samples.
    pub(crate) fn sign(&self) -> Vec<u8> {
        self.sign_with(&sample::key())
    }

    pub(crate) fn sign_with(&self, key: &SecretKey) -> Vec<u8> {
        let mut forged = self.clone();
        if forged.reseal {
            forged.seal(key);
        }
        let ids = forged.ids();
        let object = |place: usize| {
            let event = &forged.events[place];
            let mut preds: Vec<_> =
                event.preds.iter().map(|pred| ids[*pred].clone()).chain(event.foreign.clone()).collect();
            preds.sort();
            preds.dedup();
            json!({ "body": event.body, "id": ids[place], "preds": preds, "type": event.type_name })
        };
        let order = if forged.sort { forged.order(&ids) } else { (0..ids.len()).collect() };
        let events: Vec<Json> = order.into_iter().map(object).collect();
        let mut receipt = json!({
            "events": events, "signing_key_id": forged.signing_key_id, "spec_version": forged.spec_version,
        });
        let message = [b"STOKE-RECEIPT-v1\0", &canonical::to_vec(&receipt)[..]].concat();
        let signature = key.signing_key().sign(&sha2::Sha256::digest(message));
        receipt["signature"] = format!("ed25519:{}", hex(&signature.to_bytes())).into();
        canonical::to_vec(&receipt)
    }

    /// The order that receipts have, found the slow way; events on a cycle come last.
    fn order(&self, ids: &[String]) -> Vec<usize> {
        let mut order: Vec<usize> = Vec::new();
        while order.len() < ids.len() {
            let open = (0..ids.len()).filter(|place| !order.contains(place));
            let ready = open.clone().filter(|place| self.events[*place].preds.iter().all(|pred| order.contains(pred)));
            let next = ready.min_by_key(|place| &ids[*place]).or_else(|| open.clone().next()).unwrap();
            order.push(next);
        }
        order
    }

    /// Seals the log's own node again, as far as what it says can be sealed.
    fn seal(&mut self, key: &SecretKey) {
        let body = self.run_log();
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        let (Ok(run_id), Ok(root), Ok(head)) =
            (text("run_id").parse(), text("root_blake3").parse(), text("head_blake3").parse())
        else {
            return;
        };
        let size = body["size"].as_u64().unwrap_or_default();
        let seal = r1_event::Statement { run_id, size, root, head }.sign(key.signing_key());
        body["seal"] = format!("ed25519:{}", hex(&seal.signature)).into();
        body["seal_key_id"] = seal.key_id.to_string().into();
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    r1_event::id::to_hex(bytes)
}

/// The forge makes the very ids that the crate makes.
#[test]
fn what_is_taken_apart_and_signed_again_is_the_same() {
    let receipt = sample::full().receipt();
    let forge = Forge::open(&receipt.bytes);
    assert!(forge.ids().iter().all(|id| id.parse::<NodeId>().is_ok()));
    assert_eq!(forge.sign(), receipt.bytes);
}
