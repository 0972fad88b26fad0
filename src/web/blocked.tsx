import type { StatementJson } from "../wire/entries.ts";
import { useApp, useGet, useMay } from "./app.ts";
import { Facts, ReadState } from "./elements.tsx";
import { Changes } from "./question.tsx";
import { accountUrl } from "./requests.ts";
import { pageSize } from "./statement.tsx";

/** A blocked account: since when and why, and what lifts the block. */
export function Blocked({ pesel }: { readonly pesel: string }) {
  const { texts } = useApp();
  const mayUnblock = useMay("operator");
  return (
    <section class="card blocked" aria-label={texts.blockedAccount}>
      <p role="alert">
        {texts.blockedAccount} {texts.blockedHint}
      </p>
      <Block path={`${accountUrl(pesel)}/history`} />
      {mayUnblock && <Changes pesel={pesel} kinds={["unblock"]} />}
    </section>
  );
}

/** The newest block in the statement, looked for page by page. The first page is the one that the statement shows. */
function Block({ path, cursor }: { readonly path: string; readonly cursor?: string }) {
  const { texts, format } = useApp();
  const page = useGet<StatementJson>(path, { limit: pageSize, cursor });
  const block = page.value?.entries.find(({ kind }) => kind === "block");
  if (block?.kind === "block") {
    const by = typeof block.by === "string" ? block.by : undefined;
    return (
      <Facts
        class="facts"
        of={[
          [texts.blockedSince, format.time(block.time)],
          [texts.reason, block.reason],
          [texts.doneBy, by],
        ]}
      />
    );
  }
  const next = page.value?.next ?? undefined;
  return next === undefined ? <ReadState read={page} /> : <Block path={path} cursor={next} />;
}
