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
import { ApiProblem } from "./api/client.ts";
import { versionQuery } from "./api/live-updates.ts";
import { membershipQuery, sessionQuery } from "./api/session.ts";
import { AuthenticatedLayout } from "./layout/authenticated-layout.tsx";
import { ConsoleLayout } from "./layout/console-layout.tsx";
import { ErrorPage } from "./layout/error-page.tsx";
import { readLastWallet } from "./layout/last-wallet.ts";
import { NotFoundPage } from "./layout/not-found-page.tsx";

// All routes of the console. Page code is loaded when the page is first opened.

interface Context {
  queries: QueryClient;
}

const root = createRootRouteWithContext<Context>()({
  component: Outlet,
});

/** Requires a session. Sign-in returns to the requested page. */
const authenticated = createRoute({
  getParentRoute: () => root,
  id: "signed-in",
  beforeLoad: async ({ context, location }) => {
    const session = await context.queries.query({ ...sessionQuery, staleTime: "static" }).catch(signInOperator);
    if (!session.person && session.operator === undefined)
      throw redirect({ to: "/sign-in", search: { return_to: location.publicHref } });
    return { session };
  },
  component: AuthenticatedLayout,
});

/** Only the internal listener refuses a browser that is not signed in. Its sign-in page is outside these routes. */
function signInOperator(error: unknown): never {
  const isOperator = error instanceof ApiProblem && error.code === "authentication_required";
  throw isOperator ? redirect({ href: "/console/", reloadDocument: true }) : error;
}

const home = createRoute({
  getParentRoute: () => authenticated,
  path: "/",
  beforeLoad: ({ context }) => {
    const wallet = readLastWallet(context.session.wallets);
    if (!wallet) throw redirect({ to: "/welcome" });
    throw redirect({ to: "/w/$walletId", params: { walletId: wallet.id } });
  },
});

/** The `top_up.url` of a 402 problem, which has no wallet id. */
const topUpRedirect = createRoute({
  getParentRoute: () => authenticated,
  path: "/top-up",
  beforeLoad: ({ context }) => {
    const wallet = readLastWallet(context.session.wallets);
    if (!wallet) throw redirect({ to: "/welcome" });
    throw redirect({ to: "/w/$walletId/top-up", params: { walletId: wallet.id } });
  },
});

/** The `connect_url` of a 403 problem, which has no wallet id. */
const appsRedirect = createRoute({
  getParentRoute: () => authenticated,
  path: "/apps",
  beforeLoad: ({ context }) => {
    const wallet = readLastWallet(context.session.wallets);
    if (!wallet) throw redirect({ to: "/welcome" });
    throw redirect({ to: "/w/$walletId/apps", params: { walletId: wallet.id } });
  },
});

const wallet = createRoute({
  getParentRoute: () => authenticated,
  path: "/w/$walletId",
  component: ConsoleLayout,
  beforeLoad: async ({ context, params }) => {
    const membership =
      context.session.operator === undefined
        ? context.session.wallets.find(({ id }) => id === params.walletId)
        : await context.queries.query({ ...membershipQuery(params.walletId), staleTime: "static" });
    // Another tenant's wallet looks like one that does not exist.
    if (!membership) throw notFound();
    return { wallet: membership };
  },
  // Before the page reads anything: a change after this read is noticed. It loads together with the page's code.
  loader: ({ context, params }) => context.queries.query(versionQuery(params.walletId)).catch(() => undefined),
});

/** Keeps the known string parameters of the URL's query. */
function pickStrings<Name extends string>(...names: Name[]) {
  return (search: Record<string, unknown>): { [Key in Name]?: string | undefined } => {
    const known = names.flatMap((name) => (typeof search[name] === "string" ? [[name, search[name]]] : []));
    return Object.fromEntries(known) as { [Key in Name]?: string };
  };
}

