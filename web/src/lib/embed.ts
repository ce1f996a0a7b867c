/** Whether this visit shows the page inside a portal's: its address began with `embed`. A way taken within the frame keeps it, for the frame is loaded once. */
const embedded = new URLSearchParams(globalThis.location?.search ?? "").has("embed");

export function isEmbedded(): boolean {
  return embedded;
}

/** The same page outside of the frame. */
export function whole(address: string): string {
  const [path = "/", search = ""] = address.split("?");
  const rest = new URLSearchParams(search);
  rest.delete("embed");
  return rest.size > 0 ? `${path}?${rest}` : path;
}
