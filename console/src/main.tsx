import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { createRoot } from "react-dom/client";
import { ApiProblem, isWorthRetrying } from "./api/client.ts";
import { sessionQuery } from "./api/session.ts";
import { createConsoleRouter } from "./routes.tsx";
import { Shell } from "./shell.tsx";

/** A session that ended elsewhere leads to the door, and from there back to the page. */
function noticeEnd(error: unknown): void {
  if (!(error instanceof ApiProblem) || error.code !== "session_required") return;
  // Should the server be gone as well, the page says so; the next request tries this again.
  leave().catch(() => undefined);
}

async function leave(): Promise<void> {
  await queries.refetchQueries({ queryKey: sessionQuery.queryKey });
  await router.invalidate();
}

const queries: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: noticeEnd }),
  mutationCache: new MutationCache({ onError: noticeEnd }),
  defaultOptions: { queries: { retry: isWorthRetrying, staleTime: 10_000, refetchOnWindowFocus: true } },
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
    <Shell queries={queries}>
      <RouterProvider router={router} />
    </Shell>,
  );
}
