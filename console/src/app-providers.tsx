import "@mantine/core/styles.css";
import "./app.css";
import { MantineProvider } from "@mantine/core";
import { type QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { type ReactNode, StrictMode } from "react";
import { theme, variables } from "./theme.ts";

// What locks scrolling behind a dialog makes a style of its own, and looks for the nonce under this name.
Object.assign(globalThis, { __webpack_nonce__: readNonce() });

/** What both consoles stand in: colours, and the memory of what was read. */
export function Shell({ queries, children }: { queries: QueryClient; children: ReactNode }) {
  return (
    <StrictMode>
      <MantineProvider
        theme={theme}
        cssVariablesResolver={variables}
        defaultColorScheme="auto"
        getStyleNonce={readNonce}
      >
        <QueryClientProvider client={queries}>{children}</QueryClientProvider>
      </MantineProvider>
    </StrictMode>
  );
}

/** The server made it for this answer. A browser hides the attribute from selectors, not from the property. */
function readNonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? "";
}
