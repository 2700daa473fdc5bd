// The panels of the Grafana dashboard, which dashboard.ts writes.

export interface Panel {
  title: string;
  /** A Grafana unit. */
  unit: string;
  queries: { query: string; legend: string }[];
  /** The value from which, or for a minimum below which, an alert fires. Drawn as a line. */
  threshold?: { value: number; is: "maximum" | "minimum" };
}

export interface Row {
  title: string;
  panels: Panel[];
}

// The variables of the dashboard. Without the label `cell`, its pattern matches the missing label. Metrics of hosts have the
// instance of an exporter, so only the cell selects them.
const cell = 'cell=~"$cell"';
const own = `${cell}, instance=~"$instance"`;

/** The selector of one of our metrics. */
const of = (metric: string, labels = ""): string => `${metric}{${own}${labels && `, ${labels}`}}`;
const rate = (metric: string, labels?: string): string => `rate(${of(metric, labels)}[5m])`;
const quantile = (share: number, metric: string, by = ""): string =>
  `histogram_quantile(${share}, sum by (le${by && `, ${by}`}) (${rate(`${metric}_bucket`)}))`;
const usdPerHour = (metric: string): string => `sum(${rate(`${metric}_total`)}) * 3600 / 1e6`;
const disks = 'fstype!~"tmpfs|ramfs|overlay|squashfs|iso9660|vfat"';

