import { Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { api } from "../../api/client.ts";
import { sessionQuery } from "../../api/session.ts";
import { type Member, teamQuery } from "../../api/team.ts";
import { walletPath } from "../../api/wallet.ts";
import { Dialog } from "../../components/dialog.tsx";
import { useWallet } from "../../layout/use-wallet.ts";

export function RemoveMember({ member, onClose }: { member: Member; onClose: () => void }) {
  const { id, account_name: account } = useWallet();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const remove = useMutation({
    mutationFn: () => api(walletPath(id, `members/${member.person_id}`), { method: "DELETE" }),
    onSuccess: async () => {
      if (!member.you) {
        await queries.invalidateQueries(teamQuery(id));
        onClose();
        return;
      }
      // The user no longer has access to this wallet's data.
      queries.removeQueries({ queryKey: ["wallet", id] });
      await queries.query({ ...sessionQuery, staleTime: 0 });
      await navigate({ to: "/" });
    },
  });
  const displayName = member.name || member.email;
  return (
    <Dialog
      title={member.you ? `Leave ${account}` : `Remove ${displayName}`}
      action={member.you ? "Leave" : "Remove"}
      isDangerous
      onClose={onClose}
      isBusy={remove.isPending}
      error={remove.error}
      onSubmit={() => remove.mutate()}
    >
      <Text size="sm">
        {member.you
          ? "You will lose access to this account. An owner can invite you back."
          : `${displayName} will lose access to this account.`}{" "}
        {member.you ? "Your" : "Their"} connected apps stop working. API keys keep working. Rotate any that{" "}
        {member.you ? "you have" : "they have"}.
      </Text>
    </Dialog>
  );
}
