import parametersOf from "../../api/generated/studies.json";

/** Studies that the workers know, as cards; names as `flitwatch study` lists them. */
export interface StudyCard {
  study: string;
  title: string;
  asks: string;
}

export interface StudyGroup {
  source: string;
  cards: StudyCard[];
}

export const STUDIES: StudyGroup[] = [
  {
    source: "Hoefler 2009, flow-level noise",
    cards: [
      { study: "hoefler-example", title: "Worked example", asks: "Two patterns on a small tree: costs 5 and 3." },
      { study: "hoefler-table1", title: "Table 1", asks: "Endpoints and switches of fat trees." },
      { study: "hoefler-fig11", title: "Figure 11", asks: "Slowdown by perturbation ratio, several machines." },
      { study: "hoefler-fig13", title: "Figure 13", asks: "Slowdown by size of fat trees." },
      { study: "hoefler-fig15", title: "Figure 15", asks: "Slowdown by perturbation ratio, two tori." },
      { study: "hoefler-fig16", title: "Figure 16", asks: "Slowdown by size of 2D and 3D tori." },
      {
        study: "hoefler-ebb",
        title: "Effective bisection",
        asks: "Share of the full bandwidth that random bisections reach.",
      },
    ],
  },
  {
    source: "Taffet 2021, congested fraction by sampling",
    cards: [
      { study: "taffet-table2.1", title: "Table 2.1", asks: "Sampling error of both variants, and the formulas." },
      {
        study: "taffet-fig3.4",
        title: "Figure 3.4",
        asks: "Improvement of the formulations' routes over time.",
      },
      {
        study: "taffet-table4.3",
        title: "Table 4.3",
        asks: "Reconstructions with lanes by service level, at random, and by Galois fields.",
      },
      {
        study: "taffet-table5.1",
        title: "Table 5.1",
        asks: "Bisection shift and shuffle: static and adaptive routes.",
      },
      {
        study: "taffet-table5.2",
        title: "Table 5.2",
        asks: "Cyclic stencil: large and small messages, four routing modes.",
      },
      { study: "taffet-pf3d", title: "pF3D", asks: "All-to-all groups alongside incasts: diagnosis and remapping." },
      { study: "taffet-minighost", title: "miniGhost", asks: "27-point stencil: mappings and synchrony." },
    ],
  },
  {
    source: "Wang 2018, placement and routing",
    cards: [
      { study: "wang-fig2", title: "Figure 2", asks: "Traffic matrix, and load over time." },
      {
        study: "wang-fig3",
        title: "Figures 3 to 6",
        asks: "Placement and routing on Theta: times, hops, traffic and saturation of channels.",
      },
      {
        study: "wang-fig7",
        title: "Figure 7",
        asks: "The slowest rank by message load, relative to random adaptive.",
      },
      {
        study: "wang-fig8-10",
        title: "Figures 8 to 10",
        asks: "Figure 3's combinations alongside background traffic.",
      },
      { study: "wang-table2", title: "Table II", asks: "Peak loads of the background traffic." },
    ],
  },
  {
    source: "De Sensi 2019, application-aware routing",
    cards: [
      { study: "desensi-fig3", title: "Figure 3", asks: "Ping-pong by allocation." },
      { study: "desensi-fig4", title: "Figure 4", asks: "All-to-all inside one node: only host noise." },
      { study: "desensi-fig5", title: "Figure 5", asks: "Dispersion of times and latencies by message size." },
      { study: "desensi-fig7", title: "Figure 7", asks: "Adaptive and high bias: time, stalls, latency, model." },
      { study: "desensi-fig8", title: "Figure 8", asks: "Application-aware routing alongside both modes." },
      { study: "desensi-fig8-collectives", title: "Figure 8, collectives", asks: "The same for collectives by size." },
      { study: "desensi-fig10", title: "Figure 10", asks: "Applications on two allocations, three routing modes." },
      {
        study: "desensi-calibration",
        title: "Calibration",
        asks: "Fitted lambda and sigma of the algorithm, with errors.",
      },
      { study: "desensi-model", title: "Message model", asks: "Its correlation with simulated ping-pongs." },
    ],
  },
];

// The form of a study: a field for each parameter that the study's own model takes, and what the filled-in form sends (State). Pure.

export interface StudyField {
  name: string;
  type: "integer" | "number" | "string" | "boolean" | "choices" | "numbers";
  choices?: string[];
  least?: number;
  most?: number;
  usual?: string | number | boolean;
  says?: string;
}

/** Field name -> what was typed or chosen; empty: the study's own. */
export type Typed = Record<string, string | string[]>;

/** Fields of a study that the API knows; none of any other. Threads are the worker's. */
export const fieldsOf = (study: string): StudyField[] =>
  ((parametersOf as Record<string, StudyField[]>)[study] ?? []).filter((field) => field.name !== "threads");

const listed = (text: string): number[] =>
  text
    .split(/[\s,;]+/)
    .filter(Boolean)
    .map(Number);

/** Parameters of the task: only fields that were filled in, each of its type. */
export function parametersFrom(fields: StudyField[], typed: Typed): Record<string, unknown> {
  const sent: Record<string, unknown> = {};
  for (const { name, type } of fields) {
    const value = typed[name];
    if (value === undefined || value.length === 0) continue;
    if (Array.isArray(value)) sent[name] = value;
    else if (type === "numbers") sent[name] = listed(value);
    else if (type === "boolean") sent[name] = value === "true";
    else sent[name] = type === "string" ? value : Number(value);
  }
  return sent;
}

const WRITTEN_OUT: Record<string, string> = {
  sls: "Service levels (SLs)",
  vls: "Virtual lanes (VLs)",
  lmc: "LID mask control (LMC)",
  mtu: "Largest packet (MTU), bytes",
};

/** "load_gib_per_s" -> "Load, GiB/s". */
export function fieldLabel(name: string): string {
  const words = (WRITTEN_OUT[name] ?? name)
    .replace(/_gib_per_s$/, ", GiB/s")
    .replace(/_bytes$/, ", bytes")
    .replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
