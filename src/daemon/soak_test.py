#!/usr/bin/env python3
"""The daemon under many small jobs and many hostile peers.

soak_test.py CUZK TESTDATA KEYS [--jobs N] [--connections N] [--seed N]

  jobs         circom proofs by eight clients, some refused, some cancelled: every one is answered,
               the counters say exactly how, memory and open files stay where they were
  disk         the journal's disk is full, then has room again, then is read-only: proving goes on,
               what is not on disk is said, and what is wrong too
  connections  peers that speak garbage, half of a protocol, or nothing, on both ports, while a
               client of good manners is served
"""

import collections
import json
import os
import pathlib
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import unittest


def option(name, default):
    return int(sys.argv[sys.argv.index(name) + 1]) if name in sys.argv else default


JOBS, CONNECTIONS, SEED = option("--jobs", 10000), option("--connections", 1000), option("--seed", 1)
TESTDATA = pathlib.Path(sys.argv[2]).resolve()
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.argv[4:] = []
import daemon_test  # noqa: E402  its command line has the same three first words
import grpc  # noqa: E402

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind, flags, stream, payload=b"", length=None):
    size = len(payload) if length is None else length
    return size.to_bytes(3, "big") + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def literal(name, value):
    """A header field without compression or indexing."""
    return b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value


def request_headers(path):
    return b"".join(literal(n, v) for n, v in [
        (b":method", b"POST"), (b":scheme", b"http"), (b":path", path), (b":authority", b"x"),
        (b"content-type", b"application/grpc"), (b"te", b"trailers")])


SETTINGS = frame(4, 0, 0)
CALL = PREFACE + SETTINGS + frame(1, 4, 1, request_headers(b"/cuzk.v1.ProvingEngine/Prove"))


def message(payload, length=None):
    return b"\x00" + struct.pack(">I", len(payload) if length is None else length) + payload


def grpc_attacks(rng):
    noise = rng.randbytes(rng.randrange(1, 4096))
    return {
        "nothing": b"",
        "noise": noise,
        "http/1": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        "tls": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + noise[:500],
        "half a preface": PREFACE[:rng.randrange(1, len(PREFACE))],
        "noise after the preface": PREFACE + noise,
        "a frame of 16 MiB": PREFACE + SETTINGS + frame(0, 0, 1, b"x" * 100, length=(1 << 24) - 1),
        "a broken header block": PREFACE + SETTINGS + frame(1, 4, 1, noise[:1000]),
        "headers that do not end": PREFACE + SETTINGS + frame(1, 0, 1, b"") + frame(9, 0, 1, b"") * 200,
        "data without a stream": PREFACE + SETTINGS + frame(0, 0, 7, b"x" * 64),
        "pings": PREFACE + SETTINGS + frame(6, 0, 0, b"12345678") * 500,
        "settings": PREFACE + SETTINGS * 500,
        "streams that are reset": PREFACE + SETTINGS + b"".join(
            frame(1, 4, 2 * i + 1, request_headers(b"/cuzk.v1.ProvingEngine/GetStatus")) +
            frame(3, 0, 2 * i + 1, struct.pack(">I", 8)) for i in range(200)),
        "a call that stays open": CALL,
        "a message of 4 GiB": CALL + frame(0, 0, 1, message(b"x" * 100, length=0xFFFFFFFF)),
        "a message that is cut": CALL + frame(0, 1, 1, message(b"x" * 50, length=5000)),
        "no protobuf": CALL + frame(0, 1, 1, message(noise)),
        "an unknown method": PREFACE + SETTINGS + frame(1, 5, 1, request_headers(b"/" + b"m" * 200)),
        "a window of minus one": PREFACE + frame(4, 0, 0, struct.pack(">HI", 4, 0xFFFFFFFF)),
    }


def http_attacks(rng):
    noise = rng.randbytes(rng.randrange(1, 4096))
    return {
        "nothing": b"",
        "noise": noise,
        "half a request": b"GET /status HT",
        "a long path": b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n",
        "many headers": b"GET /status HTTP/1.1\r\n" + b"".join(b"X%d: y\r\n" % i for i in range(5000)) + b"\r\n",
        "a long header": b"GET /status HTTP/1.1\r\nX: " + b"y" * 200000 + b"\r\n\r\n",
        "a body that is promised": b"POST /status HTTP/1.1\r\nContent-Length: 99999999999999\r\n\r\nx",
        "a negative body": b"GET /status HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "chunks of 2^64": b"POST /status HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nx",
        "zero bytes": b"GET /\x00/status HTTP/1.1\r\n\r\n",
        "a path upwards": b"GET /../../../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n",
        "a bad query": b"GET /spans?after=99999999999999999999999999 HTTP/1.1\r\nHost: x\r\n\r\n",
        "pipelined": b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" * 200,
        "an open stream": b"GET /events HTTP/1.1\r\nHost: x\r\n\r\n",
        "another protocol": PREFACE + SETTINGS,
    }


