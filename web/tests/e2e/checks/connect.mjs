// Connect your own data: counters that came and have no place in a fabric are said where a new site looks for them.
import assert from "node:assert/strict";

export async function connect({ url, check, api }) {
  await check(
    "the connect page says which counters no fabric has a place for, in the words of ingest health",
    async (page) => {
      const { topics } = await api("/ingest/status");
      const lost = topics.filter((topic) => topic.unplaced);
      assert.ok(lost.length);
      await page.goto(`${url}/connect`);
      const told = page.locator(".connect-unplaced");
      await told.first().waitFor();
      assert.deepEqual(
        await told.allTextContents(),
        lost.map((topic) => `${topic.topic}: ${topic.unplaced} in no fabric: ${topic.unplaced_because}`),
      );
      await page.goto(`${url}/health`);
      await page.getByRole("columnheader", { name: "in no fabric" }).waitFor();
      assert.equal(
        await page.locator("td .alarm", { hasText: String(lost[0].unplaced) }).getAttribute("title"),
        lost[0].unplaced_because,
      );
    },
    { fixtureOnly: true },
  );
}
