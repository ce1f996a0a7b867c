// The API's types from docs/contracts/openapi.json; with --check it only says whether they are up to date.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import openapiTS, { astToString } from "openapi-typescript";

const source = new URL("../../docs/contracts/openapi.json", import.meta.url);
const target = fileURLToPath(new URL("../src/api/generated/openapi.d.ts", import.meta.url));
const text = `// Generated from docs/contracts/openapi.json by \`npm run generate\`.\n${astToString(await openapiTS(source))}`;

if (process.argv.includes("--check")) {
  let current = "";
  try {
    current = readFileSync(target, "utf8");
  } catch {
    // absent counts as out of date
  }
  if (current !== text) {
    console.error(
      "src/api/generated/openapi.d.ts is not what docs/contracts/openapi.json says: run `npm run generate`.",
    );
    process.exit(1);
  }
} else {
  writeFileSync(target, text);
}
