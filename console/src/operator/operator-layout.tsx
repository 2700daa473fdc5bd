import { Button, Text } from "@mantine/core";
import { useHash } from "@mantine/hooks";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { api } from "../api/client.ts";
import classes from "../frame/frame.module.css";
import { Icon, type IconName } from "../parts/icon.tsx";
import { RowsSkeleton } from "../parts/states.tsx";
import stamp from "../stamp.svg";
import { Accounts } from "./accounts.tsx";
import { Attention } from "./attention.tsx";
import { Audit } from "./audit.tsx";
import { Books } from "./books.tsx";
import { System } from "./system.tsx";
import { Upstreams } from "./upstreams.tsx";

const Margin = lazy(() => import("./margin.tsx").then(({ Margin: component }) => ({ default: component })));

const rooms = [
  { hash: "upstreams", label: "Upstreams", icon: "upstreams", component: Upstreams },
  { hash: "margin", label: "Margin", icon: "usage", component: Margin },
  { hash: "accounts", label: "Accounts", icon: "accounts", component: Accounts },
  { hash: "books", label: "Books", icon: "books", component: Books },
  { hash: "audit", label: "Audit", icon: "audit", component: Audit },
  { hash: "system", label: "System", icon: "system", component: System },
] as const satisfies { hash: string; label: string; icon: IconName; component: unknown }[];

export function OperatorFrame({ operator }: { operator: string }) {
  const [hash] = useHash({ getInitialValueInEffect: false });
  const room = rooms.find((each) => `#${each.hash}` === hash) ?? rooms[0];
  const links = (className: string | undefined) =>
    rooms.map(({ hash: name, label, icon }) => (
      <a
        key={name}
        href={`#${name}`}
        className={className}
        data-status={name === room.hash ? "active" : undefined}
        aria-current={name === room.hash ? "page" : undefined}
      >
        <Icon name={icon} />
        {label}
      </a>
    ));
  return (
    <div className={classes.frame}>
      <nav className={classes.rail} aria-label="Pages">
        <a href="#upstreams" className={classes.brand}>
          <img src={stamp} alt="" width="20" height="20" />
          Pennyblack
        </a>
        <div className={classes.places}>{links(classes.place)}</div>
        <div className={classes.foot}>
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
            <room.component />
          </Suspense>
        </main>
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
