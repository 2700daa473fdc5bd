import { Button, NativeSelect, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { type Role, sessionQuery } from "../../api/session.ts";
import { type Member, teamQuery } from "../../api/team.ts";
import { walletPath } from "../../api/wallet.ts";
import { RelativeTime } from "../../components/relative-time.tsx";
import { InlineError } from "../../components/states.tsx";
import { ActionsCell, Cell, type Column, Row, RowHeader, Table } from "../../components/table.tsx";
import { useWallet } from "../../layout/use-wallet.ts";
import { isLastOwner } from "./is-last-owner.ts";
import { RemoveMember } from "./remove-member.tsx";
import { roleLabels, roles } from "./role-labels.ts";
import classes from "./team.module.css";

const columns: Column[] = [
  { name: "Member" },
  { name: "Role" },
  { name: "Joined" },
  { name: "Actions", isHeaderHidden: true },
];

export function Members({ members }: { members: readonly Member[] }) {
  const { isOwner } = useWallet();
  const [removing, setRemoving] = useState<Member>();
  return (
    <>
      <Table label="Members" columns={columns}>
        {members.map((member) => (
          <MemberRow
            key={member.person_id}
            member={member}
            isOnlyOwner={isLastOwner(member, members)}
            onRemove={() => setRemoving(member)}
          />
        ))}
      </Table>
      {!isOwner && (
        <Text size="sm" c="dimmed" mt="sm">
          Only owners can manage the team. To leave, ask an owner to remove you.
        </Text>
      )}
      {removing && <RemoveMember member={removing} onClose={() => setRemoving(undefined)} />}
    </>
  );
}

function MemberRow({ member, isOnlyOwner, onRemove }: { member: Member; isOnlyOwner: boolean; onRemove: () => void }) {
  const { isOwner } = useWallet();
  return (
    <Row>
      <RowHeader>
        {member.name || member.email}
        {member.you && (
          <Text span inherit c="dimmed" fw={400}>
            {" "}
            (you)
          </Text>
        )}
        {member.name !== "" && (
          <Text size="sm" c="dimmed" fw={400} className={classes.email}>
            {member.email}
          </Text>
        )}
      </RowHeader>
      <Cell label="Role">
        {isOwner && !isOnlyOwner ? <RolePicker member={member} /> : roleLabels[member.role].name}
        {isOnlyOwner && (
          <Text size="xs" c="dimmed">
            The only owner can't leave
          </Text>
        )}
      </Cell>
      <Cell label="Joined">
        <RelativeTime at={member.joined_at} />
      </Cell>
      <ActionsCell>
        {!isOnlyOwner && isOwner && (
          <Button
            variant="subtle"
            color="ink"
            size="compact-sm"
            aria-label={member.you ? "Leave" : `Remove ${member.name || member.email}`}
            onClick={onRemove}
          >
            {member.you ? "Leave" : "Remove"}
          </Button>
        )}
      </ActionsCell>
    </Row>
  );
}

function RolePicker({ member }: { member: Member }) {
  const { id } = useWallet();
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: (role: Role) => api(walletPath(id, `members/${member.person_id}`), { method: "PATCH", body: { role } }),
    onSettled: async () => {
      await queries.invalidateQueries(teamQuery(id));
      if (member.you) await queries.invalidateQueries(sessionQuery);
    },
  });
  return (
    <>
      <NativeSelect
        size="xs"
        className={classes.role}
        aria-label={`Role of ${member.name || member.email}`}
        value={change.isPending ? change.variables : member.role}
        disabled={change.isPending}
        data={roles.map((role) => ({ value: role, label: roleLabels[role].name }))}
        onChange={(event) => change.mutate(event.currentTarget.value as Role)}
      />
      <InlineError error={change.error} />
    </>
  );
}
