import { Radio, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { type Role, useSession } from "../../api/session.ts";
import { type Invitation, teamQuery } from "../../api/team.ts";
import { walletPath } from "../../api/wallet.ts";
import { useWallet } from "../../frame/use-wallet.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { roles, roleWords } from "./role-words.ts";

export function Invite({ onClose }: { onClose: () => void }) {
  const { id } = useWallet();
  const { features } = useSession();
  const queries = useQueryClient();
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<Role>("developer");
  const invite = useMutation({
    mutationFn: () =>
      api<Invitation>(walletPath(id, "invitations"), { method: "POST", body: { email: email.trim(), role } }),
    onSuccess: async () => {
      await queries.invalidateQueries(teamQuery(id));
      onClose();
    },
  });
  return (
    <Dialog
      title="Invite somebody"
      action="Send invitation"
      isReady={features.mail && /^\S+@\S+$/.test(email.trim())}
      onClose={onClose}
      isBusy={invite.isPending}
      error={invite.error}
      onSubmit={() => invite.mutate()}
    >
      {!features.mail && (
        <Text size="sm" c="var(--pb-danger)">
          This installation sends no mail, so nobody can be invited from here. Ask whoever runs it.
        </Text>
      )}
      <TextInput
        type="email"
        label="Their address"
        description="They get a link that works for a week, once, and only for this address."
        placeholder="ada@example.org"
        data-autofocus
        value={email}
        onChange={(event) => setEmail(event.currentTarget.value)}
      />
      <Radio.Group label="Role" value={role} onChange={setRole}>
        <Stack gap="xs" mt={6}>
          {roles.map((name) => (
            <Radio key={name} value={name} label={roleWords[name].name} description={roleWords[name].may} />
          ))}
        </Stack>
      </Radio.Group>
    </Dialog>
  );
}
