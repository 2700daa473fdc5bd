import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { createRoot } from "react-dom/client";
import { ApiProblem, shouldRetry } from "./api/client.ts";
import { sessionQuery } from "./api/session.ts";
import { AppProviders } from "./app-providers.tsx";
import { createConsoleRouter } from "./routes.tsx";

/** When the session has ended, redirects to sign-in, which returns to this page afterwards. */
function handleSessionEnd(error: unknown): void {
  if (!(error instanceof ApiProblem) || error.code !== "session_required") return;
  // If the server is unreachable too, the page shows that error and the next request retries.
  reloadSession().catch(() => undefined);
}

async function reloadSession(): Promise<void> {
  await queries.refetchQueries({ queryKey: sessionQuery.queryKey });
  await router.invalidate();
}

const queries: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: handleSessionEnd }),
  mutationCache: new MutationCache({ onError: handleSessionEnd }),
  defaultOptions: { queries: { retry: shouldRetry, staleTime: 10_000, refetchOnWindowFocus: true } },
});
const router = createConsoleRouter(queries);

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}

const root = document.querySelector("#root");
if (root) {
  createRoot(root).render(
    <AppProviders queries={queries}>
      <RouterProvider router={router} />
    </AppProviders>,
  );
}
