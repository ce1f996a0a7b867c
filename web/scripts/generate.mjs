// The API's types and the studies' parameters from docs/contracts/openapi.json; with --check it only says whether they are up to date.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import openapiTS, { astToString } from "openapi-typescript";

const description = JSON.parse(readFileSync(new URL("../../docs/contracts/openapi.json", import.meta.url), "utf8"));
const { schemas } = description.components;
const named = (reference) => schemas[reference.$ref.split("/").at(-1)];

/** One parameter as a form can ask for it, or nothing where it takes a structure. */
function parameter([name, schema]) {
  const kind = (schema.anyOf ?? [schema]).find((one) => one.type !== "null");
  const items = kind.items;
  const type =
    kind.type !== "array"
      ? kind.type
      : items.enum
        ? "choices"
        : items.type?.match(/^(number|integer)$/)
          ? "numbers"
          : "";
  if (!["integer", "number", "string", "boolean", "choices", "numbers"].includes(type)) return [];
  const bounds = type === "numbers" ? items : kind;
  return [
    {
      name,
      type,
      ...((kind.enum ?? items?.enum) && { choices: kind.enum ?? items.enum }),
      ...(bounds.minimum !== undefined && { least: bounds.minimum }),
      ...(bounds.maximum <= Number.MAX_SAFE_INTEGER && { most: bounds.maximum }),
      ...(schema.default !== undefined && schema.default !== null && { usual: schema.default }),
      ...(schema.description && { says: schema.description }),
    },
  ];
}

/** Study -> its parameters; short names of studies are left out. */
function studies() {
  const found = {};
  for (const reference of schemas.StartStudy.properties.args.oneOf) {
    const { study, parameters } = named(reference).properties;
    const model = named(parameters.$ref ? parameters : parameters.allOf[0]);
    for (const name of study.enum ?? [study.const])
      if (name.includes("-")) found[name] = Object.entries(model.properties).flatMap(parameter);
  }
  return found;
}

/** The schemas that the page's own types name, and those that they are made of; without words, which no compiler reads. */
function typed() {
  const texts = ["contract.ts", "../features/lab/replays.ts"].map((name) =>
    readFileSync(new URL(`../src/api/${name}`, import.meta.url), "utf8"),
  );
  const wanted = texts.flatMap((text) =>
    [...text.matchAll(/(?:Answers|\["schemas"\])\["(\w+)"\]/g)].map((found) => found[1]),
  );
  const kept = {};
  const plain = (key, value) =>
    (key === "description" || key === "title") && typeof value === "string" ? undefined : value;
  for (let name = wanted.pop(); name !== undefined; name = wanted.pop()) {
    if (name in kept) continue;
    kept[name] = JSON.parse(JSON.stringify(schemas[name], plain));
    for (const [, one] of JSON.stringify(kept[name]).matchAll(/#\/components\/schemas\/([\w.-]+)/g)) wanted.push(one);
  }
  return { openapi: description.openapi, info: { title: "", version: "" }, paths: {}, components: { schemas: kept } };
}

const generated = {
  "openapi.d.ts": `// Generated from docs/contracts/openapi.json by \`npm run generate\`.\n${astToString(await openapiTS(typed()))}`,
  "stallCuts.json": `${JSON.stringify(schemas.RouterFigures.properties.ratio["x-stall-cuts"])}\n`,
  "studies.json": `${JSON.stringify(studies(), null, 1)}\n`,
};
for (const [name, text] of Object.entries(generated)) {
  const target = fileURLToPath(new URL(`../src/api/generated/${name}`, import.meta.url));
  if (!process.argv.includes("--check")) {
    writeFileSync(target, text);
    continue;
  }
  let current = "";
  try {
    current = readFileSync(target, "utf8");
  } catch {
    // absent counts as out of date
  }
  if (current !== text) {
    console.error(`src/api/generated/${name} is not what docs/contracts/openapi.json says: run \`npm run generate\`.`);
    process.exitCode = 1;
  }
}
