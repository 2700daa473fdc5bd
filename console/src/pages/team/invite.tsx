import { Radio, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { type Role, useSession } from "../../api/session.ts";
import { type Invitation, teamQuery } from "../../api/team.ts";
import { walletPath } from "../../api/wallet.ts";
import { Dialog } from "../../components/dialog.tsx";
import { useWallet } from "../../layout/use-wallet.ts";
import { roleLabels, roles } from "./role-labels.ts";

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
      title="Invite member"
      action="Send invitation"
      isReady={features.mail && /^\S+@\S+$/.test(email.trim())}
      onClose={onClose}
      isBusy={invite.isPending}
      error={invite.error}
      onSubmit={() => invite.mutate()}
    >
      {!features.mail && (
        <Text size="sm" c="var(--pb-danger)">
          Email is not configured on this server, so invitations cannot be sent. Contact the operator.
        </Text>
      )}
      <TextInput
        type="email"
        label="Email"
        description="The invitation link is for this address only, works once and expires in 7 days."
        placeholder="ada@example.org"
        data-autofocus
        value={email}
        onChange={(event) => setEmail(event.currentTarget.value)}
      />
      <Radio.Group label="Role" value={role} onChange={setRole}>
        <Stack gap="xs" mt={6}>
          {roles.map((name) => (
            <Radio key={name} value={name} label={roleLabels[name].name} description={roleLabels[name].description} />
          ))}
        </Stack>
      </Radio.Group>
    </Dialog>
  );
}
