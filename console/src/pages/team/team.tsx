import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { teamQuery } from "../../api/team.ts";
import { Page, Section } from "../../components/page.tsx";
import { QueryState } from "../../components/states.tsx";
import { useWallet } from "../../layout/use-wallet.ts";
import { Invitations } from "./invitations.tsx";
import { Invite } from "./invite.tsx";
import { Members } from "./members.tsx";
import { roleLabels, roles } from "./role-labels.ts";
import classes from "./team.module.css";

export function Team() {
  const { id, isOwner, account_name: account } = useWallet();
  const team = useQuery(teamQuery(id));
  const [isInviting, setIsInviting] = useState(false);
  return (
    <Page
      title="Team"
      description={`Members of ${account} and their roles.`}
      actions={isOwner && <Button onClick={() => setIsInviting(true)}>Invite member</Button>}
    >
      <QueryState query={team} title="Couldn't load the team." rows={3} />
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
              <dt>{roleLabels[role].name}</dt>
              <dd>{roleLabels[role].description}</dd>
            </div>
          ))}
        </dl>
      </Section>
      {isInviting && <Invite onClose={() => setIsInviting(false)} />}
    </Page>
  );
}
