import { styleText } from "node:util";

export interface Terminal {
  isInteractive: boolean;
  width: number;
  /** Adds color only on a terminal. */
  paint: (style: "bold" | "dim" | "cyan" | "green", text: string) => string;
}

export function createTerminal(stream: NodeJS.WriteStream, env: NodeJS.ProcessEnv): Terminal {
  const useColor = stream.isTTY && !env["NO_COLOR"] && env["TERM"] !== "dumb";
  return {
    isInteractive: stream.isTTY,
    width: Math.min(stream.isTTY ? stream.columns || 80 : 100, 100),
    paint: (style, text) => (useColor ? styleText(style, text, { validateStream: false }) : text),
  };
}

/** Replaces control characters in untrusted text, which could contain terminal escape sequences. */
export function sanitize(text: string): string {
  // oxlint-disable-next-line no-control-regex -- Control characters are what this removes.
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]+/g, " ");
}

/** `2026-11-16 17:20:01 UTC` */
export function formatTime(isoTime: string): string {
  return `${new Date(isoTime).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** Wraps text to `width` characters, indenting each line. */
export function wrap(text: string, width: number, indent: string): string {
  const lines = [""];
  for (const word of text.split(/\s+/)) {
    const line = lines.at(-1) ?? "";
    if (line === "") lines[lines.length - 1] = word;
    else if (indent.length + line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines.map((line) => indent + line).join("\n");
}

/** Pads columns to the width of their longest cell. */
export function table(rows: string[][]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
