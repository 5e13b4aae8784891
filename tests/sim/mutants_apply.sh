#!/usr/bin/env bash
# Every mutant, of simulation and of crash enumeration, still applies to the tree (tools/dev/mutants shows that each is
# caught), says why, and there are at least 40 of the first and 6 of the second.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
failed=0
sim=("$root"/tests/sim/mutants/*.patch)
crash=("$root"/tests/crash/mutants/*.patch)
for patch in "${sim[@]}" "${crash[@]}"; do
  if ! git -C "$root" apply --check "$patch"; then
    echo "does not apply: $patch"
    failed=1
  fi
  case $(head -c 5 "$patch") in
    diff*) echo "says not what it breaks: $patch"; failed=1 ;;
  esac
done
echo "${#sim[@]} and ${#crash[@]} mutants"
[ ${#sim[@]} -ge 40 ] && [ ${#crash[@]} -ge 6 ] && [ $failed = 0 ]
