#!/usr/bin/env bash
# Every mutant still applies to the tree (tools/dev/mutants shows that each is caught), says why, and there are at least 8.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
count=0
failed=0
for patch in "$root"/tests/sim/mutants/*.patch; do
  count=$((count + 1))
  if ! git -C "$root" apply --check "$patch"; then
    echo "does not apply: $patch"
    failed=1
  fi
  case $(head -c 5 "$patch") in
    diff*) echo "says not what it breaks: $patch"; failed=1 ;;
  esac
done
echo "$count mutants"
[ $count -ge 8 ] && [ $failed = 0 ]
