import { defineConfig } from "vitest/config";

export default defineConfig({
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
