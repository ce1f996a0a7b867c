import { expect, it } from "vitest";
import type { Root } from "../../api/roots";
import { titleOf } from "./DiagnosisPanel";

const root = { src_name: "leaf1", dst_name: "n4" } as Root;

it("names the first root, and claims none where the API names none", () => {
  expect(titleOf({ verdict: "named", roots: [root, root, root], links_stalled: 4 })).toBe(
    "Congestion begins at leaf1 → n4 and 2 more places",
  );
  expect(titleOf({ verdict: "none", roots: [], links_stalled: 0 })).toBe("No link is congested");
  expect(titleOf({ verdict: "none", roots: [], links_stalled: 3 })).toBe("No root of congestion");
  expect(titleOf({ verdict: "cannot tell", roots: [], links_stalled: 3 })).toBe("Cannot tell where congestion begins");
});
