#!/usr/bin/env python3
"""cuzk-bench against a live daemon and against a service in its own process.

bench_client_test.py CUZK TESTDATA [--prove]: with --prove only the test that makes proofs, of a
sector that it seals and under a development key that it has made.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree as xml

CUZK = pathlib.Path(sys.argv[1]).resolve()
BENCH = CUZK.parent / "cuzk-bench"
TESTDATA = pathlib.Path(sys.argv[2])
PROVE = "--prove" in sys.argv[3:]
C1 = TESTDATA / "filecoin/c1/porep_2kib_v1_1.c1.json"
INPUTS = json.loads((TESTDATA / "filecoin/c1/porep_2kib_v1_1.inputs.json").read_text())
POREP = ["-t", "porep", "--c1", C1, "--sector-num", INPUTS["sector_id"]]


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="cuzk-bench-"))
        self.addCleanup(shutil.rmtree, self.dir, True)

    def bench(self, *arguments, code=0, words=(), timeout=300, environment=None):
        clean = {k: v for k, v in os.environ.items() if k not in ("CUZK_ADDR", "CUZK_TOKEN")}
        done = subprocess.run([BENCH, *map(str, arguments)], capture_output=True, text=True, timeout=timeout,
                              env={**clean, **(environment or {})})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        for word in words:
            self.assertIn(word, done.stdout + done.stderr)
        return done

    def local(self, *arguments, **options):
        """A service without keys, in the bench's own process: every proof fails at once."""
        return self.bench(*arguments, "--local", "--params", self.dir / "params", "--cache-dir",
                          self.dir / "circuits", "--memory", "2GiB", "--threads", 1, **options)

    def daemon(self, config="", listen=None):
        """Its address: that of a unix socket, unless `listen` is another."""
        file = self.dir / "cuzk.toml"
        file.write_text(f"""
[daemon]
listen = "{listen or f'unix://{self.dir}/cuzk.sock'}"
[srs]
param_cache = "{self.dir / 'params'}"
circuit_cache = "{self.dir / 'circuits'}"
insecure_dev = true
make_dev_keys = {"true" if PROVE else "false"}
[jobs]
journal = "none"
{config}""")
        log = (self.dir / "log").open("w")
        process = subprocess.Popen([CUZK, "serve", "--config", file], stderr=log)
        self.addCleanup(log.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        for _ in range(600):
            told = re.search(r"listening for gRPC.*?address=\"?([^\s\"]+)", (self.dir / "log").read_text())
            if told:
                return told[1]
            self.assertIsNone(process.poll(), (self.dir / "log").read_text())
            time.sleep(0.1)
        self.fail("the daemon does not serve: " + (self.dir / "log").read_text())

    def picture(self, file):
        root = xml.parse(file).getroot()
        self.assertTrue(root.tag.endswith("svg"))
        return " ".join(root.itertext())


class Commands(Case):
    """Everything but a proof."""

    def test_a_daemon_is_asked(self):
        address = self.daemon()
        self.bench("-a", address, "status", words=["=== cuzk daemon status ===", "proofs completed: 0",
                                                   "GPUs:", "role admin"])
        status = json.loads(self.bench("status", "--json", "-a", address).stdout)
        self.assertEqual(status["proofs_failed"], 0)
        self.assertGreater(status["status"]["memory"]["total_bytes"], 0)
        self.assertGreater(status["status"]["process"]["resident_bytes"], 1 << 20)
        self.bench("--addr", address, "metrics", words=["cuzk_proofs_completed_total 0"])
        self.bench("-a", address, "preload", "-c", "porep-9g", code=2, words=["porep-32g"])
        self.bench("-a", address, "preload", "-c", "porep-2k", code=3, words=["PreloadSRS RPC failed"])
        self.bench("status", environment={"CUZK_ADDR": address}, words=["uptime:"])

    def test_a_failed_proof_is_told_and_counts(self):
        address = self.daemon()
        self.bench("-a", address, "single", *POREP, code=1,
                   words=["=== Proof Result ===", "status:    FAILED", "job_id:", "error:"])
        self.bench("-a", address, "single", *POREP, "--failed-is-ok", words=["status:    FAILED"])
        done = self.bench("-a", address, "batch", *POREP, "-c", 3, "-j", 2, code=1,
                          words=["=== Batch Benchmark ===", "concurrency: 2", "=== Batch Summary ===", "completed:     0",
                                 "failed:        3"])
        self.assertEqual(len(re.findall(r"^  \[\d/3\] FAILED — [\d.]+s \(prove=0 ms, queue=\d+ ms\)", done.stdout, re.M)), 3)
        document = json.loads(self.bench("-a", address, "batch", *POREP, "-c", 2, "--json", code=1).stdout)
        self.assertEqual((document["schema"], document["ok"], document["jobs"]["failed"]), ("cuzk-bench/1", False, 2))
        self.assertIn("insecure-dev", document["proofs"][0]["error"])
        status = json.loads(self.bench("status", "--json", "-a", address).stdout)
        self.assertEqual(status["proofs_failed"], 7)

    def test_stress_follows_its_seed(self):
        documents = []
        for _ in range(2):
            file = self.dir / "stress.json"
            self.local("stress", *POREP, "--rate", 40, "--duration", "1s", "--seed", 7, "--cancel", 0.2,
                       "--priorities", "critical=1", "--priorities", "normal=3", "--json-file", file, code=1,
                       words=["=== Stress Benchmark ===", "=== Stress Summary ===", "seed:        7"])
            documents.append(json.loads(file.read_text()))
        for key in ("due_ms", "cancel_asked"):
            self.assertEqual(*[[proof[key] for proof in d["proofs"]] for d in documents])
        self.assertGreater(len(documents[0]["proofs"]), 15)
        self.assertIn(True, [proof["cancel_asked"] for proof in documents[0]["proofs"]])

    def test_no_daemon_wrong_address_wrong_file(self):
        nobody = f"unix://{self.dir}/nobody.sock"
        self.bench("-a", nobody, "status", code=3, words=[nobody, "no daemon answers there"])
        self.bench("-a", "http://127.0.0.1:1", "status", code=3, words=["127.0.0.1:1", "no daemon"])
        self.bench("-a", "nowhere", "status", code=2, words=["--addr", "nowhere"])
        self.bench("-a", nobody, "single", "-t", "porep", code=2, words=["--c1 required for PoRep proof type"])
        self.bench("-a", nobody, "single", "-t", "wpost", code=2,
                   words=["--vanilla required for PoSt/SnapDeals proof types"])
        self.bench("-a", nobody, "single", "-t", "sealing", "--c1", C1, code=2,
                   words=["unknown proof type: sealing. Use: porep, snap, wpost, winning"])
        self.bench("-a", nobody, "batch", "-t", "PoRep", "--c1", self.dir / "absent", code=3, words=["absent"])
        self.bench("-a", nobody, "batch", "--input", self.dir, code=3, words=["statement.json"])
        self.bench("-a", nobody, "stress", *POREP, code=2, words=["--duration or --count"])
        self.bench("-a", nobody, "stress", "--mix", "x", "-c", 1, code=2, words=["NAME=NUMBER"])
        self.bench("sweep", *POREP, "--sweep-workers", "1,2", code=2, words=["--local"])
        self.bench("single", *POREP, "--local", "--set", "memory.totl=1", code=2, words=["memory.totl"])
        self.bench("single", *POREP, "--priority", "urgent", code=2, words=["critical"])
        # Too small a budget for the request to be read is a refusal with the size needed.
        self.bench("single", *POREP, "--local", "--memory", "1MiB", code=5, words=["MiB"])

    def test_tokens_are_shown(self):
        tokens = self.dir / "tokens"
        tokens.write_text("reader read token-of-reader-123\n")
        tokens.chmod(0o600)
        address = self.daemon(f'[auth]\ntokens_file = "{tokens}"\nunix_role = "none"\n')
        shown = self.dir / "shown"
        shown.write_text("token-of-reader-123\n")
        self.bench("-a", address, "status", code=2, words=["no role"])
        self.bench("-a", address, "--token", "token-of-reader-123", "status", words=["you are reader, role read"])
        self.bench("-a", address, "--token-file", shown, "status", words=["role read"])
        self.bench("-a", address, "--token-file", shown, "single", *POREP, code=2, words=["submit"])

    def test_tls_and_client_certificates_are_shown(self):
        def openssl(*arguments):
            subprocess.run(["openssl", *map(str, arguments)], cwd=self.dir, check=True, capture_output=True)

        def certificate(name, subject, names):
            openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr",
                    "-subj", f"/CN={subject}")
            (self.dir / "ext").write_text(f"subjectAltName={names}\n")
            openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
                    "-days", "2", "-out", f"{name}.pem", "-extfile", "ext")

        for name in ("ca", "other"):
            openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.pem",
                    "-days", "2", "-subj", f"/CN={name}")
        certificate("server", "prover-3", "DNS:prover-3")
        certificate("node", "curio-node-7", "DNS:curio-node-7")
        tokens = self.dir / "tokens"
        tokens.write_text("submitter submit token-of-submitter\n")
        tokens.chmod(0o600)
        address = self.daemon(f"""
[tls]
certificate = "{self.dir}/server.pem"
key = "{self.dir}/server.key"
client_ca = "{self.dir}/ca.pem"
client_role = "read"
[auth]
tokens_file = "{tokens}"
""", listen="127.0.0.1:0")
        trust = ["--tls-ca", self.dir / "ca.pem", "--tls-server-name", "prover-3"]
        mine = ["--tls-certificate", self.dir / "node.pem", "--tls-key", self.dir / "node.key"]
        there = ["-a", "https://" + address]
        self.bench(*there, *trust, *mine, "status", words=["you are curio-node-7, role read"])
        # The certificate's role reads; the token's may submit, and its proof fails for want of a key.
        self.bench(*there, *trust, *mine, "single", *POREP, code=2, words=["submit"])
        self.bench(*there, *trust, *mine, "--token", "token-of-submitter", "status", words=["you are submitter, role submit"])
        self.bench(*there, *trust, *mine, "single", *POREP, code=1, words=["status:    FAILED"],
                   environment={"CUZK_TOKEN": "token-of-submitter"})
        # What is missing or wrong is told, each in its way.
        self.bench(*there, *trust, "status", code=3, words=["no daemon answers there"])
        self.bench(*there, *mine, "--tls-ca", self.dir / "other.pem", "--tls-server-name", "prover-3", "status", code=3,
                   words=["no daemon answers there"])
        self.bench(*there, *mine, "--tls-ca", self.dir / "ca.pem", "status", code=3, words=["no daemon answers there"])
        self.bench("-a", "http://" + address, "status", code=3, words=["no daemon answers there"])
        self.bench(*there, *trust, "--tls-certificate", self.dir / "node.pem", "status", code=2,
                   words=["--tls-certificate and --tls-key go together"])
        self.bench(*there, *mine, "--tls-ca", self.dir / "absent.pem", "status", code=3, words=["absent.pem"])

    def test_circom_proofs_are_made_verified_and_mixed(self):
        vectors = TESTDATA / "circom/bn128"
        address = self.daemon(f"""
[circom.circuits]
cubic = "{vectors}/cubic/circuit_final.zkey"
mul = "{vectors}/mul/circuit_final.zkey"
""")
        cubic = ["-t", "circom", "--circuit", "cubic", "--wtns", vectors / "cubic/witness.wtns"]
        check = ["--verify", "--vk", vectors / "cubic/verification_key.json"]
        proof = self.dir / "proof.json"
        self.bench("-a", address, "single", *cubic, *check, "-o", proof,
                   words=["status:    COMPLETED", "bytes of JSON, public signals of", "verified:  yes, here"])
        subprocess.run([CUZK, "verify", "circom", "--vk", vectors / "cubic/verification_key.json", "--proof", proof,
                        "--public", vectors / "cubic/public.json"], check=True, capture_output=True)
        run = json.loads(self.bench("-a", address, "batch", *cubic, *check, "-c", 20, "-j", 4, "--preload",
                                    "--priority", "high", "--json").stdout)
        self.assertEqual((run["ok"], run["jobs"]["verified"], list(run["kinds"])), (True, 20, ["circom"]))
        self.assertEqual(run["verdict"]["jobs_without_spans"], 0)
        # A witness as JSON; one that is wrong; a circuit that nobody knows; a key of another circuit.
        text = (vectors / "cubic/witness.wtns").read_bytes()
        values = [str(int.from_bytes(text[i:i + 32], "little")) for i in range(76, len(text), 32)]
        (self.dir / "w.json").write_text(json.dumps(values))
        (self.dir / "wrong.json").write_text(json.dumps([*values[:-1], "12345"]))
        at = ["-a", address, "single", "-t", "circom", "--circuit"]
        self.bench(*at, "cubic", "--wtns", self.dir / "w.json", *check, words=["verified:  yes, here"])
        self.bench(*at, "cubic", "--wtns", self.dir / "wrong.json", code=1, words=["does not satisfy"])
        self.bench(*at, "nobody", "--wtns", vectors / "cubic/witness.wtns", code=3, words=["nobody"])
        self.bench(*at, "../x", "--wtns", vectors / "cubic/witness.wtns", code=2, words=["../x"])
        self.bench(*at, "cubic", code=2, words=["--circuit and --wtns required for circom"])
        self.bench(*at, "mul", "--wtns", vectors / "mul/witness.wtns", "--verify", "--vk",
                   vectors / "cubic/verification_key.json", code=1, words=["verified:"])
        self.bench(*at, "cubic", "--wtns", vectors / "cubic/witness.wtns", "--verify", code=3, words=["--vk"])
        # Folders, mixed.
        mix = []
        for name in ("cubic", "mul"):
            folder = self.dir / name
            folder.mkdir()
            (folder / "statement.json").write_text(json.dumps({"kind": "circom", "circuit": name}))
            for file in ("witness.wtns", "verification_key.json"):
                shutil.copy(vectors / name / file, folder / file)
            mix += ["--mix", f"{folder}=30"]
        run = json.loads(self.bench("-a", address, "stress", *mix, "-c", 40, "--seed", 3, "--verify", "--json").stdout)
        self.assertEqual((run["ok"], run["jobs"]["verified"]), (True, 40))
        # Without a daemon, over numbers of workers, drawn.
        svg = self.dir / "sweep.svg"
        done = self.bench("sweep", *cubic, *check, "-c", 10, "--local", "--set", f"circom.circuits.cubic={vectors}/cubic/circuit_final.zkey",
                          "--sweep-workers", "1,2", "--sweep-jobs", "1,4", "--svg", svg, words=["=== Sweep ==="])
        self.assertEqual(len(re.findall(r"^ +[12] +[14] +[\d.]+ ", done.stdout, re.M)), 4, done.stdout)
        self.assertIn("circom: workers and requests in flight", self.picture(svg))

    def test_an_interrupt_ends_the_run(self):
        process = subprocess.Popen([BENCH, *map(str, ["stress", *POREP, "--rate", 5, "--duration", "60s", "--local",
                                                      "--params", self.dir, "--cache-dir", self.dir])],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for line in process.stdout:
            if "[1/" in line:
                break
        process.send_signal(signal.SIGINT)
        out = process.communicate(timeout=60)[0]
        self.assertIn("=== Stress Summary ===", out)
        self.assertEqual(process.returncode, 5)


class Proofs(Case):
    """WinningPoSt of a sealed sector of 2 KiB, proved by a daemon that the bench watches."""

    def test_a_batch_that_is_watched_verified_and_drawn(self):
        address = self.daemon()
        inputs, document, timeline = self.dir / "winning-post", self.dir / "run.json", self.dir / "run.svg"
        self.bench("gen-vanilla", "winning-post", "-o", inputs)
        keys = ["--params", self.dir / "params", "--insecure-dev"]
        done = self.bench("-a", address, "batch", "--input", inputs, "-c", 3, "-j", 3, "--verify", *keys, "--json-file",
                          document, "--timeline-svg", timeline, timeout=900,
                          words=["verified:      3 of 3 here", "verdict:", "bounds this run", "INSECURE"])
        self.assertEqual(len(re.findall(r"^  \[\d/3\] COMPLETED — ", done.stdout, re.M)), 3)
        run = json.loads(document.read_text())
        self.assertEqual((run["ok"], run["jobs"]["verified"]), (True, 3))
        self.assertTrue(all(p["proof_bytes"] == 192 and p["prove_ms"] > 0 for p in run["proofs"]))
        memory = run["memory"]
        self.assertGreater(memory["peak_reserved_bytes"], 50 << 20)
        self.assertLessEqual(memory["peak_reserved_bytes"], memory["limit_bytes"])
        self.assertGreater(memory["peak_resident_bytes"], 50 << 20)
        verdict = run["verdict"]
        self.assertAlmostEqual(sum(verdict["shares"].values()), 1, places=6)
        self.assertGreater(verdict["shares"]["device_compute"], 0.05)
        self.assertEqual(verdict["jobs_without_spans"], 0)
        # The second's synthesis lies under the first's proof.
        self.assertGreater(verdict["synthesis_under_proving"], 0)
        text = self.picture(timeline)
        for word in ("waits for memory", "synthesis 0", "cpu 0", "finish 0", "#1 prove", "#3 prove", "sum in G2"):
            self.assertIn(word, text)

        proof = self.dir / "proof.bin"
        self.bench("-a", address, "single", "--input", inputs, "-o", proof, "--verify", *keys,
                   words=["status:    COMPLETED", "timings:   total=", "wall time:", "proof:     192 bytes (hex: ",
                          "verified:  yes, here"])
        self.assertEqual(proof.stat().st_size, 192)


if __name__ == "__main__":
    case = Proofs if PROVE else Commands
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(case)
    sys.exit(not unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful())
