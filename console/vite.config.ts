import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// Two pages of one build: the console for wallet owners, and the operators' for the internal listener.
// `npm run console:dev` asks the servers that `npm run dev` started.
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
      "/console/api": "http://localhost:8080",
      "/operator": "http://localhost:9090",
    },
  },
});
