#!/bin/sh
# Writes the passwords, secrets and settings of both cells to the folder "secrets", for compose.yaml. Existing cells are kept,
# because new passwords would not match an existing database.

set -eu
cd "$(dirname "$0")"
umask 077

main() {
  mkdir -p secrets/tokens
  for cell in eu1 us2; do make_cell "$cell"; done
  if [ ! -e secrets/searxng.env ]; then echo "SEARXNG_SECRET=$(random_hex)" >secrets/searxng.env; fi
  # The servers read the tokens as another user. Only the owner of the folder "secrets" can reach them on this machine.
  chmod 755 secrets/tokens
  chmod 644 secrets/tokens/*
}

make_cell() {
  if [ -e "secrets/$1/postgres.env" ]; then
    echo "$1 already has settings"
    return
  fi
  password=$(random_hex)
  export PENNYBLACK_PUBLIC_URL="http://$1.localhost:8080"
  export PENNYBLACK_SEARXNG_URL=http://searxng:8080
  export PENNYBLACK_ADMIN_DATABASE_URL="postgres://postgres:$password@$1-postgres:5432/postgres"
  ../../make-settings.sh "secrets/$1"
  sed -n 's/^PENNYBLACK_OPERATORS=operator://p' "secrets/$1/server.env" >"secrets/tokens/$1.token"
  valkey_password=$(random_hex)
  echo "REDIS_URL=redis://:$valkey_password@$1-valkey:6379" >>"secrets/$1/server.env"
  printf 'VALKEY_EXTRA_FLAGS=--requirepass %s\nREDISCLI_AUTH=%s\n' "$valkey_password" "$valkey_password" >"secrets/$1/valkey.env"
  # The last file, because its existence marks a complete cell.
  echo "POSTGRES_PASSWORD=$password" >"secrets/$1/postgres.env"
}

random_hex() { head -c 24 /dev/urandom | od -An -v -tx1 | tr -d ' \n'; }

main
