#!/usr/bin/env python3
"""`cuzk aggregate` as a user would run it, mistakes included, on the reference's proofs.

aggregate_cli_test.py CUZK TESTDATA
"""

import json
import os
import shutil
import unittest

from cli_test import CUZK, INPUTS, TESTDATA, Cli as CliHelpers, run

GOLDEN = TESTDATA / "golden/snarkpack"
SRS = GOLDEN / "srs_generic.bin"
SYNTH = json.loads((TESTDATA / "filecoin/c1/porep_2kib_v1_1_synth.inputs.json").read_text())
UPDATE = json.loads((TESTDATA / "filecoin/update/update_2kib.inputs.json").read_text())


def sector(inputs, **changed):
    return {"sector": inputs["sector_id"], "ticket": inputs["ticket"], "seed": inputs["seed"],
            "comm_d": inputs["comm_d"], "comm_r": inputs["comm_r"], "porep_id": inputs["porep_id"],
            "registered_proof": inputs["registered_seal_proof"], **changed}


def porep(*sectors, **changed):
    return {"kind": "porep", "registered_proof": "StackedDrg2KiBV1_1", "miner": 1000,
            "sectors": list(sectors) or [sector(INPUTS), sector(SYNTH)], **changed}


def update(**changed):
    return {"kind": "update", "registered_proof": "StackedDrg2KiBV1",
            "sectors": [{k: UPDATE[k] for k in ("comm_r_old", "comm_r_new", "comm_d_new")}], **changed}


