/** The values before and after a change in the list of changes, if they differ. */
export function ChangedValues(props: {
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
}) {
  const { before, after } = props;
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  return names.map((name) => (
    <div key={name}>
      {name.replaceAll("_", " ")}: {before && `${format(before[name])} → `}
      {format(after?.[name])}
    </div>
  ));
}

function format(value: unknown): string {
  if (value === undefined || value === null) return "none";
  if (Array.isArray(value)) return value.join(", ");
  return typeof value === "string" ? value : JSON.stringify(value);
}
