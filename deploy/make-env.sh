#!/bin/sh
# Writes .env, secrets for deploy/compose.yaml, and settings.env, a file for settings of your own, beside itself. Existing
# files are left as they are: new passwords would not open an old database.

set -eu
cd "$(dirname "$0")"
umask 077

word() { head -c 24 /dev/urandom | od -An -v -tx1 | tr -d ' \n'; }
bytes() { head -c 32 /dev/urandom | base64 | tr -d '\n'; }

if [ -e .env ]; then
  echo "$PWD/.env is there already and stays as it is"
else
  cat >.env.new <<END
# Made by make-env.sh. Keep a copy where your secrets are: without PENNYBLACK_KEY_PEPPERS no key opens anything.
POSTGRES_PASSWORD=$(word)
OWNER_PASSWORD=$(word)
LEDGER_PASSWORD=$(word)
TENANT_PASSWORD=$(word)
OPERATOR_PASSWORD=$(word)
GRAFANA_PASSWORD=$(word)
SEARXNG_SECRET=$(word)
PENNYBLACK_SECRET=$(bytes)
PENNYBLACK_KEY_PEPPERS=1:$(bytes)
END
  mv .env.new .env
  echo "wrote $PWD/.env"
fi

if [ ! -e settings.env ]; then
  cat >settings.env <<END
# Settings of the server and the worker, one NAME=value in each line. docs/self-hosting.md has the list.
PENNYBLACK_PUBLIC_URL=http://localhost:8080
END
  echo "wrote $PWD/settings.env"
fi
