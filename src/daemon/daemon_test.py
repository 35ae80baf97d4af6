#!/usr/bin/env python3
"""Drives the daemon from outside, as Curio and as operators do.

daemon_test.py CUZK TESTDATA KEYS [--prove]: with --prove the tests that prove a real sector; the
development key is made in the folder KEYS where it is missing, and kept there.

The client is independent of the daemon's own protocol files: its messages are declared here from
what is known of Curio's wire, compiled by protoc for Python, and sent by grpc's generic calls.
"""

import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

import grpc

CUZK, TESTDATA, KEYS = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(sys.argv[3]).resolve()
PROVE = "--prove" in sys.argv[4:]
C1 = TESTDATA / "filecoin/c1/porep_2kib_v1_1.c1.json"
INPUTS = json.loads((TESTDATA / "filecoin/c1/porep_2kib_v1_1.inputs.json").read_text())

WIRE = """
syntax = "proto3";
package cuzk.v1;
message Submit {
  string request_id = 1; int32 proof_kind = 2; uint64 sector_size = 3; uint64 registered_proof = 4;
  int32 priority = 5; bytes vanilla_proof = 10; repeated bytes vanilla_proofs = 11;
  uint64 sector_number = 20; uint64 miner_id = 21; bytes randomness = 22;
  uint32 partition_index = 23; bytes comm_r_old = 30; bytes comm_r_new = 31; bytes comm_d_new = 32;
}
message Submitted { string job_id = 1; uint32 queue_position = 2; string assigned_gpu = 3; }
message Await { string job_id = 1; uint64 timeout_ms = 2; }
message Answer {
  string job_id = 1; int32 status = 2; bytes proof = 3; string error_message = 4;
  uint64 queue_wait_ms = 10; uint64 srs_load_ms = 11; uint64 synthesis_ms = 12;
  uint64 gpu_compute_ms = 13; uint64 total_ms = 14;
}
message Prove { Submit submit = 1; }
message Proved { Answer result = 1; }
message JobId { string job_id = 1; }
message Cancelled { bool was_running = 1; }
message Empty {}
message Gpu {
  uint32 ordinal = 1; string name = 2; uint64 vram_total_bytes = 3; uint64 vram_free_bytes = 4;
  string current_job_id = 5; string current_proof_kind = 6;
}
message Srs { string circuit_id = 1; int32 tier = 2; uint64 size_bytes = 3; uint32 ref_count = 4; }
message Queue { string proof_kind = 1; uint32 pending = 2; uint32 in_progress = 3; }
message Status {
  repeated Gpu gpus = 1; repeated Srs loaded_srs = 2; repeated Queue queues = 3;
  uint64 total_proofs_completed = 4; uint64 total_proofs_failed = 5; uint64 uptime_seconds = 6;
  uint64 pinned_memory_bytes = 7; uint64 pinned_memory_limit_bytes = 8;
}
message CircuitId { string circuit_id = 1; }
message Preloaded { bool already_loaded = 1; uint64 load_time_ms = 2; }
message Evicted { bool was_loaded = 1; uint64 freed_bytes = 2; }
message Metrics { string prometheus_text = 1; }
message HealthRequest { string service = 1; }
message HealthAnswer { int32 status = 1; }
message Watch { string job_id = 1; }
message Event {
  uint64 sequence = 1; int64 at_us = 2; string type = 3; string job_id = 4; string state = 10;
}
message ServerInfo {
  string version = 1; bool ready = 2; bool draining = 3; uint64 max_message_bytes = 4;
  string caller = 10; string role = 11;
}
message Job { string job_id = 1; string proof_kind = 3; string state = 6; string circuit = 8; }
"""
CIRCOM_WIRE = """
syntax = "proto3";
package cuzk.circom.v1;
message SubmitRequest {
  string request_id = 1; string circuit = 2;
  oneof witness { bytes wtns = 3; string witness_json = 4; }
  int32 priority = 5; optional int64 deadline_unix_ms = 6;
}
message ProveRequest { SubmitRequest submit = 1; }
message Submitted {
  string job_id = 1; uint64 queue_position = 2; bool attached = 3; bool already_done = 4; bool journaled = 5;
}
message AwaitRequest { string job_id = 1; uint64 timeout_ms = 2; }
message Answer {
  string job_id = 1; int32 status = 2; string proof_json = 3; string public_json = 4; string error_message = 5;
  bool insecure_key = 6;
}
message JobId { string job_id = 1; }
message Cancelled { bool was_running = 1; }
message Circuit {
  string id = 1; string curve = 2; uint32 num_public = 3; uint32 num_wires = 4; uint32 num_constraints = 5;
  uint32 domain_size = 6; uint64 file_bytes = 7; uint64 resident_bytes = 8; uint64 prove_bytes = 9;
  string key_digest = 10; bool insecure = 11; string insecure_reason = 12; bool checks_constraints = 13;
  bool loaded = 14; bool preload = 15; string origin = 16; string zkey = 17; string problem = 18;
}
message Empty {}
message Circuits { repeated Circuit circuits = 1; string directory = 2; }
message KeyRequest { string circuit = 1; }
message Key { string verification_key_json = 1; }
message Register {
  string id = 1; string zkey = 2; string r1cs = 3; string sym = 4; bool allow_insecure_key = 5; bool preload = 6;
}
message Unregister { string id = 1; }
message Unregistered { bool was_registered = 1; }
"""
COMPLETED, FAILED, CANCELLED, TIMEOUT = 1, 2, 3, 4
POREP, SNAP, WPOST, WINNING = 1, 2, 3, 4


