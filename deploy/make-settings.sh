#!/bin/sh
# Writes the settings of each process to a folder, with new passwords and secrets, for installations without Docker Compose:
#
#   export PENNYBLACK_PUBLIC_URL=https://api.example.com
#   export PENNYBLACK_ADMIN_DATABASE_URL=postgres://admin:password@host:5432/postgres
#   export PENNYBLACK_BRAVE_KEY=...
#   deploy/make-settings.sh FOLDER
#
# The third line configures an upstream. All upstream settings of this shell are copied to the server's. The admin login, which
# creates the roles and the database, is a superuser or a role with CREATEDB and CREATEROLE. The files have one
# NAME=value per line, for systemd. Existing settings are never overwritten.

set -eu
umask 077
providers="BRAVE|EXA|OPENSEARCH|PERPLEXITY|SEARXNG|SERPER|TAVILY|YOU"

main() {
  folder=${1:?"Usage: deploy/make-settings.sh FOLDER"}
  : "${PENNYBLACK_PUBLIC_URL:?"Set PENNYBLACK_PUBLIC_URL to the base URL of the API."}"
  : "${PENNYBLACK_ADMIN_DATABASE_URL:?"Set PENNYBLACK_ADMIN_DATABASE_URL to a PostgreSQL login that can create roles."}"
  upstreams=$(env | grep -E "^PENNYBLACK_($providers)_(KEY|URL|FIELDS)=." || true)
  if [ -z "$upstreams" ]; then
    echo "Set an upstream, for example PENNYBLACK_BRAVE_KEY or PENNYBLACK_SEARXNG_URL. Without one, searches with live keys fail." >&2
    exit 1
  fi
  if ls "$folder"/*.env >/dev/null 2>&1; then
    echo "$folder already has settings. Edit them, or choose another folder." >&2
    exit 1
  fi
  mkdir -p "$folder"

  for role in ledger tenant payments operator people worker owner; do set_url "$role"; done
  secrets="PENNYBLACK_SECRET=$(random_base64)"
  peppers="PENNYBLACK_KEY_PEPPERS=1:$(random_base64)"
  signing_keys="PENNYBLACK_SIGNING_KEYS=$(random_base64)"
  public_url="PENNYBLACK_PUBLIC_URL=$PENNYBLACK_PUBLIC_URL"
  server_urls="DATABASE_URL=$ledger
PENNYBLACK_TENANT_DATABASE_URL=$tenant
PENNYBLACK_PAYMENTS_DATABASE_URL=$payments
PENNYBLACK_OPERATOR_DATABASE_URL=$operator
PENNYBLACK_PEOPLE_DATABASE_URL=$people"
  worker_url="PENNYBLACK_WORKER_DATABASE_URL=$worker"
  owner_url="PENNYBLACK_DIRECT_DATABASE_URL=$owner"

  write server "$server_urls" "$secrets" "$peppers" "$signing_keys" "$public_url" \
    "PENNYBLACK_OPERATORS=operator:$(random_hex)" "$upstreams"
  write worker "$worker_url" "PENNYBLACK_PAYMENTS_DATABASE_URL=$payments" "$secrets" "$signing_keys" "$public_url"
  write migrate "PENNYBLACK_ADMIN_DATABASE_URL=$PENNYBLACK_ADMIN_DATABASE_URL" "$owner_url" "$server_urls" "$worker_url"
  write admin "$owner_url" "$secrets" "$peppers"
}

# Sets the variable with the name of the role to the admin URL with that role, a new password and the database pennyblack.
set_url() {
  rest=${PENNYBLACK_ADMIN_DATABASE_URL#*@}
  hosts=${rest%%/*}
  case $rest in *\?*) options="?${rest#*\?}" ;; *) options="" ;; esac
  eval "$1=postgres://pennyblack_$1:$(random_hex)@\$hosts/pennyblack\$options"
}

write() {
  file="$folder/$1.env"
  shift
  printf '%s\n' "$@" >"$file"
  echo "wrote $file"
}

random_hex() { head -c 24 /dev/urandom | od -An -v -tx1 | tr -d ' \n'; }
random_base64() { head -c 32 /dev/urandom | base64 | tr -d '\n'; }

main "$@"
