#!/bin/sh
# What `make demo` shows: a real 2 KiB sector's C1 in, a verified proof out, and where the time went.
set -e
build=$1
root=$(cd "$(dirname "$0")/.." && pwd)
cuzk="$build/src/cli/cuzk"
params="$root/build/demo-params"
cache="$root/build/demo-cache"
c1="$root/testdata/filecoin/c1/code-pangolin-2kib.body.json"
proof="$root/build/demo-proof.bin"

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }

say "1. Prove: the C1 output of sector 23 of miner f01000 (2 KiB, sealed by another implementation)"
[ -e "$params" ] || echo "   (no key for the 2 KiB circuit yet: a development key is made first, 1.1 GB)"
"$cuzk" prove porep --c1 "$c1" --miner 1000 --sector 23 --params "$params" --cache-dir "$cache" --insecure-dev -o "$proof"

say "2. Verify it again, from the statement"
"$cuzk" verify porep --c1 "$c1" --miner 1000 --sector 23 --params "$params" --insecure-dev "$proof"

say "3. One changed byte"
cp "$proof" "$proof.bad"
printf '\001' | dd of="$proof.bad" bs=1 seek=100 conv=notrunc status=none
if "$cuzk" verify porep --c1 "$c1" --miner 1000 --sector 23 --params "$params" --insecure-dev "$proof.bad"; then
  echo "a changed proof was accepted: this is a bug" >&2
  exit 6
fi
rm -f "$proof.bad"
say "Done: $proof"
