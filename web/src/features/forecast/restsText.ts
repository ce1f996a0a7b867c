import type { RestsOn } from "../../api/estimateShapes";

/** Which inputs carry a forecast, in one line; none where the interval of each holds zero. */
export function restsText(rests: RestsOn): string {
  const sure = rests.inputs.filter((one) => one.verdict === "carries");
  const [first] = sure;
  if (!first) return `${rests.forecaster}: cannot tell, no input adds more error than chance`;
  const others = sure.length > 1 ? `, and ${sure.length - 1} more` : "";
  return `${rests.forecaster}: first ${first.name} (+${first.increase.toFixed(1)} points)${others}`;
}
