#!/usr/bin/env python3
"""Installs libcuzk into an empty directory and builds users' programs against it: one by
pkg-config, one by CMake's find_package.

install_test.py CMAKE BUILD_DIRECTORY TESTDATA [COMPILER_FLAG...]
The flags are what a program needs beside a library built with sanitizers.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

CMAKE, BUILD, TESTDATA = sys.argv[1], sys.argv[2], sys.argv[3]
FLAGS = sys.argv[4:]
SOURCE = pathlib.Path(__file__).parent

CMAKE_LISTS = """\
cmake_minimum_required(VERSION 3.16)
project(user C)
find_package(Threads REQUIRED)
find_package(cuzk 0.1 REQUIRED)
add_executable(user {source}/rapidsnark_test.c)
target_link_libraries(user cuzk::cuzk Threads::Threads)
"""


def run(*args, **more):
    print("+", *args, flush=True)
    return subprocess.run([str(a) for a in args], check=True, **more)


def main():
    with tempfile.TemporaryDirectory(prefix="cuzk-install-") as text:
        root = pathlib.Path(text)
        prefix = root / "usr"
        for component in ("library", "development"):
            run(CMAKE, "--install", BUILD, "--prefix", prefix, "--component", component)
        (pc,) = prefix.rglob("cuzk.pc")
        # What another prefix at install time means for the paths within.
        env = {**os.environ, "PKG_CONFIG_PATH": str(pc.parent)}
        flags = run("pkg-config", f"--define-variable=prefix={prefix}", "--cflags", "--libs", "cuzk",
                    env=env, capture_output=True, text=True).stdout.split()
        (library,) = {p.parent for p in prefix.rglob("libcuzk.so")}
        run("cc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", SOURCE / "capi_test.c", *FLAGS,
            *flags, f"-Wl,-rpath,{library}", "-pthread", "-o", root / "by-pkg-config")
        run(root / "by-pkg-config", TESTDATA)
        project = root / "project"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(CMAKE_LISTS.format(source=SOURCE))
        run(CMAKE, "-S", project, "-B", root / "build", f"-DCMAKE_PREFIX_PATH={prefix}",
            f"-DCMAKE_C_FLAGS={' '.join(FLAGS)}", stdout=subprocess.DEVNULL)
        run(CMAKE, "--build", root / "build", stdout=subprocess.DEVNULL)
        run(root / "build" / "user", TESTDATA)
        # Nothing but the C functions leaves the library.
        names = run("nm", "-D", "--defined-only", "--format=posix", library / "libcuzk.so",
                    capture_output=True, text=True).stdout.split("\n")
        foreign = [n for n in names if n and not n.startswith(("cuzk_", "groth16_"))]
        assert not foreign, foreign[:5]
        assert sum(n.startswith("groth16_") for n in names) >= 9


main()