def compile_wire():
    folder = tempfile.mkdtemp(prefix="cuzk-wire-")
    try:
        (pathlib.Path(folder) / "curio_wire.proto").write_text(WIRE)
        (pathlib.Path(folder) / "circom_wire.proto").write_text(CIRCOM_WIRE)
        subprocess.run(["protoc", f"-I{folder}", f"--python_out={folder}", "curio_wire.proto", "circom_wire.proto"],
                       check=True)
        sys.path.insert(0, folder)
        import circom_wire_pb2
        import curio_wire_pb2
        return curio_wire_pb2, circom_wire_pb2
    finally:
        shutil.rmtree(folder)


wire, circom_wire = compile_wire()


class Client:
    CALLS = {"SubmitProof": ("Submit", "Submitted"), "AwaitProof": ("Await", "Answer"),
             "Prove": ("Prove", "Proved"), "CancelProof": ("JobId", "Cancelled"),
             "GetStatus": ("Empty", "Status"), "GetMetrics": ("Empty", "Metrics"),
             "PreloadSRS": ("CircuitId", "Preloaded"), "EvictSRS": ("CircuitId", "Evicted")}

    def __init__(self, address, credentials=None, token=None, options=()):
        # A daemon that was started anew listens on the path of the one before: without a pool of its
        # own a channel would inherit the connection that just broke.
        options = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1),
                   ("grpc.use_local_subchannel_pool", 1), *options]
        self.channel = (grpc.secure_channel(address, credentials, options) if credentials
                        else grpc.insecure_channel(address, options))
        self.metadata = [("authorization", "Bearer " + token)] if token else None

    def call(self, path, request, answer, timeout=60, metadata=None, messages=None):
        send = self.channel.unary_unary(path, request_serializer=lambda m: m.SerializeToString(),
                                        response_deserializer=getattr(messages or wire, answer).FromString)
        return send(request, timeout=timeout, metadata=metadata or self.metadata)

    def __getattr__(self, name):
        if name not in self.CALLS:
            raise AttributeError(name)
        request, answer = self.CALLS[name]

        def rpc(message=None, timeout=60, metadata=None, **fields):
            message = message if message is not None else getattr(wire, request)(**fields)
            return self.call("/cuzk.v1.ProvingEngine/" + name, message, answer, timeout, metadata)
        return rpc

    def operations(self, name, request, answer, timeout=60):
        return self.call("/cuzk.operations.v1.Operations/" + name, request, answer, timeout)

    CIRCOM = {"Prove": ("ProveRequest", "Answer"), "Submit": ("SubmitRequest", "Submitted"),
              "Await": ("AwaitRequest", "Answer"), "Cancel": ("JobId", "Cancelled"),
              "ListCircuits": ("Empty", "Circuits"), "GetVerificationKey": ("KeyRequest", "Key"),
              "RegisterCircuit": ("Register", "Circuit"), "UnregisterCircuit": ("Unregister", "Unregistered")}

    def circom(self, name, timeout=60, **fields):
        request, answer = self.CIRCOM[name]
        return self.call("/cuzk.circom.v1.CircomProving/" + name, getattr(circom_wire, request)(**fields), answer,
                         timeout, messages=circom_wire)

    def prove_circom(self, circuit, timeout=60, **fields):
        submit = circom_wire.SubmitRequest(circuit=circuit, **fields)
        return self.circom("Prove", timeout, submit=submit)

    def health(self, service="", timeout=10):
        return self.call("/grpc.health.v1.Health/Check", wire.HealthRequest(service=service),
                         "HealthAnswer", timeout).status

    def watch(self, job_id="", timeout=60):
        send = self.channel.unary_stream("/cuzk.operations.v1.Operations/Watch",
                                         request_serializer=lambda m: m.SerializeToString(),
                                         response_deserializer=wire.Event.FromString)
        return send(wire.Watch(job_id=job_id), timeout=timeout, metadata=self.metadata)

    def close(self):
        self.channel.close()


class Daemon:
    """One daemon with a folder of its own."""

    def __init__(self, folder, config="", arguments=None, listen=None, environment=None, journal=None):
        self.folder = pathlib.Path(folder)
        self.config = self.folder / "cuzk.toml"
        self.config.write_text(f"""
[srs]
param_cache = "{KEYS if PROVE else self.folder / 'params'}"
circuit_cache = "{self.folder / 'circuits'}"
insecure_dev = true
{"make_dev_keys = true" if PROVE else ""}
[jobs]
journal = "{journal or self.folder / 'journal.sqlite'}"
{config}
""")
        self.listen = listen or f"unix://{self.folder}/cuzk.sock"
        arguments = arguments or ["serve", "--config", self.config, "--listen", self.listen,
                                  "--status-listen", "127.0.0.1:0", "--log-format", "json"]
        self.process = subprocess.Popen([CUZK, *map(str, arguments)], stderr=subprocess.PIPE, text=True,
                                        errors="surrogateescape",
                                        env={**os.environ, **(environment or {})})
        self.log = []
        self.news = threading.Condition()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stderr:
            with self.news:
                self.log.append(line)
                self.news.notify_all()

    def lines(self):
        with self.news:
            return [json.loads(line) for line in self.log if line.startswith("{")]

    def wait_for(self, message, timeout=60):
        end = time.time() + timeout
        while time.time() < end:
            for line in self.lines():
                if line["message"] == message:
                    return line
            if self.process.poll() is not None:
                break
            with self.news:
                self.news.wait(0.2)
        raise AssertionError(f"the log does not say '{message}': " + "".join(self.log))

    def started(self):
        self.address = self.wait_for("listening for gRPC")["address"]
        if self.address.startswith("unix://"):
            self.address = "unix:" + self.address[7:]
        return self

    def client(self, **options):
        return Client(self.address, **options)

    def get(self, path, timeout=10):
        url = "http://" + self.wait_for("listening for HTTP")["address"] + path
        try:
            with urllib.request.urlopen(url, timeout=timeout) as answer:
                return answer.status, answer.read().decode(), answer.headers
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(), error.headers

    def end(self, number=signal.SIGTERM, timeout=60):
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(timeout)
        finally:
            self.process.kill()
            self.process.wait()
            self.reader.join()
            self.process.stderr.close()


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="cuzk-daemon-"))
        self.addCleanup(shutil.rmtree, self.dir, True)

    def daemon(self, config="", **options):
        daemon = Daemon(self.dir, config, **options)
        self.addCleanup(daemon.end, signal.SIGKILL)
        return daemon.started()

    def client(self, daemon, **options):
        client = daemon.client(**options)
        self.addCleanup(client.close)
        return client

    def refused(self, code, words, call):
        with self.assertRaises(grpc.RpcError) as caught:
            call()
        self.assertEqual(caught.exception.code(), code, caught.exception.details())
        for word in words.split("|"):
            self.assertIn(word, caught.exception.details())

    def alive(self, daemon):
        self.assertIsNone(daemon.process.poll(), "".join(daemon.log))
        client = daemon.client()
        client.GetStatus(timeout=20)
        client.close()


