/** What the API answers about people: accounts, tokens, the audit log (docs/contracts/api.md). */
import * as v from "valibot";
import { pageOf, text } from "./shapes";

const accountShape = v.object({
  name: v.string(),
  role: v.string(),
  disabled: v.boolean(),
  password: v.boolean(),
  issuer: text,
  created: v.string(),
  seen: text,
  tokens: v.number(),
});
export type Account = v.InferOutput<typeof accountShape>;
export const accountsShape = v.object({ items: v.array(accountShape) });

const tokenShape = v.object({
  token_id: v.number(),
  account: v.string(),
  role: v.string(),
  label: v.string(),
  scopes: v.array(v.string()),
  created: v.string(),
  expires: v.string(),
  revoked: text,
  used: text,
});
export type Token = v.InferOutput<typeof tokenShape>;
export const tokensShape = v.object({ items: v.array(tokenShape) });
export const createdTokenShape = v.object({ token_id: v.number(), secret: v.string(), expires: v.string() });
export type CreatedToken = v.InferOutput<typeof createdTokenShape>;

const auditShape = v.object({
  audit_id: v.number(),
  at: v.string(),
  actor: v.string(),
  role: text,
  via: v.string(),
  action: v.string(),
  target: text,
  status: v.nullable(v.number()),
  address: text,
  request_id: text,
  details: v.record(v.string(), v.unknown()),
});
export type AuditEntry = v.InferOutput<typeof auditShape>;
export const auditListShape = pageOf(auditShape);
