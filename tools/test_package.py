#!/usr/bin/env python3
"""Installs the Debian packages where nothing of cuzk ever was, and uses them as an operator does.

test_package.py DIRECTORY_WITH_DEBS [WORK_DIRECTORY]   as root; a minute or two, more the first time
test_package.py --build                                after `make package`

Ends with 77 where it cannot run: not as root, or without mmdebstrap and systemd-container.

A minimal Debian boots as a container of its own (systemd-nspawn); its only network is a loopback.
The packages are installed there by apt, the service proves, is reloaded, killed, upgraded, stopped,
removed and purged, and then nothing may be left that was not there before. The root is made by
mmdebstrap with the packages' dependencies and kept in WORK_DIRECTORY for the next time.
"""

import hashlib
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent
BUILD = sys.argv[1:2] == ["--build"]
DEBS = SOURCE / "build/package" if BUILD else pathlib.Path(sys.argv[1]).resolve()
WORK = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else DEBS / "test").resolve()
ROOT = WORK / "root"
SUITE = "bookworm"
TOOLS = ["mmdebstrap", "systemd-nspawn", "nsenter", "dpkg-deb", "curl"]
BASE = ["systemd-sysv", "man-db", "bash-completion", "adduser"]
INPUTS = "/var/tmp/inputs"
SOCKET = "/run/cuzk/cuzk.sock"


def say(text):
    print(f"-- {text}", flush=True)


def run(*command, **more):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}\nended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def until(what, condition, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.2)
    raise AssertionError(f"not within {seconds} s: {what}")


def field(deb, name):
    return run("dpkg-deb", "-f", deb, name).strip()


def the_deb(package):
    (deb,) = DEBS.glob(f"{package}_*.deb")
    return deb


def make_root():
    """A root with everything that the packages depend on, and nothing of theirs."""
    wanted = set(BASE)
    for package in ("cuzk", "libcuzk1"):
        for dependency in field(the_deb(package), "Depends").split(","):
            wanted.add(dependency.split("|")[0].split("(")[0].strip())
    wanted -= {"libcuzk1"}
    key = hashlib.sha256(" ".join(sorted(wanted)).encode()).hexdigest()[:12]
    tar = WORK / f"{SUITE}-{key}.tar"
    if not tar.exists():
        say(f"makes a minimal {SUITE} with {len(wanted)} packages")
        run("mmdebstrap", "--variant=apt", "--include=" + ",".join(sorted(wanted)),
            # Pages are tested too: the usual exclusions of containers are not wanted.
            "--quiet", SUITE, tar.with_suffix(".part.tar"))
        tar.with_suffix(".part.tar").rename(tar)
    shutil.rmtree(ROOT, ignore_errors=True)
    ROOT.mkdir(parents=True)
    run("tar", "-xf", tar, "-C", ROOT, "--exclude=./dev/*")
    (ROOT / "etc/hostname").write_text("cuzk-test\n")


