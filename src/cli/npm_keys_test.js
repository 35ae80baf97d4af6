// Keys of real ceremonies, as npm packages ship them: node npm_keys_test.js CUZK
//
// CUZK_NODE_MODULES names a folder node_modules with snarkjs (which runs the packages' witness
// generators) and any of
//   @zk-kit/semaphore-artifacts 4.13.0, @unirep/circuits 2.0.0, @rarimo/zkp-gen-iden3 2.0.0-rc.34
// A package that is not there is named and passed over; without any the test is skipped (exit 77).
//
//   every key: `zkey info` and `zkey check` succeed, `zkey export-vk` writes the package's own key
//   where inputs can be made up: the witness is checked and proved, the package's own key accepts
//   the proof here and in snarkjs, and refuses it with a changed signal

const { execFileSync } = require("child_process");
const fs = require("fs");
const os = require("os");
const path = require("path");

const [cuzk] = process.argv.slice(2);
const modules = process.env.CUZK_NODE_MODULES || "node_modules";
let snarkjs;
try {
  snarkjs = require(path.join(modules, "snarkjs"));
} catch (error) {
  console.log("skipped: snarkjs is not there; npm install snarkjs@0.7.6 and set CUZK_NODE_MODULES");
  process.exit(77);
}

const dir = fs.mkdtempSync(path.join(os.tmpdir(), "cuzk-npm-keys-"));
const file = (name) => path.join(dir, name);
const json = (name) => JSON.parse(fs.readFileSync(name));
const run = (...args) => execFileSync(cuzk, args, { stdio: "pipe" }).toString();
const zeros = (n) => Array(n).fill("0");

function check(condition, what) {
  if (!condition) throw new Error(what);
}

// The members that say what is proved; snarkjs also writes a pairing that follows from them.
function sameKey(a, b) {
  const members = ["protocol", "curve", "nPublic", "vk_alpha_1", "vk_beta_2", "vk_gamma_2", "vk_delta_2", "IC"];
  return members.every((m) => JSON.stringify(a[m]) === JSON.stringify(b[m]));
}

async function keyHolds({ zkey, vk }) {
  run("zkey", "info", zkey);
  run("zkey", "check", zkey, "--quiet");
  run("zkey", "export-vk", zkey, "-o", file("vk.json"));
  if (vk) check(sameKey(json(file("vk.json")), json(vk)), `${zkey}: another verifying key than ${vk}`);
}

async function proves({ zkey, wasm, vk, input }) {
  await snarkjs.wtns.calculate(input, wasm, file("w.wtns"));
  run("prove", "circom", "--zkey", zkey, "--wtns", file("w.wtns"), "--proof", file("p.json"),
    "--public", file("u.json"), "--quiet");
  run("verify", "circom", "--vk", vk, "--proof", file("p.json"), "--public", file("u.json"));
  const signals = json(file("u.json"));
  check(await snarkjs.groth16.verify(json(vk), signals, json(file("p.json"))), `${zkey}: snarkjs refuses our proof`);
  signals[0] = signals[0] === "7" ? "8" : "7";
  fs.writeFileSync(file("u.json"), JSON.stringify(signals));
  let refused = false;
  try {
    run("verify", "circom", "--vk", vk, "--proof", file("p.json"), "--public", file("u.json"));
  } catch (error) {
    refused = error.status === 1;
  }
  check(refused, `${zkey}: a changed signal is not refused as an invalid proof`);
}

function semaphore() {
  const root = path.join(modules, "@zk-kit", "semaphore-artifacts");
  if (!fs.existsSync(root)) return [];
  return Array.from({ length: 32 }, (_, i) => i + 1).map((depth) => ({
    zkey: path.join(root, `semaphore-${depth}.zkey`),
    wasm: path.join(root, `semaphore-${depth}.wasm`),
    vk: path.join(root, `semaphore-${depth}.json`),
    // Any secret in a tree of its own: the root is an output.
    input: {
      secret: "123456789", merkleProofLength: String(depth), merkleProofIndex: "0",
      merkleProofSiblings: Array.from({ length: depth }, (_, i) => String(1000 + i)),
      message: "42", scope: "7",
    },
  }));
}

function unirep() {
  const root = path.join(modules, "@unirep", "circuits", "zksnarkBuild");
  if (!fs.existsSync(root)) return [];
  const holder = { identity_secret: "99", attester_id: "3", chain_id: "1" };
  const user = { ...holder, epoch: "2" };
  // A state of zeros in trees of zeros, of the package's default depths.
  const tree = (name) => ({ [`${name}_tree_indices`]: zeros(17), [`${name}_tree_elements`]: zeros(17) });
  const key = { ...user, reveal_nonce: "0", nonce: "1", sig_data: "55" };
  const state = { ...key, ...tree("state"), data: zeros(6) };
  const inputs = {
    signup: user,
    epochKeyLite: key,
    epochKey: state,
    scopeNullifier: { ...state, scope: "8" },
    reputation: {
      ...state, prove_graffiti: "0", graffiti: "0", min_rep: "0", max_rep: "0", prove_min_rep: "0",
      prove_max_rep: "0", prove_zero_rep: "0",
    },
    userStateTransition: {
      ...holder, ...tree("state"), ...tree("history"), data: zeros(6), from_epoch: "1", to_epoch: "2",
      new_data: Array(3).fill(zeros(6)), epoch_tree_root: "0",
      epoch_tree_elements: Array(3).fill(zeros(17)), epoch_tree_indices: Array(3).fill(zeros(17)),
    },
  };
  return fs.readdirSync(root).filter((name) => name.endsWith(".zkey")).map((name) => {
    const stem = path.join(root, name.slice(0, -".zkey".length));
    return { zkey: `${stem}.zkey`, wasm: `${stem}.wasm`, vk: `${stem}.vkey.json`, input: inputs[path.basename(stem)] };
  });
}

function rarimo() {
  const root = path.join(modules, "@rarimo", "zkp-gen-iden3", "assets");
  if (!fs.existsSync(root)) return [];
  return fs.readdirSync(root).map((name) => path.join(root, name))
    .filter((folder) => fs.existsSync(path.join(folder, "circuit_final.zkey")))
    .map((folder) => {
      const vk = path.join(folder, "verification_key.json");
      return { zkey: path.join(folder, "circuit_final.zkey"), vk: fs.existsSync(vk) ? vk : null };
    });
}

(async () => {
  let keys = 0;
  let proofs = 0;
  for (const [name, found] of Object.entries({ semaphore: semaphore(), unirep: unirep(), rarimo: rarimo() })) {
    if (found.length === 0) console.log(`passed over: ${name}'s package is not there`);
    for (const key of found) {
      await keyHolds(key);
      ++keys;
      if (!key.input) continue;
      await proves(key);
      ++proofs;
    }
  }
  fs.rmSync(dir, { recursive: true });
  if (keys === 0) {
    console.log("skipped: none of the packages is there");
    process.exit(77);
  }
  console.log(`${keys} keys hold, ${proofs} proofs accepted by their packages' own keys`);
  process.exit(0);
})().catch((error) => {
  console.error(error.stderr ? error.stderr.toString() : error);
  process.exit(1);
});
