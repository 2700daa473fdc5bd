import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { teamQuery } from "../../api/team.ts";
import { Page, Section } from "../../components/page.tsx";
import { QueryState } from "../../components/states.tsx";
import { useWallet } from "../../layout/use-wallet.ts";
import { Invitations } from "./invitations.tsx";
import { Invite } from "./invite.tsx";
import { Members } from "./members.tsx";
import { roleLabels, roles } from "./role-labels.ts";
import classes from "./team.module.css";

const route = getRouteApi("/signed-in/w/$walletId/team");

export function Team() {
  const { id, isOwner, account_name: account } = useWallet();
  const team = useQuery(teamQuery(id));
  // In the URL, so that the command palette can open it.
  const isInviting = route.useSearch().dialog === "invite";
  const navigate = route.useNavigate();
  const setDialog = (dialog: "invite" | undefined): Promise<void> => navigate({ search: { dialog }, replace: true });
  return (
    <Page
      title="Team"
      description={`Members of ${account} and their roles.`}
      actions={isOwner && <Button onClick={() => setDialog("invite")}>Invite member</Button>}
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
      {isOwner && isInviting && <Invite onClose={() => setDialog(undefined)} />}
    </Page>
  );
}