class Soak(daemon_test.Case):
    def resident_bytes(self, daemon):
        status = pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1)) * 1024

    def open_files(self, daemon):
        return len(os.listdir(f"/proc/{daemon.process.pid}/fd"))

    def counted(self, client, result):
        text = client.GetMetrics().prometheus_text
        found = re.search(rf'^cuzk_requests_total{{proof_kind="circom",result="{result}"}} (\d+)$', text, re.M)
        return int(found.group(1)) if found else 0

    def test_many_small_jobs(self):
        vector = TESTDATA / "circom/bn128/edge"
        witness = (vector / "witness.wtns").read_bytes()
        # The last value is another one: the proof would not hold, and the daemon says so.
        wrong = witness[:-32] + (int.from_bytes(witness[-32:], "little") ^ 1).to_bytes(32, "little")
        daemon = self.daemon(f"""
max_results = 500
[circom.circuits]
edge = {{ zkey = "{vector / "circuit_final.zkey"}" }}
""")
        outcomes = collections.Counter()
        guard = threading.Lock()
        seen = []

        def one(client, rng, number):
            kind = rng.random()
            if kind < 0.04:
                submitted = client.circom("Submit", circuit="edge", wtns=witness, request_id=f"cancel-{number}")
                client.circom("Cancel", job_id=submitted.job_id)
                status = client.circom("Await", job_id=submitted.job_id).status
            elif kind < 0.08:
                status = client.prove_circom("edge", wtns=wrong, request_id=f"wrong-{number}").status
                self.assertEqual(status, daemon_test.FAILED)
            else:
                status = client.prove_circom("edge", wtns=witness, request_id=f"job-{number}").status
                self.assertEqual(status, daemon_test.COMPLETED)
            with guard:
                outcomes[status] += 1

        numbers = iter(range(JOBS))
        failures = []

        def work(seed):
            rng = random.Random(seed)
            client = daemon.client()
            try:
                while not failures:
                    with guard:
                        number = next(numbers, None)
                    if number is None:
                        break
                    one(client, rng, number)
                    if number % (JOBS // 10) == 0:
                        seen.append((number, self.resident_bytes(daemon), self.open_files(daemon)))
            except Exception as error:  # noqa: BLE001  told by the thread that waits
                failures.append(error)
            finally:
                client.close()

        begun = time.time()
        threads = [threading.Thread(target=work, args=(SEED * 100 + i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
        client = self.client(daemon)
        self.assertEqual(sum(outcomes.values()), JOBS)
        for status, name in ((daemon_test.COMPLETED, "completed"), (daemon_test.FAILED, "failed"),
                             (daemon_test.CANCELLED, "cancelled")):
            self.assertEqual(self.counted(client, name), outcomes[status], name)
        self.assertEqual(list(client.GetStatus().queues), [])
        seen.sort()
        for number, resident, files in seen:
            print(f"  after {number} jobs: {resident >> 20} MiB resident, {files} open files")
        print(f"  {JOBS} jobs in {time.time() - begun:.0f} s: {dict(outcomes)}")
        # The first tenth fills caches, the answers that are kept, and the spans.
        settled = [resident for number, resident, _ in seen if number >= JOBS // 5]
        self.assertLess(max(settled) - settled[0], 32 << 20)
        self.assertLess(seen[-1][2] - seen[0][2], 16)
        self.assertEqual(daemon.end(), 0)

    def test_full_and_read_only_disks(self):
        vector = TESTDATA / "circom/bn128/edge"
        witness = (vector / "witness.wtns").read_bytes()
        disk = self.dir / "disk"
        disk.mkdir()

        def mount(options):
            return subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", disk], capture_output=True).returncode

        if mount("size=1M") != 0:
            self.skipTest("no tmpfs can be mounted here (not root?): a full disk was not tried")
        self.addCleanup(subprocess.run, ["umount", "--lazy", disk], check=False)
        config = f"""
[circom.circuits]
edge = {{ zkey = "{vector / "circuit_final.zkey"}" }}
"""

        def start():
            daemon = daemon_test.Daemon(self.dir, config, journal=disk / "journal.sqlite")
            self.addCleanup(daemon.end, signal.SIGKILL)
            return daemon.started()

        def prove(daemon, count, name):
            client = daemon.client()
            on_disk = collections.Counter()
            for i in range(count):
                submitted = client.circom("Submit", circuit="edge", wtns=witness, request_id=f"{name}-{i}")
                on_disk[submitted.journaled] += 1
                answer = client.circom("Await", job_id=submitted.job_id)
                self.assertEqual(answer.status, daemon_test.COMPLETED, answer.error_message)
            client.close()
            return on_disk, json.loads(daemon.get("/status")[1])

        daemon = start()
        on_disk, status = prove(daemon, 1200, "full")
        self.assertGreater(on_disk[True], 0)
        self.assertGreater(on_disk[False], 0)
        self.assertIn("full", status["problems"][0]["message"])
        self.assertFalse(status["journal"]["writable"])
        self.assertEqual(mount("remount,size=20M"), 0)
        on_disk, status = prove(daemon, 20, "room")
        self.assertEqual((on_disk[False], status["problems"]), (0, []))
        self.assertEqual(daemon.end(), 0)
        self.assertEqual(mount("remount,ro"), 0)
        daemon = start()
        on_disk, status = prove(daemon, 20, "read-only")
        self.assertEqual(on_disk[True], 0)
        self.assertIn("can be written", status["problems"][0]["message"])
        self.assertEqual(daemon.end(), 0)

    def test_hostile_peers(self):
        daemon = self.daemon('[daemon]\nmax_message_size = "1MiB"\n', listen="127.0.0.1:0")
        http = daemon.wait_for("listening for HTTP")["address"]
        rng = random.Random(SEED)
        self.alive(daemon)
        files, resident = self.open_files(daemon), self.resident_bytes(daemon)
        held = collections.deque()
        client = self.client(daemon)
        for number in range(CONNECTIONS):
            address, attacks = (daemon.address, grpc_attacks) if rng.random() < 0.6 else (http, http_attacks)
            host, _, port = address.rpartition(":")
            name, data = rng.choice(list(attacks(rng).items()))
            peer = socket.create_connection((host, int(port)), timeout=10)
            try:
                peer.sendall(data)
                if rng.random() < 0.3:
                    peer.settimeout(0.05)
                    peer.recv(4096)
            except OSError:
                pass  # the daemon hung up first, as it may
            # Some leave at once, some stay and say nothing.
            held.append(peer)
            if len(held) > 40 or rng.random() < 0.5:
                held.popleft().close()
            if number % 100 == 0:
                self.assertIsNone(daemon.process.poll(), f"the daemon died of '{name}'")
                client.GetStatus(timeout=20)
                self.assertEqual(daemon.get("/healthz", timeout=20)[0], 200)
        for payload in (b"\xff" * 100, b"\x0a\xff\xff\xff\xff\x0f", rng.randbytes(1000)):
            with self.assertRaises(grpc.RpcError):
                send = client.channel.unary_unary("/cuzk.v1.ProvingEngine/Prove")
                send(payload, timeout=20)
        with self.assertRaises(grpc.RpcError) as caught:
            client.Prove(submit=daemon_test.wire.Submit(proof_kind=1, vanilla_proof=bytes(2 << 20)))
        self.assertEqual(caught.exception.code(), grpc.StatusCode.RESOURCE_EXHAUSTED)
        while held:
            held.pop().close()
        end = time.time() + 60
        while self.open_files(daemon) > files + 16 and time.time() < end:
            time.sleep(0.5)
        print(f"  {CONNECTIONS} connections: open files {files} -> {self.open_files(daemon)}, "
              f"resident {resident >> 20} -> {self.resident_bytes(daemon) >> 20} MiB")
        self.assertLessEqual(self.open_files(daemon), files + 16)
        self.assertLess(self.resident_bytes(daemon) - resident, 128 << 20)
        self.alive(daemon)
        self.assertEqual(client.GetStatus().total_proofs_failed, 0)
        self.assertEqual(daemon.end(), 0)
        # What a peer sent reaches the log as JSON's escapes only, also by way of gRPC's library.
        self.assertEqual([ascii(line) for line in daemon.log
                          if not line.startswith("{") or not line.rstrip("\n").isprintable()], [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=2)
