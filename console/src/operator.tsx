import { QueryClient } from "@tanstack/react-query";
import { createRoot } from "react-dom/client";
import { isWorthRetrying } from "./api/client.ts";
import { OperatorApp } from "./operator/operator-app.tsx";
import { Shell } from "./shell.tsx";

const queries = new QueryClient({
  defaultOptions: { queries: { retry: isWorthRetrying, staleTime: 5_000, refetchInterval: 10_000 } },
});

const root = document.querySelector("#root");
if (root) {
  createRoot(root).render(
    <Shell queries={queries}>
      <OperatorApp />
    </Shell>,
  );
}
