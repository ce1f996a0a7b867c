import { describe, expect, it } from "vitest";
import { fieldLabel, fieldsOf, parametersFrom, STUDIES } from "./studies";

const names = (study: string) => fieldsOf(study).map((field) => field.name);

describe("the form of a study", () => {
  it("has the fields of the study's own model, and no other", () => {
    expect(names("wang-fig3")).toContain("runs");
    expect(names("wang-fig2")).not.toContain("runs");
    expect(names("taffet-pf3d")).not.toContain("runs");
    expect(names("hoefler-ebb")).toEqual(["seed", "runs", "topology", "routing"]);
    expect(names("nonsense")).toEqual([]);
  });

  it("is there for every study", () => {
    const tables = ["hoefler-table1", "hoefler-example"];
    for (const { cards } of STUDIES)
      for (const { study } of cards) expect(fieldsOf(study).length > 0, study).toBe(!tables.includes(study));
  });

  it("sends what was filled in, by its type, and nothing else", () => {
    const fields = fieldsOf("wang-fig8-10");
    expect(parametersFrom(fields, { seed: "7", load: "0.5", topology: "theta", applications: ["amg"] })).toEqual({
      seed: 7,
      load: 0.5,
      topology: "theta",
      applications: ["amg"],
    });
    expect(parametersFrom(fields, { seed: "", applications: [], nonsense: "1" })).toEqual({});
    expect(parametersFrom(fieldsOf("hoefler-fig11"), { ratios: "0.25, 0.5;0.75", stand_ins: "false" })).toEqual({
      ratios: [0.25, 0.5, 0.75],
      stand_ins: false,
    });
  });

  it("names fields in words with their units", () => {
    expect(fieldLabel("load_gib_per_s")).toBe("Load, GiB/s");
    expect(fieldLabel("packet_bytes")).toBe("Packet, bytes");
    expect(fieldLabel("runs")).toBe("Runs");
    expect(["sls", "vls"].map(fieldLabel)).toEqual(["Service levels (SLs)", "Virtual lanes (VLs)"]);
  });
});
