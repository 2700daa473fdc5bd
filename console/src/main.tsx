import { QueryClient } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { createRoot } from "react-dom/client";
import { isWorthRetrying } from "./api/client.ts";
import { createConsoleRouter } from "./routes.tsx";
import { Shell } from "./shell.tsx";

const queries = new QueryClient({
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
