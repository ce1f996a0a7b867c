/**
 * A real OpenID Connect provider on 127.0.0.1, for tests of the login.
 *
 * It prints `{"issuer"}`, then reads lines of JSON, each answered by `ok`: `sites` (where its one client's pages are; the first line must have them), `people` ({subject: claims}),
 * `codeS` (how long a code is good), `spoil` (how the next proofs are made wrong: nonce, issuer, audience, signature, key, none, old). It ends with its standard input.
 */
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from "jose";
import { Provider } from "oidc-provider";

// The library's own words go elsewhere.
console.info = console.warn = console.error;
const say = (text) => process.stdout.write(`${text}\n`);
const held = { people: {}, codeS: 60, spoil: null };
const key = async () => (await generateKeyPair("RS256", { extractable: true })).privateKey;
const [signing, foreign] = [await key(), await key()];

const changes = {
  nonce: (claims) => ({ ...claims, nonce: "another" }),
  issuer: (claims) => ({ ...claims, iss: "https://elsewhere.example" }),
  audience: (claims) => ({ ...claims, aud: "somebody-else", azp: undefined }),
  old: (claims) => ({ ...claims, iat: claims.iat - 7200, exp: claims.iat - 3600 }),
};

async function spoilt(token, how) {
  const [head, body, signature] = token.split(".");
  if (how === "signature") return [head, body, signature.replace(/^./, (c) => (c === "A" ? "B" : "A"))].join(".");
  const claims = JSON.parse(Buffer.from(body, "base64url"));
  if (how === "none") return new UnsecuredJWT(claims).encode();
  return new SignJWT(changes[how]?.(claims) ?? claims)
    .setProtectedHeader({ alg: "RS256", kid: "one" })
    .sign(how === "key" ? foreign : signing);
}

async function make(issuer, sites) {
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: "flitwatch",
        client_secret: "the-client-secret",
        redirect_uris: sites.map((site) => `${site}/api/v1/session/oidc/back`),
        post_logout_redirect_uris: sites.map((site) => `${site}/login`),
      },
    ],
    jwks: { keys: [{ ...(await exportJWK(signing)), kid: "one", alg: "RS256", use: "sig" }] },
    cookies: { keys: ["only-for-tests"] },
    claims: { openid: ["sub"], profile: ["preferred_username", "groups"] },
    pkce: { required: () => true },
    ttl: {
      AuthorizationCode: () => held.codeS,
      AccessToken: 600,
      IdToken: 600,
      Interaction: 600,
      Session: 600,
      Grant: 600,
    },
    findAccount: (_, accountId) => ({ accountId, claims: () => ({ sub: accountId, ...held.people[accountId] }) }),
  });
  provider.use(async (context, next) => {
    await next();
    if (held.spoil && context.oidc?.route === "token" && context.body?.id_token)
      context.body.id_token = await spoilt(context.body.id_token, held.spoil);
  });
  return provider.callback();
}

const server = createServer();
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const issuer = `http://127.0.0.1:${server.address().port}`;
say(JSON.stringify({ issuer }));
for await (const line of createInterface({ input: process.stdin })) {
  const { sites, ...more } = JSON.parse(line);
  Object.assign(held, more);
  if (sites) server.on("request", await make(issuer, sites));
  say("ok");
}
process.exit(0);
