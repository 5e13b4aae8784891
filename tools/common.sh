# Shared by tools/onebox and tools/test: packages and the build. Sourced, never run.
# SPDX-License-Identifier: Apache-2.0

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
JOBS=${JOBS:-$(nproc)}
# Trees at other places (tools/dev/mutants) share what is compiled.
export CCACHE_BASEDIR=$ROOT CCACHE_NOHASHDIR=1
# As its manual asks for precompiled headers.
export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
# Their 110 MB are read once, not for each source.
export CCACHE_INODECACHE=1

# packages_of GROUP...: names from tools/packages.txt.
packages_of() {
  local group
  for group in "$@"; do
    sed -n "s/^$group //p" "$ROOT/tools/packages.txt"
  done
}

# missing_packages NAME...: those that are not installed.
missing_packages() {
  local name
  for name in "$@"; do
    dpkg-query -W -f '${db:Status-Status}\n' "$name" 2>/dev/null | grep -qx installed || echo "$name"
  done
}

# install_packages NAME...: runs apt-get only when something is missing. Its output goes to standard error.
install_packages() {
  local missing
  missing=$(missing_packages "$@")
  [ -z "$missing" ] && return 0
  local sudo=()
  if [ "$(id -u)" != 0 ]; then
    if ! sudo -n true 2>/dev/null; then
      echo "missing packages:" $missing >&2
      echo "install them as root:  apt-get install --no-install-recommends" $missing >&2
      return 1
    fi
    sudo=(sudo -n)
  fi
  export DEBIAN_FRONTEND=noninteractive
  {
    "${sudo[@]}" apt-get update -qq &&
      "${sudo[@]}" apt-get install -y -qq --no-install-recommends $missing
  } >&2 || {
    echo "apt-get could not install:" $missing >&2
    return 1
  }
}

# install_go: the machine's Go if it is 1.19 or newer, else Debian's.
install_go() {
  local minor
  minor=$(go version 2>/dev/null | sed -n 's/.*go1\.\([0-9]*\).*/\1/p')
  [ -n "$minor" ] && [ "$minor" -ge 19 ] && return 0
  install_packages golang-go
}

# configure DIRECTORY [cmake option...]: quiet unless it fails. Where npm is installed the dashboard gets its plots.
configure() {
  local directory=$1 log
  shift
  mkdir -p "$directory"
  log=$directory/configure.log
  if command -v npm >/dev/null; then timeout 60 "$ROOT/thirdparty/get-uplot" >"$directory/uplot.log" 2>&1 || true; fi
  cmake -S "$ROOT" -B "$directory" -G Ninja "$@" >"$log" 2>&1 || {
    tail -n 30 "$log" >&2
    return 1
  }
}
