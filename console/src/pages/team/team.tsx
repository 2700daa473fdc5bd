import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { teamQuery } from "../../api/team.ts";
import { useWallet } from "../../frame/use-wallet.ts";
import { Page, Section } from "../../parts/page.tsx";
import { Failure, RowsSkeleton } from "../../parts/states.tsx";
import { Invitations } from "./invitations.tsx";
import { Invite } from "./invite.tsx";
import { Members } from "./members.tsx";
import { roles, roleWords } from "./role-words.ts";
import classes from "./team.module.css";

export function Team() {
  const { id, mayLead, account_name: account } = useWallet();
  const team = useQuery(teamQuery(id));
  const [isInviting, setIsInviting] = useState(false);
  return (
    <Page
      title="Team"
      about={`Who belongs to ${account}, and what each may do.`}
      actions={mayLead && <Button onClick={() => setIsInviting(true)}>Invite somebody</Button>}
    >
      {team.isPending && <RowsSkeleton rows={3} />}
      {team.isError && !team.data && (
        <Failure error={team.error} what="The team could not be read." retry={() => team.refetch()} />
      )}
      {team.data && (
        <>
          <Members members={team.data.members} />
          {team.data.invitations.length > 0 && <Invitations invitations={team.data.invitations} />}
        </>
      )}
      <Section title="Roles">
        <dl className={classes.roles}>
          {roles.map((role) => (
            <div key={role}>
              <dt>{roleWords[role].name}</dt>
              <dd>{roleWords[role].may}</dd>
            </div>
          ))}
        </dl>
      </Section>
      {isInviting && <Invite onClose={() => setIsInviting(false)} />}
    </Page>
  );
}
