// Checks what `r1 receipt create --export bundle` writes with Sigstore's own verifier.
//
//     node check_bundle.mjs MODULES DIRECTORY
//
// MODULES is a node_modules directory with @sigstore/bundle, @sigstore/protobuf-specs and @sigstore/verify.
// The bundle must hold as it is, and no byte of what is signed or proved may be changed.

import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const [modules, directory] = process.argv.slice(2);
const require = createRequire(join(resolve(modules), 'x.js'));
const { bundleFromJSON } = require('@sigstore/bundle');
const { TrustedRoot } = require('@sigstore/protobuf-specs');
const { Verifier, toSignedEntity, toTrustMaterial } = require('@sigstore/verify');

const read = (name) => readFileSync(join(directory, name), 'utf8');
const bundle = JSON.parse(read(readdirSync(directory).find((name) => name.endsWith('.sigstore.json'))));
const root = JSON.parse(read('trusted_root.json'));
const pem = read('attest.pem').replace(/-----[A-Z ]+-----|\s/g, '');
const hint = bundle.verificationMaterial.publicKey.hint;

function verify(bundle, root) {
  const keys = { [hint]: { rawBytes: Buffer.from(pem, 'base64') } };
  const trust = toTrustMaterial(TrustedRoot.fromJSON(root), keys);
  // Nobody but the log says when: there is no timestamp to ask for.
  const verifier = new Verifier(trust, { timestampThreshold: 0, ctlogThreshold: 0, tlogThreshold: 1 });
  verifier.verify(toSignedEntity(bundleFromJSON(bundle)));
}

// The same value with one bit of the base64 text at `path` changed.
function damaged(value, path) {
  const copy = structuredClone(value);
  let place = copy;
  for (const key of path.slice(0, -1)) place = place[key];
  const last = path.at(-1);
  const bytes = Buffer.from(place[last], 'base64');
  bytes[bytes.length >> 1] ^= 1;
  place[last] = bytes.toString('base64');
  return copy;
}

function refuses(what, bundle, root) {
  try {
    verify(bundle, root);
  } catch {
    return;
  }
  console.error(`${what} was changed, and nobody noticed`);
  process.exit(1);
}

verify(bundle, root);
const entry = ['verificationMaterial', 'tlogEntries', 0];
for (const path of [
  ['dsseEnvelope', 'payload'],
  ['dsseEnvelope', 'signatures', 0, 'sig'],
  [...entry, 'canonicalizedBody'],
  ...bundle.verificationMaterial.tlogEntries[0].inclusionProof.hashes.map((_, at) => [...entry, 'inclusionProof', 'hashes', at]),
]) {
  refuses(path.join('.'), damaged(bundle, path), root);
}
const note = structuredClone(bundle);
const proof = note.verificationMaterial.tlogEntries[0].inclusionProof;
proof.checkpoint.envelope = proof.checkpoint.envelope.replace(/\n(\d+)\n/, (_, size) => `\n${Number(size) + 1}\n`);
refuses('checkpoint', note, root);
refuses('the log key', bundle, damaged(root, ['tlogs', 0, 'publicKey', 'rawBytes']));
console.log('the bundle holds, and no changed byte does');
