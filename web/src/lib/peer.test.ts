import { expect, test } from "vitest";
import { apiBase, machineHref, placeOf, splitPeer } from "./peer";

test("an address below /at/ is a peer's, and no other is", () => {
  expect(splitPeer("/at/theta/fabric/x%2Fy")).toEqual({ peer: "theta", place: "/fabric/x%2Fy" });
  expect(splitPeer("/at/theta")).toEqual({ peer: "theta", place: "/" });
  for (const path of ["/", "/at", "/at/", "/attic/theta", "/at/The%20ta/jobs", "/fabric/at/theta"])
    expect(splitPeer(path)).toBeNull();
  expect(placeOf("/at/theta/jobs/1")).toBe("/jobs/1");
  expect(placeOf("/jobs/1")).toBe("/jobs/1");
});

test("a machine's address holds its peer", () => {
  expect(machineHref(null, "a/b")).toBe("/fabric/a%2Fb");
  expect(machineHref("theta", "a b")).toBe("/at/theta/fabric/a%20b");
});

test("who looks and which platforms there are is asked here, all else of the peer", () => {
  expect(apiBase("/fabrics", null)).toBe("/api/v1");
  expect(apiBase("/fabrics", "theta")).toBe("/api/v1/peers/theta");
  for (const path of ["/session", "/session/oidc", "/users", "/tokens/3", "/audit?limit=1", "/peers"])
    expect(apiBase(path, "theta")).toBe("/api/v1");
  expect(apiBase("/sessions-of-jobs", "theta")).toBe("/api/v1/peers/theta");
});
