import { Button, Group } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import { type Invitation, teamQuery } from "../../api/team.ts";
import { walletPath } from "../../api/wallet.ts";
import { CopyButton } from "../../components/copy-button.tsx";
import { Section } from "../../components/page.tsx";
import { RelativeTime } from "../../components/relative-time.tsx";
import { InlineError } from "../../components/states.tsx";
import { ActionsCell, Cell, type Column, Row, RowHeader, Table } from "../../components/table.tsx";
import { useWallet } from "../../layout/use-wallet.ts";
import { roleLabels } from "./role-labels.ts";
import classes from "./team.module.css";
import { useInvitationLink } from "./use-invitation-link.ts";

const columns: Column[] = [
  { name: "Email" },
  { name: "Role" },
  { name: "Expires" },
  { name: "Actions", isHeaderHidden: true },
];

export function Invitations({ invitations }: { invitations: readonly Invitation[] }) {
  return (
    <Section title="Invitations" description="Waiting to be accepted.">
      <Table label="Invitations" columns={columns}>
        {invitations.map((invitation) => (
          <InvitationRow key={invitation.id} invitation={invitation} />
        ))}
      </Table>
    </Section>
  );
}

function InvitationRow({ invitation }: { invitation: Invitation }) {
  const { id, isOwner } = useWallet();
  const queries = useQueryClient();
  const link = useInvitationLink(invitation.id);
  const revoke = useMutation({
    mutationFn: () => api(walletPath(id, `invitations/${invitation.id}`), { method: "DELETE" }),
    onSuccess: () => queries.invalidateQueries(teamQuery(id)),
  });
  return (
    <Row>
      <RowHeader>
        <span className={classes.email}>{invitation.email}</span>
      </RowHeader>
      <Cell label="Role">{roleLabels[invitation.role].name}</Cell>
      <Cell label="Expires">
        <RelativeTime at={invitation.expires_at} />
      </Cell>
      <ActionsCell isWide>
        {isOwner && (
          <Group gap={4} justify="flex-end" wrap="nowrap">
            <CopyButton
              text={link}
              label="Copy link"
              variant="subtle"
              color="ink"
              size="compact-sm"
              aria-label={`Copy invitation link for ${invitation.email}`}
            />
            <Button
              variant="subtle"
              color="ink"
              size="compact-sm"
              aria-label={`Revoke invitation for ${invitation.email}`}
              loading={revoke.isPending}
              onClick={() => revoke.mutate()}
            >
              Revoke
            </Button>
          </Group>
        )}
        <InlineError error={revoke.error} />
      </ActionsCell>
    </Row>
  );
}
