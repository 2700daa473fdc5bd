#!/bin/bash
# Runs "Local development" of docs/install.md in a fresh Debian 12, from a clean clone to the first paid search through a
# real searx, and prints the time of each step. Only the prerequisites are provided: this machine's Node and npm, and a clone
# of the last commit. Requires root and mmdebstrap.
#
#   deploy/follow-install.sh

set -euo pipefail
here="$(cd "$(dirname "$0")/.." && pwd)"
machine="$(mktemp -d "${TMPDIR:-/tmp}/pennyblack-machine.XXXXXX")"
trap clean_up EXIT

main() {
  mmdebstrap --quiet --variant=apt --include="ca-certificates curl libatomic1 procps" bookworm "$machine"
  cp /etc/resolv.conf /etc/hosts "$machine/etc/"
  cp /etc/ssl/certs/ca-certificates.crt "$machine/etc/ssl/certs/"
  cp "$(readlink -f "$(command -v node)")" "$machine/usr/bin/node"
  mkdir -p "$machine/usr/lib/node_modules"
  cp -r "$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")" "$machine/usr/lib/node_modules/npm"
  ln -s ../lib/node_modules/npm/bin/npm-cli.js "$machine/usr/bin/npm"
  git clone --quiet "$here" "$machine/srv/pennyblack"
  declare -f follow >"$machine/srv/follow.sh"
  echo follow >>"$machine/srv/follow.sh"
  mount -t proc proc "$machine/proc"
  mount --bind /dev "$machine/dev"
  mount --bind /dev/shm "$machine/dev/shm"
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt chroot "$machine" bash -euo pipefail /srv/follow.sh
}

# Runs in the chroot. Uses the commands from the page with different ports, because the defaults may be in use.
follow() {
  cd /srv/pennyblack
  local page=docs/install.md
  command_from_page() { grep -m1 -A "${2:-0}" "^$1" "$page"; }
  log_time() { echo "$SECONDS s: $1"; }
  apt-get update >/dev/null
  SECONDS=0
  eval "$(command_from_page 'npm install')" >/tmp/npm.log 2>&1
  log_time "npm install"
  eval "$(command_from_page 'apt-get install')" >/tmp/apt.log 2>&1
  log_time "searx and documentation installed"
  touch /tmp/dev.log
  eval "exec $(command_from_page 'npm run dev -- --with-searx') --port 0 --ops-port 0" >/tmp/dev.log 2>&1 &
  dev=$!
  trap 'kill $dev; wait $dev || true' EXIT
  until grep -q "Pennyblack is running" /tmp/dev.log; do kill -0 $dev && sleep 0.2; done
  log_time "npm run dev is ready"
  PENNYBLACK_URL="$(sed -n 's/^ *API  *//p' /tmp/dev.log)"
  PENNYBLACK_API_KEY="$(sed -n 's/^ *Live key  *\(pb_live_[0-9A-Za-z]*\).*/\1/p' /tmp/dev.log)"
  export PENNYBLACK_URL PENNYBLACK_API_KEY
  eval "$(command_from_page curl 1) --dump-header /tmp/headers" >/tmp/answer
  grep -i '^wallet-charge: 0.01' /tmp/headers
  grep -o 'https://www.postgresql.org/docs/15/explicit-locking.html' /tmp/answer
  log_time "first paid search"
}

clean_up() {
  # Processes in the chroot may take a moment to exit.
  for path in dev/shm dev proc; do
    for _ in {1..50}; do
      if ! mountpoint --quiet "$machine/$path" || umount "$machine/$path" 2>/dev/null; then break; fi
      sleep 0.2
    done
  done
  rm -rf --one-file-system "$machine"
}

main
