#!/bin/sh
# Like the official PostgreSQL image: creates a cluster in the volume if there is none, then runs the server.
set -eu
data=/var/lib/postgresql/data
as_postgres() { setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; }

if [ ! -e "$data/PG_VERSION" ]; then
  mkdir -p "$data"
  chown postgres: "$data"
  printf '%s\n' "$POSTGRES_PASSWORD" >/tmp/password
  chmod 644 /tmp/password
  as_postgres initdb --pgdata="$data" --username=postgres --pwfile=/tmp/password --auth-host=scram-sha-256 >/dev/null
  rm /tmp/password
  echo "host all all all scram-sha-256" >>"$data/pg_hba.conf"
fi
exec setpriv --reuid=postgres --regid=postgres --clear-groups \
  postgres -D "$data" -c listen_addresses='*' -c unix_socket_directories=/tmp
