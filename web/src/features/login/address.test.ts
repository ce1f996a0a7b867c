import { describe, expect, it } from "vitest";
import { loginSearch, standing } from "./address";

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

const nobody = {
  user: null,
  role: null,
  scopes: [],
  via: null,
  pseudonyms: true,
  csrf: null,
  oidc: null,
  vouched: false,
};

describe("standing", () => {
  it("says that a login is needed", () => expect(standing(nobody)).toContain("requires a login"));
  it("says what a reader without a login is, regardless of the role's first letter", () =>
    expect(standing({ ...nobody, role: "operator", via: "anonymous" })).toContain(
      "has the role operator. Other people are shown as pseudonyms",
    ));
  it("says who is signed in and what they see", () =>
    expect(standing({ ...nobody, user: "ann", role: "operator", via: "session", pseudonyms: false })).toBe(
      "Signed in as ann, operator. You see all names.",
    ));
});
