import type { QueryClient } from "@tanstack/react-query";
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  notFound,
  Outlet,
  redirect,
} from "@tanstack/react-router";
import { sessionQuery } from "./api/session.ts";
import { Broken } from "./frame/broken.tsx";
import { Frame } from "./frame/frame.tsx";
import { lastWallet } from "./frame/last-wallet.ts";
import { Missing } from "./frame/missing.tsx";
import { SignedIn } from "./frame/signed-in.tsx";

// Every address of the console. A page is fetched when it is first opened.

interface Context {
  queries: QueryClient;
}

const root = createRootRouteWithContext<Context>()({
  component: Outlet,
  notFoundComponent: Missing,
  errorComponent: Broken,
});

/** What only people who are signed in see. Others come back here after they have signed in. */
const signedIn = createRoute({
  getParentRoute: () => root,
  id: "signed-in",
  beforeLoad: async ({ context, location }) => {
    const session = await context.queries.query({ ...sessionQuery, staleTime: "static" });
    if (!session.person) throw redirect({ to: "/sign-in", search: { return_to: location.publicHref } });
    return { session };
  },
  component: SignedIn,
});

const home = createRoute({
  getParentRoute: () => signedIn,
  path: "/",
  beforeLoad: ({ context }) => {
    const wallet = lastWallet(context.session.wallets);
    if (!wallet) throw redirect({ to: "/welcome" });
    throw redirect({ to: "/w/$walletId", params: { walletId: wallet.id } });
  },
});

/** Where a 402 leads: whoever follows it need not know the wallet's id. */
const anyTopUp = createRoute({
  getParentRoute: () => signedIn,
  path: "/top-up",
  beforeLoad: ({ context }) => {
    const wallet = lastWallet(context.session.wallets);
    if (!wallet) throw redirect({ to: "/welcome" });
    throw redirect({ to: "/w/$walletId/top-up", params: { walletId: wallet.id } });
  },
});

const wallet = createRoute({
  getParentRoute: () => signedIn,
  path: "/w/$walletId",
  component: Frame,
  beforeLoad: ({ context, params }) => {
    const found = context.session.wallets.find(({ id }) => id === params.walletId);
    // Of another tenant's wallet we say what we say of one that does not exist.
    if (!found) throw notFound();
    return { wallet: found };
  },
});

/** Of what stands after the question mark, the words that a page knows. */
function readWords<Name extends string>(...names: Name[]) {
  return (given: Record<string, unknown>): { [Key in Name]?: string | undefined } => {
    const known = names.flatMap((name) => (typeof given[name] === "string" ? [[name, given[name]]] : []));
    return Object.fromEntries(known) as { [Key in Name]?: string };
  };
}

const pages = [
  createRoute({
    getParentRoute: () => wallet,
    path: "/",
    component: lazyRouteComponent(() => import("./pages/overview/overview.tsx"), "Overview"),
  }),
  createRoute({
    getParentRoute: () => wallet,
    path: "/playground",
    component: lazyRouteComponent(() => import("./pages/playground/playground.tsx"), "Playground"),
  }),
  createRoute({
    getParentRoute: () => wallet,
    path: "/keys",
    component: lazyRouteComponent(() => import("./pages/keys/keys.tsx"), "Keys"),
  }),
  createRoute({
    getParentRoute: () => wallet,
    path: "/usage",
    validateSearch: readWords("tab", "span", "by", "group", "measure"),
    component: lazyRouteComponent(() => import("./pages/usage/usage.tsx"), "Usage"),
  }),
  createRoute({
    getParentRoute: () => wallet,
    path: "/ledger",
    validateSearch: readWords("request_id", "kind", "period", "from", "to"),
    component: lazyRouteComponent(() => import("./pages/ledger/ledger.tsx"), "Ledger"),
  }),
  createRoute({
    getParentRoute: () => wallet,
    path: "/top-up",
    validateSearch: readWords("checkout"),
    component: lazyRouteComponent(() => import("./pages/top-up/top-up.tsx"), "TopUp"),
  }),
  createRoute({
    getParentRoute: () => wallet,
    path: "/alerts",
    component: lazyRouteComponent(() => import("./pages/alerts/alerts.tsx"), "Alerts"),
  }),
  createRoute({
    getParentRoute: () => wallet,
    path: "/team",
    component: lazyRouteComponent(() => import("./pages/team/team.tsx"), "Team"),
  }),
] as const;

const welcome = createRoute({
  getParentRoute: () => signedIn,
  path: "/welcome",
  component: lazyRouteComponent(() => import("./pages/welcome/welcome.tsx"), "Welcome"),
});

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  validateSearch: (given: Record<string, unknown>): { return_to?: string } =>
    typeof given["return_to"] === "string" ? { return_to: given["return_to"] } : {},
  loader: ({ context }) => context.queries.query(sessionQuery),
  component: lazyRouteComponent(() => import("./pages/sign-in/sign-in.tsx"), "SignIn"),
});

const confirmed = createRoute({
  getParentRoute: () => root,
  path: "/confirmed",
  component: lazyRouteComponent(() => import("./pages/sign-in/confirmed.tsx"), "Confirmed"),
});

const invitation = createRoute({
  getParentRoute: () => root,
  path: "/invitation",
  loader: ({ context }) => context.queries.query(sessionQuery),
  component: lazyRouteComponent(() => import("./pages/sign-in/invitation.tsx"), "Invitation"),
});

export function createConsoleRouter(queries: QueryClient) {
  return createRouter({
    routeTree: root.addChildren([
      signedIn.addChildren([home, anyTopUp, welcome, wallet.addChildren(pages)]),
      signIn,
      confirmed,
      invitation,
    ]),
    basepath: "/console",
    context: { queries },
    defaultPreload: "intent",
    scrollRestoration: true,
  });
}
