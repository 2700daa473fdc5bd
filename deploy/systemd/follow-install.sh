#!/bin/bash
# Follows the section "systemd" of docs/install.md in a new Debian 12 that boots its own systemd: every command and every
# generated file unchanged, from an empty machine to a paid search, then an upgrade and a rollback. Prints the time of each
# step. Only three things are provided: an upstream, a repository with two tags in place of GitHub, and the certificates of
# this machine. Requires root, the programs below, and access to Debian's and npm's servers.
#
#   deploy/systemd/follow-install.sh

set -euo pipefail
here="$(cd "$(dirname "$0")/../.." && pwd)"
for program in mmdebstrap systemd-nspawn slirp4netns nsenter git; do
  command -v "$program" >/dev/null || { echo "$program is not installed." >&2; exit 1; }
done
machine="$(mktemp -d "${TMPDIR:-/tmp}/pennyblack-machine.XXXXXX")"
trap clean_up EXIT

main() {
  # Without fsync for each file: on a busy disk, packages otherwise take ten minutes.
  mmdebstrap --quiet --variant=apt --dpkgopt=force-unsafe-io --include="ca-certificates dbus systemd-sysv" bookworm "$machine"
  cp /etc/ssl/certs/ca-certificates.crt "$machine/etc/ssl/certs/"
  rm -f "$machine/etc/resolv.conf"
  echo "nameserver 10.0.2.3" >"$machine/etc/resolv.conf"
  provide_repository
  write_steps
  boot
  nsenter --target "$leader" --mount --uts --ipc --net --pid --root --wdns=/ \
    env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt \
    bash -euo pipefail /srv/follow.sh
}

# The tag v1.0.1 differs by a commit without changes.
provide_repository() {
  git clone --quiet --bare "$here" "$machine/srv/OWNER/pennyblack.git"
  local repository=(git -C "$machine/srv/OWNER/pennyblack.git" -c user.name=test -c user.email=test@example.org)
  "${repository[@]}" tag v1.0.0 HEAD
  "${repository[@]}" tag v1.0.1 "$("${repository[@]}" commit-tree -p HEAD -m next 'HEAD^{tree}')"
  printf '[url "file:///srv/OWNER/"]\n  insteadOf = https://github.com/OWNER/\n[safe]\n  directory = *\n' >"$machine/etc/gitconfig"
}

# Writes the commands of the page to numbered files, in their order.
write_steps() {
  awk -v folder="$machine/srv" '
    /^<!-- not run: .*follow-install\.sh/ { isNext = 1; next }
    /^```/ { if (isStep) isStep = 0; else if (isNext) { isStep = 1; isNext = 0; number++ } next }
    isStep { print >(folder "/step-" number ".sh") }
  ' "$here/docs/install.md"
  cat >"$machine/srv/upstream.mjs" <<'END'
import { createServer } from "node:http";
const results = [{ title: "Advisory locks", url: "https://www.postgresql.org/docs/15/explicit-locking.html", content: "Locks" }];
const headers = { "content-type": "application/json" };
createServer((_, response) => response.writeHead(200, headers).end(JSON.stringify({ results }))).listen(8888, "127.0.0.1");
END
  { declare -f follow; echo follow; } >"$machine/srv/follow.sh"
}

boot() {
  systemd-nspawn --quiet --keep-unit --register=no --private-network --timezone=off --link-journal=no --directory="$machine" --boot \
    </dev/null >"$machine.log" 2>&1 &
  container=$!
  until leader=$(pgrep --parent "$container") && nsenter --target "$leader" --mount --pid --root --wdns=/ systemctl is-system-running 2>/dev/null |
    grep -qE "running|degraded"; do
    kill -0 "$container"
    sleep 0.2
  done
  slirp4netns --configure --mtu=1400 --disable-host-loopback "$leader" tap0 >/dev/null 2>&1 &
  network=$!
}

# Runs in the machine. The variables of a step are used by later ones.
follow() {
  step() { . "/srv/step-$1.sh"; }
  log_time() { echo "$SECONDS s: $1"; }
  is_ready() { node -e 'fetch(process.argv[1]).then(({ status }) => process.exit(status === 200 ? 0 : 1), () => process.exit(1))' "$1"; }
  await_ready() {
    for port in 9090 9091; do until is_ready "http://127.0.0.1:$port/readyz"; do sleep 0.5; done; done
    log_time "server and worker of $(readlink /opt/pennyblack/current) are ready"
  }
  search() {
    node -e '
      const [key] = process.argv.slice(1);
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
      const body = JSON.stringify({ query: "postgresql advisory locks" });
      const response = await fetch("http://127.0.0.1:8080/v1/search", { method: "POST", headers, body });
      console.log(response.status, response.headers.get("wallet-charge"));
      process.exit(response.status === 200 && response.headers.get("wallet-charge") === "0.01;currency=usd" ? 0 : 1);
    ' --input-type=module "$key"
    log_time "paid search"
  }
  # Each process runs the release that the link names, and none of them was restarted by systemd.
  check_processes() {
    for unit in pennyblack-server pennyblack-worker; do
      [ "$(systemctl show --property=NRestarts --value $unit)" = 0 ]
      [ "$(readlink "/proc/$(systemctl show --property=MainPID --value $unit)/cwd")" = "$(readlink -f /opt/pennyblack/current)" ]
    done
  }
  for _ in {1..50}; do if apt-get update >/dev/null 2>&1; then break; fi; sleep 0.2; done
  SECONDS=0
  step 1 >/srv/step-1.log 2>&1
  log_time "PostgreSQL and Node $(node --version) installed"
  systemctl start postgresql
  systemd-run --quiet --unit=upstream node /srv/upstream.mjs
  step 2 >/srv/step-2.log 2>&1
  log_time "release $version built"
  step 3
  key=$(step 4 | grep -o 'pb_live_[0-9A-Za-z]*' | head -1)
  log_time "services started, wallet created"
  await_ready
  search
  sleep 20
  check_processes
  (step 7) || true
  log_time "doctor"

  sed -i 's/^version=.*/version=v1.0.1/' /srv/step-2.sh
  step 2 >/srv/step-2.log 2>&1
  log_time "release $version built"
  step 5
  await_ready
  search
  check_processes
  step 6
  await_ready
  search
  check_processes
}

clean_up() {
  for process in "${network:-}" "${leader:-}" "${container:-}"; do
    if [ -n "$process" ]; then kill -s KILL "$process" 2>/dev/null || true; fi
  done
  wait "${network:-}" "${container:-}" 2>/dev/null || true
  rm -rf --one-file-system "$machine" "$machine.log"
}

main
