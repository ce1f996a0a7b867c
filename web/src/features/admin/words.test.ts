import { describe, expect, it } from "vitest";
import type { Account, Token } from "../../api/peopleShapes";
import { loginOf, scopesOf, stateOf, tokenText } from "./words";

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
