import { Radio, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { type Role, useSession } from "../../api/session.ts";
import { type Invitation, teamQuery } from "../../api/team.ts";
import { walletPath } from "../../api/wallet.ts";
import { CodeBlock } from "../../components/code-block.tsx";
import { Dialog, ResultDialog } from "../../components/dialog.tsx";
import { useWallet } from "../../layout/use-wallet.ts";
import { roleLabels, roles } from "./role-labels.ts";
import { useInvitationLink } from "./use-invitation-link.ts";

export function Invite({ onClose }: { onClose: () => void }) {
  const { id } = useWallet();
  const { features } = useSession();
  const queries = useQueryClient();
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<Role>("developer");
  const invite = useMutation({
    mutationFn: () =>
      api<Invitation>(walletPath(id, "invitations"), { method: "POST", body: { email: email.trim(), role } }),
    onSuccess: () => queries.invalidateQueries(teamQuery(id)),
  });
  if (invite.data) return <InvitationCreated invitation={invite.data} onClose={onClose} />;
  return (
    <Dialog
      title="Invite member"
      action={features.mail ? "Send invitation" : "Create invitation"}
      isReady={/^\S+@\S+$/.test(email.trim())}
      onClose={onClose}
      isBusy={invite.isPending}
      error={invite.error}
      onSubmit={() => invite.mutate()}
    >
      <TextInput
        type="email"
        label="Email"
        description={
          features.mail
            ? "We'll email the invitation to this address. You can also copy its link."
            : "Email is not configured on this server. Copy the link in the next step and send it yourself."
        }
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

function InvitationCreated({ invitation, onClose }: { invitation: Invitation; onClose: () => void }) {
  const { features } = useSession();
  const link = useInvitationLink(invitation.id);
  return (
    <ResultDialog title={`Invitation for ${invitation.email}`} action="Done" onClose={onClose}>
      <Text size="sm">
        {features.mail ? "We've emailed the invitation. You can also send this link yourself." : "Send them this link."}{" "}
        To join, they sign in as {invitation.email}. The link works once and expires in 7 days.
      </Text>
      <CodeBlock text={link} label="invitation link" isWrapped />
    </ResultDialog>
  );
}
