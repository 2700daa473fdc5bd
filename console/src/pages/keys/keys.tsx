import { Button, Text, UnstyledButton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type Key, keysQuery } from "../../api/keys.ts";
import { walletQuery } from "../../api/wallet.ts";
import { Page } from "../../components/page.tsx";
import { EmptyState, ErrorState, RowsSkeleton } from "../../components/states.tsx";
import { formatCount } from "../../format/format-time.ts";
import { useWallet } from "../../layout/use-wallet.ts";
import { CreateKey } from "./create-key.tsx";
import { EditKey } from "./edit-key.tsx";
import { type KeyAction, KeyTable } from "./key-table.tsx";
import { RevokeKey } from "./revoke-key.tsx";
import { RotateKey } from "./rotate-key.tsx";

export function Keys() {
  const { canEdit } = useWallet();
  const [open, setOpen] = useState<KeyAction | { action: "create" }>();
  const close = (): void => setOpen(undefined);
  return (
    <Page
      title="Keys"
      description={
        canEdit
          ? "Each key has its own limits and budget, so you can stop one without affecting the others."
          : "You have view-only access. An owner or developer can manage keys."
      }
      actions={canEdit && <Button onClick={() => setOpen({ action: "create" })}>Create key</Button>}
    >
      <KeyLists onAction={setOpen} onCreate={() => setOpen({ action: "create" })} />
      {open?.action === "create" && <CreateKey onClose={close} />}
      {open?.action === "change" && <EditKey apiKey={open.key} onClose={close} />}
      {open?.action === "rotate" && <RotateKey apiKey={open.key} onClose={close} />}
      {open?.action === "revoke" && <RevokeKey apiKey={open.key} onClose={close} />}
    </Page>
  );
}

function KeyLists({ onAction, onCreate }: { onAction: (action: KeyAction) => void; onCreate: () => void }) {
  const { id, canEdit } = useWallet();
  const keys = useQuery(keysQuery(id));
  const wallet = useQuery(walletQuery(id));
  if (keys.isPending) return <RowsSkeleton />;
  if (keys.isError && !keys.data) {
    return <ErrorState error={keys.error} title="Couldn't load keys." onRetry={() => keys.refetch()} />;
  }
  const price = wallet.data?.price ?? "0.01";
  const activeKeys = keys.data.filter(({ state }) => state === "active");
  const inactiveKeys = keys.data.filter(({ state }) => state !== "active");
  return (
    <>
      {activeKeys.length === 0 ? (
        <EmptyState
          title="No active keys"
          action={
            canEdit && (
              <Button variant="default" onClick={onCreate}>
                Create key
              </Button>
            )
          }
        >
          Your program sends a key with each search. Start with a test key, which is free and works like a live one.
        </EmptyState>
      ) : (
        <KeyTable label="Keys" keys={activeKeys} allKeys={keys.data} price={price} onAction={onAction} />
      )}
      <InactiveKeys keys={inactiveKeys} allKeys={keys.data} price={price} onAction={onAction} />
    </>
  );
}

function InactiveKeys({
  keys,
  allKeys,
  price,
  onAction,
}: {
  keys: Key[];
  allKeys: Key[];
  price: string;
  onAction: (action: KeyAction) => void;
}) {
  const [isOpen, setIsOpen] = useState(false);
  if (keys.length === 0) return undefined;
  return (
    <>
      <UnstyledButton mt="lg" mb="xs" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
        <Text span size="sm" c="var(--pb-accent)">
          {isOpen ? "Hide" : "Show"} {formatCount(keys.length, "inactive key")}
        </Text>
      </UnstyledButton>
      {isOpen && <KeyTable label="Inactive keys" keys={keys} allKeys={allKeys} price={price} onAction={onAction} />}
    </>
  );
}
