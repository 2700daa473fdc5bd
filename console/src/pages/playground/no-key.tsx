import { Button, Group } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { Mode } from "../../api/wallet.ts";
import { EmptyState } from "../../components/states.tsx";
import { useMode } from "../../layout/mode.tsx";

export function NoKey({ mode, walletId, isViewer }: { mode: Mode; walletId: string; isViewer: boolean }) {
  const { setMode } = useMode();
  const other = mode === "live" ? "test" : "live";
  return (
    <EmptyState
      title={isViewer ? "Viewers cannot run live searches" : `No active ${mode} keys`}
      action={
        <Group gap="sm" mt="xs">
          {!isViewer && (
            <Button
              component={Link}
              to="/w/$walletId/keys"
              params={{ walletId } as never}
              search={{ dialog: "create" } as never}
            >
              Create key
            </Button>
          )}
          {mode === "live" && (
            <Button variant="default" onClick={() => setMode(other)}>
              Switch to test mode
            </Button>
          )}
        </Group>
      }
    >
      {isViewer
        ? "You can search with test keys, which are free."
        : "Each search uses a key, so that you can see how much each key spends."}
    </EmptyState>
  );
}