class Wire(Case):
    """Everything but a proof: one daemon without parameters."""

    def test_calls_of_an_idle_daemon(self):
        daemon = self.daemon()
        client = self.client(daemon)
        status = client.GetStatus()
        self.assertEqual([gpu.name for gpu in status.gpus], ["cpu"])
        self.assertEqual(list(status.queues), [])
        self.assertEqual(status.total_proofs_completed, 0)
        self.assertFalse(client.CancelProof(job_id="nobody").was_running)
        self.assertIn("cuzk_proofs_completed_total 0", client.GetMetrics().prometheus_text)
        code = grpc.StatusCode
        self.refused(code.NOT_FOUND, "job not found: nobody", lambda: client.AwaitProof(job_id="nobody"))
        self.refused(code.INVALID_ARGUMENT, "missing submit field", lambda: client.Prove())
        for kind in (0, 5, -1):  # 5 is circom's, which Curio's wire does not have
            submit = wire.Submit(proof_kind=kind)
            self.refused(code.INVALID_ARGUMENT, f"invalid proof_kind: {kind}",
                         lambda: client.Prove(submit=submit))
            self.refused(code.INVALID_ARGUMENT, f"invalid proof_kind: {kind}",
                         lambda: client.SubmitProof(submit))
        self.refused(code.INVALID_ARGUMENT, "porep-9g|porep-32g",
                     lambda: client.PreloadSRS(circuit_id="porep-9g"))
        self.refused(code.NOT_FOUND, "", lambda: client.PreloadSRS(circuit_id="porep-32g"))
        self.assertFalse(client.EvictSRS(circuit_id="porep-2k").was_loaded)
        self.refused(code.UNIMPLEMENTED, "", lambda: client.call(
            "/cuzk.v1.ProvingEngine/Nothing", wire.Empty(), "Empty"))

    def test_a_bad_payload_is_an_answer_not_a_transport_error(self):
        daemon = self.daemon()
        client = self.client(daemon)
        for kind, fields in [(POREP, dict(vanilla_proof=b"hello")), (POREP, {}),
                             (SNAP, dict(vanilla_proofs=[b"x"], registered_proof=3)),
                             (WPOST, dict(registered_proof=13)),
                             (WINNING, dict(vanilla_proofs=[b"\xff" * 99], registered_proof=3))]:
            submit = wire.Submit(request_id=f"bad-{kind}-{len(fields)}", proof_kind=kind, **fields)
            result = client.Prove(submit=submit).result
            self.assertEqual(result.status, FAILED)
            self.assertEqual(result.job_id, submit.request_id)
            self.assertEqual(result.proof, b"")
            self.assertNotEqual(result.error_message, "")
            again = client.AwaitProof(job_id=submit.request_id, timeout_ms=10000)
            self.assertEqual(again.error_message, result.error_message)
        self.assertEqual(client.GetStatus().total_proofs_failed, 5)
        finished = [line for line in daemon.lines() if line["message"] == "failed"]
        self.assertEqual(len(finished), 5, finished)
        self.assertTrue(all(line["error"] for line in finished))

    def test_an_id_is_made_where_none_is_given(self):
        client = self.client(self.daemon())
        submitted = client.SubmitProof(wire.Submit(proof_kind=POREP, vanilla_proof=b"x"))
        self.assertNotEqual(submitted.job_id, "")
        self.assertEqual(client.AwaitProof(job_id=submitted.job_id).status, FAILED)

    def test_socket_health_and_operations(self):
        daemon = self.daemon()
        mode = os.stat(self.dir / "cuzk.sock")
        self.assertTrue(stat.S_ISSOCK(mode.st_mode))
        self.assertEqual(stat.S_IMODE(mode.st_mode), 0o660)
        client = self.client(daemon)
        daemon.wait_for("ready")
        for service in ("", "cuzk.v1.ProvingEngine", "cuzk.operations.v1.Operations", "cuzk.circom.v1.CircomProving"):
            self.assertEqual(client.health(service), 1)
        info = client.operations("GetServerInfo", wire.Empty(), "ServerInfo")
        self.assertEqual((info.role, info.caller, info.ready), ("admin", "unix", True))
        self.assertEqual(info.max_message_bytes, 256 << 20)
        events = client.watch()
        seen = []
        reader = threading.Thread(target=lambda: [seen.append(e) or (e.type == "finished" and events.cancel())
                                                  for e in iterate(events)])
        reader.start()
        time.sleep(0.5)
        client.Prove(submit=wire.Submit(request_id="watched [1 2]", proof_kind=POREP, vanilla_proof=b"x"))
        reader.join(20)
        self.assertEqual([seen[0].type, seen[-1].type, seen[-1].state], ["accepted", "finished", "failed"])
        self.assertEqual({e.job_id for e in seen}, {"watched [1 2]"})
        job = client.operations("GetJob", wire.JobId(job_id="watched [1 2]"), "Job")
        self.assertEqual(job.state, "failed")

        client.operations("Drain", wire.Empty(), "Empty")
        daemon.wait_for("not ready")
        self.assertEqual(client.health(), 2)
        self.refused(grpc.StatusCode.UNAVAILABLE, "", lambda: client.Prove(
            submit=wire.Submit(proof_kind=POREP, vanilla_proof=b"x")))
        client.operations("Undrain", wire.Empty(), "Empty")
        self.assertEqual(client.Prove(submit=wire.Submit(proof_kind=POREP, vanilla_proof=b"x")).result.status, FAILED)

    def test_reflection_names_the_services(self):
        client = self.client(self.daemon())
        # ServerReflectionRequest{list_services: ""} is field 7; the answer holds the names as text.
        send = client.channel.stream_stream("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")
        answer = next(send(iter([b"\x3a\x00"]), timeout=10))
        for name in (b"cuzk.v1.ProvingEngine", b"cuzk.operations.v1.Operations", b"grpc.health.v1.Health"):
            self.assertIn(name, answer)

    def test_http_pages(self):
        daemon = self.daemon()
        daemon.wait_for("ready")
        self.client(daemon).Prove(submit=wire.Submit(request_id="a\"<b>", proof_kind=POREP, vanilla_proof=b"x"))
        for path, kind, part in [("/", "text/html", "<canvas"), ("/metrics", "text/plain", "cuzk_build_info{"),
                                 ("/healthz", "text/plain", "ok"), ("/readyz", "text/plain", "ready"),
                                 ("/status", "application/json", '"uptime_secs"'),
                                 ("/status?x=1", "application/json", '"uptime_secs"'),
                                 ("/spans", "application/json", '"now_us"'),
                                 ("/trace.json", "application/json", "traceEvents")]:
            code, text, headers = daemon.get(path)
            self.assertEqual(code, 200, path)
            self.assertIn(part, text)
            self.assertIn(kind, headers["Content-Type"])
            self.assertIsNone(headers["Access-Control-Allow-Origin"])
        status = json.loads(daemon.get("/status")[1])
        self.assertEqual(status["recent"][0]["job_id"], "a\"<b>")
        self.assertEqual(status["counters"]["failed_by_kind"]["porep-c2"], 1)
        json.loads(daemon.get("/trace.json")[1])
        self.assertEqual(daemon.get("/nothing")[:2], (404, "404 Not Found\n"))
        self.assertEqual(daemon.get("/spans?after=x")[0], 400)
        spans = json.loads(daemon.get("/spans")[1])
        self.assertEqual(spans["spans"][-1]["sequence"], spans["last"])
        later = json.loads(daemon.get(f"/spans?after={spans['last']}")[1])
        self.assertTrue(all(s["sequence"] > spans["last"] for s in later["spans"]))
        if shutil.which("promtool"):
            checked = subprocess.run(["promtool", "check", "metrics"], input=daemon.get("/metrics")[1],
                                     capture_output=True, text=True)
            self.assertEqual((checked.returncode, checked.stderr), (0, ""))

    def test_http_events_arrive(self):
        daemon = self.daemon()
        address = daemon.wait_for("listening for HTTP")["address"]
        with urllib.request.urlopen(f"http://{address}/events", timeout=20) as stream:
            self.assertIn("text/event-stream", stream.headers["Content-Type"])
            time.sleep(0.5)
            self.client(daemon).Prove(submit=wire.Submit(request_id="seen", proof_kind=POREP, vanilla_proof=b"x"))
            for line in stream:
                if line.startswith(b"data:") and b'"finished"' in line:
                    self.assertEqual(json.loads(line[5:])["job_id"], "seen")
                    break

    def test_message_limit_is_told(self):
        daemon = self.daemon('[daemon]\nmax_message_size = "1MiB"')
        client = self.client(daemon)
        self.refused(grpc.StatusCode.RESOURCE_EXHAUSTED, "1048576", lambda: client.Prove(
            submit=wire.Submit(proof_kind=POREP, vanilla_proof=b"x" * (1 << 20))))
        fits = wire.Submit(proof_kind=POREP, vanilla_proof=b"x" * ((1 << 20) - 100))
        self.assertEqual(client.Prove(submit=fits).result.status, FAILED)

    def test_128_mib_are_taken(self):
        client = self.client(self.daemon())
        submit = wire.Submit(proof_kind=POREP, vanilla_proof=b" " * (128 << 20))
        self.assertEqual(client.Prove(submit=submit, timeout=120).result.status, FAILED)

    def test_hostile_connections(self):
        daemon = self.daemon()
        address = daemon.wait_for("listening for HTTP")["address"].split(":")
        junk = [b"", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01" + os.urandom(300), os.urandom(4000),
                b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + os.urandom(2000),
                b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff\xff\xff\x00\x00\x00\x00\x00\x00"]
        idle = []
        for i in range(300):
            to_http = i % 3 == 0
            peer = socket.socket(socket.AF_INET if to_http else socket.AF_UNIX)
            peer.settimeout(5)
            try:
                peer.connect((address[0], int(address[1])) if to_http else str(self.dir / "cuzk.sock"))
                peer.sendall(junk[i % len(junk)])
            except OSError:
                pass
            if i % 2:
                peer.close()
            else:
                idle.append(peer)
        self.alive(daemon)
        for peer in idle:
            peer.close()
        for path in ("/" + "x" * 100000, "/status?" + "a=b&" * 20000):
            try:
                self.assertIn(daemon.get(path)[0], (400, 414, 404))
            except (OSError, ValueError):
                pass
        self.alive(daemon)
        self.assertEqual(daemon.get("/healthz")[0], 200)

    def test_truncated_and_wrong_messages(self):
        daemon = self.daemon()
        client = self.client(daemon)
        for data in (b"\x0a", b"\x0a\xff\xff\xff\xff\x0f", b"\x08" * 50, b"\x0a\x03\x0a\x01\xff"):
            send = client.channel.unary_unary("/cuzk.v1.ProvingEngine/Prove")
            with self.assertRaises(grpc.RpcError):
                send(data, timeout=10)
        self.alive(daemon)

    def test_a_second_daemon_does_not_take_the_socket(self):
        daemon = self.daemon()
        other = self.dir / "other"
        other.mkdir()
        second = Daemon(other, listen=daemon.listen)
        self.assertEqual(second.process.wait(30), 3)
        second.end()
        self.assertIn("another process listens", "".join(second.log))
        self.alive(daemon)


def iterate(stream):
    try:
        yield from stream
    except grpc.RpcError:
        pass


class Circom(Case):
    """Circuits of both curves over the wire; what comes back is judged by the program's verifier, and by
    snarkjs where CUZK_NODE_MODULES names a folder that has it."""

    VECTORS = TESTDATA / "circom"

    def setUp(self):
        super().setUp()
        self.keys = self.dir / "keys"
        self.keys.mkdir()

    def config(self, more=""):
        return f"""
[circom]
directory = "{self.keys}"
{more}
[circom.circuits]
cubic = {{ zkey = "{self.VECTORS}/bn128/cubic/circuit_final.zkey", r1cs = "{self.VECTORS}/bn128/cubic/circuit.r1cs" }}
edge = {{ zkey = "{self.VECTORS}/bls12381/edge/circuit_final.zkey", preload = true }}
"""

    def witness(self, name):
        return (self.VECTORS / name / "witness.wtns").read_bytes()

    def witness_json(self, name):
        data = self.witness(name)
        values = data[-32 * ((len(data) - 76) // 32):]
        return json.dumps([str(int.from_bytes(values[i:i + 32], "little")) for i in range(0, len(values), 32)])

    def verify(self, name, answer):
        self.assertEqual((answer.status, answer.error_message), (COMPLETED, ""))
        (self.dir / "proof.json").write_text(answer.proof_json)
        (self.dir / "public.json").write_text(answer.public_json)
        vk = self.VECTORS / name / "verification_key.json"
        subprocess.run([CUZK, "verify", "circom", "--vk", vk, "--public", self.dir / "public.json",
                        "--proof", self.dir / "proof.json"], check=True, capture_output=True)
        self.assertEqual(answer.public_json, (self.VECTORS / name / "public.json").read_text())
        modules = os.environ.get("CUZK_NODE_MODULES")
        if not modules:
            return
        result = subprocess.run(["node", pathlib.Path(modules) / "snarkjs/build/cli.cjs", "groth16", "verify", vk,
                                 self.dir / "public.json", self.dir / "proof.json"], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("OK", result.stdout)

    def test_both_curves_and_either_form_of_a_witness(self):
        daemon = self.daemon(self.config())
        client = self.client(daemon)
        for circuit, name in (("cubic", "bn128/cubic"), ("edge", "bls12381/edge")):
            answer = client.prove_circom(circuit, wtns=self.witness(name), request_id=circuit)
            self.verify(name, answer)
            self.verify(name, client.prove_circom(circuit, witness_json=self.witness_json(name)))
            again = client.prove_circom(circuit, wtns=self.witness(name), request_id=circuit)
            self.assertEqual(again.proof_json, answer.proof_json)
            # Curio's calls and the operators' know the job too.
            proof = client.AwaitProof(job_id=circuit)
            self.assertEqual((proof.status, proof.proof.decode()), (COMPLETED, answer.proof_json))
            job = client.operations("GetJob", wire.JobId(job_id=circuit), "Job")
            self.assertEqual((job.proof_kind, job.state, job.circuit), ("circom", "completed", f"circom {circuit}"))
            key = client.circom("GetVerificationKey", circuit=circuit).verification_key_json
            self.assertEqual(key, (self.VECTORS / name / "verification_key.json").read_text())
        submitted = client.circom("Submit", circuit="cubic", wtns=self.witness("bn128/cubic"), priority=4,
                                  deadline_unix_ms=1)
        self.assertTrue(submitted.journaled)
        self.verify("bn128/cubic", client.circom("Await", job_id=submitted.job_id))
        self.assertFalse(client.circom("Cancel", job_id=submitted.job_id).was_running)
        self.refused(grpc.StatusCode.NOT_FOUND, "nobody", lambda: client.circom("Await", job_id="nobody"))
        status = json.loads(daemon.get("/status")[1])
        self.assertEqual([(c["id"], c["completed"], c["loaded"]) for c in status["circom"]],
                         [("cubic", 3, True), ("edge", 2, True)])
        metrics = daemon.get("/metrics")[1]
        self.assertIn('cuzk_circom_proofs_completed_total{circuit="cubic"} 3\n', metrics)
        self.assertIn('cuzk_requests_total{proof_kind="circom",result="completed"} 5\n', metrics)
        line = [line for line in daemon.lines() if line["message"] == "completed"][0]
        self.assertEqual((line["kind"], line["name"]), ("circom", "cubic"))

    def test_what_is_wrong_is_told(self):
        daemon = self.daemon(self.config())
        client = self.client(daemon)
        good = self.witness("bn128/cubic")
        wrong = good[:-32] + bytes([good[-32] ^ 1]) + good[-31:]
        for witness, word in ((wrong, "constraint"), (self.witness("bn128/edge"), "values"),
                              (self.witness("bls12381/cubic"), "bls12-381"), (b"garbage", "wtns")):
            answer = client.prove_circom("cubic", wtns=witness)
            self.assertEqual((answer.status, answer.proof_json), (FAILED, ""))
            self.assertIn(word, answer.error_message)
        code = grpc.StatusCode
        self.refused(code.NOT_FOUND, "absent", lambda: client.prove_circom("absent", wtns=good))
        self.refused(code.INVALID_ARGUMENT, "letters", lambda: client.prove_circom("../x", wtns=good))
        self.refused(code.INVALID_ARGUMENT, "witness_json", lambda: client.prove_circom("cubic"))
        small = self.daemon_in("small", self.config() + '[memory]\ntotal_budget = "128KiB"\n')
        self.refused(code.RESOURCE_EXHAUSTED, "needs|the budget is",
                     lambda: self.client(small).prove_circom("cubic", wtns=good))

    def daemon_in(self, name, config):
        folder = self.dir / name
        folder.mkdir()
        daemon = Daemon(folder, config)
        self.addCleanup(daemon.end, signal.SIGKILL)
        return daemon.started()

    def test_circuits_come_and_go(self):
        daemon = self.daemon(self.config())
        client = self.client(daemon)
        code = grpc.StatusCode
        for path in ("/etc/passwd", "../secret.zkey", str(self.VECTORS / "bn128/mul/circuit_final.zkey")):
            self.refused(code.INVALID_ARGUMENT, "not inside", lambda: client.circom("RegisterCircuit", id="mul",
                                                                                    zkey=path))
        self.refused(code.NOT_FOUND, "mul.zkey", lambda: client.circom("RegisterCircuit", id="mul"))
        shutil.copy(self.VECTORS / "bn128/mul/circuit_final.zkey", self.keys / "mul.zkey")
        registered = client.circom("RegisterCircuit", id="mul")
        self.assertEqual((registered.curve, registered.loaded, registered.insecure), ("bn128", True, False))
        self.assertGreater(registered.num_constraints, 0)
        self.verify("bn128/mul", client.prove_circom("mul", wtns=self.witness("bn128/mul")))
        self.assertTrue(client.circom("UnregisterCircuit", id="mul").was_registered)
        self.assertEqual([c.id for c in client.circom("ListCircuits").circuits], ["cubic", "edge"])
        # By its name it is found again.
        self.verify("bn128/mul", client.prove_circom("mul", wtns=self.witness("bn128/mul")))
        listed = {c.id: c.origin for c in client.circom("ListCircuits").circuits}
        self.assertEqual(listed, {"cubic": "configuration", "edge": "configuration", "mul": "directory"})

        text = daemon.config.read_text()
        daemon.config.write_text(text.replace("edge = {", "renamed = {"))
        daemon.process.send_signal(signal.SIGHUP)
        daemon.wait_for("circuit registered")
        deadline = time.time() + 20
        while "renamed" not in (ids := [c.id for c in client.circom("ListCircuits").circuits]):
            self.assertLess(time.time(), deadline)
            time.sleep(0.1)
        self.assertEqual(ids, ["cubic", "mul", "renamed"])

    def test_only_an_admin_registers(self):
        tokens = self.dir / "tokens"
        tokens.write_text("client submit token-of-client-123\nreader read token-of-reader-123\n")
        tokens.chmod(0o600)
        daemon = self.daemon(self.config() + f'[auth]\ntokens_file = "{tokens}"\n', listen="127.0.0.1:0")
        client = self.client(daemon, token="token-of-client-123")
        self.verify("bn128/cubic", client.prove_circom("cubic", wtns=self.witness("bn128/cubic")))
        for call in (lambda: client.circom("RegisterCircuit", id="x"), lambda: client.circom("UnregisterCircuit", id="x")):
            self.refused(grpc.StatusCode.PERMISSION_DENIED, "admin", call)
        reader = self.client(daemon, token="token-of-reader-123")
        self.assertEqual(len(reader.circom("ListCircuits").circuits), 2)
        self.refused(grpc.StatusCode.PERMISSION_DENIED, "submit",
                     lambda: reader.prove_circom("cubic", wtns=self.witness("bn128/cubic")))
        self.refused(grpc.StatusCode.UNAUTHENTICATED, "token", lambda: self.client(daemon).circom("ListCircuits"))

    def test_answers_survive_kill_9_and_no_witness_does(self):
        daemon = self.daemon(self.config())
        client = self.client(daemon)
        witness = self.witness("bn128/cubic")
        answer = client.prove_circom("cubic", wtns=witness, request_id="kept")
        daemon.end(signal.SIGKILL)
        files = [f.read_bytes() for f in self.dir.iterdir() if f.name.startswith("journal")]
        self.assertTrue(files)
        self.assertFalse(any(witness[-32:] in data for data in files))
        client = self.client(self.daemon(self.config()))
        again = client.prove_circom("cubic", wtns=witness, request_id="kept")
        self.assertEqual((again.proof_json, again.public_json), (answer.proof_json, answer.public_json))
        self.assertEqual(client.GetStatus().total_proofs_completed, 0)


class Program(Case):
    """Flags, configuration, signals, access."""

    def run_cuzk(self, *arguments, code=0, words=()):
        result = subprocess.run([CUZK, *map(str, arguments)], capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        for word in words:
            self.assertIn(word, result.stdout + result.stderr)
        return result

    def test_config_check_and_show(self):
        good = self.dir / "good.toml"
        good.write_text('[daemon]\nlisten = "0.0.0.0:9820"\n[pipeline]\nslot_size = 3\n')
        self.run_cuzk("config", "check", good, words=["good", "pipeline.slot_size", "warning"])
        shown = self.run_cuzk("config", "show", good, words=['listen = "0.0.0.0:9820"  # file'])
        again = self.dir / "again.toml"
        again.write_text(shown.stdout)
        self.run_cuzk("config", "check", again, words=["0 warnings"])
        bad = self.dir / "bad.toml"
        bad.write_text('[daemon]\nlisen = "0.0.0.0:9820"\n')
        self.run_cuzk("config", "check", bad, code=2, words=["bad.toml:2", "daemon.listen"])
        bad.write_text("[daemon\n")
        self.run_cuzk("config", "check", bad, code=3, words=["bad.toml:1"])
        self.run_cuzk("serve", "--config", bad, code=3, words=["bad.toml:1"])
        self.run_cuzk("serve", "--config", self.dir / "absent.toml", code=3, words=["absent.toml"])
        self.run_cuzk("serve", "--listen", "nowhere", code=2, words=["daemon.listen"])
        self.run_cuzk("--config", good, "doctor", code=2, words=["serve"])

    def test_drop_in_command_line(self):
        listen = f"unix://{self.dir}/drop-in.sock"
        daemon = self.daemon(arguments=["--config", self.dir / "cuzk.toml", "--listen", listen, "--log-level", "debug"],
                             environment={"CUZK_LOGGING_FORMAT": "json"})
        self.alive(daemon)
        self.assertEqual(daemon.end(), 0)
        self.assertFalse((self.dir / "drop-in.sock").exists())

    def test_sigterm_drains_sighup_reloads(self):
        tokens = self.dir / "tokens"
        tokens.write_text("reader read token-of-reader-123\n")
        tokens.chmod(0o600)
        daemon = self.daemon(f'[auth]\ntokens_file = "{tokens}"\n', listen="127.0.0.1:0")
        self.refused(grpc.StatusCode.UNAUTHENTICATED, "token", lambda: self.client(daemon).GetStatus())
        reader = self.client(daemon, token="token-of-reader-123")
        reader.GetStatus()
        self.refused(grpc.StatusCode.PERMISSION_DENIED, "submit|reader", lambda: reader.Prove(
            submit=wire.Submit(proof_kind=POREP)))
        self.refused(grpc.StatusCode.PERMISSION_DENIED, "admin", lambda: reader.EvictSRS(circuit_id="porep-2k"))
        self.refused(grpc.StatusCode.UNAUTHENTICATED, "not known",
                     lambda: self.client(daemon, token="token-of-nobody-123").GetStatus())

        tokens.write_text("other admin token-of-other-1234\n")
        text = daemon.config.read_text()
        daemon.config.write_text(text + '[logging]\nlevel = "debug"\n[cpu]\nworkers = 2\n')
        daemon.process.send_signal(signal.SIGHUP)
        daemon.wait_for("reloaded")
        self.assertEqual(daemon.wait_for("changed, but needs a restart")["key"], "cpu.workers")
        self.refused(grpc.StatusCode.UNAUTHENTICATED, "not known", lambda: reader.GetStatus())
        self.client(daemon, token="token-of-other-1234").GetStatus()
        daemon.config.write_text(text + "nonsense")
        daemon.process.send_signal(signal.SIGHUP)
        daemon.wait_for("reload failed, everything stays as it was")
        self.client(daemon, token="token-of-other-1234").GetStatus()
        self.assertEqual(daemon.end(signal.SIGTERM), 0)
        self.assertEqual(daemon.lines()[-1]["message"], "ends")

    def test_tls_and_client_certificates(self):
        def openssl(*arguments):
            subprocess.run(["openssl", *map(str, arguments)], cwd=self.dir, check=True, capture_output=True)

        def certificate(name, subject, extra=()):
            openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr",
                    "-subj", f"/CN={subject}")
            (self.dir / "ext").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
            openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
                    "-days", "2", "-out", f"{name}.pem", "-extfile", "ext")

        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2",
                "-subj", "/CN=test CA")
        certificate("server", "localhost")
        certificate("node", "curio-node-7")
        read = lambda name: (self.dir / name).read_bytes()
        daemon = self.daemon(f"""
[tls]
certificate = "{self.dir}/server.pem"
key = "{self.dir}/server.key"
client_ca = "{self.dir}/ca.pem"
client_role = "read"
""", listen="127.0.0.1:0")
        mutual = grpc.ssl_channel_credentials(read("ca.pem"), read("node.key"), read("node.pem"))
        client = self.client(daemon, credentials=mutual)
        info = client.operations("GetServerInfo", wire.Empty(), "ServerInfo")
        self.assertEqual((info.caller, info.role), ("curio-node-7", "read"))
        self.refused(grpc.StatusCode.PERMISSION_DENIED, "submit", lambda: client.Prove(
            submit=wire.Submit(proof_kind=POREP)))
        for credentials in (None, grpc.ssl_channel_credentials(read("ca.pem"))):
            stranger = self.client(daemon, credentials=credentials)
            self.refused(grpc.StatusCode.UNAVAILABLE, "", lambda: stranger.GetStatus(timeout=10))

        # New certificates come with a reload; wrong ones change nothing.
        address = tuple(daemon.address.split(":"))
        shown = lambda: ssl.PEM_cert_to_DER_cert(ssl.get_server_certificate(address))
        before = shown()
        self.assertEqual(before, ssl.PEM_cert_to_DER_cert(read("server.pem").decode()))
        certificate("renewed", "localhost")
        shutil.copy(self.dir / "renewed.pem", self.dir / "server.pem")
        daemon.process.send_signal(signal.SIGHUP)
        self.assertIn("not the key", daemon.wait_for("the certificates stay as they were")["reason"])
        self.assertEqual(shown(), before)
        shutil.copy(self.dir / "renewed.key", self.dir / "server.key")
        daemon.process.send_signal(signal.SIGHUP)
        daemon.wait_for("certificates changed")
        deadline = time.time() + 20
        while shown() == before:
            self.assertLess(time.time(), deadline)
            time.sleep(0.3)
        self.assertEqual(shown(), ssl.PEM_cert_to_DER_cert(read("renewed.pem").decode()))
        client.GetStatus()
        renewed = self.client(daemon, credentials=grpc.ssl_channel_credentials(
            read("ca.pem"), read("node.key"), read("node.pem")))
        self.assertEqual(renewed.operations("GetServerInfo", wire.Empty(), "ServerInfo").caller, "curio-node-7")

    def test_systemd_is_told(self):
        path = self.dir / "notify"
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        listener.bind(str(path))
        listener.settimeout(20)
        daemon = self.daemon(environment={"NOTIFY_SOCKET": str(path), "WATCHDOG_USEC": "1000000"})
        told = ""
        while "WATCHDOG=1" not in told or "STATUS=" not in told:
            told += listener.recv(4096).decode() + "\n"
        self.assertTrue(told.startswith("READY=1\n"), told)
        daemon.process.send_signal(signal.SIGTERM)
        while "STOPPING=1" not in told:
            told += listener.recv(4096).decode() + "\n"
        self.assertEqual(daemon.end(), 0)
        listener.close()


class Proofs(Case):
    """A real sector of 2 KiB, proved once; what surrounds that proof happens while it runs."""

    def submit(self, request_id, **fields):
        envelope = json.dumps({"SectorNum": INPUTS["sector_id"], "SectorSize": 2048,
                               "Phase1Out": __import__("base64").b64encode(C1.read_bytes()).decode()}).encode()
        return wire.Submit(request_id=request_id, proof_kind=POREP, sector_size=2048, vanilla_proof=envelope,
                           registered_proof=5, sector_number=INPUTS["sector_id"], miner_id=1000, **fields)

    def test_a_sector_over_the_wire(self):
        daemon = self.daemon()
        client = self.client(daemon)
        request_id = f"porep-1000-{INPUTS['sector_id']}"
        submit = self.submit(request_id)
        answers = []
        proving = threading.Thread(target=lambda: answers.append(client.Prove(submit=submit, timeout=900).result))
        proving.start()
        self.until(lambda: [q for q in client.GetStatus().queues if q.proof_kind == "porep-c2"])
        # The same request again attaches; its client is killed, which ends nothing.
        impatient = daemon.client()
        self.refused(grpc.StatusCode.DEADLINE_EXCEEDED, "", lambda: impatient.Prove(submit=submit, timeout=1))
        impatient.close()
        self.assertEqual(client.AwaitProof(job_id=request_id, timeout_ms=50).status, TIMEOUT)
        self.until(lambda: client.GetStatus().gpus[0].current_job_id == request_id)
        queue = client.GetStatus().queues[0]
        self.assertEqual((queue.pending, queue.in_progress), (0, 1))
        status = json.loads(daemon.get("/status")[1])
        self.assertEqual(status["pipelines"][0]["job_id"], request_id)
        self.assertEqual(status["pipelines"][0]["partitions"][0]["state"], "gpu")
        self.assertGreater(status["memory"]["used_bytes"], 1 << 28)

        # Cancelled in the queue, behind the one that runs.
        self.assertEqual(client.SubmitProof(self.submit("other", partition_index=9)).job_id, "other")
        self.assertTrue(client.CancelProof(job_id="other").was_running)
        self.assertEqual(client.AwaitProof(job_id="other", timeout_ms=60000).status, CANCELLED)
        self.assertFalse(client.CancelProof(job_id="other").was_running)

        proving.join()
        proof = answers[0]
        self.assertEqual((proof.status, proof.job_id, proof.error_message), (COMPLETED, request_id, ""))
        self.assertEqual(len(proof.proof), 192)
        self.assertGreater(proof.gpu_compute_ms, 0)
        self.assertGreaterEqual(proof.total_ms, proof.gpu_compute_ms)
        self.verify(proof.proof)

        self.again_after_a_restart(daemon, client, submit, proof)

    def again_after_a_restart(self, daemon, client, submit, proof):
        again = client.Prove(submit=submit).result
        self.assertEqual(again.proof, proof.proof)
        self.assertEqual(client.GetStatus().total_proofs_completed, 1)
        loaded = [s for s in client.GetStatus().loaded_srs if s.circuit_id == "porep-2k"]
        self.assertEqual([(s.tier, s.ref_count) for s in loaded], [(0, 0)])
        evicted = client.EvictSRS(circuit_id="porep-2k")
        self.assertTrue(evicted.was_loaded)
        self.assertGreater(evicted.freed_bytes, 1 << 28)
        self.assertFalse(client.CancelProof(job_id=submit.request_id).was_running)
        text = client.GetMetrics().prometheus_text
        self.assertIn('cuzk_proofs_completed{proof_kind="porep_c2"} 1\n', text)
        line = [line for line in daemon.lines() if line["message"] == "completed"][0]
        self.assertEqual((line["job"], line["kind"]), (submit.request_id, "porep-c2"))
        self.assertEqual(daemon.end(signal.SIGTERM), 0)
        self.assertFalse(any(INPUTS["replica_id"] in line for line in daemon.log if "replica_id" in INPUTS))

        client = self.client(self.daemon())
        self.assertEqual(client.Prove(submit=submit).result.proof, proof.proof)
        self.assertEqual(client.AwaitProof(job_id=submit.request_id).proof, proof.proof)
        self.assertEqual(client.GetStatus().total_proofs_completed, 0)

    def until(self, condition, timeout=600):
        end = time.time() + timeout
        while not condition():
            self.assertLess(time.time(), end, "in vain")
            time.sleep(0.05)

    def verify(self, proof):
        file = self.dir / "proof.bin"
        file.write_bytes(proof)
        subprocess.run([CUZK, "verify", "porep", "--c1", C1, "--params", KEYS, "--insecure-dev", file], check=True,
                       capture_output=True)


if __name__ == "__main__":
    cases = [Proofs] if PROVE else [Wire, Program, Circom]
    suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromTestCase(case) for case in cases)
    sys.exit(not unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful())
