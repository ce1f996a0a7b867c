import { expect, test } from "vitest";
import { apiBase, machineHref, placeOf, splitRemote } from "./remote";

test("an address below /at/ is a remote's, and no other is", () => {
  expect(splitRemote("/at/theta/fabric/x%2Fy")).toEqual({ remote: "theta", place: "/fabric/x%2Fy" });
  expect(splitRemote("/at/theta")).toEqual({ remote: "theta", place: "/" });
  for (const path of ["/", "/at", "/at/", "/attic/theta", "/at/The%20ta/jobs", "/fabric/at/theta"])
    expect(splitRemote(path)).toBeNull();
  expect(placeOf("/at/theta/jobs/1")).toBe("/jobs/1");
  expect(placeOf("/jobs/1")).toBe("/jobs/1");
});

test("a machine's address holds its remote", () => {
  expect(machineHref(null, "a/b")).toBe("/fabric/a%2Fb");
  expect(machineHref("theta", "a b")).toBe("/at/theta/fabric/a%20b");
});

test("who looks and which platforms there are is asked here, all else of the remote", () => {
  expect(apiBase("/fabrics", null)).toBe("/api/v1");
  expect(apiBase("/fabrics", "theta")).toBe("/api/v1/remotes/theta");
  for (const path of ["/session", "/session/oidc", "/users", "/tokens/3", "/audit?limit=1", "/remotes"])
    expect(apiBase(path, "theta")).toBe("/api/v1");
  expect(apiBase("/sessions-of-jobs", "theta")).toBe("/api/v1/remotes/theta");
});
