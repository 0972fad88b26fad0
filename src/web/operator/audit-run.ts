import { parseHead } from "../../core/checkpoint.ts";
import type { AuditProgress } from "../../core/service.ts";
import type { AuditJson, CheckpointStartJson } from "../../wire/audit-schemas.ts";
import { NoAnswer } from "../answers.ts";
import type { Api } from "../api.ts";

/**
 * Has the server audit, as a checkpoint: that comes as the accounts are read, and so tells how far it is.
 * @throws NoAnswer if its end is missing
 */
export async function audit(
  api: Api,
  signal: AbortSignal,
  onProgress: (done: AuditProgress) => void,
): Promise<AuditJson> {
  let start: CheckpointStartJson | undefined;
  let last = "";
  let done = { accounts: 0, entries: 0 };
  for await (const lines of api.lines("api/audit/checkpoint", signal)) {
    for (const line of lines) {
      const head = parseHead(line);
      if (head !== undefined) done = { accounts: done.accounts + 1, entries: done.entries + head.entries };
      else if (start === undefined) start = JSON.parse(line) as CheckpointStartJson;
      else last = line;
    }
    onProgress({ ...done, totalEntries: start?.entries ?? 0 });
  }
  if (last === "") throw new NoAnswer();
  return JSON.parse(last) as AuditJson;
}
