// The culprit of a planted incident (tests/e2e/test_page.py) at FLITWATCH_AT: its user is FLITWATCH_NAME, as `flitwatch job` printed it.
import { start } from "./harness.mjs";

const suite = await start();
const { FLITWATCH_AT: at, FLITWATCH_NAME: name, FLITWATCH_MACHINE: machine } = process.env;

await suite.check(
  `home and the list of incidents call the culprit's user ${name}, as the terminal does`,
  async (page) => {
    await page.goto(`${suite.url}/?machine=${machine}&at=${encodeURIComponent(at)}`);
    await page.locator('section[aria-label="Incident"] li', { hasText: "Cause" }).getByText(`${name} · `).waitFor();
    await page.goto(`${suite.url}/incidents`);
    await page.locator(".incident-causes").getByText(name, { exact: true }).waitFor();
  },
);

await suite.finish();
