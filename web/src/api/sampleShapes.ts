/** Answers about packet samples, as the API gives them. */
import * as v from "valibot";

const figures = v.array(v.nullable(v.number()));
const numbers = v.array(v.number());
const text = v.nullable(v.string());

export const contextsShape = v.object({
  items: v.array(
    v.object({
      context_id: v.number(),
      job_id: text,
      tag: text,
      phase: text,
      first: v.string(),
      last: v.string(),
      simulated: v.boolean(),
    }),
  ),
});

export const sampleMapShape = v.object({
  from: text,
  to: text,
  contexts: v.number(),
  simulated: v.boolean(),
  links: v.object({
    link: numbers,
    traffic: numbers,
    traffic_error: numbers,
    bytes: numbers,
    congested: numbers,
    congested_error: numbers,
    congested_fraction: figures,
  }),
});

export const cablesShape = v.object({
  link: numbers,
  src: figures,
  dst: figures,
  src_port: figures,
  dst_port: figures,
  class: v.array(v.string()),
  src_endpoint: figures,
  dst_endpoint: figures,
});
