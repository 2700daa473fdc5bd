import { Button, NativeSelect, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { type Role, sessionQuery } from "../../api/session.ts";
import { type Member, teamQuery } from "../../api/team.ts";
import { walletPath } from "../../api/wallet.ts";
import { useWallet } from "../../frame/use-wallet.ts";
import { Moment } from "../../parts/moment.tsx";
import { Refusal } from "../../parts/states.tsx";
import { ActCell, Cell, type Column, HeadCell, Row, Table } from "../../parts/table.tsx";
import { isLastOwner } from "./may-leave.ts";
import { RemoveMember } from "./remove-member.tsx";
import { roles, roleWords } from "./role-words.ts";
import classes from "./team.module.css";

const columns: Column[] = [{ name: "Person" }, { name: "Role" }, { name: "Joined" }, { name: "Change", isQuiet: true }];

export function Members({ members }: { members: readonly Member[] }) {
  const { mayLead } = useWallet();
  const [leaving, setLeaving] = useState<Member>();
  return (
    <>
      <Table label="Members" columns={columns}>
        {members.map((member) => (
          <MemberRow
            key={member.person_id}
            member={member}
            isLast={isLastOwner(member, members)}
            onRemove={() => setLeaving(member)}
          />
        ))}
      </Table>
      {!mayLead && (
        <Text size="sm" c="dimmed" mt="sm">
          Owners change the team. To leave it, ask one of them to remove you.
        </Text>
      )}
      {leaving && <RemoveMember member={leaving} onClose={() => setLeaving(undefined)} />}
    </>
  );
}

function MemberRow({ member, isLast, onRemove }: { member: Member; isLast: boolean; onRemove: () => void }) {
  const { mayLead } = useWallet();
  return (
    <Row>
      <HeadCell>
        {member.name || member.email}
        {member.you && (
          <Text span inherit c="dimmed" fw={400}>
            , you
          </Text>
        )}
        {member.name !== "" && (
          <Text size="sm" c="dimmed" fw={400} className={classes.mail}>
            {member.email}
          </Text>
        )}
      </HeadCell>
      <Cell label="Role">
        {mayLead && !isLast ? <RolePicker member={member} /> : roleWords[member.role].name}
        {isLast && (
          <Text size="xs" c="dimmed">
            the last owner stays
          </Text>
        )}
      </Cell>
      <Cell label="Joined">
        <Moment at={member.joined_at} />
      </Cell>
      <ActCell>
        {!isLast && mayLead && (
          <Button variant="subtle" color="ink" size="compact-sm" onClick={onRemove}>
            {member.you ? "Leave" : "Remove"}
          </Button>
        )}
      </ActCell>
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
        data={roles.map((role) => ({ value: role, label: roleWords[role].name }))}
        onChange={(event) => change.mutate(event.currentTarget.value as Role)}
      />
      <Refusal error={change.error} />
    </>
  );
}
