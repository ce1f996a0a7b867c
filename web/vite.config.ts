import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// The development server proxies to a running platform; FLITWATCH_URL names another one.
const target = process.env.FLITWATCH_URL ?? "http://127.0.0.1:8765";
const proxied = ["/api", "/healthz", "/readyz", "/metrics", "/openapi.json"];

export default defineConfig({
  plugins: [react()],
  build: { target: "es2022", chunkSizeWarningLimit: 400, reportCompressedSize: false },
  server: { host: "127.0.0.1", proxy: Object.fromEntries(proxied.map((path) => [path, { target }])) },
});
