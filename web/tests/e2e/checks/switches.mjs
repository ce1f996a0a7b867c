// Whatever was switched on the way, the picture is that of a fresh load of the same address: pixel by pixel.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { ready, until } from "../harness.mjs";

/** Without the card's round corners, which Chromium blends a shade differently after a change of theme. */
async function picture(page) {
  const { x, y, width, height } = await page.locator('section[aria-label="Picture"]').boundingBox();
  return page.screenshot({
    clip: { x: x + 12, y: y + 12, width: width - 24, height: height - 24 },
    animations: "disabled",
  });
}

/** Nothing is pointed at, nothing holds the focus: those marks are not what an address holds. */
async function settle(page) {
  await page.mouse.move(0, 0);
  await page.evaluate(() => document.activeElement?.blur());
}

/** Loads the address of `page` anew beside it, and demands the same picture of both. */
export async function demandFresh(page, step) {
  await settle(page);
  const other = await page.context().newPage();
  await other.goto(page.url());
  await ready(other);
  let pictures = [];
  const same = async () => {
    pictures = [await picture(page), await picture(other)];
    return pictures[0].equals(pictures[1]);
  };
  try {
    await until(same, Boolean, `the picture after "${step}" is that of a fresh load of ${page.url()}`, 8000);
  } catch (error) {
    pictures.forEach((one, i) => writeFileSync(`/tmp/flitwatch-switch-${["switched", "fresh"][i]}.png`, one));
    throw error;
  }
  await other.close();
  return pictures[0];
}

const press = (key) => (page) => page.keyboard.press(key);
const pick = (trigger, entry) => async (page) => {
  await page.locator(".context button", { hasText: trigger }).click();
  await page.locator('[role="menuitem"]', { hasText: entry }).first().click();
};
/** Where the bar has no room for all classes, they are in a menu. */
const chooseClass = (option) => async (page) => {
  const side = page.locator('[aria-label="Link class"] button', { hasText: option });
  if (await side.count()) return side.click();
  await page.locator(".context button", { hasText: /^(All links|Green|Black|Blue)$/ }).click();
  await page.locator('[role="menuitem"]', { hasText: option }).first().click();
};
const drag = async (page) => {
  const axis = await page.locator(".brush svg").boundingBox();
  await page.mouse.move(axis.x + axis.width * 0.5, axis.y + 60);
  await page.mouse.down();
  for (const at of [0.6, 0.7, 0.65]) await page.mouse.move(axis.x + axis.width * at, axis.y + 60, { steps: 6 });
  await page.mouse.up();
};

/** Every view meets every mode, theme, window and class from another one. */
const WALK = [
  ["tiles to difference", press("d")],
  ["another theme", press("t")],
  ["an earlier window", press("[")],
  ["difference to now", press("d")],
  ["black links", chooseClass("Black")],
  ["black links in difference", press("d")],
  ["all links in difference", chooseClass("All")],
  ["ring in difference", press("2")],
  ["ring with stalls", press("d")],
  ["another theme on the ring", press("t")],
  ["ring with changes", press("d")],
  ["a later window on the ring", press("]")],
  ["another comparison", pick(/^Against/, /^an hour earlier/)],
  ["a dragged window", drag],
  ["group in difference", press("3")],
  ["group with stalls", press("d")],
  ["blue links of a group", chooseClass("Blue")],
  ["tiles after the group", press("1")],
  ["ring of blue links", press("2")],
  ["a dragged window on the ring", drag],
  ["a longer axis", pick(/1 h/, /^6 h/)],
  [
    "tiles again, compared",
    async (page) => {
      await page.keyboard.press("1");
      await page.keyboard.press("d");
    },
  ],
];

export async function switches({ url, check, api }) {
  await check(
    "after any switch the picture is that of a fresh load",
    async (page) => {
      const { items } = await api("/fabrics");
      const fabric = items.find((one) => one.name === "switched");
      const to = Math.floor(Date.parse(fabric.last_ts) / 60_000) * 60_000 - 600_000;
      const iso = (ms) => new Date(ms).toISOString();
      await page.goto(`${url}/fabric/switched?view=tiles&router=5&span=1h&from=${iso(to - 300_000)}&to=${iso(to)}`);
      await ready(page);
      const seen = [await demandFresh(page, "the first load")];
      for (const [name, step] of WALK) {
        await step(page);
        await page.waitForTimeout(50);
        const now = await demandFresh(page, name);
        if (!/axis|links/.test(name)) assert.ok(!now.equals(seen.at(-1)), `"${name}" changes the picture`);
        seen.push(now);
      }
    },
    { fixtureOnly: true },
  );

  await check(
    "a change from next to nothing to next to nothing is none",
    async (page) => {
      await page.goto(`${url}/fabric/whisper?view=tiles&diff=on&router=5`);
      await ready(page);
      const strong = () =>
        page.evaluate(() => {
          const canvas = document.querySelector(".view-box canvas");
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          let red = 0;
          for (let i = 0; i < data.length; i += 4) if (data[i] - data[i + 2] > 60) red++;
          return red;
        });
      await page.waitForSelector("text=change, this window");
      await page.waitForTimeout(500);
      assert.equal(await strong(), 0, "pixels in the colour of a rise");
    },
    { fixtureOnly: true },
  );

  await check(
    "a pair of groups that was not counted before has no colour of change",
    async (page) => {
      const { items } = await api("/fabrics");
      const fabric = items.find((one) => one.name === "switched");
      const to = Math.floor(Date.parse(fabric.last_ts) / 60_000) * 60_000 - 600_000;
      const iso = (ms) => new Date(ms).toISOString().replace(".000Z", "Z");
      // Counters of links began after the earlier window.
      await page.route(/\/stalls\?/, async (route) => {
        const answer = await route.fetch();
        const body = await answer.json();
        const at = Date.parse(new URL(route.request().url()).searchParams.get("at"));
        if (at < to) for (const column of Object.values(body.groups)) if (Array.isArray(column)) column.length = 0;
        await route.fulfill({ response: answer, json: body });
      });
      await page.goto(`${url}/fabric/switched?view=tiles&diff=on&from=${iso(to - 300_000)}&to=${iso(to)}`);
      // The column comes with the answer of the earlier window.
      await page.locator(".matrix-pairs th", { hasText: "change" }).waitFor();
      const row = page.locator(".matrix-pairs tbody tr").first();
      assert.equal(await row.locator("td").last().textContent(), "–");
      const colour = await row.locator(".swatch").evaluate((one) => getComputedStyle(one).backgroundColor);
      assert.equal(colour, "rgba(0, 0, 0, 0)");
    },
    { fixtureOnly: true },
  );
}
