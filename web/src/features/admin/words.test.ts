import { describe, expect, it } from "vitest";
import type { Account, Token } from "../../api/people";
import { loginOf, scopesOf, standing, stateOf, tokenText } from "./words";

const now = Date.parse("2026-03-02T12:00:00Z");
const token = {
  token_id: 1,
  account: "slurm",
  role: "service",
  label: "agent",
  scopes: ["advice"],
  created: "2026-03-01T12:00:00Z",
  expires: "2026-03-02T14:00:00Z",
  revoked: null,
  used: null,
} as Token;
const account = { name: "ann", role: "user", disabled: false, password: true, issuer: null } as Account;

describe("a token", () => {
  it("is valid until it expires or is revoked", () => {
    expect(stateOf(token, now)).toBe("valid");
    expect(stateOf({ ...token, expires: "2026-03-02T12:00:00Z" }, now)).toBe("expired");
    expect(stateOf({ ...token, revoked: "2026-03-02T11:00:00Z" }, now)).toBe("revoked");
  });
  it("says how long it has left", () => {
    expect(tokenText(token, now)).toBe("2 h left");
    expect(tokenText({ ...token, revoked: "2026-03-02T11:00:00Z" }, now)).toBe("revoked");
  });
});

it("says how an account comes in", () => {
  expect(loginOf(account)).toBe("password");
  expect(loginOf({ ...account, password: false })).toBe("none yet");
  expect(loginOf({ ...account, role: "service", password: false })).toBe("tokens");
  expect(loginOf({ ...account, issuer: "https://id.example" })).toBe("https://id.example");
  expect(loginOf({ ...account, disabled: true })).toBe("disabled");
});

it("offers a token no more than its account has", () => {
  expect(scopesOf("viewer")).toEqual(["read"]);
  expect(scopesOf("operator")).not.toContain("admin");
  expect(scopesOf("admin")).toContain("admin");
  expect(scopesOf("nonsense")).toEqual([]);
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
