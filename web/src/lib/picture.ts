/** SVG of the page by itself, with the colours and type that it has there; and SVG as pixels. */
import interUrl from "@fontsource-variable/inter/files/inter-latin-wght-normal.woff2?url";
import { save } from "./csv";

const KEPT = [
  "fill",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "opacity",
  "fill-opacity",
  "font",
  "font-weight",
  "text-anchor",
];
const SCALE = 2;
const NAMESPACE = "http://www.w3.org/2000/svg";

export function element<K extends keyof SVGElementTagNameMap>(
  name: K,
  attributes: Record<string, string | number>,
): SVGElementTagNameMap[K] {
  const made = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  return made;
}

/** A copy that needs no style sheet: what style sheets give stands in its elements. */
export function standalone(svg: SVGSVGElement): SVGSVGElement {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const own = svg.querySelectorAll("*");
  copy.querySelectorAll<SVGElement>("*").forEach((part, i) => {
    const style = getComputedStyle(own[i] as Element);
    for (const name of KEPT) part.style.setProperty(name, style.getPropertyValue(name));
    part.removeAttribute("class");
  });
  return copy;
}

async function dataUrl(address: string): Promise<string> {
  const blob = await (await fetch(address)).blob();
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result as string);
    reader.onerror = () => reject(new Error(`${address} cannot be read`));
    reader.readAsDataURL(blob);
  });
}

/** At twice the screen's resolution. A picture within an image knows no font of the page, so the page's goes with it. */
export async function savePng(svg: SVGSVGElement, name: string): Promise<void> {
  const [width, height] = [svg.width.baseVal.value, svg.height.baseVal.value];
  const style = element("style", {});
  style.textContent = `@font-face { font-family: Inter; font-weight: 100 900; src: url("${await dataUrl(interUrl)}") }`;
  svg.prepend(style);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(svg))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * SCALE);
  canvas.height = Math.round(height * SCALE);
  const context = canvas.getContext("2d");
  if (!context) return;
  context.scale(SCALE, SCALE);
  context.drawImage(image, 0, 0, width, height);
  canvas.toBlob((blob) => blob && save(`${name}.png`, blob));
}
