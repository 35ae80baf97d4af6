#!/bin/sh
# Installs the Debian packages that cuzk is built and tested with; does nothing when all are there.
set -e
build="g++ cmake ninja-build make git python3 ca-certificates
  libexpected-dev libfmt-dev libtbb-dev nlohmann-json3-dev libsimdjson-dev libcli11-dev libssl-dev libsodium-dev libsqlite3-dev
  pkg-config libgrpc++-dev protobuf-compiler-grpc libprotobuf-dev protobuf-compiler libtomlplusplus-dev
  libcpp-httplib-dev prometheus-cpp-dev"
check="libgtest-dev libgmock-dev libgmp-dev libbenchmark-dev clang clang-format clang-tidy libclang-rt-14-dev
  python3-grpcio python3-protobuf prometheus"
[ "$1" = "--build-only" ] && check=""

missing=""
for package in $build $check; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -z "$missing" ] && exit 0

echo "Installing:$missing"
root=""
if [ "$(id -u)" != 0 ]; then
  root=$(command -v sudo) || { echo "Not root and no sudo: run 'apt-get install$missing' as root first." >&2; exit 1; }
fi
$root apt-get update -q
DEBIAN_FRONTEND=noninteractive $root apt-get install -q -y --no-install-recommends $missing
