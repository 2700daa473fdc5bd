#!/bin/sh
# Writes .env, secrets for deploy/compose.yaml, and settings.env, a file for settings of your own, beside itself. What is there
# stays as it is, because new passwords would not open an old database; what a newer version asks for is added.

set -eu
cd "$(dirname "$0")"
umask 077

main() {
  touch .env
  if [ ! -s .env ]; then
    echo "# Made by make-env.sh. Keep a copy where your secrets are: without PENNYBLACK_KEY_PEPPERS no key opens anything." >.env
  fi
  added=""
  for name in POSTGRES OWNER LEDGER TENANT OPERATOR PEOPLE GRAFANA; do add "${name}_PASSWORD" "$(word)"; done
  add SEARXNG_SECRET "$(word)"
  add PENNYBLACK_SECRET "$(bytes)"
  add PENNYBLACK_KEY_PEPPERS "1:$(bytes)"
  if [ -n "$added" ]; then echo "wrote$added into $PWD/.env"; else echo "$PWD/.env has everything and stays as it is"; fi

  if [ ! -e settings.env ]; then
    write_settings >settings.env
    echo "wrote $PWD/settings.env"
  fi
}

add() {
  if grep -q "^$1=" .env; then return; fi
  printf '%s=%s\n' "$1" "$2" >>.env
  added="$added $1"
}

word() { head -c 24 /dev/urandom | od -An -v -tx1 | tr -d ' \n'; }
bytes() { head -c 32 /dev/urandom | base64 | tr -d '\n'; }

write_settings() {
  cat <<END
# Settings of the server and the worker, one NAME=value in each line. docs/self-hosting.md has the list.
PENNYBLACK_PUBLIC_URL=http://localhost:8080
# Who may use the operators' console, and the token that opens it.
PENNYBLACK_OPERATORS=operator:$(word)
END
}

main
