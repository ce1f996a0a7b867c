/** A picture drawn as SVG, as a file: with the colours and type that it has on the page, on the page's surface. */
import { save } from "./csv";

const KEPT = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font", "font-weight", "text-anchor"];
const SCALE = 2;

/** The picture by itself: what style sheets give stands in its elements. */
export function standalone(svg: SVGSVGElement): string {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const own = svg.querySelectorAll("*");
  copy.querySelectorAll<SVGElement>("*").forEach((element, i) => {
    const style = getComputedStyle(own[i] as Element);
    for (const name of KEPT) element.style.setProperty(name, style.getPropertyValue(name));
    element.removeAttribute("class");
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const surface = getComputedStyle(document.documentElement).getPropertyValue("--surface").trim();
  const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  ground.setAttribute("width", "100%");
  ground.setAttribute("height", "100%");
  ground.setAttribute("fill", surface);
  copy.prepend(ground);
  return new XMLSerializer().serializeToString(copy);
}

export const saveSvg = (svg: SVGSVGElement, name: string): void => save(`${name}.svg`, standalone(svg), "image/svg+xml");

export async function savePng(svg: SVGSVGElement, name: string): Promise<void> {
  const { width, height } = svg.getBoundingClientRect();
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(standalone(svg))}`;
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
