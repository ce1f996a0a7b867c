/** What canvases show, as one PNG in the light theme, whatever the screen shows: the theme is changed, drawn and changed back before a frame. */
import { flushSync } from "react-dom";
import { save } from "./csv";
import { themeStore } from "./theme";

const MARGIN = 24;
const HEAD = 56;

function inLight<T>(act: () => T): T {
  const root = document.documentElement;
  const shown = themeStore.get();
  if (shown === "light") return act();
  const set = (theme: "light" | "dark") => {
    root.dataset.theme = theme;
    flushSync(() => themeStore.set(theme));
  };
  set("light");
  try {
    return act();
  } finally {
    set(shown);
  }
}

/** The canvases within `box` where they stand, under a heading. */
export function capture(box: HTMLElement, title: string, subtitle: string): HTMLCanvasElement {
  return inLight(() => {
    const canvases = [...box.querySelectorAll("canvas")];
    const place = box.getBoundingClientRect();
    const scale = Math.max(1, ...canvases.map((canvas) => canvas.width / Math.max(1, canvas.clientWidth)));
    const picture = document.createElement("canvas");
    picture.width = Math.round((place.width + 2 * MARGIN) * scale);
    picture.height = Math.round((place.height + HEAD + MARGIN) * scale);
    const context = picture.getContext("2d");
    if (!context) return picture;
    const style = getComputedStyle(document.documentElement);
    context.scale(scale, scale);
    context.fillStyle = style.getPropertyValue("--surface").trim();
    context.fillRect(0, 0, picture.width, picture.height);
    context.fillStyle = style.getPropertyValue("--ink").trim();
    context.font = '650 18px Inter, "DejaVu Sans", sans-serif';
    context.fillText(title, MARGIN, 28);
    context.fillStyle = style.getPropertyValue("--ink-3").trim();
    context.font = '400 12px Inter, "DejaVu Sans", sans-serif';
    context.fillText(subtitle, MARGIN, 46);
    for (const canvas of canvases) {
      const at = canvas.getBoundingClientRect();
      context.drawImage(canvas, at.left - place.left + MARGIN, at.top - place.top + HEAD, at.width, at.height);
    }
    return picture;
  });
}

export function saveCapture(box: HTMLElement, name: string, title: string, subtitle: string): void {
  capture(box, title, subtitle).toBlob((blob) => blob && save(`${name}.png`, blob));
}
