import { useApp, useLatest } from "../app.ts";

/** What reads a batch is as large as the rest of the page, and loaded for who opens it. */
export function BatchOnDemand() {
  const { texts } = useApp();
  const { value, failure } = useLatest(() => import("./batch.tsx"), []);
  if (value !== undefined) return <value.Batch />;
  return (
    <main id="main" tabIndex={-1}>
      {failure === undefined ? <p role="status">{texts.loading}</p> : <p role="alert">{texts.offline}</p>}
    </main>
  );
}
