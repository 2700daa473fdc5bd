# pgbackrest info --output=json, as metrics in the Prometheus text format. "incr" is the last backup of any type, because a
# full backup replaces the incremental one. Times instead of ages: an age would not grow while this script does not run.

def metric($name; $help; samples): "# HELP \($name) \($help)", "# TYPE \($name) gauge", (samples | "\($name){\(
  .labels | to_entries | map("\(.key)=\(.value | tostring | tojson)") | join(",")
)} \(.value)");

# The last backup without errors of each type in each repository.
def last_backups:
  .[] | .name as $stanza | [.backup[] | select(.error != true)] | group_by(.database."repo-key")[]
  | { full: map(select(.type == "full")), incr: . } | to_entries[] | select(.value != []) | .key as $type
  | .value | max_by(.timestamp.stop)
  | { labels: { stanza: $stanza, repo: .database."repo-key", backup_type: $type }, backup: . };

# A segment is named by timeline, log and segment, eight hexadecimal digits each; a log has 256 segments of 16 MB.
def hex: ascii_downcase | explode | reduce .[] as $c (0; . * 16 + (if $c > 57 then $c - 87 else $c - 48 end));
def position: (.[8:16] | hex) * 256 + (.[16:24] | hex);
def archives:
  .[] | .name as $stanza | .archive[] | select(.max != null)
  | { labels: { stanza: $stanza, repo: .database."repo-key", database_id: .database.id }, min, max };

. as $info
| metric("pgbackrest_stanza_status"; "0 if the stanza can be restored, otherwise the status code of pgbackrest info.";
    $info[] | { labels: { stanza: .name }, value: .status.code }),
  metric("pgbackrest_last_backup_timestamp_seconds"; "When the last backup was completed, in seconds since 1970.";
    $info | last_backups | { labels, value: .backup.timestamp.stop }),
  metric("pgbackrest_last_backup_bytes"; "Size of the cluster in the last backup.";
    $info | last_backups | { labels, value: .backup.info.size }),
  metric("pgbackrest_last_backup_repo_bytes"; "Size that the last backup added to the repository.";
    $info | last_backups | { labels, value: .backup.info.repository.delta }),
  metric("pgbackrest_wal_archive_segments"; "WAL segments from the oldest to the newest in the repository.";
    $info | archives | { labels, value: ((.max | position) - (.min | position) + 1) })
