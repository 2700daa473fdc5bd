import { QueryClient } from "@tanstack/react-query";
import { createRoot } from "react-dom/client";
import { shouldRetry } from "./api/client.ts";
import { AppProviders } from "./app-providers.tsx";
import { OperatorApp } from "./operator/operator-app.tsx";

const queries = new QueryClient({
  defaultOptions: { queries: { retry: shouldRetry, staleTime: 5_000, refetchInterval: 10_000 } },
});

const root = document.querySelector("#root");
if (root) {
  createRoot(root).render(
    <AppProviders queries={queries}>
      <OperatorApp />
    </AppProviders>,
  );
}
