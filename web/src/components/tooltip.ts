/** The page's one tooltip. It is set as text within the frame of the hover, outside React. */
import { zoomOf } from "../lib/zoom";

let element: HTMLElement | null = null;

export function showTooltip(x: number, y: number, text: string): void {
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
  if (element) element.style.visibility = "hidden";
}
