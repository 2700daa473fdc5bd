import { Button } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import { type Invitation, teamQuery } from "../../api/team.ts";
import { walletPath } from "../../api/wallet.ts";
import { useWallet } from "../../frame/use-wallet.ts";
import { Moment } from "../../parts/moment.tsx";
import { Section } from "../../parts/page.tsx";
import { Refusal } from "../../parts/states.tsx";
import { ActCell, Cell, type Column, HeadCell, Row, Table } from "../../parts/table.tsx";
import { roleWords } from "./role-words.ts";
import classes from "./team.module.css";

const columns: Column[] = [{ name: "Address" }, { name: "Role" }, { name: "Ends" }, { name: "Change", isQuiet: true }];

export function Invitations({ invitations }: { invitations: readonly Invitation[] }) {
  return (
    <Section title="Invitations" about="Sent, and not yet accepted.">
      <Table label="Invitations" columns={columns}>
        {invitations.map((invitation) => (
          <InvitationRow key={invitation.id} invitation={invitation} />
        ))}
      </Table>
    </Section>
  );
}

function InvitationRow({ invitation }: { invitation: Invitation }) {
  const { id, mayLead } = useWallet();
  const queries = useQueryClient();
  const takeBack = useMutation({
    mutationFn: () => api(walletPath(id, `invitations/${invitation.id}`), { method: "DELETE" }),
    onSuccess: () => queries.invalidateQueries(teamQuery(id)),
  });
  return (
    <Row>
      <HeadCell>
        <span className={classes.mail}>{invitation.email}</span>
      </HeadCell>
      <Cell label="Role">{roleWords[invitation.role].name}</Cell>
      <Cell label="Ends">
        <Moment at={invitation.expires_at} />
      </Cell>
      <ActCell>
        {mayLead && (
          <Button
            variant="subtle"
            color="ink"
            size="compact-sm"
            loading={takeBack.isPending}
            onClick={() => takeBack.mutate()}
          >
            Take back
          </Button>
        )}
        <Refusal error={takeBack.error} />
      </ActCell>
    </Row>
  );
}