export const rows: Row[] = [
  {
    title: "Searches",
    panels: [
      {
        title: "Searches by outcome",
        unit: "reqps",
        queries: [
          {
            query: `sum by (outcome) (${rate("pennyblack_search_requests_total", 'mode!="test"')}) > 0`,
            legend: "{{outcome}}",
          },
        ],
      },
      {
        title: "Error rate",
        unit: "percentunit",
        queries: [
          { query: `pennyblack:own_errors:ratio_rate5m{${cell}}`, legend: "{{cell}} server errors" },
          { query: `pennyblack:end_to_end_errors:ratio_rate5m{${cell}}`, legend: "{{cell}} including upstream errors" },
        ],
        threshold: { value: 0.0144, is: "maximum" },
      },
      {
        title: "Search latency",
        unit: "s",
        queries: [0.5, 0.95, 0.99].map((share) => ({
          query: quantile(share, "pennyblack_search_duration_seconds"),
          legend: `p${share * 100}`,
        })),
      },
      {
        title: "Slow searches, without upstreams",
        unit: "percentunit",
        queries: [{ query: `pennyblack:slow_searches:ratio_rate5m{${cell}}`, legend: "{{cell}} over 100 ms" }],
        threshold: { value: 0.144, is: "maximum" },
      },
      {
        title: "Searches in flight",
        unit: "short",
        queries: [{ query: `sum by (cell) (${of("pennyblack_searches_in_flight")})`, legend: "{{cell}} in flight" }],
      },
      {
        title: "Requests rejected by limit",
        unit: "reqps",
        queries: [
          {
            query: `sum by (limit) (${rate("pennyblack_requests_rejected_by_limit_total")}) > 0`,
            legend: "{{limit}}",
          },
        ],
      },
    ],
  },
  {
    title: "Money",
    panels: [
      {
        title: "Holds by result (USD per hour)",
        unit: "currencyUSD",
        queries: ["captured", "released", "expired"].map((kind) => ({
          query: usdPerHour(`pennyblack_${kind}_micro_usd`),
          legend: kind,
        })),
      },
      {
        title: "Revenue and cost (USD per hour)",
        unit: "currencyUSD",
        queries: [
          { query: usdPerHour("pennyblack_captured_micro_usd"), legend: "revenue" },
          { query: usdPerHour("pennyblack_upstream_cost_micro_usd"), legend: "cost of upstreams" },
        ],
      },
      {
        title: "Successful searches not charged",
        unit: "short",
        queries: [
          {
            query: `sum by (reason) (increase(${of("pennyblack_lost_captures_total")}[15m]))`,
            legend: "{{reason}}",
          },
        ],
        threshold: { value: 20, is: "maximum" },
      },
      {
        title: "Last reconciliation",
        unit: "s",
        queries: [
          {
            query: `time() - max by (cell) (${of("pennyblack_reconciliation_timestamp_seconds")})`,
            legend: "{{cell}} age",
          },
          { query: `max by (cell) (${of("pennyblack_reconciliation_differences")})`, legend: "{{cell}} differences" },
        ],
        threshold: { value: 3 * 3_600, is: "maximum" },
      },
    ],
  },
  {
    title: "Ledger",
    panels: [
      {
        title: "Ledger latency (p99)",
        unit: "s",
        queries: [{ query: quantile(0.99, "pennyblack_ledger_duration_seconds", "kind"), legend: "{{kind}}" }],
      },
      {
        title: "Ledger batch size",
        unit: "short",
        queries: [
          {
            query: `sum by (kind) (${rate("pennyblack_ledger_batch_size_sum")}) / sum by (kind) (${rate("pennyblack_ledger_batch_size_count")})`,
            legend: "{{kind}}",
          },
        ],
        threshold: { value: 250, is: "maximum" },
      },
      {
        title: "Ledger queue length",
        unit: "short",
        queries: [
          { query: `max by (instance, lane) (${of("pennyblack_ledger_waiting")})`, legend: "{{instance}} {{lane}}" },
        ],
        threshold: { value: 500, is: "maximum" },
      },
    ],
  },
  {
    title: "Upstreams",
    panels: [
      {
        title: "Upstream calls by outcome",
        unit: "reqps",
        queries: [
          {
            query: `sum by (upstream, outcome) (${rate("pennyblack_upstream_calls_total")}) > 0`,
            legend: "{{upstream}} {{outcome}}",
          },
        ],
      },
      {
        title: "Upstream latency (p95)",
        unit: "s",
        queries: [
          { query: quantile(0.95, "pennyblack_upstream_duration_seconds", "upstream"), legend: "{{upstream}}" },
        ],
      },
      {
        title: "Open upstream circuits",
        unit: "short",
        queries: [
          { query: `sum by (upstream) (${of("pennyblack_upstream_circuit_open")})`, legend: "{{upstream}} (servers)" },
        ],
      },
    ],
  },
  {
    title: "Processes",
    panels: [
      {
        title: "CPU of each process (cores)",
        unit: "short",
        queries: [
          {
            query: rate("process_cpu_seconds_total", 'job=~"pennyblack-(server|worker)"'),
            legend: "{{instance}}",
          },
        ],
        threshold: { value: 1, is: "maximum" },
      },
      {
        title: "Memory of each process",
        unit: "bytes",
        queries: [
          { query: of("process_resident_memory_bytes", 'job=~"pennyblack-(server|worker)"'), legend: "{{instance}}" },
        ],
      },
      {
        title: "Event loop delay (p99)",
        unit: "s",
        queries: [{ query: of("nodejs_eventloop_delay_p99"), legend: "{{instance}}" }],
      },
      {
        title: "Garbage collection (share of time)",
        unit: "percentunit",
        queries: [{ query: `sum by (instance) (${rate("v8js_gc_duration_sum")})`, legend: "{{instance}}" }],
      },
      {
        title: "Connections to PostgreSQL in use",
        unit: "short",
        queries: [
          {
            query: `sum by (instance, db_client_connection_pool_name) (${of("db_client_connection_count", 'db_client_connection_state="used"')}) > 0`,
            legend: "{{instance}} {{db_client_connection_pool_name}}",
          },
          {
            query: `sum by (instance) (${of("db_client_connection_pending_requests")}) > 0`,
            legend: "{{instance}} waiting",
          },
        ],
      },
      {
        title: "Clock offset",
        unit: "s",
        queries: [{ query: `abs(${of("pennyblack_clock_offset_seconds")})`, legend: "{{instance}}" }],
        threshold: { value: 5, is: "maximum" },
      },
      {
        title: "Redis, OpenID Connect and mail (1 is available)",
        unit: "short",
        queries: [
          { query: `min by (cell, dependency) (${of("pennyblack_dependency_up")})`, legend: "{{cell}} {{dependency}}" },
        ],
        threshold: { value: 1, is: "minimum" },
      },
      {
        title: "Background job lag",
        unit: "s",
        queries: [
          { query: `max by (cell) (${of("pennyblack_usage_lag_seconds")})`, legend: "{{cell}} usage" },
          { query: `max by (cell) (${of("pennyblack_webhook_lag_seconds")})`, legend: "{{cell}} webhooks" },
          {
            query: `time() - max by (cell) (${of("pennyblack_task_success_timestamp_seconds", 'task="sweep"')})`,
            legend: "{{cell}} sweep",
          },
        ],
        threshold: { value: 300, is: "maximum" },
      },
    ],
  },
  {
    title: "Database and its hosts",
    panels: [
      {
        title: "Free disk space",
        unit: "percentunit",
        queries: [
          {
            query: `node_filesystem_avail_bytes{${cell}, ${disks}} / node_filesystem_size_bytes`,
            legend: "{{instance}} {{mountpoint}}",
          },
        ],
        threshold: { value: 0.25, is: "minimum" },
      },
      {
        title: "CPU of the hosts",
        unit: "percentunit",
        queries: [
          {
            query: `1 - avg by (instance) (rate(node_cpu_seconds_total{${cell}, mode="idle"}[5m]))`,
            legend: "{{instance}}",
          },
        ],
      },
      {
        title: "Available memory of the hosts",
        unit: "percentunit",
        queries: [
          {
            query: `node_memory_MemAvailable_bytes{${cell}} / node_memory_MemTotal_bytes`,
            legend: "{{instance}}",
          },
        ],
      },
      {
        title: "Time that the disks are busy",
        unit: "percentunit",
        queries: [{ query: `rate(node_disk_io_time_seconds_total{${cell}}[5m])`, legend: "{{instance}} {{device}}" }],
      },
      {
        title: "Database connections",
        unit: "percentunit",
        queries: [
          {
            query: `sum by (instance) (pg_stat_activity_count{${cell}}) / max by (instance) (pg_settings_max_connections)`,
            legend: "{{instance}}",
          },
        ],
        threshold: { value: 0.8, is: "maximum" },
      },
      {
        title: "Longest transaction",
        unit: "s",
        queries: [{ query: `max by (instance) (pg_stat_activity_max_tx_duration{${cell}})`, legend: "{{instance}}" }],
        threshold: { value: 3_600, is: "maximum" },
      },
      {
        title: "Replica lag",
        unit: "bytes",
        queries: [{ query: `max by (replica) (${of("pennyblack_replica_lag_bytes")})`, legend: "{{replica}}" }],
        threshold: { value: 64 * 1024 * 1024, is: "maximum" },
      },
      {
        title: "Partitions created ahead (days)",
        unit: "short",
        queries: [{ query: `max by (cell) (${of("pennyblack_partition_days_ahead")})`, legend: "{{cell}} days ahead" }],
        threshold: { value: 7, is: "minimum" },
      },
      {
        title: "Age of the last WAL, backup and restore drill",
        unit: "s",
        queries: [
          {
            query: `time() - max by (cell) (${of("pennyblack_wal_archived_timestamp_seconds")})`,
            legend: "{{cell}} WAL",
          },
          {
            query: `time() - max by (stanza) (pgbackrest_last_backup_timestamp_seconds{${cell}})`,
            legend: "{{stanza}} backup",
          },
          {
            query: `time() - max by (stanza) (pennyblack_restore_drill_success_timestamp_seconds{${cell}})`,
            legend: "{{stanza}} drill",
          },
        ],
      },
    ],
  },
];

export const panels: Panel[] = rows.flatMap((row) => row.panels);
