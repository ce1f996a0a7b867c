/** The three colour scales (stalls per flit, change, congested fraction) as steps that can be named aloud, for both themes. */
import stallCuts from "../api/generated/stallCuts.json";

export type Theme = "light" | "dark";

/** Upper ends of the first seven of eight steps, as the API says them; one step is twice the stalls. From the first on, a router or port counts as stalled. */
export const HEAT_CUTS: readonly number[] = stallCuts;
export const HEAT_LABELS: readonly string[] = HEAT_CUTS.map((cut) => (cut === 0.5 ? "½" : String(cut)));
export const HEAT: Record<Theme, readonly string[]> = {
  light: ["#efece7", "#f3dfb4", "#f0c98b", "#eca052", "#da6e2d", "#b54226", "#7f2521", "#431215"],
  dark: ["#2e2927", "#4b3229", "#713f2e", "#9e5331", "#cb7134", "#eb9c41", "#f8cb77", "#fff4ca"],
};

export const CHANGE_CUTS = [1 / 4, 1 / 2, 1 / 1.25, 1.25, 2, 4] as const;
export const CHANGE_LABELS = ["÷4", "÷2", "÷1¼", "×1¼", "×2", "×4"] as const;
export const CHANGE: Record<Theme, readonly string[]> = {
  light: ["#1d438c", "#497ac3", "#97bae7", "#ededeb", "#edb88b", "#d87339", "#96311a"],
  dark: ["#a7d6ff", "#5b94dd", "#325384", "#2a2b2e", "#7a4530", "#d2783b", "#fad18a"],
};

/** Codes other than the steps: what is not a value never looks like one. */
export const NO_COLOUR = "transparent";
export const NOT_SAMPLED = 253;
export const SILENT = 254;

export function heatStep(value: number): number {
  let step = 0;
  while (step < HEAT_CUTS.length && value >= (HEAT_CUTS[step] as number)) step++;
  return step;
}

export function changeStep(factor: number): number {
  let step = 0;
  while (step < CHANGE_CUTS.length && factor >= (CHANGE_CUTS[step] as number)) step++;
  return step;
}

/** Ratios below the first step of the heat scale count as that: three times next to nothing is no change that anyone feels. */
const LEAST_CHANGED = HEAT_CUTS[0] as number;

/** This window's ratio over another's; NaN if either is unknown. */
export function changeFactor(now: number, before: number): number {
  if (now === before) return 1;
  const [above, below] = [Math.max(now, LEAST_CHANGED), Math.max(before, LEAST_CHANGED)];
  return above === below ? 1 : above / below;
}

/** The colour of a value; what is unknown has none. */
export const heatColour = (value: number, theme: Theme): string =>
  Number.isNaN(value) ? NO_COLOUR : (HEAT[theme][heatStep(value)] as string);

/** A line or a disc of the lowest step: in the colour of a cell it is not seen on the page's ground. */
const CALM_LINE: Record<Theme, string> = { light: "#d9d2c7", dark: "#4f4640" };
export const heatLineColour = (value: number, theme: Theme): string =>
  heatStep(value) === 0 ? CALM_LINE[theme] : heatColour(value, theme);

export const changeColour = (factor: number, theme: Theme): string =>
  Number.isNaN(factor) ? NO_COLOUR : (CHANGE[theme][changeStep(factor)] as string);

const FRACTION_ENDS: Record<Theme, [number, number]> = { light: [0xdc, 0x0a], dark: [0x38, 0xff] };

/** Congested fraction, continuous from 0 to 1, in grey. */
export function fractionColour(fraction: number, theme: Theme): string {
  const [low, high] = FRACTION_ENDS[theme];
  const grey = Math.round(low + (high - low) * Math.max(0, Math.min(1, fraction)));
  return `rgb(${grey} ${grey} ${grey})`;
}

/** Relative luminance (WCAG 2.2) of #rrggbb. */
export function luminance(hex: string): number {
  const linear = (at: number) => {
    const c = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * linear(1) + 0.7152 * linear(3) + 0.0722 * linear(5);
}

/** Text on a cell: dark where the cell is light. 0.2 is where both texts have about the same contrast, and both exceed 4.1. */
export const textOn = (hex: string): string => (luminance(hex) > 0.2 ? "#16181b" : "#ffffff");
