import { Button, Group, Text } from "@mantine/core";
import { useHash } from "@mantine/hooks";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { api } from "../api/client.ts";
import { Icon, type IconName } from "../components/icon.tsx";
import { RowsSkeleton } from "../components/states.tsx";
import classes from "../layout/layout.module.css";
import stamp from "../stamp.svg";
import { Accounts } from "./accounts.tsx";
import { Attention } from "./attention.tsx";
import { Audit } from "./audit.tsx";
import { Cells } from "./cells.tsx";
import { cellsQuery } from "./queries.ts";
import { Reconciliation } from "./reconciliation.tsx";
import { System } from "./system.tsx";
import { Upstreams } from "./upstreams.tsx";

const Margin = lazy(() => import("./margin.tsx").then(({ Margin: component }) => ({ default: component })));

const allPages = [
  { hash: "upstreams", label: "Upstreams", icon: "upstreams", component: Upstreams },
  { hash: "cells", label: "Cells", icon: "cells", component: Cells },
  { hash: "margin", label: "Margin", icon: "usage", component: Margin },
  { hash: "accounts", label: "Accounts", icon: "accounts", component: Accounts },
  { hash: "reconciliation", label: "Ledger", icon: "reconciliation", component: Reconciliation },
  { hash: "audit", label: "Audit", icon: "audit", component: Audit },
  { hash: "system", label: "System", icon: "system", component: System },
] as const satisfies { hash: string; label: string; icon: IconName; component: unknown }[];

export function OperatorLayout({ operator }: { operator: string }) {
  const [hash] = useHash({ getInitialValueInEffect: false });
  const { data: fleet } = useQuery(cellsQuery);
  // Until the list is loaded, a link to the page opens it.
  const hasCells = fleet ? fleet.cells.length > 0 : hash === "#cells";
  const pages = allPages.filter((each) => each.hash !== "cells" || hasCells);
  const page = pages.find((each) => `#${each.hash}` === hash.split("?")[0]) ?? allPages[0];
  const links = (className: string | undefined) =>
    pages.map(({ hash: name, label, icon }) => (
      <a
        key={name}
        href={`#${name}`}
        className={className}
        data-status={name === page.hash ? "active" : undefined}
        aria-current={name === page.hash ? "page" : undefined}
      >
        <Icon name={icon} />
        {label}
      </a>
    ));
  return (
    <div className={classes.layout}>
      <nav className={classes.sidebar} aria-label="Pages">
        <a href="#upstreams" className={classes.brand}>
          <img src={stamp} alt="" width="20" height="20" />
          Pennyblack
        </a>
        <div className={classes.navList}>{links(classes.navItem)}</div>
        <div className={classes.sidebarFooter}>
          <Text size="xs" c="dimmed" px="sm">
            Operator {operator}
          </Text>
          <SignOut />
        </div>
      </nav>
      <div className={classes.column}>
        <main className={classes.content}>
          <Attention />
          <Suspense fallback={<RowsSkeleton />}>
            <page.component />
          </Suspense>
        </main>
        {/* The sidebar with the other one is hidden. */}
        <Group hiddenFrom="sm" px="md" pb="xl" justify="space-between">
          <Text size="xs" c="dimmed">
            Operator {operator}
          </Text>
          <SignOut />
        </Group>
      </div>
      <nav className={classes.bottomBar} aria-label="Pages" data-many>
        {links(classes.tab)}
      </nav>
    </div>
  );
}

function SignOut() {
  const queries = useQueryClient();
  const signOut = useMutation({
    mutationFn: () => api("/operator/session", { method: "DELETE" }),
    onSuccess: () => queries.resetQueries(),
  });
  return (
    <Button variant="subtle" size="xs" color="ink" justify="flex-start" onClick={() => signOut.mutate()}>
      Sign out
    </Button>
  );
}
