import { Button, Text, UnstyledButton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type Key, keysQuery } from "../../api/keys.ts";
import { walletQuery } from "../../api/wallet.ts";
import { useWallet } from "../../frame/use-wallet.ts";
import { Page } from "../../parts/page.tsx";
import { Empty, Failure, RowsSkeleton } from "../../parts/states.tsx";
import { formatCount } from "../../words/format-time.ts";
import { ChangeKey } from "./change-key.tsx";
import { CreateKey } from "./create-key.tsx";
import { type Act, KeyTable } from "./key-table.tsx";
import { RevokeKey } from "./revoke-key.tsx";
import { RotateKey } from "./rotate-key.tsx";

export function Keys() {
  const { mayChange } = useWallet();
  const [open, setOpen] = useState<Act | { act: "create" }>();
  const close = (): void => setOpen(undefined);
  return (
    <Page
      title="Keys"
      about={
        mayChange
          ? "Each key has its own name, limits and budget, so that one can stop without the others."
          : "You see the keys as a viewer. An owner or developer can change them."
      }
      actions={mayChange && <Button onClick={() => setOpen({ act: "create" })}>Create key</Button>}
    >
      <KeyLists onAct={setOpen} onCreate={() => setOpen({ act: "create" })} />
      {open?.act === "create" && <CreateKey onClose={close} />}
      {open?.act === "change" && <ChangeKey apiKey={open.key} onClose={close} />}
      {open?.act === "rotate" && <RotateKey apiKey={open.key} onClose={close} />}
      {open?.act === "revoke" && <RevokeKey apiKey={open.key} onClose={close} />}
    </Page>
  );
}

function KeyLists({ onAct, onCreate }: { onAct: (act: Act) => void; onCreate: () => void }) {
  const { id, mayChange } = useWallet();
  const keys = useQuery(keysQuery(id));
  const wallet = useQuery(walletQuery(id));
  if (keys.isPending) return <RowsSkeleton />;
  if (keys.isError && !keys.data) {
    return <Failure error={keys.error} what="The keys could not be read." retry={() => keys.refetch()} />;
  }
  const price = wallet.data?.price ?? "0.01";
  const inUse = keys.data.filter(({ state }) => state === "active");
  const ended = keys.data.filter(({ state }) => state !== "active");
  return (
    <>
      {inUse.length === 0 ? (
        <Empty
          title="No key works at the moment"
          action={
            mayChange && (
              <Button variant="default" onClick={onCreate}>
                Create key
              </Button>
            )
          }
        >
          A key is what your program shows with each search. Begin with a test key: it answers like a live one and costs
          nothing.
        </Empty>
      ) : (
        <KeyTable label="Keys" keys={inUse} all={keys.data} price={price} onAct={onAct} />
      )}
      <Ended keys={ended} all={keys.data} price={price} onAct={onAct} />
    </>
  );
}

function Ended({ keys, all, price, onAct }: { keys: Key[]; all: Key[]; price: string; onAct: (act: Act) => void }) {
  const [isOpen, setIsOpen] = useState(false);
  if (keys.length === 0) return undefined;
  return (
    <>
      <UnstyledButton mt="lg" mb="xs" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
        <Text span size="sm" c="var(--pb-accent)">
          {isOpen ? "Hide" : "Show"} {formatCount(keys.length, "key that ended", "keys that ended")}
        </Text>
      </UnstyledButton>
      {isOpen && <KeyTable label="Keys that ended" keys={keys} all={all} price={price} onAct={onAct} />}
    </>
  );
}
