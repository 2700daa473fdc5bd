import react from "@vitejs/plugin-react";
import { defaultClientConditions, defineConfig } from "vite";
import { compressFiles } from "../tools/compress-files.ts";

// `npm run console:dev` proxies to the servers of `npm run dev`, which accept only their own Origin.
const server = "http://127.0.0.1:8080";
const sameOrigin = { target: server, headers: { origin: server } };

// One build with two entry pages: the owner console, and the operator console for the internal listener.
export default defineConfig({
  base: "/console/",
  plugins: [react(), { name: "compress", writeBundle: ({ dir = "" }) => compressFiles(dir) }],
  // The SDK from its source, which need not be built first.
  resolve: { conditions: ["@pennyblack/source", ...defaultClientConditions] },
  // The server replaces this with a new nonce in each response. Only styles injected at runtime need it.
  html: { cspNonce: "PENNYBLACK_NONCE" },
  build: {
    target: "es2023",
    // No inlined assets: the content security policy allows only files from this origin.
    assetsInlineLimit: 0,
    // Compressing takes most of the time, which is not worth a warning.
    rolldownOptions: { input: ["index.html", "operator.html"], checks: { bundlerTimings: false } },
  },
  server: {
    proxy: {
      "/console/api": sameOrigin,
      "/v1": sameOrigin,
      "/operator": "http://127.0.0.1:9090",
    },
  },
});
