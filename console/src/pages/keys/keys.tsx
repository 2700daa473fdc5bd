import { Button, Text, UnstyledButton } from "@mantine/core";
import type { Key } from "@pennyblack/sdk";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { isAppKey } from "../../api/apps.ts";
import { keysQuery } from "../../api/keys.ts";
import { type Mode, walletQuery } from "../../api/wallet.ts";
import { Page } from "../../components/page.tsx";
import { EmptyState, ErrorState, RowsSkeleton } from "../../components/states.tsx";
import { formatCount } from "../../format/format-time.ts";
import { useMode } from "../../layout/mode.tsx";
import { OtherMode } from "../../layout/other-mode.tsx";
import { useWallet } from "../../layout/use-wallet.ts";
import { CreateKey } from "./create-key.tsx";
import { EditKey } from "./edit-key.tsx";
import { type KeyAction, KeyTable } from "./key-table.tsx";
import { RevokeKey } from "./revoke-key.tsx";
import { RotateKey } from "./rotate-key.tsx";

const route = getRouteApi("/signed-in/w/$walletId/keys");

export function Keys() {
  const { canEdit } = useWallet();
  const [open, setOpen] = useState<KeyAction>();
  const close = (): void => setOpen(undefined);
  // In the URL, so that the command palette can open it.
  const isCreating = route.useSearch().dialog === "create";
  const navigate = route.useNavigate();
  const create = (): Promise<void> => navigate({ search: { dialog: "create" }, replace: true });
  return (
    <Page
      title="Keys"
      description={
        canEdit
          ? "Each key has its own limits and budget, so you can stop one without affecting the others."
          : "You have view-only access. An owner or developer can manage keys."
      }
      actions={canEdit && <Button onClick={create}>Create key</Button>}
    >
      <KeyLists onAction={setOpen} onCreate={create} />
      {canEdit && isCreating && <CreateKey onClose={() => navigate({ search: {}, replace: true })} />}
      {open?.action === "change" && <EditKey apiKey={open.key} onClose={close} />}
      {open?.action === "rotate" && <RotateKey apiKey={open.key} onClose={close} />}
      {open?.action === "revoke" && <RevokeKey apiKey={open.key} onClose={close} />}
    </Page>
  );
}

function KeyLists({ onAction, onCreate }: { onAction: (action: KeyAction) => void; onCreate: () => void }) {
  const { id } = useWallet();
  const { mode } = useMode();
  const keys = useQuery(keysQuery(id));
  const wallet = useQuery(walletQuery(id));
  if (keys.isPending) return <RowsSkeleton />;
  if (keys.isError && !keys.data) {
    return <ErrorState error={keys.error} title="Couldn't load keys." onRetry={() => keys.refetch()} />;
  }
  const other = mode === "live" ? "test" : "live";
  // Keys of apps have no secret, and they have their own page.
  const keysWithSecret = keys.data.filter((key) => !isAppKey(key));
  // Management keys belong to no mode, so they are listed in both.
  const inMode = keysWithSecret.filter((key) => key.mode !== other);
  const activeKeys = inMode.filter(({ state }) => state === "active");
  const props = { allKeys: keysWithSecret, price: wallet.data?.price ?? "0.01", onAction };
  return (
    <>
      {activeKeys.some((key) => key.mode === mode) || <NoKeys mode={mode} onCreate={onCreate} />}
      {activeKeys.length > 0 && <KeyTable label="Keys" keys={activeKeys} {...props} />}
      <InactiveKeys keys={inMode.filter(({ state }) => state !== "active")} {...props} />
      <OtherMode
        noun="key"
        mode={other}
        count={keysWithSecret.filter((key) => key.mode === other && key.state === "active").length}
      />
    </>
  );
}

function NoKeys({ mode, onCreate }: { mode: Mode; onCreate: () => void }) {
  const { canEdit } = useWallet();
  return (
    <EmptyState
      title={`No active ${mode} keys`}
      action={
        canEdit && (
          <Button variant="default" onClick={onCreate}>
            Create {mode} key
          </Button>
        )
      }
    >
      {mode === "live"
        ? "Your program sends a key with each search. A successful search with a live key costs one cent."
        : "Test keys are free and return synthetic results. They work like live keys."}
    </EmptyState>
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
