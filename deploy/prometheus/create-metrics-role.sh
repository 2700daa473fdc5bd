#!/bin/sh
# Creates the role of postgres_exporter, which reads statistics and no data. The image of PostgreSQL runs this once, when it creates
# the database.

set -eu
psql --no-psqlrc --set=ON_ERROR_STOP=1 --set=password="$METRICS_PASSWORD" --username=postgres postgres <<'END'
create role pennyblack_metrics login in role pg_monitor password :'password';
END
