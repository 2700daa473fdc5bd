import { Anchor, Text } from "@mantine/core";
import type { Mode } from "../api/wallet.ts";
import { formatCount } from "../format/format-time.ts";
import { useMode } from "./mode.tsx";

/** How many items a list leaves out because they belong to the other mode. `noun`: "key". */
export function OtherMode({ mode, count, noun }: { mode: Mode; count: number; noun: string }) {
  const { setMode } = useMode();
  if (count === 0) return undefined;
  return (
    <Text size="sm" c="dimmed" mt="lg">
      {formatCount(count, `${mode} ${noun}`)} not shown.{" "}
      <Anchor component="button" type="button" size="sm" onClick={() => setMode(mode)}>
        Switch to {mode} mode
      </Anchor>
    </Text>
  );
}
