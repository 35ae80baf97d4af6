// Groth16 proofs from Node: the program `cuzk` as a child process. Nothing to compile, the event
// loop stays free, and the witness goes through a pipe: it never touches the disk.
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// What cuzk said, and its exit code (README.md has the table).
export class CuzkError extends Error {
  constructor(code, message) {
    super(message);
    this.name = 'CuzkError';
    this.code = code;
  }
}

function run(cuzk, args, input, signal) {
  return new Promise((resolve, reject) => {
    const child = spawn(cuzk, args, { stdio: ['pipe', 'pipe', 'pipe'], signal });
    const out = [];
    const err = [];
    child.stdout.on('data', (chunk) => out.push(chunk));
    child.stderr.on('data', (chunk) => err.push(chunk));
    child.on('error', reject);
    child.on('close', (code) =>
      resolve({ code, out: Buffer.concat(out).toString(), err: Buffer.concat(err).toString().trim() }),
    );
    child.stdin.on('error', () => {}); // cuzk may refuse the key before it has read the witness
    child.stdin.end(input);
  });
}

async function inFolder(work) {
  const folder = await mkdtemp(join(tmpdir(), 'cuzk-'));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

// zkey: a path. witness: the bytes of a .wtns file. Gives what snarkjs' groth16.prove gives.
export function prove(zkey, witness, { cuzk = 'cuzk', allowInsecureKey = false, signal } = {}) {
  return inFolder(async (folder) => {
    const proof = join(folder, 'proof.json');
    const publicSignals = join(folder, 'public.json');
    const args = ['prove', 'circom', '--quiet', '--zkey', zkey, '--wtns', '-', '--proof', proof, '--public', publicSignals];
    if (allowInsecureKey) args.push('--allow-insecure-key');
    const { code, err } = await run(cuzk, args, witness, signal);
    if (code !== 0) throw new CuzkError(code, err);
    const read = async (path) => JSON.parse(await readFile(path, 'utf8'));
    return { proof: await read(proof), publicSignals: await read(publicSignals) };
  });
}

// Gives whether the proof holds; throws a CuzkError when the question makes no sense.
export function verify(verificationKey, publicSignals, proof, { cuzk = 'cuzk', allowInsecureKey = false } = {}) {
  return inFolder(async (folder) => {
    const args = ['verify', 'circom'];
    for (const [option, value] of [['--vk', verificationKey], ['--public', publicSignals], ['--proof', proof]]) {
      const path = join(folder, `${option.slice(2)}.json`);
      await writeFile(path, JSON.stringify(value));
      args.push(option, path);
    }
    if (allowInsecureKey) args.push('--allow-insecure-key');
    const { code, err } = await run(cuzk, args, '');
    if (code > 1) throw new CuzkError(code, err);
    return code === 0;
  });
}
