import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// `npm run console:dev` asks the servers that `npm run dev` started, as if their own pages did: they refuse others.
const server = "http://127.0.0.1:8080";
const own = { target: server, headers: { origin: server } };

// Two pages of one build: the console for wallet owners, and the operators' for the internal listener.
export default defineConfig({
  base: "/console/",
  plugins: [react()],
  // The server puts a new nonce in its place for each answer; only styles made in the page need it.
  html: { cspNonce: "PENNYBLACK_NONCE" },
  build: {
    target: "es2023",
    // No inline data: the content security policy lets in files of ours and nothing else.
    assetsInlineLimit: 0,
    rolldownOptions: { input: ["index.html", "operator.html"] },
  },
  server: {
    proxy: {
      "/console/api": own,
      "/v1": own,
      "/operator": "http://127.0.0.1:9090",
    },
  },
});
