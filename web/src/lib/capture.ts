/** What a box shows, as one SVG document in the light theme, whatever the screen shows: canvases, SVG and captions where they stand, under a heading. */
import interUrl from "@fontsource-variable/inter/files/inter-latin-wght-normal.woff2?url";
import { flushSync } from "react-dom";
import { exportFile, save } from "./tables";
import { originOf } from "./origin";
import { record, redraw } from "./recording";
import { zoomOf } from "./screen";
import { themeStore } from "./theme";

// SVG of the page by itself, with the colours and type that it has there; and SVG as pixels.

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

function element<K extends keyof SVGElementTagNameMap>(
  name: K,
  attributes: Record<string, string | number>,
): SVGElementTagNameMap[K] {
  const made = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  return made;
}

/** A copy that needs no style sheet: what style sheets give stands in its elements. */
function standalone(svg: SVGSVGElement): SVGSVGElement {
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
async function savePng(svg: SVGSVGElement, name: string): Promise<void> {
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
  if (!context) throw new Error("The browser has no canvas for a picture of this size. Save it as SVG.");
  context.scale(SCALE, SCALE);
  context.drawImage(image, 0, 0, width, height);
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve));
  if (!blob) throw new Error("The picture is too large for PNG. Save it as SVG.");
  save(`${name}.png`, blob);
}

const MARGIN = 24;
const HEAD = 56;
/** Height of a line of what the picture says of itself, below it. */
const FOOT_LINE = 15;
const TYPE = 'Inter, "DejaVu Sans", sans-serif';
/** Smaller ones are signs next to a text. */
const SIGN = 16;

export interface Heading {
  title: string;
  subtitle: string;
}

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

const token = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
/** A box within another, in the page's own lengths. */
function within(part: Element, box: DOMRect): { x: number; y: number; width: number; height: number } {
  const [at, zoom] = [part.getBoundingClientRect(), zoomOf()];
  return {
    x: (at.left - box.left) / zoom + MARGIN,
    y: (at.top - box.top) / zoom + HEAD,
    width: at.width / zoom,
    height: at.height / zoom,
  };
}
const captions = (box: HTMLElement) => [...box.querySelectorAll<HTMLElement>("figcaption, [data-caption]")];
const pictures = (box: HTMLElement) =>
  [...box.querySelectorAll("svg")].filter((svg) => !svg.closest("button") && svg.getBoundingClientRect().width > SIGN);

type Vector = CanvasRenderingContext2D & { getSvg: () => SVGSVGElement };

/** Canvases draw once more, into contexts that write SVG, and then again on the screen. */
export async function capture(box: HTMLElement, { title, subtitle }: Heading): Promise<SVGSVGElement> {
  const { Context } = await import("svgcanvas");
  return inLight(() => {
    const drawn = record((size) => new Context(size), redraw);
    redraw();
    const place = box.getBoundingClientRect();
    const said = originOf();
    const [width, height] = [
      Math.ceil(place.width / zoomOf() + 2 * MARGIN),
      Math.ceil(place.height / zoomOf() + HEAD + MARGIN + said.length * FOOT_LINE),
    ];
    const root = element("svg", { width, height, viewBox: `0 0 ${width} ${height}` });
    const words = (text: string, x: number, y: number, style: string) => {
      const line = element("text", { x, y, style });
      line.textContent = text;
      root.append(line);
    };
    const put = (part: SVGSVGElement, shown: Element) => {
      for (const [name, value] of Object.entries(within(shown, place))) part.setAttribute(name, value.toFixed(2));
      root.append(part);
    };
    root.append(element("rect", { width: "100%", height: "100%", fill: token("--surface") }));
    words(title, MARGIN, 28, `font: 650 18px ${TYPE}; fill: ${token("--ink")}`);
    words(subtitle, MARGIN, 46, `font: 400 12px ${TYPE}; fill: ${token("--ink-3")}`);
    for (const caption of captions(box)) {
      const at = within(caption, place);
      words(caption.textContent, at.x, at.y + 14, `font: 400 12px ${TYPE}; fill: ${token("--ink-2")}`);
    }
    for (const canvas of box.querySelectorAll("canvas")) {
      const context = drawn.get(canvas) as Vector | undefined;
      if (context) put(context.getSvg(), canvas);
    }
    for (const svg of pictures(box)) put(standalone(svg), svg);
    said.forEach(([name, value], i) =>
      words(
        `${name}: ${value}`,
        MARGIN,
        height - MARGIN / 2 - (said.length - 1 - i) * FOOT_LINE,
        `font: 400 11px ${TYPE}; fill: ${token("--ink-3")}`,
      ),
    );
    return root;
  });
}

/** Entries of an Export menu for the pictures in a box. */
export function captureEntries(box: () => HTMLElement | null, name: string, heading: () => Heading) {
  const act = (write: (svg: SVGSVGElement) => void | Promise<void>) => () => {
    const found = box();
    if (found) void exportFile(async () => write(await capture(found, heading())));
  };
  return [
    {
      id: "svg",
      label: "Picture as SVG",
      onSelect: act((svg) => save(`${name}.svg`, new XMLSerializer().serializeToString(svg), "image/svg+xml")),
    },
    { id: "png", label: "Picture as PNG", onSelect: act((svg) => savePng(svg, name)) },
  ];
}