class Machine:
    """The container while it runs; commands run inside it."""

    def __init__(self):
        self.log = (WORK / "console.log").open("w")
        self.nspawn = subprocess.Popen(
            ["systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--private-network", "--machine=cuzk-test",
             f"--directory={ROOT}", "--boot"], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.leader = until("the container's first process", self._leader)
        until("systemd in the container", lambda: self.state() in ("running", "degraded"), 180)

    def _leader(self):
        children = pathlib.Path(f"/proc/{self.nspawn.pid}/task/{self.nspawn.pid}/children").read_text().split()
        return children[0] if children else None

    def command(self, *words):
        return ["nsenter", "-t", self.leader, "-m", "-u", "-i", "-n", "-p", "-C", "-r", "-w", "--",
                "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive",
                "HOME=/root", *words]

    def run(self, *words):
        return run(*self.command(*words))

    def fails(self, *words):
        done = subprocess.run(self.command(*words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert done.returncode != 0, f"{words} was to fail: {done.stdout}"
        return done.returncode

    def state(self):
        done = subprocess.run(self.command("systemctl", "is-system-running"), stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
        return done.stdout.strip()

    def unit(self, *names):
        """Properties of the service, by name."""
        text = self.run("systemctl", "show", "cuzk", "-p", ",".join(names))
        return dict(line.split("=", 1) for line in text.splitlines())

    def http(self, path):
        # The container has no client: ours, in its network.
        done = subprocess.run(["nsenter", "-t", self.leader, "-n", "curl", "-s", "-m", "10", f"http://127.0.0.1:9821{path}"],
                              stdout=subprocess.PIPE, text=True)
        return done.stdout if done.returncode == 0 else None

    def end(self):
        subprocess.run(self.command("systemctl", "poweroff"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.nspawn.wait(60)
        except subprocess.TimeoutExpired:
            self.nspawn.kill()
            self.nspawn.wait()
        self.log.close()


# What package managers and systemd write about anything.
PASSING = re.compile(
    r"^/(proc|sys|dev|run|tmp|debs)(/|$)|^/var/(log|tmp|cache/(apt|debconf|man|ldconfig)|lib/(apt|dpkg|systemd|private))(/|$)"
    r"|^/etc/(passwd|group|g?shadow|sub[ug]id)-?$|^/etc/(ld\.so\.cache|\.pwd\.lock|machine-id)$|^/root/")


def files_of(machine):
    found = machine.run("find", "/", "-xdev", "-print").splitlines()
    return {path for path in found if not PASSING.search(path)}


def install(machine):
    say("installs")
    (ROOT / "debs").mkdir(exist_ok=True)
    for package in ("cuzk", "libcuzk1", "libcuzk-dev"):
        shutil.copy(the_deb(package), ROOT / f"debs/{package}.deb")
    machine.run("apt-get", "install", "-y", "-q", "/debs/cuzk.deb", "/debs/libcuzk1.deb")
    assert machine.run("dpkg", "--verify", "cuzk", "libcuzk1") == ""
    assert machine.run("systemctl", "is-enabled", "cuzk").strip() == "enabled"
    assert machine.run("stat", "-c", "%U %G %a", "/var/lib/cuzk/parameters").split() == ["cuzk", "cuzk", "755"]
    assert "/etc/cuzk/cuzk.toml" in machine.run("dpkg-query", "-W", "-f", "${Conffiles}", "cuzk")
    assert "libcuzk.so.1" in machine.run("ldconfig", "-p")
    for page in ("1 cuzk", "1 cuzk-prove", "8 cuzk-serve", "5 cuzk.toml", "1 prover"):
        assert "cuzk manual" in machine.run("man", *page.split()), page
    words = machine.run("bash", "-c", "source /usr/share/bash-completion/completions/cuzk; COMP_WORDS=(cuzk ver) "
                        "COMP_CWORD=1; _cuzk; echo ${COMPREPLY[@]}")
    assert words.split() == ["verify"], words
    for program in ("cuzk", "cuzk-bench"):
        assert machine.run(program, "--version").split()[0] == program
    machine.run("cuzk", "config", "check", "/etc/cuzk/cuzk.toml")
    machine.run("cuzk", "doctor")


def started(machine):
    unit = machine.unit("ActiveState", "SubState", "StatusText", "MainPID", "User", "NRestarts")
    assert (unit["ActiveState"], unit["SubState"], unit["User"]) == ("active", "running", "cuzk"), unit
    return unit


def serves_when_installed(machine):
    say("the service runs as installed, confined")
    started(machine)
    assert until("healthz", lambda: machine.http("/healthz")) is not None
    assert "cuzk_build_info" in machine.http("/metrics")
    assert machine.run("stat", "-c", "%U %G %a", SOCKET).split() == ["cuzk", "cuzk", "660"]
    # Another user may not, a member of the group may.
    machine.run("adduser", "--quiet", "--disabled-password", "--gecos", "", "curio")
    machine.fails("setpriv", "--reuid=curio", "--regid=curio", "--init-groups", "cuzk-bench", "status")
    machine.run("adduser", "--quiet", "curio", "cuzk")
    as_curio(machine, "cuzk-bench", "status")
    pid = started(machine)["MainPID"]
    status = machine.run("cat", f"/proc/{pid}/status")
    assert re.search(r"^CapBnd:\s+0+$", status, flags=re.M) and re.search(r"^NoNewPrivs:\s+1$", status, flags=re.M)
    assert re.search(r"^Seccomp:\s+2$", status, flags=re.M)
    # As much as the machine that this container stands on lets it have.
    locked = [machine.run("cat", f"/proc/{p}/limits").split("Max locked memory")[1].split()[1] for p in (1, pid)]
    assert locked[0] == locked[1], locked


def as_curio(machine, *words):
    return machine.run("setpriv", "--reuid=curio", "--regid=curio", "--init-groups", *words)


def proves(machine, name):
    """One WinningPoSt of a sector of 2 KiB, asked for by a client in the group."""
    as_curio(machine, "cuzk-bench", "single", "--type", "winning", "--input", INPUTS, "-o", f"/tmp/{name}")
    return machine.run("sha256sum", f"/tmp/{name}").split()[0]


def configures_and_proves(machine):
    say("a changed configuration; a proof")
    config = ROOT / "etc/cuzk/cuzk.toml"
    good = config.read_text()
    config.write_text(good.replace("[memory]", "[memry]"))
    machine.run("systemctl", "reload", "cuzk")  # a bad file changes nothing
    until("the refusal in the log", lambda: "reload failed" in machine.run("journalctl", "-u", "cuzk"))
    started(machine)
    config.write_text(good.replace("preload = []", "preload = []\ninsecure_dev = true\nmake_dev_keys = true"))
    machine.run("cuzk", "config", "check", "/etc/cuzk/cuzk.toml")
    machine.run("systemctl", "restart", "cuzk")
    as_curio(machine, "cuzk-bench", "gen-vanilla", "winning-post", "--out", INPUTS, "--no-cache")
    proves(machine, "proof")
    assert machine.run("stat", "-c", "%U", "/var/lib/cuzk/journal.sqlite").strip() == "cuzk"
    assert machine.run("ls", "/var/cache/cuzk/circuits").strip()
    completed = re.search(r'^cuzk_requests_total\{proof_kind="winning_post",result="completed"\} (\d+)',
                          machine.http("/metrics"), flags=re.M)
    assert completed and int(completed.group(1)) == 1
    text = until("the status line", lambda: (lambda t: t if "1 completed" in t else None)(
        machine.unit("StatusText")["StatusText"]), 30)
    say(f"systemd shows: {text}")


def survives(machine):
    say("killed, it comes back; with a wrong configuration it does not try for ever")
    before = started(machine)
    machine.run("systemctl", "kill", "-s", "KILL", "cuzk")
    until("another process", lambda: machine.unit("MainPID")["MainPID"] not in ("0", before["MainPID"]) and
          machine.unit("SubState")["SubState"] == "running")
    assert machine.unit("NRestarts")["NRestarts"] == "1"
    config = ROOT / "etc/cuzk/cuzk.toml"
    good = config.read_text()
    config.write_text(good.replace("[memory]", "[memry]"))
    machine.fails("systemctl", "restart", "cuzk")
    unit = machine.unit("ActiveState", "ExecMainStatus")
    assert unit == {"ActiveState": "failed", "ExecMainStatus": "2"}, unit
    time.sleep(6)
    assert machine.unit("ActiveState")["ActiveState"] == "failed"
    config.write_text(good)
    machine.run("systemctl", "reset-failed", "cuzk")
    machine.run("systemctl", "start", "cuzk")
    started(machine)


def newer_deb():
    """The same package as the next version."""
    tree = WORK / "newer"
    shutil.rmtree(tree, ignore_errors=True)
    run("dpkg-deb", "-R", the_deb("cuzk"), tree)
    control = tree / "DEBIAN/control"
    control.write_text(re.sub(r"^Version: .*", "Version: 99.0-1", control.read_text(), flags=re.M))
    example = tree / "etc/cuzk/cuzk.toml"
    example.write_text(example.read_text() + "\n# The next version's.\n")
    run("dpkg-deb", "--root-owner-group", "-b", tree, ROOT / "debs/newer.deb")


def upgrades(machine):
    say("upgrades: configuration and journal stay, the daemon is the new one")
    before = started(machine)["MainPID"]
    newer_deb()
    machine.run("apt-get", "install", "-y", "-q", "-o", "Dpkg::Options::=--force-confold", "/debs/newer.deb")
    assert machine.run("dpkg-query", "-W", "-f", "${Version}", "cuzk") == "99.0-1"
    assert "make_dev_keys = true" in (ROOT / "etc/cuzk/cuzk.toml").read_text()
    assert started(machine)["MainPID"] != before
    until("readiness", lambda: (machine.http("/readyz") or "").strip() and "ready" in machine.http("/readyz"))
    proves(machine, "proof-again")


def stops(machine):
    say("stops")
    machine.run("systemctl", "stop", "cuzk")
    unit = machine.unit("ActiveState", "Result", "ExecMainStatus")
    assert unit == {"ActiveState": "inactive", "Result": "success", "ExecMainStatus": "0"}, unit
    assert not (pathlib.Path(f"/proc/{machine.leader}/root{SOCKET}")).exists()
    with sqlite3.connect(ROOT / "var/lib/cuzk/journal.sqlite") as journal:
        proved = journal.execute("SELECT count(*) FROM runs WHERE state = 1 AND length(proof) = 192").fetchone()
    assert proved == (2,), f"answers of both versions in the journal: {proved}"
    machine.run("systemctl", "start", "cuzk")


def leaves(machine, before):
    say("removed, then purged: nothing is left but what is the operator's")
    machine.run("apt-get", "remove", "-y", "-q", "cuzk")
    assert not machine.run("systemctl", "list-units", "--no-legend", "cuzk.service").strip()
    assert (ROOT / "etc/cuzk/cuzk.toml").exists() and (ROOT / "var/lib/cuzk/journal.sqlite").exists()
    text = machine.run("apt-get", "purge", "-y", "-q", "cuzk", "libcuzk1")
    assert "parameter files remain" in text
    keys = {str(p.name) for p in (ROOT / "var/lib/cuzk/parameters").iterdir()}
    assert keys and all(name.startswith("insecure-dev-") for name in keys), keys
    shutil.rmtree(ROOT / "var/lib/cuzk")
    machine.run("deluser", "--quiet", "--remove-home", "curio")
    machine.run("systemctl", "daemon-reload")
    left = files_of(machine) - before
    assert not left, sorted(left)
    gone = before - files_of(machine)
    assert not gone, sorted(gone)


def main():
    missing = [t for t in TOOLS if not shutil.which(t)]
    if os.geteuid() != 0 or missing:
        print(f"needs root, mmdebstrap, systemd-container and curl; missing: {missing or 'root'}")
        sys.exit(77)
    if BUILD:
        subprocess.run(["make", "-C", SOURCE, "package"], check=True)
    WORK.mkdir(parents=True, exist_ok=True)
    make_root()
    machine = Machine()
    try:
        before = files_of(machine)
        install(machine)
        serves_when_installed(machine)
        configures_and_proves(machine)
        survives(machine)
        upgrades(machine)
        stops(machine)
        leaves(machine, before)
    except BaseException:
        log = subprocess.run(machine.command("journalctl", "-u", "cuzk", "--no-pager", "-n", "40"),
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        print(log.stdout, flush=True)
        raise
    finally:
        machine.end()
        shutil.rmtree(ROOT, ignore_errors=True)
    print("the packages install, serve, prove, upgrade and go", flush=True)


if __name__ == "__main__":
    main()
