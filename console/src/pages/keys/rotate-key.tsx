import { Radio, Stack, Text } from "@mantine/core";
import type { CreatedKey, Key } from "@pennyblack/sdk";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { keysQuery } from "../../api/keys.ts";
import { walletPath } from "../../api/wallet.ts";
import { Dialog, ResultDialog } from "../../components/dialog.tsx";
import { OneTimeSecret } from "../../components/one-time-secret.tsx";
import { useWallet } from "../../layout/use-wallet.ts";
import { StorageAdvice } from "./create-key.tsx";
import { Countdown } from "./key-status.tsx";
import classes from "./keys.module.css";

const gracePeriods = [
  { value: "0", label: "Expire it now", description: "If the key leaked." },
  { value: "3600", label: "1 hour" },
  { value: "86400", label: "24 hours" },
  { value: "604800", label: "7 days" },
];

/** Replaces a key. The old one keeps working for a grace period. */
export function RotateKey({ apiKey, onClose }: { apiKey: Key; onClose: () => void }) {
  const { id } = useWallet();
  const queries = useQueryClient();
  const [graceSeconds, setGraceSeconds] = useState("86400");
  const rotate = useMutation({
    mutationFn: async () => {
      const body = { grace_seconds: Number(graceSeconds) };
      const created = await api<CreatedKey>(walletPath(id, `keys/${apiKey.id}/rotate`), { method: "POST", body });
      return { created, endsAt: new Date(Date.now() + body.grace_seconds * 1_000).toISOString() };
    },
    onSuccess: () => queries.invalidateQueries(keysQuery(id)),
  });
  if (rotate.data) return <RotatedDialog old={apiKey} {...rotate.data} onClose={onClose} />;
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
        You get a new key with the same name, limits and budget. Both share the budget until the old key expires.
      </Text>
      <Radio.Group label="How long should the old key keep working?" value={graceSeconds} onChange={setGraceSeconds}>
        <Stack gap="xs" mt={6}>
          {gracePeriods.map((option) => (
            <Radio key={option.value} {...option} />
          ))}
        </Stack>
      </Radio.Group>
    </Dialog>
  );
}

function RotatedDialog(props: { old: Key; created: CreatedKey; endsAt: string; onClose: () => void }) {
  const { old, created, endsAt, onClose } = props;
  return (
    <ResultDialog title={`${created.name} rotated`} action="I've saved it" onClose={onClose}>
      <Text size="sm">The new key is shown only once.</Text>
      <OneTimeSecret secret={created.key} label="new key">
        <StorageAdvice mode={created.mode} />
      </OneTimeSecret>
      <dl className={classes.keyPair}>
        <dt>New</dt>
        <dd>
          <span className="mono">{created.start}…</span>, active now
        </dd>
        <dt>Old</dt>
        <dd>
          <span className="mono">{old.start}…</span>, <Countdown until={endsAt} before="expires in" after="expired" />
        </dd>
      </dl>
    </ResultDialog>
  );
}