const ledgerSearch = pickStrings("request_id", "kind", "period", "from", "to");

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
    validateSearch: pickStrings("dialog"),
    component: lazyRouteComponent(() => import("./pages/keys/keys.tsx"), "Keys"),
  }),
  createRoute({
    getParentRoute: () => wallet,
    path: "/budgets",
    validateSearch: pickStrings("dialog"),
    component: lazyRouteComponent(() => import("./pages/budgets/budgets.tsx"), "Budgets"),
  }),
  createRoute({
    getParentRoute: () => wallet,
    path: "/usage",
    validateSearch: pickStrings(
      ...(["tab", "span", "by", "group", "for", "measure", "bucket"] as const),
      ...(["key", "category", "outcome", "end_user", "run", "kind"] as const),
    ),
    component: lazyRouteComponent(() => import("./pages/usage/usage.tsx"), "Usage"),
  }),
  createRoute({
    getParentRoute: () => wallet,
    path: "/ledger",
    validateSearch: ledgerSearch,
    beforeLoad: ({ params, search: { request_id: requestId } }) => {
      if (requestId === undefined) return;
      throw redirect({ to: "/w/$walletId/searches/$requestId", params: { ...params, requestId } });
    },
    component: lazyRouteComponent(() => import("./pages/ledger/ledger.tsx"), "Ledger"),
  }),
  createRoute({
    getParentRoute: () => wallet,
    path: "/searches/$requestId",
    component: lazyRouteComponent(() => import("./pages/search/search.tsx"), "Search"),
  }),
  createRoute({
    getParentRoute: () => wallet,
    path: "/top-up",
    validateSearch: pickStrings("checkout"),
    component: lazyRouteComponent(() => import("./pages/top-up/top-up.tsx"), "TopUp"),
  }),
  createRoute({
    getParentRoute: () => wallet,
    path: "/alerts",
    component: lazyRouteComponent(() => import("./pages/alerts/alerts.tsx"), "Alerts"),
  }),
  createRoute({
    getParentRoute: () => wallet,
    path: "/apps",
    component: lazyRouteComponent(() => import("./pages/apps/apps.tsx"), "Apps"),
  }),
  createRoute({
    getParentRoute: () => wallet,
    path: "/lens",
    validateSearch: pickStrings("url", "lens"),
    component: lazyRouteComponent(() => import("./pages/lens/lens-inspector.tsx"), "LensInspector"),
  }),
  createRoute({
    getParentRoute: () => wallet,
    path: "/activity",
    validateSearch: pickStrings("act", "actor", "subject"),
    component: lazyRouteComponent(() => import("./pages/activity/activity.tsx"), "Activity"),
  }),
  createRoute({
    getParentRoute: () => wallet,
    path: "/team",
    validateSearch: pickStrings("dialog"),
    component: lazyRouteComponent(() => import("./pages/team/team.tsx"), "Team"),
  }),
] as const;

const welcome = createRoute({
  getParentRoute: () => authenticated,
  path: "/welcome",
  component: lazyRouteComponent(() => import("./pages/welcome/welcome.tsx"), "Welcome"),
});

/** The link that an owner copies. Sign-in returns to it. */
const ownInvitation = createRoute({
  getParentRoute: () => authenticated,
  path: "/invitations/$id",
  component: lazyRouteComponent(() => import("./pages/sign-in/invitation.tsx"), "OwnInvitation"),
});

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  validateSearch: (search: Record<string, unknown>): { return_to?: string } =>
    typeof search["return_to"] === "string" ? { return_to: search["return_to"] } : {},
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
      authenticated.addChildren([home, topUpRedirect, appsRedirect, welcome, ownInvitation, wallet.addChildren(pages)]),
      signIn,
      confirmed,
      invitation,
    ]),
    basepath: "/console",
    context: { queries },
    defaultPreload: "intent",
    // Every route has its own, so that an error replaces the page and keeps the navigation around it.
    defaultErrorComponent: ErrorPage,
    defaultNotFoundComponent: NotFoundPage,
    scrollRestoration: true,
  });
}
