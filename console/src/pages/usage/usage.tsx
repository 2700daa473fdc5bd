import { Tabs } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { Page } from "../../components/page.tsx";
import { useMode } from "../../layout/mode.tsx";
import { Runs } from "./runs.tsx";
import { Searches } from "./searches.tsx";
import classes from "./usage.module.css";

const route = getRouteApi("/signed-in/w/$walletId/usage");

export function Usage() {
  const { mode } = useMode();
  const { tab } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <Page
      title="Usage"
      description={
        mode === "test" ? "Your test searches by day, key and outcome." : "Your searches and what they cost."
      }
    >
      <Tabs
        value={tab === "runs" ? "runs" : "searches"}
        keepMounted={false}
        classNames={{ list: classes.tabs ?? "" }}
        onChange={(chosen) =>
          navigate({ search: (before) => ({ ...before, tab: chosen === "runs" ? "runs" : undefined }), replace: true })
        }
      >
        <Tabs.List mb="lg">
          <Tabs.Tab value="searches">Searches</Tabs.Tab>
          <Tabs.Tab value="runs">Runs</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="searches">
          <Searches />
        </Tabs.Panel>
        <Tabs.Panel value="runs">
          <Runs />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}
