import type { NetworkNoise } from "../../api/networkNoise";
import { percent } from "../../lib/format";

/** A share in words, or why there is none. */
export const shareText = (share: NetworkNoise["of_runtime"], of: string): string =>
  share.share === null ? `Share of ${of}: cannot tell. ${share.cannot_tell ?? ""}` : `${percent(share.share)} of ${of}`;
