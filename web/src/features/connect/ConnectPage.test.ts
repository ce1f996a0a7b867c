import { expect, test } from "vitest";
import { filled } from "./ConnectPage";

const site = { origin: "https://fw.example", hostname: "fw.example", fabric: "theta" };

test("a command holds this site's address and the machine's name", () => {
  expect(filled("export URL={site}; ask kafka://{host}:9092 --fabric {fabric}", site)).toBe(
    "export URL=https://fw.example; ask kafka://fw.example:9092 --fabric theta",
  );
});

test("a hostile machine's name stays one word of the shell", () => {
  expect(filled("x --fabric {fabric}", { ...site, fabric: "a'; rm -rf {site} $(id)" })).toBe(
    "x --fabric 'a'\\''; rm -rf {site} $(id)'",
  );
});

test("without a machine the reader sees what to fill in", () => {
  expect(filled("x {fabric}", { ...site, fabric: null })).toBe("x MACHINE");
});
