import react from "@vitejs/plugin-react";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

// The development server proxies to a running platform; FLITWATCH_URL names another one.
const target = process.env.FLITWATCH_URL ?? "http://127.0.0.1:8765";
const proxied = ["/api", "/healthz", "/readyz", "/metrics", "/openapi.json"];

/** The font is asked for with the script, so that no line wraps anew when it comes after the first frame. */
const fontFirst: Plugin = {
  name: "font-first",
  transformIndexHtml: {
    order: "post",
    handler: (_, { bundle }) =>
      Object.keys(bundle ?? {})
        .filter((name) => name.endsWith(".woff2"))
        .map((name) => ({
          tag: "link",
          attrs: { rel: "preload", as: "font", type: "font/woff2", href: `/${name}`, crossorigin: "" },
          injectTo: "head" as const,
        })),
  },
};

export default defineConfig({
  plugins: [react(), fontFirst],
  build: { target: "es2022", chunkSizeWarningLimit: 400, reportCompressedSize: false },
  server: { host: "127.0.0.1", proxy: Object.fromEntries(proxied.map((path) => [path, { target }])) },
  test: {
    // No test asserts time; a busy machine must not fail one.
    testTimeout: 120_000,
    include: ["src/**/*.test.ts"],
    environment: "node",
    maxWorkers: 1,
    // The colours are read by a test.
    css: { include: [/tokens\.css/] },
  },
});
