/** Numbers as people read them: one rule for each kind of figure, the same on every page. */

export const UNKNOWN = "–";
export const MINUS = "\u2212";
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** Write a minus sign, except before zero. */
export const minus = (text: string): string => text.replace("-", /[1-9]/.test(text) ? MINUS : "");

export const isKnown = (value: number | null | undefined): value is number => value != null && Number.isFinite(value);

/** Stall ratios and times where there is room for little: one decimal below 10, none above. */
export function shortRatio(value: number | null | undefined): string {
  if (!isKnown(value)) return UNKNOWN;
  return value < 9.95 ? minus(value.toFixed(1)) : whole.format(value);
}

/** The same in texts and tables: what is small but there has two decimals, or as many as it needs, so that it does not read as none. */
export function ratio(value: number | null | undefined): string {
  if (isKnown(value) && value > 0 && value < 0.005)
    return value < 0.0005 ? value.toExponential(1).replace("-", MINUS) : value.toFixed(4);
  return isKnown(value) && value > 0 && value < 0.095 ? value.toFixed(2) : shortRatio(value);
}

/** Fractions between 0 and 1: two decimals. */
export function fraction(value: number | null | undefined): string {
  return isKnown(value) ? minus(value.toFixed(2)) : UNKNOWN;
}

export function count(value: number | null | undefined): string {
  return isKnown(value) ? minus(whole.format(value)) : UNKNOWN;
}

const PREFIXES: [number, string][] = [
  [1e15, "P"],
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];

/** Three significant figures with an SI prefix: 1.62 G. */
export function si(value: number | null | undefined, unit = ""): string {
  if (!isKnown(value)) return UNKNOWN;
  const size = Math.abs(value);
  const [scale, prefix] = PREFIXES.find(([limit]) => size >= limit * 0.9995) ?? [1, ""];
  const scaled = value / scale;
  const digits =
    (scale === 1 && Number.isInteger(value)) || Math.abs(scaled) >= 99.95 ? 0 : Math.abs(scaled) >= 9.995 ? 1 : 2;
  const text = minus(scaled.toFixed(digits));
  return prefix || unit ? `${text} ${prefix}${unit}` : text;
}

/** "name and size" of "name, size". */
export const inWords = (list: string): string => list.replace(/, ([^,]+)$/, " and $1");

/** The labels of an axis: on every one the decimals that its finest needs. */
export function axisText(ticks: number[]): (tick: number) => string {
  const digits =
    [0, 1, 2, 3].find((n) => ticks.every((tick) => Math.abs(tick * 10 ** n - Math.round(tick * 10 ** n)) < 1e-6)) ?? 4;
  const shown = new Intl.NumberFormat("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return (tick) => minus(shown.format(tick));
}

const BINARY: [number, string][] = [
  [2 ** 40, "TiB"],
  [2 ** 30, "GiB"],
  [2 ** 20, "MiB"],
  [2 ** 10, "KiB"],
];

export function bytes(value: number | null | undefined): string {
  if (!isKnown(value)) return UNKNOWN;
  const [scale, unit] = BINARY.find(([limit]) => value >= limit) ?? [1, "B"];
  return `${scale === 1 ? count(value) : shortRatio(value / scale)} ${unit}`;
}

/** A name in a picture, with at most so many letters. */
export const cut = (name: string, letters: number): string =>
  name.length > letters ? `${name.slice(0, Math.max(0, letters - 1))}…` : name;

/** A change as a factor from ×1.5 up (or ÷1.5 down), as a percentage between. */
export function change(factor: number | null | undefined): string {
  if (!isKnown(factor) || factor < 0) return UNKNOWN;
  if (factor >= 1.495) return `×${ratio(factor)}`;
  if (factor > 0 && factor <= 1 / 1.495) return `÷${ratio(1 / factor)}`;
  if (factor === 0) return `${MINUS}100 %`;
  const percent = Math.round((factor - 1) * 100);
  return percent === 0 ? "±0 %" : `${percent > 0 ? "+" : MINUS}${Math.abs(percent)} %`;
}

export function percent(value: number | null | undefined, digits = 0): string {
  return isKnown(value) ? `${minus((value * 100).toFixed(digits))} %` : UNKNOWN;
}

/** Seconds as 42 s, 4 min, 2 h 05 min, 3 d 4 h. */
export function duration(seconds: number | null | undefined): string {
  if (!isKnown(seconds)) return UNKNOWN;
  const s = Math.abs(seconds);
  if (s < 9.95 && s % 1 !== 0) return `${s.toFixed(1)} s`;
  if (s < 99.5) return `${Math.round(s)} s`;
  const minutes = Math.round(s / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 ? `${hours} h ${String(minutes % 60).padStart(2, "0")} min` : `${hours} h`;
  const rest = hours % 24;
  return rest ? `${Math.floor(hours / 24)} d ${rest} h` : `${Math.floor(hours / 24)} d`;
}

/** Seconds that passed or were lost, as the API's sentences write them, to the second below an hour: 37 s, 5 min 48 s, 1 h 04 min. */
export function lostTime(seconds: number | null | undefined): string {
  if (!isKnown(seconds)) return UNKNOWN;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole >= 3600) return duration(whole);
  return whole % 60 ? `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s` : `${whole / 60} min`;
}

/** "1 router", "12 routers"; irregular plurals are given. */
export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}
