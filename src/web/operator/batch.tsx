import { useEffect } from "preact/hooks";
import { type LineOutcome, sumsOf } from "../../batch/moves.ts";
import { UnfitFile } from "../../batch/unfit-file.ts";
import type { CurrencyCode } from "../../core/currency.ts";
import { formatDecimal } from "../../core/decimal.ts";
import { FxError } from "../../core/errors.ts";
import { maskPesels } from "../../core/mask.ts";
import { knownDigits } from "../../core/money.ts";
import { isRefusal } from "../answers.ts";
import { useApp, useFailureText } from "../app.ts";
import { Button, Facts, figures, Table, Tile } from "../elements.tsx";
import { saveFile } from "../save.ts";
import { fileFaultText, refusalText } from "../server-words.ts";
import { fill } from "../texts.ts";
import { type AnsweredLine, type KeyedFile, rejectsText, resultsText } from "./batch-file.ts";

/** Maximum of refused lines shown, and of those of unknown outcome. */
const shownLines = 100;

/** The words for what is wrong with a file, a batch or a line. */
function useFaultText(): (fault: unknown) => string {
  const { language, texts } = useApp();
  const failureText = useFailureText();
  return (fault) => {
    if (fault === "tooLarge" || fault === "unreadable" || fault === "empty") return texts[fault];
    if (fault instanceof UnfitFile) return fileFaultText(fault, language);
    return fault instanceof FxError ? refusalText(fault, language, true) : failureText(fault);
  };
}

/** A batch file: a dry run, then the run. */
export function Batch() {
  const { batch, texts } = useApp();
  useEffect(() => {
    // Otherwise the browser navigates to a file dropped outside the box.
    const keep = (event: Event) => {
      if (!(event.target instanceof HTMLInputElement)) event.preventDefault();
    };
    for (const name of ["dragover", "drop"]) addEventListener(name, keep);
    return () => {
      for (const name of ["dragover", "drop"]) removeEventListener(name, keep);
    };
  }, []);
  const { step, file } = batch.state;
  return (
    <main id="main" tabIndex={-1}>
      <section class="card batch" aria-label={texts.batch}>
        <h2>{texts.batch}</h2>
        {step === "choose" && <Choice />}
        {batch.isBusy && <Progress />}
        {file !== undefined && step !== "choose" && <Outcome file={file} />}
      </section>
    </main>
  );
}

/** Asks for a file, and says what is wrong with the one that was chosen. */
function Choice() {
  const { batch, format, texts } = useApp();
  const faultText = useFaultText();
  const { name, fault, undecoded } = batch.state;
  const line = undecoded?.line;
  const place = line === undefined ? name : fill(texts.inLine, name, format.count(line));
  return (
    <>
      <p class="muted">{texts.batchStep.choose}</p>
      {fault !== undefined && (
        <p role="alert">{name === "" ? faultText(fault) : `${place}: ${faultText(fault)}`}</p>
      )}
      {undecoded?.readings.map(({ encoding, words }) => (
        <p key={encoding}>
          <Button
            label={fill(texts.tryOther, encoding)}
            onClick={() => void batch.choose(undecoded.chosen, encoding)}
          />{" "}
          {words.join(", ")}
        </p>
      ))}
      <label class="drop">
        <strong>{texts.choose}</strong> <span class="muted">{texts.drop}</span>
        <input
          type="file"
          accept=".csv,.tsv,.txt,.ndjson,.jsonl,.json"
          onChange={({ currentTarget }) => void batch.choose(currentTarget.files?.[0])}
        />
      </label>
      <details>
        <summary>{texts.columns}</summary>
        <pre>{"pesel,from,to,toBuy,toSell\nname,surname,pesel,pln\nkind,pesel,amount,currency,note"}</pre>
      </details>
    </>
  );
}

function Progress() {
  const { batch, format, texts } = useApp();
  const { step, file, results } = batch.state;
  const total = file?.lines.length ?? 0;
  return (
    <div class="progress" role="status">
      <p>
        {texts.batchStep[step]}{" "}
        <span class="figures">
          {file !== undefined && fill(texts.batchProgress, format.count(results.length), format.count(total))}
        </span>
      </p>
      <progress
        aria-label={texts.batch}
        max={total || 1}
        value={file === undefined ? undefined : results.length}
      />
      {file !== undefined && <Button label={texts.stop} onClick={() => batch.stop()} />}
    </div>
  );
}

