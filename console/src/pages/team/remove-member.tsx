import { Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { api } from "../../api/client.ts";
import { sessionQuery } from "../../api/session.ts";
import { type Member, teamQuery } from "../../api/team.ts";
import { walletPath } from "../../api/wallet.ts";
import { useWallet } from "../../frame/use-wallet.ts";
import { Dialog } from "../../parts/dialog.tsx";

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
      // What was read of this wallet is no longer theirs to see.
      queries.removeQueries({ queryKey: ["wallet", id] });
      await queries.query({ ...sessionQuery, staleTime: 0 });
      await navigate({ to: "/" });
    },
  });
  const who = member.name || member.email;
  return (
    <Dialog
      title={member.you ? `Leave ${account}` : `Remove ${who}`}
      action={member.you ? "Leave" : "Remove"}
      isDangerous
      onClose={onClose}
      isBusy={remove.isPending}
      error={remove.error}
      onSubmit={() => remove.mutate()}
    >
      <Text size="sm">
        {member.you
          ? "You no longer see this account. An owner can invite you again."
          : `${who} no longer sees this account.`}{" "}
        Keys keep working: rotate those that {member.you ? "you" : "they"} know.
      </Text>
    </Dialog>
  );
}
