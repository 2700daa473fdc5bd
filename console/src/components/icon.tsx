// Single-stroke icons on a 20-pixel grid.
const paths = {
  overview: "M3 11l7-7 7 7M5 9.5V17h10V9.5",
  playground: "M9 3.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM13 13l4 4",
  keys: "M13 3a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM10.2 9.8L3 17M5 15l2 2M7.5 12.5l1.5 1.5",
  usage: "M3 17h14M5 14v-4M10 14V5M15 14V8",
  budgets: "M9 3.5V11h7.5A7.5 7.5 0 1 1 9 3.5zM12.5 3.2a5.5 5.5 0 0 1 4.3 4.3h-4.3z",
  ledger: "M5 3h10v14l-2.5-1.5L10 17l-2.5-1.5L5 17zM7.5 7h5M7.5 10.5h5",
  "top-up": "M3 6h14v10H3zM3 9h14M10 11.5v3M8.5 13h3",
  alerts: "M5 14V9a5 5 0 0 1 10 0v5l1.5 1h-13zM8.5 17h3",
  apps: "M3.5 3.5h5v5h-5zM11.5 3.5h5v5h-5zM3.5 11.5h5v5h-5zM14 11.5v5M11.5 14h5",
  activity: "M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM10 6v4.2l2.8 1.8",
  team: "M7.5 4a2.7 2.7 0 1 0 0 5.4 2.7 2.7 0 0 0 0-5.4zM2.5 16c0-3 2.2-4.6 5-4.6s5 1.6 5 4.6M13 4.5a2.5 2.5 0 0 1 0 4.7M14.5 11.8c1.9.6 3 2 3 4.2",
  lens: "M2.5 10S5.5 5 10 5s7.5 5 7.5 5-3 5-7.5 5-7.5-5-7.5-5zM10 7.8a2.2 2.2 0 1 0 0 4.4 2.2 2.2 0 0 0 0-4.4z",
  more: "M4 10h.01M10 10h.01M16 10h.01",
  upstreams: "M10 3v5M10 8l-5 4v5M10 8l5 4v5",
  cells: "M10 3a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM5.5 11a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM14.5 11a3 3 0 1 0 0 6 3 3 0 0 0 0-6z",
  accounts: "M3 17V6l7-3 7 3v11M7 9h.01M13 9h.01M7 13h.01M13 13h.01",
  reconciliation: "M4 10.5l4 4L16.5 5.5",
  audit: "M6 3h8v14H6zM8.5 7h3M8.5 10h3M8.5 13h3",
  system: "M3 12h3l2-6 4 10 2-4h3",
  chevron: "M6.5 8.5L10 12l3.5-3.5",
  check: "M4.5 10.5l3.5 3.5 7.5-8",
  switch: "M4 7h11l-3-3M16 13H5l3 3",
  theme: "M10 3a7 7 0 1 0 0 14zM10 3a7 7 0 0 1 0 14",
  docs: "M4 4h5l1 1.5L11 4h5v12h-5l-1 1-1-1H4z",
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true" focusable="false">
      <path
        d={paths[name]}
        fill="none"
        stroke="currentColor"
        strokeWidth={name === "more" ? 2.4 : 1.5}
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}
