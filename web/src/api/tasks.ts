/** Work in the queue: start it, follow it, cancel it. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import * as v from "valibot";
import { getJson, postFile, postJson, remove } from "./client";
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
const fileShape = v.object({ file: v.number() });
/** Uploads files for a task and starts it with their numbers, in the files' order; a task that does not start leaves none behind. */
export async function startTaskWithFiles(
  name: string,
  files: Blob[],
  args: (numbers: number[]) => Record<string, unknown>,
): Promise<Task> {
  const numbers: number[] = [];
  try {
    for (const file of files) numbers.push((await postFile(fileShape, "/tasks/files", file)).file);
    return await startTask(name, args(numbers));
  } catch (failure) {
    await Promise.allSettled(numbers.map((number) => remove(`/tasks/files/${number}`)));
    throw failure;
  }
}
/** Why a task failed. */
export function taskError({ error }: Pick<Task, "error">): string {
  const message =
    typeof error === "object" && error !== null && "message" in error ? (error as { message: unknown }).message : error;
  return typeof message === "string" ? message : "The task failed and gave no reason.";
}
export const cancelTask = (id: number) => postJson(taskShape, `/tasks/${id}/cancel`, {});
