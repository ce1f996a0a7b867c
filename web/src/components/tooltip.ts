/** The page's one tooltip. It is set as text within the frame of the hover, outside React. */
import { zoomOf } from "../lib/screen";

let element: HTMLElement | null = null;

/** What is added once the pointer has rested on one thing: asked for at most once while it stays. */
export interface More {
  key: string;
  ask: () => Promise<string>;
}

const REST_MS = 150;
let rested: { key: string; timer: number; text: string } | null = null;
let shown: [x: number, y: number, text: string] = [0, 0, ""];

export function showTooltip(x: number, y: number, text: string, more?: More): void {
  shown = [x, y, text];
  if (rested?.key !== more?.key) {
    forget();
    if (more) {
      const own = { key: more.key, timer: 0, text: "" };
      own.timer = window.setTimeout(() => {
        // A refusal adds nothing: the page itself says what failed.
        more.ask().then(
          (said) => {
            own.text = said;
            if (rested === own) place(...shown);
          },
          () => undefined,
        );
      }, REST_MS);
      rested = own;
    }
  }
  place(x, y, text);
}

function forget(): void {
  window.clearTimeout(rested?.timer);
  rested = null;
}

function place(x: number, y: number, own: string): void {
  const text = rested?.text ? `${own}\n${rested.text}` : own;
  if (!element) {
    element = document.createElement("div");
    element.className = "tooltip";
    element.setAttribute("role", "tooltip");
    document.body.append(element);
  }
  if (element.textContent !== text) element.textContent = text;
  const zoom = zoomOf();
  const { offsetWidth, offsetHeight } = element;
  const [width, height] = [window.innerWidth / zoom, window.innerHeight / zoom];
  const [px, py] = [x / zoom, y / zoom];
  const left = Math.max(8, Math.min(width - offsetWidth - 8, px + 14));
  const top = py + 18 + offsetHeight > height ? py - offsetHeight - 8 : py + 16;
  element.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  element.style.visibility = "visible";
}

export function hideTooltip(): void {
  forget();
  if (element) element.style.visibility = "hidden";
}
