import { describe, expect, it } from "vitest";
import { loginSearch } from "./address";

describe("loginSearch", () => {
  it("keeps a place of the page", () =>
    expect(loginSearch({ to: "/jobs?user=ann" })).toEqual({ to: "/jobs?user=ann" }));
  it.each([
    "//evil.example",
    "/\\evil.example",
    "https://evil.example",
    "javascript:alert(1)",
    "/\tx",
    "/login",
    "",
    7,
    null,
  ])("drops %j", (to) => expect(loginSearch({ to })).toEqual({}));
});
