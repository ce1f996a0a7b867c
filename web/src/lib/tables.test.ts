import { parquetMetadataAsync, parquetReadObjects } from "hyparquet";
import { describe, expect, it } from "vitest";
import { exportFile, parquet, unsaved } from "./tables";

it("says why an export left no file, until one is saved", async () => {
  await exportFile(() => Promise.reject(new Error("The counters were deleted.")));
  expect(unsaved.get()?.message).toBe("The counters were deleted.");
  await exportFile(() => Promise.reject(new TypeError("Failed to fetch dynamically imported module")));
  expect(unsaved.get()?.message).toMatch(/did not load.*reload the page, and export again/);
  await exportFile(() => undefined);
  expect(unsaved.get()).toBeNull();
});

describe("a table as Parquet", () => {
  it("keeps numbers, texts and what is unknown, and says where it comes from", async () => {
    const file = await parquet(
      ["router", "stalls", "port", "port"],
      [
        ["=c0-0", 1.5, 1, "a"],
        ["c0-1", null, 2, 3],
        ['ü, "x"', NaN, 3, undefined],
      ],
      [["Machine", "perlis"]],
    );
    expect(await parquetReadObjects({ file })).toEqual([
      { router: "=c0-0", stalls: 1.5, port: 1, "port 4": "a" },
      { router: "c0-1", stalls: null, port: 2, "port 4": "3" },
      { router: 'ü, "x"', stalls: null, port: 3, "port 4": null },
    ]);
    const { key_value_metadata: said } = await parquetMetadataAsync(file);
    expect(said).toContainEqual({ key: "Machine", value: "perlis" });
  });
  it("takes a table without rows", async () => {
    expect(await parquetReadObjects({ file: await parquet(["a"], [], []) })).toEqual([]);
  });
});
