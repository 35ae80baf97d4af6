// snarkjs as the judge: node snarkjs_test.js CUZK PROVER TESTDATA [MORE_VECTORS]
//
// Needs the npm package snarkjs 0.7.6: CUZK_NODE_MODULES names the folder node_modules that has it
// (npm install snarkjs@0.7.6). Without it the test says so and is skipped (exit code 77).
//
//   our proof of every vector is accepted by snarkjs, with a changed signal it is refused
//   snarkjs' proof of every vector is accepted by us
//   a development key made here: snarkjs proves with it and we accept, we prove and snarkjs accepts

const { execFileSync } = require("child_process");
const fs = require("fs");
const os = require("os");
const path = require("path");

const [cuzk, prover, testdata, more] = process.argv.slice(2);
let snarkjs;
try {
  snarkjs = require(path.join(process.env.CUZK_NODE_MODULES || "node_modules", "snarkjs"));
} catch (error) {
  console.log("skipped: snarkjs is not there; npm install snarkjs@0.7.6 and set CUZK_NODE_MODULES");
  process.exit(77);
}

const dir = fs.mkdtempSync(path.join(os.tmpdir(), "cuzk-snarkjs-"));
const file = (name) => path.join(dir, name);
const json = (name) => JSON.parse(fs.readFileSync(name));
const run = (program, args, env = {}) =>
  execFileSync(program, args, { env: { ...process.env, ...env }, stdio: "pipe" });

function check(condition, what) {
  if (!condition) throw new Error(what);
}

function vectors(root) {
  const found = [];
  for (const curve of ["bn128", "bls12381"]) {
    const folder = path.join(root, curve);
    if (!fs.existsSync(folder)) continue;
    for (const name of fs.readdirSync(folder)) {
      if (fs.existsSync(path.join(folder, name, "circuit_final.zkey"))) found.push(path.join(folder, name));
    }
  }
  return found;
}

async function judge(vk, proof, signals, what) {
  check(await snarkjs.groth16.verify(vk, signals, proof), `${what}: snarkjs refuses our proof`);
  if (signals.length === 0) return;
  const changed = [...signals];
  changed[0] = changed[0] === "7" ? "8" : "7";
  check(!(await snarkjs.groth16.verify(vk, changed, proof)), `${what}: snarkjs accepts a changed signal`);
}

function verifyHere(vk, proof, signals) {
  fs.writeFileSync(file("p.json"), JSON.stringify(proof));
  fs.writeFileSync(file("u.json"), JSON.stringify(signals));
  run(cuzk, ["verify", "circom", "--vk", vk, "--proof", file("p.json"), "--public", file("u.json"),
    "--allow-insecure-key"]);
}

async function vector(folder) {
  const vk = path.join(folder, "verification_key.json");
  const zkey = path.join(folder, "circuit_final.zkey");
  const wtns = path.join(folder, "witness.wtns");
  run(prover, [zkey, wtns, file("proof.json"), file("public.json")]);
  await judge(json(vk), json(file("proof.json")), json(file("public.json")), folder);
  const theirs = await snarkjs.groth16.prove(zkey, wtns);
  verifyHere(vk, theirs.proof, theirs.publicSignals);
}

async function developmentKey(folder) {
  const wtns = path.join(folder, "witness.wtns");
  const zkey = file("dev.zkey");
  const vk = file("dev_vk.json");
  run(cuzk, ["zkey", "dev-setup", path.join(folder, "circuit.r1cs"), "-o", zkey, "--insecure-dev", "--quiet"]);
  run(cuzk, ["zkey", "export-vk", zkey, "-o", vk]);
  const theirs = await snarkjs.groth16.prove(zkey, wtns);
  check(await snarkjs.groth16.verify(json(vk), theirs.publicSignals, theirs.proof),
    `${folder}: snarkjs' proof under our key does not hold`);
  verifyHere(vk, theirs.proof, theirs.publicSignals);
  run(prover, [zkey, wtns, file("proof.json"), file("public.json")], { CUZK_ALLOW_INSECURE_KEY: "1" });
  await judge(json(vk), json(file("proof.json")), json(file("public.json")), `${folder}, our key`);
}

(async () => {
  const all = [...vectors(path.join(testdata, "circom")), ...(more ? vectors(more) : [])];
  check(all.length > 0, "no vectors");
  for (const folder of all) {
    await vector(folder);
    await developmentKey(folder);
    console.log(`ok ${folder}`);
  }
  fs.rmSync(dir, { recursive: true });
  process.exit(0);
})().catch((error) => {
  console.error(error.stderr ? error.stderr.toString() : error);
  process.exit(1);
});
