import { Button, Group } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { Mode } from "../../api/wallet.ts";
import { useMode } from "../../frame/mode.tsx";
import { Empty } from "../../parts/states.tsx";

export function NoKey({ mode, walletId, isRefused }: { mode: Mode; walletId: string; isRefused: boolean }) {
  const { setMode } = useMode();
  const other = mode === "live" ? "test" : "live";
  return (
    <Empty
      title={isRefused ? "Viewers spend no money" : `This wallet has no ${mode} key that works`}
      action={
        <Group gap="sm" mt="xs">
          {!isRefused && (
            <Button component={Link} to="/w/$walletId/keys" params={{ walletId } as never}>
              Make a key
            </Button>
          )}
          {mode === "live" && (
            <Button variant="default" onClick={() => setMode(other)}>
              Search in test mode
            </Button>
          )}
        </Group>
      }
    >
      {isRefused
        ? "Your role lets you search with test keys, which cost nothing."
        : "A search is sent with a key, so that you see afterwards which key spent what."}
    </Empty>
  );
}