/** The results of the lines so far, and the actions that are left. */
function Outcome({ file }: { readonly file: KeyedFile }) {
  const { batch, format, texts } = useApp();
  const faultText = useFaultText();
  const { step, name, results, count, fault } = batch.state;
  const isTrial = step === "checking" || step === "checked";
  const total = file.lines.length;
  const unanswered = batch.isBusy ? 0 : batch.unanswered;
  const unknown = count.unknown + unanswered;
  const left = batch.isBusy ? 0 : total - results.length - unanswered;
  const isMoved = isRefusal(fault, "rate-changed");
  return (
    <>
      <Facts
        class="facts figures"
        of={[
          [texts.file, name],
          [texts.holds, texts.kinds[file.format.holds]],
          [texts.lines, format.count(total)],
          [texts.batchId, file.id],
        ]}
      />
      {file.format.unread.length > 0 && (
        <p class="muted">{fill(texts.unread, file.format.unread.join(", "))}</p>
      )}
      <dl class="tiles">
        <Tile label={isTrial ? texts.wouldBeDone : texts.linesDone} value={format.count(count.done)} />
        <Tile label={texts.doneBefore} value={format.count(count.replayed)} />
        <Tile
          label={isTrial ? texts.wouldBeRefused : texts.refused}
          value={format.count(count.refused)}
          isBad={count.refused > 0}
        />
        {unknown > 0 && <Tile label={texts.linesUnknown} value={format.count(unknown)} isBad />}
        {left > 0 && <Tile label={texts.left} value={format.count(left)} isBad />}
      </dl>
      {fault !== undefined && !isRefusal(fault, "unauthorized") && (
        <p role="alert">{isMoved ? texts.batchRateMoved : faultText(fault)}</p>
      )}
      {!batch.isBusy && (
        <>
          {count.unknown > 0 && <p role="alert">{texts.ofAnotherToken}</p>}
          {(step !== "finished" || unknown === 0) && (
            <p role="status" class={step === "finished" ? "good" : ""}>
              {texts.batchStep[step]}
            </p>
          )}
          <Actions file={file} />
          <Moves results={results} />
          <LinesNotDone results={results} state="unknown" caption={texts.linesUnknown} />
          <LinesNotDone results={results} state="refused" caption={texts.refusals} />
        </>
      )}
    </>
  );
}

function Actions({ file }: { readonly file: KeyedFile }) {
  const { batch, format, texts } = useApp();
  const { step, results, count } = batch.state;
  const { header } = file.format;
  const rejects = step === "checked" ? "" : rejectsText(header, results);
  return (
    <>
      <div class="actions">
        {step === "checked" && count.done > 0 && (
          <Button
            label={fill(texts.carryOutLines, format.count(count.done))}
            class="primary"
            onClick={() => void batch.work()}
          />
        )}
        {step === "stopped" && (
          <Button label={texts.goOn} class="primary" onClick={() => void batch.work()} />
        )}
        {step !== "checked" && (
          <Button
            label={texts.saveResults}
            onClick={() =>
              saveFile(fill(texts.resultsFile, "ndjson"), "application/x-ndjson", resultsText(results))
            }
          />
        )}
        {rejects !== "" && (
          <Button
            label={texts.saveRefused}
            onClick={() =>
              saveFile(
                fill(texts.rejectsFile, header === undefined ? "ndjson" : "csv"),
                "text/plain",
                rejects,
              )
            }
          />
        )}
        <Button label={texts.another} onClick={() => batch.leave()} />
      </div>
      {rejects !== "" && <p class="muted">{texts.refusedHint}</p>}
    </>
  );
}

interface LinesNotDoneProps {
  readonly results: readonly AnsweredLine[];
  readonly state: "refused" | "unknown";
  readonly caption: string;
}

function LinesNotDone({ results, state, caption }: LinesNotDoneProps) {
  const { format, texts } = useApp();
  const faultText = useFaultText();
  const lines = results.flatMap((result) => ("error" in result && result.state === state ? [result] : []));
  if (lines.length === 0) return null;
  return (
    <div class="wide">
      <Table
        class="refusals"
        caption={caption}
        columns={[figures(texts.line), { label: texts.pesel, class: "figures" }, texts.why]}
        rows={lines.slice(0, shownLines).map(({ line, error }) => ({
          key: line.number,
          cells: [
            format.count(line.number),
            maskPesels(line.pesel ?? "–").replace(/(?<=\d{6})\d/g, "*"),
            faultText(error),
          ],
        }))}
      />
      {lines.length > shownLines && <p class="muted">{texts.more}</p>}
    </div>
  );
}

/** The money that the lines of a batch take from accounts and bring to them, by currency. */
function Moves({ results }: { readonly results: readonly LineOutcome[] }) {
  const { format, texts } = useApp();
  const sums = sumsOf(results);
  if (sums.size === 0) return null;
  const amount = (minor: bigint, currency: CurrencyCode) => {
    const digits = knownDigits(currency);
    return minor === 0n
      ? "–"
      : `${format.amount(formatDecimal({ coefficient: minor, scale: digits }, digits), currency)} ${currency}`;
  };
  return (
    <Table
      class="moves"
      caption={texts.moves}
      columns={[texts.currency, figures(texts.out), figures(texts.in)]}
      hasRowHeads
      rows={[...sums].map(([currency, { out, into }]) => ({
        key: currency,
        cells: [currency, amount(out, currency), amount(into, currency)],
      }))}
    />
  );
}
