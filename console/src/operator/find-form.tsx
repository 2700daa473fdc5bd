import { Button, Group, NativeSelect, TextInput } from "@mantine/core";
import { useState } from "react";

/** The search terms. Times are minutes in the browser's time zone. */
export interface FindRequest {
  text: string;
  /** As of an input of the type datetime-local. Empty: any time. */
  at: string;
  /** Empty: any outcome. */
  outcome: string;
}

const outcomes = [
  { value: "", label: "Any" },
  { value: "ok", label: "Completed" },
  { value: "failed", label: "Failed or refused" },
  { value: "replayed", label: "Replayed" },
];

export function FindForm({ initial, onFind }: { initial: FindRequest; onFind: (request: FindRequest) => void }) {
  const [request, setRequest] = useState(initial);
  const set = (part: Partial<FindRequest>): void => setRequest((old) => ({ ...old, ...part }));
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onFind({ ...request, text: withoutSecret(request.text) });
      }}
    >
      <Group align="flex-end" mb="lg">
        <TextInput
          label="Request ID, wallet, key, email or name"
          placeholder="0198… or pb_live_… or ada@example.org"
          minLength={3}
          maxLength={300}
          autoComplete="off"
          spellCheck={false}
          value={request.text}
          onChange={(event) => set({ text: event.currentTarget.value })}
          w={{ base: "100%", sm: 360 }}
        />
        <TextInput
          type="datetime-local"
          label="Time, ±10 minutes"
          value={request.at}
          onChange={(event) => set({ at: event.currentTarget.value })}
          w={{ base: "100%", xs: 210 }}
        />
        <NativeSelect
          label="Outcome"
          data={outcomes}
          value={request.outcome}
          onChange={(event) => set({ outcome: event.currentTarget.value })}
          w={{ base: "100%", xs: 170 }}
        />
        <Button type="submit" variant="default">
          Find
        </Button>
      </Group>
    </form>
  );
}

/** The parameters of GET /operator/find. */
export function toParameters({ text, at, outcome }: FindRequest): string {
  const middle = at === "" ? undefined : new Date(at).getTime();
  const range: [string, string][] =
    middle === undefined || Number.isNaN(middle)
      ? []
      : [
          ["from", new Date(middle - 600_000).toISOString()],
          ["to", new Date(middle + 600_000).toISOString()],
        ];
  return new URLSearchParams([["text", text], ...range, ...(outcome === "" ? [] : [["outcome", outcome]])]).toString();
}

/** The start of a key identifies it. A key that was pasted as a whole is not sent and not part of the page's URL. */
function withoutSecret(text: string): string {
  return /^pb_(?:live|test|mgmt)_(?:[0-9a-z]{10}_)?[0-9A-Za-z]{0,4}/.exec(text.trim())?.[0] ?? text.trim();
}
