//! The standards that receipts rest on: RFC 8785 and RFC 8032, by their own examples.

use ed25519_dalek::Signer as _;
use r1_protocol::canonical;
use r1_receipt::json::Value;
use r1_receipt::key::{KnownKey, SecretKey};
use r1_receipt::{Options, verify};

use crate::forge::{Forge, hex};
use crate::sample::{full, key, known};
use crate::vectors;

fn unhex(digits: &str) -> Vec<u8> {
    r1_event::id::from_hex(digits).unwrap()
}

/// RFC 8785 §3.2.2 to §3.2.4 and its appendix B.
#[test]
fn stoke_10_json_from_outside_is_spelled_as_rfc_8785_spells_it() {
    let example = r#"{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],
        "string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}"#;
    let value: serde_json::Value = serde_json::from_str(example).unwrap();
    let expected = r#"{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}"#;
    assert_eq!(String::from_utf8(canonical::to_vec(&value)).unwrap(), expected);
    for (bits, expected) in [
        (0x0000_0000_0000_0001_u64, "5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x4141_4141_4141_4141, "2261634.5098039214"),
    ] {
        let value = serde_json::json!(f64::from_bits(bits));
        assert_eq!(String::from_utf8(canonical::to_vec(&value)).unwrap(), expected, "{bits:x}");
    }
}

/// RFC 8785 §3.2.3: the order of keys.
#[test]
fn stoke_10_a_receipts_own_keys_are_sorted_as_rfc_8785_sorts_them() {
    let sorted = "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\
                  \"€\":\"Euro Sign\",\"\u{1f600}\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}";
    assert_eq!(Value::read(sorted).unwrap().to_text(), sorted);
}

/// RFC 8032 §7.1: tests 1, 2 and 3.
#[test]
fn stoke_10_signatures_are_those_of_rfc_8032() {
    let vectors = [
        (
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
        ),
        (
            "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            "72",
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
        ),
        (
            "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            "af82",
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
        ),
    ];
    for (seed, message, signature) in vectors {
        let key = SecretKey::from_seed(unhex(seed).try_into().unwrap());
        assert_eq!(hex(&key.signing_key().sign(&unhex(message)).to_bytes()), signature);
    }
}

/// The published cases of "Taming the many EdDSAs" (Chalkias, Garillot, Nikolaenko 2020), of which a strict
/// verifier accepts none but the ordinary: keys of small order, keys and R in other spellings, S too large.
#[test]
fn stoke_10_no_key_of_the_edge_case_set_is_taken() {
    let small_or_other = [
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        // Beside that set: y = 3 and y = 4, spelled as p + 3 and p + 4. Their points are of no small order.
        "f0ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "f1ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0000000000000000000000000000000000000000000000000000000000000080",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000080",
    ];
    for public in small_or_other {
        let keys = [KnownKey::bare(unhex(public).try_into().unwrap())];
        let mut forge = Forge::open(&full().receipt().bytes);
        forge.signing_key_id = keys[0].kid().to_string();
        let report = verify(&forge.sign(), &Options { keys: &keys, ..Options::default() });
        assert_eq!(report.verdict().to_string(), "INVALID weak_key", "{public}");
    }
}

#[test]
fn stoke_10_a_signature_with_another_s_or_r_is_no_signature() {
    let bytes = full().receipt().bytes;
    let text = String::from_utf8(bytes.clone()).unwrap();
    let at = text.find("\"signature\":\"ed25519:").unwrap() + "\"signature\":\"ed25519:".len();
    let signature: [u8; 64] = unhex(&text[at..at + 128]).try_into().unwrap();
    let with = |signature: [u8; 64]| {
        let forged = format!("{}{}{}", &text[..at], hex(&signature), &text[at + 128..]);
        verify(forged.as_bytes(), &Options { keys: &known(), ..Options::default() }).verdict().to_string()
    };
    assert_eq!(with(signature), "VALID");
    // S + L is the same number modulo the order, and must be refused.
    let order = unhex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");
    let mut large = signature;
    let mut carry = 0;
    for (byte, add) in large[32..].iter_mut().zip(&order) {
        let sum = u16::from(*byte) + u16::from(*add) + carry;
        (*byte, carry) = (u8::try_from(sum & 0xff).unwrap(), sum >> 8);
    }
    assert_eq!((carry, with(large)), (0, "INVALID signature_mismatch".into()));
    for small in [
        "0100000000000000000000000000000000000000000000000000000000000000",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    ] {
        let mut zero = [0; 64];
        zero[..32].copy_from_slice(&unhex(small));
        assert_eq!(with(zero), "INVALID signature_mismatch", "R of small order");
    }
    assert_eq!(key().kid().to_string(), "kid:kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
}

/// The key's holder can choose R = 1 and S = H(R, A, M)·a: the equation holds, and R is of small order.
#[test]
fn stoke_10_a_signature_that_holds_with_an_r_of_small_order_is_refused() {
    let text = String::from_utf8(vectors::A.to_vec()).unwrap();
    let at = text.find("\"signature\":\"ed25519:").unwrap() + "\"signature\":\"ed25519:".len();
    let signature = "0100000000000000000000000000000000000000000000000000000000000000\
                     603069baa3a0ecccc8b5d4957faca56090b2d63b28d26f87488ceb5d5db3ff09";
    let forged = format!("{}{signature}{}", &text[..at], &text[at + 128..]);
    let options = Options { keys: &known(), integrity_only: true, ..Options::default() };
    assert_eq!(verify(text.as_bytes(), &options).verdict().to_string(), "VALID");
    assert_eq!(verify(forged.as_bytes(), &options).verdict().to_string(), "INVALID signature_mismatch");
}
