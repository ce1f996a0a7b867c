/** Work in the queue: start it, follow it, cancel it. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import * as v from "valibot";
import { getJson, postJson } from "./client";
import { pageOf, text } from "./shapes";

export const taskShape = v.object({
  task_id: v.number(),
  name: v.string(),
  args: v.nullable(v.record(v.string(), v.unknown())),
  state: v.string(),
  done: v.number(),
  total: v.number(),
  message: v.string(),
  cancel_requested: v.boolean(),
  result: v.unknown(),
  error: v.unknown(),
  created_at: v.string(),
  started_at: text,
  finished_at: text,
});
export type Task = v.InferOutput<typeof taskShape>;
export const tasksShape = pageOf(taskShape);

export const isOver = (task: Pick<Task, "state">): boolean => ["succeeded", "failed", "cancelled"].includes(task.state);

export const tasksQuery = () =>
  queryOptions({
    queryKey: ["tasks", "list"],
    queryFn: ({ signal }) => getJson(tasksShape, "/tasks", { limit: 100 }, signal),
    placeholderData: keepPreviousData,
  });
export const taskQuery = (id: number) =>
  queryOptions({
    queryKey: ["tasks", id],
    queryFn: ({ signal }) => getJson(taskShape, `/tasks/${id}`, {}, signal),
    placeholderData: keepPreviousData,
  });
export const startTask = (name: string, args: Record<string, unknown>) => postJson(taskShape, "/tasks", { name, args });
export const cancelTask = (id: number) => postJson(taskShape, `/tasks/${id}/cancel`, {});
