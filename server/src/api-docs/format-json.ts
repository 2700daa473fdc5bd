const maxColumns = 125;

/** JSON in which an object or a list that fits on a line is on one line. */
export function formatJson(value: unknown, indent = "", start = ""): string {
  const onOneLine = formatOnOneLine(value);
  const fits = indent.length + start.length + onOneLine.length < maxColumns;
  if (fits || typeof value !== "object" || value === null) return onOneLine;
  const inner = `${indent}  `;
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  const members = Array.isArray(value)
    ? value.map((item) => formatJson(item, inner))
    : Object.entries(value).map(([name, member]) => {
        const memberStart = `${JSON.stringify(name)}: `;
        return memberStart + formatJson(member, inner, memberStart);
      });
  return `${open}\n${members.map((member) => inner + member).join(",\n")}\n${indent}${close}`;
}

function formatOnOneLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(formatOnOneLine).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${formatOnOneLine(member)}`);
  return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
}
