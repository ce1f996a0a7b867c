/** Commands of a source with this site's own address and the machine's name. */
export interface Site {
  origin: string;
  hostname: string;
  fabric: string | null;
}

/** A name that a shell takes as one word. */
const word = (text: string) => (/^[\w.:/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

export const filled = (template: string, { origin, hostname, fabric }: Site): string =>
  template.replace(/\{(site|host|fabric)\}/g, (_, name: string) =>
    name === "site" ? origin : name === "host" ? hostname : word(fabric ?? "MACHINE"),
  );
