import "@mantine/core/styles.css";
import "./app.css";
import { MantineProvider } from "@mantine/core";
import { type QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { type ReactNode, StrictMode } from "react";
import { cssVariables, theme } from "./theme.ts";

// react-remove-scroll, which locks scrolling behind a dialog, injects a style and reads the CSP nonce from this global.
Object.assign(globalThis, { __webpack_nonce__: readNonce() });

/** Theme and query cache, shared by the owner and operator consoles. */
export function AppProviders({ queries, children }: { queries: QueryClient; children: ReactNode }) {
  return (
    <StrictMode>
      <MantineProvider
        theme={theme}
        cssVariablesResolver={cssVariables}
        defaultColorScheme="auto"
        getStyleNonce={readNonce}
      >
        <QueryClientProvider client={queries}>{children}</QueryClientProvider>
      </MantineProvider>
    </StrictMode>
  );
}

/** The server generates a nonce per response. Browsers hide the attribute, so read the DOM property. */
function readNonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? "";
}
