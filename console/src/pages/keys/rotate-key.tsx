import { Radio, Stack, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { type Key, keysQuery, type NewKey } from "../../api/keys.ts";
import { walletPath } from "../../api/wallet.ts";
import { useWallet } from "../../frame/use-wallet.ts";
import { Dialog, Shown } from "../../parts/dialog.tsx";
import { SecretOnce } from "../../parts/secret-once.tsx";
import { KeepIt } from "./create-key.tsx";
import { Countdown } from "./key-state.tsx";
import classes from "./keys.module.css";

const graces = [
  { value: "0", label: "It ends at once", description: "If it leaked." },
  { value: "3600", label: "1 hour" },
  { value: "86400", label: "24 hours" },
  { value: "604800", label: "7 days" },
];

/** A new key in place of an old one, which works a while longer so that nothing stops. */
export function RotateKey({ apiKey, onClose }: { apiKey: Key; onClose: () => void }) {
  const { id } = useWallet();
  const queries = useQueryClient();
  const [grace, setGrace] = useState("86400");
  const rotate = useMutation({
    mutationFn: async () => {
      const body = { grace_seconds: Number(grace) };
      const made = await api<NewKey>(walletPath(id, `keys/${apiKey.id}/rotate`), { method: "POST", body });
      return { made, endsAt: new Date(Date.now() + body.grace_seconds * 1_000).toISOString() };
    },
    onSuccess: () => queries.invalidateQueries(keysQuery(id)),
  });
  if (rotate.data) return <ShowBoth old={apiKey} {...rotate.data} onClose={onClose} />;
  return (
    <Dialog
      title={`Rotate ${apiKey.name}`}
      action="Rotate key"
      onClose={onClose}
      isBusy={rotate.isPending}
      error={rotate.error}
      onSubmit={() => rotate.mutate()}
    >
      <Text size="sm">
        You get a new key with the same name, limits and budget. Both spend from that budget until the old one ends.
      </Text>
      <Radio.Group label="How long should the old key still work?" value={grace} onChange={setGrace}>
        <Stack gap="xs" mt={6}>
          {graces.map((choice) => (
            <Radio key={choice.value} {...choice} />
          ))}
        </Stack>
      </Radio.Group>
    </Dialog>
  );
}

function ShowBoth(props: { old: Key; made: NewKey; endsAt: string; onClose: () => void }) {
  const { old, made, endsAt, onClose } = props;
  return (
    <Shown title={`${made.name} has a new key`} action="I have kept it" onClose={onClose}>
      <Text size="sm">This is the only time that the new key is shown.</Text>
      <SecretOnce secret={made.key} label="the new key">
        <KeepIt mode={made.mode} />
      </SecretOnce>
      <dl className={classes.both}>
        <dt>New</dt>
        <dd>
          <span className="mono">{made.start}…</span>, works from now on
        </dd>
        <dt>Old</dt>
        <dd>
          <span className="mono">{old.start}…</span>, <Countdown until={endsAt} before="ends in" after="has ended" />
        </dd>
      </dl>
    </Shown>
  );
}
