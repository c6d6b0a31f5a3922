use jiff::Timestamp;
use r1_event::exchange::{Encoder, Format, Item};
use r1_event::payload::{Payload, RunCompleted, UserMessageAppended};
use r1_event::{Batch, Chain, SideRecord};
use r1_receipt::export::{NoteKey, tlog_proof};
use r1_receipt::key::{Entry, Scope, SecretKey, Usage};

use super::*;
use crate::source::{LogFile, open_file};

const RUN: &str = "run_01K0E8M9ZQ4T7V2W5X8Y1Z3A6B";
const NAME: &str = "example.org/r1";

fn keyring() -> Keyring {
    let receipt = Entry::new(key().public(), Scope::Agent, "agent:test", Timestamp::UNIX_EPOCH);
    let mut log = Entry::new(log_key().public(), Scope::Agent, NAME, Timestamp::UNIX_EPOCH);
    log.usage = Usage::Log;
    Keyring { entries: vec![receipt, log], ..Keyring::default() }
}

fn key() -> SecretKey {
    SecretKey::from_seed([7; 32])
}

fn log_key() -> SecretKey {
    SecretKey::from_seed([8; 32])
}

/// A sealed run of five events, read from a file that is gone by then.
fn sealed_log() -> (tempfile::TempDir, Log) {
    let mut batch = Batch::new(&Chain::new(RUN.parse().unwrap()));
    batch.push(UnixNanos(1), Payload::RunStarted(Box::default())).unwrap();
    for n in 2..5 {
        let body = UserMessageAppended { content: format!("message {n}"), ..Default::default() };
        batch.push(UnixNanos(n), Payload::UserMessageAppended(body)).unwrap();
    }
    batch.push(UnixNanos(5), Payload::RunCompleted(RunCompleted::default())).unwrap();
    let seal = batch.after().statement().unwrap().sign(key().signing_key());
    let (mut encoder, mut bytes) = (Encoder::new(Format::Cborseq), Vec::new());
    batch.records().iter().for_each(|record| encoder.item(&Item::Event(record.clone()), &mut bytes));
    encoder.item(&Item::Side(SideRecord::Seal(seal)), &mut bytes);
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().join("run.cborseq");
    std::fs::write(&path, bytes).unwrap();
    let LogFile::Logs(mut logs) = open_file(&path).unwrap() else { panic!("it is an export") };
    (directory, logs.remove(0))
}

/// How often a proof still holds although one bit of it is another.
fn accepted_flips(proof: &str) -> Vec<String> {
    let keyring = keyring();
    let good = verify(proof.as_bytes(), &keyring).unwrap();
    assert_eq!((good.size, good.key_standing), (5, KeyStanding::Counts));
    let mut accepted = Vec::new();
    for bit in 0..proof.len() * 8 {
        let mut bytes = proof.as_bytes().to_vec();
        bytes[bit / 8] ^= 1 << (bit % 8);
        if verify(&bytes, &keyring).is_ok() {
            let around = bit.div_euclid(8).saturating_sub(20)..(bit / 8 + 5).min(bytes.len());
            accepted.push(String::from_utf8_lossy(&bytes[around]).into_owned());
        }
    }
    accepted
}

#[tokio::test]
async fn log_06_no_bit_of_a_signed_proof_can_be_flipped() {
    for question in [Question::Inclusion(Seq::FIRST.next()), Question::Consistency { older: 3 }] {
        let (_directory, log) = sealed_log();
        let proof = prove(log, question, None, &keyring()).await.unwrap().to_json();
        assert_eq!(accepted_flips(&proof), Vec::<String>::new());
    }
}

#[tokio::test]
async fn log_06_no_bit_of_a_proof_for_stock_tools_can_be_flipped() {
    let (_directory, log) = sealed_log();
    let proof = prove_for_stock_tools(log, Seq::FIRST.next(), None).await.unwrap();
    let secret = log_key();
    let key = NoteKey::new(format!("{NAME}/runs/{RUN}"), &secret).unwrap();
    let checkpoint = key.checkpoint(proof.inclusion.size, proof.inclusion.root);
    assert_eq!(accepted_flips(&tlog_proof(&proof.leaf, &proof.inclusion, &checkpoint)), Vec::<String>::new());
}

#[tokio::test]
async fn a_proof_that_lost_its_payload_is_none_of_an_erased_event() {
    let (_directory, log) = sealed_log();
    let proof = prove(log, Question::Inclusion(Seq::FIRST), None, &keyring()).await.unwrap();
    let mut json: serde_json::Value = serde_json::from_str(&proof.to_json()).unwrap();
    let event = json["claim"]["inclusion"]["event"]["v2"].as_object_mut().unwrap();
    event["payload"] = serde_json::Value::Null;
    assert!(verify(json.to_string().as_bytes(), &keyring()).is_ok());
    json["claim"]["inclusion"]["event"]["v2"].as_object_mut().unwrap().remove("payload");
    assert!(matches!(verify(json.to_string().as_bytes(), &keyring()), Err(VerifyError::NotAProof(_))));
}
