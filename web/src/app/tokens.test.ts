import { describe, expect, it } from "vitest";
import { luminance } from "../charts/scale";
import css from "./tokens.css?raw";

const [light = "", dark = ""] = css.split(':root[data-theme="dark"]');

function colour(part: string, name: string): number {
  const found = new RegExp(`--${name}: (#[0-9a-f]{6});`).exec(part);
  if (!found?.[1]) throw new Error(`there is no --${name}`);
  return luminance(found[1]);
}

describe.each([
  ["light", light],
  ["dark", dark],
])("the %s theme", (_, part) => {
  const contrast = (a: string, b: string) => {
    const [x, y] = [colour(part, a), colour(part, b)];
    return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
  };

  it.each(["bg", "surface"])("has fields whose borders stand out from --%s (WCAG 1.4.11)", (ground) => {
    expect(contrast("line-field", ground)).toBeGreaterThanOrEqual(3);
  });

  it.each(
    ["bg", "surface", "surface-2"].flatMap((ground) =>
      ["ink", "ink-2", "ink-3", "accent", "alarm"].map((text) => [text, ground]),
    ),
  )("has legible --%s on --%s (WCAG 1.4.3)", (text, ground) => {
    expect(contrast(text, ground)).toBeGreaterThanOrEqual(4.5);
  });

  it.each([
    ["accent", "accent-soft"],
    ["alarm", "alarm-soft"],
    ["surface", "accent"],
  ])("has legible --%s on --%s (WCAG 1.4.3)", (text, ground) => {
    expect(contrast(text, ground)).toBeGreaterThanOrEqual(4.5);
  });
});
