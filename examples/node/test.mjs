// node test.mjs CUZK VECTORS: the module does what it says, on testdata/circom.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { CuzkError, prove, verify } from './cuzk.mjs';

const [cuzk, vectors] = process.argv.slice(2);
const json = async (path) => JSON.parse(await readFile(path, 'utf8'));

for (const curve of ['bn128', 'bls12381']) {
  const folder = join(vectors, curve, 'edge');
  const zkey = join(folder, 'circuit_final.zkey');
  const witness = await readFile(join(folder, 'witness.wtns'));
  const vk = await json(join(folder, 'verification_key.json'));

  const { proof, publicSignals } = await prove(zkey, witness, { cuzk });
  assert.deepEqual(publicSignals, await json(join(folder, 'public.json')));
  assert.equal(proof.curve, curve);
  assert.equal(await verify(vk, publicSignals, proof, { cuzk }), true);
  assert.equal(await verify(vk, ['7'], proof, { cuzk }), false);
  await assert.rejects(verify(vk, [], proof, { cuzk }), (e) => e instanceof CuzkError && e.code === 4);

  const wrong = Buffer.from(witness);
  wrong[wrong.length - 32] ^= 1;
  await assert.rejects(prove(zkey, wrong, { cuzk }), (e) => e instanceof CuzkError && e.code === 4 && e.message.includes('satisf'));
  await assert.rejects(prove(zkey, witness.subarray(0, 100), { cuzk }), (e) => e.code === 3);
  await assert.rejects(prove('/none.zkey', witness, { cuzk }), /none\.zkey/);
}
console.log('ok');
