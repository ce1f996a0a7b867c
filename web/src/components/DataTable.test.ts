import { describe, expect, it } from "vitest";
import { sortOf, sortText } from "./DataTable";

describe("the order of a table in the address", () => {
  it("comes back as it was written", () => {
    for (const sort of [
      { key: "nodes", descending: true },
      { key: "nodes", descending: false },
    ])
      expect(sortOf(sortText(sort), ["job", "nodes"])).toEqual(sort);
  });
  it("is none for what the table does not have", () => {
    for (const text of [undefined, "", "-", "nope", "--nodes"]) expect(sortOf(text, ["job", "nodes"])).toBeNull();
  });
});