class AggregateCli(CliHelpers):
    def aggregate(self, command, *args, statement=None, vk="porep_2kib.vk", srs=SRS, dev=True):
        path = self.file("statement.json", json.dumps(statement or porep()).encode())
        return run("aggregate", command, "--statement", path, "--vk", GOLDEN / vk, "--params",
                   self.dir / "params", *(("--srs", srs) if srs else ()),
                   *(("--insecure-dev",) if dev else ()), *args)

    def verify(self, file, *args, **options):
        return self.aggregate("verify", file, *args, **options)

    def proofs(self, case, name="proofs"):
        data = bytes.fromhex("".join(json.loads((GOLDEN / f"{case}.json").read_text())["proofs"]))
        return self.file(name, data)

    def create(self, case, *args, **options):
        return self.aggregate("create", "--proof", self.proofs(case), "-o", self.dir / "agg", *args,
                              **options)

    def test_help_and_usage(self):
        self.expect(0, run("aggregate", "--help"), "create", "verify", "srs")
        self.expect(0, run("aggregate", "create", "--help"), "--statement", "--proof", "v1")
        self.expect(2, run("aggregate", "create", "-o", "x"), "--")
        self.expect(2, self.verify(GOLDEN / "porep_2of2_v2.agg.bin", "--version", "v3"), "v3")
        self.expect(7, run("aggregate", "srs", "--proofs", "2", "-o", self.dir / "srs"), "forge")

    def test_golden_aggregates_verify(self):
        for version in ("v1", "v2"):
            file = GOLDEN / f"porep_2of2_{version}.agg.bin"
            verdict = json.loads(self.expect(0, self.verify(file, "--version", version, "--json"),
                                             "INSECURE").stdout)
            self.assertEqual((verdict["valid"], verdict["sectors"], verdict["proofs"]), (True, 2, 2))
            other = {"v1": "v2", "v2": "v1"}[version]
            self.expect(1, self.verify(file, "--version", other), "INVALID", "opening")
        self.expect(0, self.verify(GOLDEN / "update_1of2_v2.agg.bin", statement=update(),
                                   vk="update_2kib.vk"), "valid")

    def test_our_aggregates_are_the_references(self):
        for version in ("v1", "v2"):
            self.expect(0, self.create("porep_2of2", "--version", version), "CUZK_TIMING", "rounds")
            self.assertEqual((self.dir / "agg").read_bytes(),
                             (GOLDEN / f"porep_2of2_{version}.agg.bin").read_bytes())
        self.expect(0, self.create("update_1of2", "--json", statement=update(), vk="update_2kib.vk"))
        self.assertEqual((self.dir / "agg").read_bytes(),
                         (GOLDEN / "update_1of2_v2.agg.bin").read_bytes())
        # One file a sector is the same as one with all.
        data = self.proofs("porep_2of2").read_bytes()
        one, two = self.file("one", data[:192]), self.file("two", data[192:])
        self.expect(0, self.aggregate("create", "--proof", one, "--proof", two, "-o", self.dir / "b"))
        self.assertEqual((self.dir / "b").read_bytes(),
                         (GOLDEN / "porep_2of2_v2.agg.bin").read_bytes())

    def test_changed_statements_are_refused(self):
        file = GOLDEN / "porep_2of2_v2.agg.bin"
        for key in ("sector", "ticket", "seed", "comm_d", "comm_r", "porep_id"):
            value = INPUTS["sector_id"] + 1 if key == "sector" else "00" * 31 + "01"
            changed = porep(sector(INPUTS, **{key: value}), sector(SYNTH))
            self.expect(1, self.verify(file, statement=changed), "INVALID", "Groth16 equation")
        self.expect(1, self.verify(file, statement=porep(miner=1001)), "INVALID")
        swapped = porep(sector(SYNTH), sector(INPUTS))
        self.expect(1, self.verify(file, statement=swapped), "INVALID")
        self.expect(1, self.verify(file, statement=porep(sector(INPUTS))), "INVALID")
        three = porep(sector(INPUTS), sector(SYNTH), sector(SYNTH))
        self.expect(4, self.verify(file, statement=three), "padded to 4")
        ni = sector(SYNTH, registered_proof="StackedDrg2KiBV1_2_Feat_NonInteractivePoRep")
        del ni["seed"]
        self.expect(4, self.verify(file, statement=porep(sector(INPUTS), ni)), "apart")
        big = sector(SYNTH, registered_proof="StackedDrg8MiBV1_1")
        self.expect(4, self.verify(file, statement=porep(sector(INPUTS), big)), "one circuit")
        # More padding than the network's.
        self.expect(4, self.verify(GOLDEN / "porep_2of4_v2.agg.bin"), "of 4 proofs")
        changed = update()
        changed["sectors"][0]["comm_d_new"] = "00" * 32
        self.expect(1, self.verify(GOLDEN / "update_1of2_v2.agg.bin", statement=changed,
                                   vk="update_2kib.vk"), "INVALID")

    def test_versions_that_updates_do_not_have(self):
        self.expect(2, self.verify(GOLDEN / "update_1of2_v1.agg.bin", "--version", "v1",
                                   statement=update(), vk="update_2kib.vk"), "v2 only")

    def test_malformed_aggregates(self):
        good = (GOLDEN / "porep_2of2_v2.agg.bin").read_bytes()
        for name, data, word in [("empty", b"", "at least"), ("cut", good[:-1], "5236"),
                                 ("long", good + b"\0", "5237"),
                                 ("count", good[:1488] + b"\x03\0\0\0" + good[1492:], "nproofs is 3"),
                                 ("flip", b"\x01" + good[1:], "com_ab.t")]:
            self.expect(3, self.verify(self.file(name, data)), str(self.dir / name), word)
        self.expect(3, self.verify(self.dir / "absent"), "absent")

    def test_malformed_statements(self):
        file = GOLDEN / "porep_2of2_v2.agg.bin"
        s = sector(INPUTS)
        for statement, word in [
            ([], "kind"), ({"kind": "post"}, "post"), (porep(sectors=[]), "none"),
            (porep(sectors=7), "array"), (porep({**s, "tickets": 1}), "tickets"),
            (porep({k: v for k, v in s.items() if k != "seed"}), "seed"),
            (porep({**s, "sector": -1}), "sector"), (porep({**s, "ticket": "00"}), "ticket"),
            (porep({**s, "comm_r": "bagbad"}), "comm_r"), (porep(s, {**s, "comm_r": "ff" * 32}), "sectors[1]"),
            (update(h=7), "h:"), ({**porep(), "miner": "x"}, "miner"),
        ]:
            path = self.file("bad.json", json.dumps(statement).encode())
            result = run("aggregate", "verify", file, "--statement", path, "--vk",
                         GOLDEN / "porep_2kib.vk", "--srs", SRS, "--insecure-dev")
            self.expect(3, result, str(path) if word != "sectors[1]" else "sectors[1]", word)
        twice = self.file("twice.json", json.dumps(porep()).replace(
            '"miner": 1000', '"miner": 1000, "miner": 1001').encode())
        self.expect(3, run("aggregate", "verify", file, "--statement", twice, "--vk",
                           GOLDEN / "porep_2kib.vk", "--srs", SRS, "--insecure-dev"), "twice")
        self.expect(2, self.verify(file, statement=porep(registered_proof="StackedDrg3KiBV1")), "3KiB")

    def test_wrong_proofs_are_named_and_nothing_is_written(self):
        data = bytearray(self.proofs("porep_2of2").read_bytes())
        # The other sector's proof in the second place.
        wrong = self.file("wrong", bytes(data[:192] * 2))
        result = self.aggregate("create", "--proof", wrong, "-o", self.dir / "agg")
        self.expect(1, result, "of 2 proofs", ": 2")
        self.assertFalse((self.dir / "agg").exists())
        few = self.file("few", bytes(data[:192]))
        self.expect(4, self.aggregate("create", "--proof", few, "-o", self.dir / "agg"), "1 proofs")
        cut = self.file("cut", bytes(data[:300]))
        self.expect(3, self.aggregate("create", "--proof", cut, "-o", self.dir / "agg"), "192")

    def test_srs_of_ones_own(self):
        # Without --insecure-dev neither a local key nor a local SRS is used.
        file = GOLDEN / "porep_2of2_v2.agg.bin"
        self.assertEqual(self.verify(file, dev=False).returncode, 7)
        self.expect(3, self.verify(file, srs=None), "no SRS")
        # Made on the first use, found on the second; it is another one than the golden.
        self.expect(0, self.create("porep_2of2", srs=None), "INSECURE")
        made = self.dir / "params/insecure-dev-inner-product.srs"
        self.assertEqual(made.stat().st_size, 16 + 4 * (2 * 48 + 2 * 96))
        self.expect(0, self.verify(self.dir / "agg", srs=None), "valid")
        self.expect(1, self.verify(self.dir / "agg"), "INVALID", "opening")
        # Too small for four; a larger one serves.
        three = porep(sector(INPUTS), sector(SYNTH), sector(SYNTH))
        data = self.proofs("porep_2of2").read_bytes()
        proofs = self.file("three", data + data[192:])
        args = ("create", "--proof", proofs, "-o", self.dir / "agg3")
        self.expect(2, self.aggregate(*args, statement=three, srs=None), "serves 2")
        larger = self.dir / "larger.srs"
        self.expect(0, run("aggregate", "srs", "--proofs", "3", "--insecure-dev", "-o", larger), "larger")
        self.expect(0, self.aggregate(*args, statement=three, srs=larger), "padded to 4")
        self.expect(0, self.verify(self.dir / "agg3", statement=three, srs=larger), "valid")
        shutil.copy(SRS, self.dir / "cut.srs")
        with open(self.dir / "cut.srs", "r+b") as f:
            f.truncate(9000)
        self.expect(3, self.verify(file, srs=self.dir / "cut.srs"), "cut.srs")


if __name__ == "__main__":
    assert os.path.exists(CUZK)
    suite = unittest.TestSuite(AggregateCli(name) for name in
                               unittest.TestLoader().getTestCaseNames(AggregateCli)
                               if name in vars(AggregateCli))
    result = unittest.TextTestRunner(verbosity=1).run(suite)
    raise SystemExit(not result.wasSuccessful())
