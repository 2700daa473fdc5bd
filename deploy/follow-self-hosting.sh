#!/bin/bash
# Follows "On your machine" of docs/self-hosting.md in a Debian 12 made for it, from a clone with nothing installed to the
# first paid search through a real searx, and prints how long each step took. Given beforehand are only what the page asks
# for: Node and npm, as this machine has them, and a checkout of the last commit. Needs root and mmdebstrap.
#
#   deploy/follow-self-hosting.sh

set -euo pipefail
here="$(cd "$(dirname "$0")/.." && pwd)"
machine="$(mktemp -d "${TMPDIR:-/tmp}/pennyblack-machine.XXXXXX")"
trap leave EXIT

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

# Runs inside. The commands are those of the page; only the ports are others, because the machine's own may be taken.
follow() {
  cd /srv/pennyblack
  local page=docs/self-hosting.md
  take() { grep -m1 -A "${2:-0}" "^$1" "$page"; }
  spent() { echo "$SECONDS s: $1"; }
  apt-get update >/dev/null
  SECONDS=0
  eval "$(take 'npm install')" >/tmp/npm.log 2>&1
  spent "npm install"
  eval "$(take 'apt-get install')" >/tmp/apt.log 2>&1
  spent "searx and documents are installed"
  touch /tmp/dev.log
  eval "exec $(take 'npm run dev -- --with-searx') --port 0 --ops-port 0" >/tmp/dev.log 2>&1 &
  dev=$!
  trap 'kill $dev; wait $dev || true' EXIT
  until grep -q "is ready" /tmp/dev.log; do kill -0 $dev && sleep 0.2; done
  spent "npm run dev is ready"
  PENNYBLACK_URL="$(sed -n 's/^ *API  *//p' /tmp/dev.log)"
  PENNYBLACK_API_KEY="$(sed -n 's/^ *live key  *\(pb_live_[0-9A-Za-z]*\).*/\1/p' /tmp/dev.log)"
  export PENNYBLACK_URL PENNYBLACK_API_KEY
  eval "$(take curl 1) --dump-header /tmp/headers" >/tmp/answer
  grep -i '^wallet-charge: 0.01' /tmp/headers
  grep -o 'https://www.postgresql.org/docs/15/explicit-locking.html' /tmp/answer
  spent "the first paid search"
}

leave() {
  # What was started in there takes a moment to end.
  for path in dev/shm dev proc; do
    for _ in {1..50}; do
      if ! mountpoint --quiet "$machine/$path" || umount "$machine/$path" 2>/dev/null; then break; fi
      sleep 0.2
    done
  done
  rm -rf --one-file-system "$machine"
}

main
