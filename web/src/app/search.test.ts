import { expect, it } from "vitest";
import { MOST_RECENT, rank, ranked, type Recent, withRecent } from "./search";

const ORDER = ["replay of forecast", "forecasts", "Forecast", "forcast", "Alerts"];
const find = (typed: string, names: string[]) => ranked(typed, names, (name) => name);

it("puts the exact name first, then beginnings, words within, and slips of the keys", () =>
  expect(find("forecast", ORDER)).toEqual(["Forecast", "forecasts", "replay of forecast", "forcast"]));

it("forgives two letters swapped, one missing, one too many and one wrong", () => {
  for (const typed of ["foercast", "forcast", "foreecast", "forecazt"])
    expect(find(typed, ["Alerts", "Forecast"])).toEqual(["Forecast"]);
});

it("forgives a slip in the beginning of a word that is not finished", () =>
  expect(find("recmo", ["Recommendations", "Lab"])).toEqual(["Recommendations"]));

it("finds nothing if nothing is alike, and allows short words no slip", () => {
  expect(find("zzzz", ORDER)).toEqual([]);
  expect(rank("lob", "Lab")).toBeNull();
  expect(rank("  ", "Lab")).toBeNull();
});

const job = (n: number): Recent => ({ title: `${n}`, href: `/jobs/${n}` });

it("keeps newest first, each once, and no more than it may", () => {
  let recent: Recent[] = [];
  for (let n = 0; n < 20; n++) recent = withRecent(recent, job(n));
  recent = withRecent(recent, job(15));
  expect(recent).toHaveLength(MOST_RECENT);
  expect(recent.slice(0, 3)).toEqual([job(15), job(19), job(18)]);
});
