import { useEffect } from "preact/hooks";
import { useApp, useRead } from "../app.ts";
import { accountsOfAll } from "../reads.ts";
import type { BatchJob } from "./batch-job.ts";

interface BatchOnDemandProps {
  readonly job: BatchJob | undefined;
  readonly onJob: (job: BatchJob) => void;
}

/** What reads a batch is as large as the rest of the page, and loaded for who opens it. */
export function BatchOnDemand({ job, onJob }: BatchOnDemandProps) {
  const { reads, texts } = useApp();
  const { value, failure } = useRead(reads, "the view of batches", () => import("./batch.tsx"));
  useEffect(() => {
    if (job === undefined && value !== undefined)
      onJob(new value.BatchJob(() => reads.stale(...accountsOfAll)));
  }, [value]);
  if (value !== undefined && job !== undefined) return <value.Batch job={job} />;
  return (
    <main id="main" tabIndex={-1}>
      {failure === undefined ? <p role="status">{texts.loading}</p> : <p role="alert">{texts.offline}</p>}
    </main>
  );
}
