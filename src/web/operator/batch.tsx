import "./jitless.ts";
import { useEffect, useState } from "preact/hooks";
import type { KeyedLine } from "../../batch/keys.ts";
import { UnfitFile } from "../../batch/unfit-file.ts";
import { FxError } from "../../core/errors.ts";
import { maskPesels } from "../../core/mask.ts";
import { NoAnswer } from "../answers.ts";
import { useApp, useWatched } from "../app.ts";
import { refusalText } from "../refusal-text.ts";
import { saveFile } from "../save.ts";
import type { BatchJob } from "./batch-job.ts";
import { type AnsweredLine, rejectsText, resultsText } from "./batch-run.ts";
import { batchTexts } from "./batch-texts.ts";
import { Moves } from "./moves.tsx";
import { Tile } from "./tile.tsx";

export { BatchJob } from "./batch-job.ts";

/** Refused lines in sight. */
const shownRefusals = 100;

/** A file of orders, new accounts, deposits and withdrawals: tried first, then carried out. */
export function Batch({ job }: { readonly job: BatchJob }) {
  const { api, format, language, texts } = useApp();
  const own = batchTexts[language];
  useWatched((onChange) => job.watch(onChange), [job]);
  const { step, name, file, results, count, undecoded } = job.state;

  useEffect(() => {
    // A file that misses its place would be opened instead of the page.
    const keep = (event: Event) => event.preventDefault();
    for (const name of ["dragover", "drop"] as const) addEventListener(name, keep);
    return () => {
      for (const name of ["dragover", "drop"] as const) removeEventListener(name, keep);
    };
  }, []);

  const failureText = (failure: unknown): string => {
    if (failure === "tooLarge" || failure === "unreadable" || failure === "empty") return own[failure];
    if (failure instanceof UnfitFile) return own.fileFault[failure.fault] ?? failure.message;
    if (failure instanceof FxError) {
      return failure.code === "rate-changed" ? own.rateMoved : refusalOf(failure);
    }
    if (failure instanceof NoAnswer) return texts.offline;
    throw failure;
  };
  const refusalOf = ({ code, message }: FxError) =>
    refusalText({ code, detail: message } as Parameters<typeof refusalText>[0], language);

  const fault = job.state.fault === undefined ? undefined : failureText(job.state.fault);
  const isTrial = step === "checking" || step === "checked";
  const number = (value: number) => format.decimal(String(value));
  const total = file?.lines.length ?? 0;
  const hasEnded = step === "checked" || step === "stopped" || step === "finished";
  const refused = hasEnded ? results.filter((result) => result.state === "refused") : [];
  const facts: readonly (readonly [label: string, value: number, isBad?: boolean])[] = [
    [isTrial ? own.wouldBeDone : own.done, count.done],
    [own.doneBefore, count.replayed],
    [isTrial ? own.wouldBeRefused : own.refused, count.refused, true],
    ...(hasEnded && results.length < total ? ([[own.left, total - results.length, true]] as const) : []),
  ];
  const extension = file?.format.header === undefined ? "ndjson" : "csv";
  const rejects = step === "stopped" || step === "finished" ? rejectsText(file?.format.header, results) : "";

  return (
    <main id="main" tabIndex={-1}>
      <section class="card batch" aria-label={texts.batch}>
        <h2>{texts.batch}</h2>
        {step === "choose" && (
          <>
            <p class="muted">{own.intro}</p>
            {fault !== undefined && (
              <p role="alert">
                {name !== "" && <strong>{name}: </strong>}
                {undecoded?.line !== undefined && `${own.line} ${undecoded.line}: `}
                {fault}
              </p>
            )}
            {undecoded?.readings.map(({ encoding, words }) => (
              <p key={encoding}>
                <button type="button" onClick={() => void job.choose(api, undecoded.chosen, encoding)}>
                  {own.tryOther(encoding)}
                </button>{" "}
                {words.join(", ")}
              </p>
            ))}
            <Drop label={own.choose} hint={own.drop} onFile={(chosen) => void job.choose(api, chosen)} />
            <details>
              <summary>{own.columns}</summary>
              <pre>
                {"pesel,from,to,toBuy,toSell\nname,surname,pesel,pln\nkind,pesel,amount,currency,note"}
              </pre>
            </details>
          </>
        )}
        {job.isBusy && (
          <div class="progress" role="status">
            <p>
              {step === "reading" ? own.reading : step === "checking" ? own.checking : own.working}{" "}
              <span class="figures">
                {file !== undefined && `${number(results.length)} / ${number(total)}`}
              </span>
            </p>
            <progress
              aria-label={texts.batch}
              max={total || 1}
              value={file === undefined ? undefined : results.length}
            />
            {file !== undefined && (
              <button type="button" onClick={() => job.stop()}>
                {own.stop}
              </button>
            )}
          </div>
        )}
        {file !== undefined && step !== "choose" && (
          <>
            <dl class="facts about">
              <Fact label={own.file} value={name} />
              <Fact label={own.holds} value={own.kinds[file.format.holds] ?? file.format.holds} />
              <Fact label={own.lines} value={number(total)} />
              <Fact label={own.id} value={file.id} />
            </dl>
            {step === "checked" && <Names lines={file.lines} label={own.names} />}
            {file.format.unread.length > 0 && (
              <p class="muted">
                {own.unread} {file.format.unread.join(", ")}
              </p>
            )}
            <dl class="tiles">
              {facts.map(([label, value, isBad = false]) => (
                <Tile key={label} label={label} value={number(value)} isBad={isBad && value > 0} />
              ))}
            </dl>
          </>
        )}
        {step !== "choose" && fault !== undefined && <p role="alert">{fault}</p>}
        {hasEnded && (
          <>
            <p role="status" class={step === "finished" ? "good" : ""}>
              {step === "checked" ? own.nothingMoved : step === "finished" ? own.finished : own.stopped}
            </p>
            <div class="actions">
              {step === "checked" && count.done > 0 && (
                <button type="button" class="primary" onClick={() => void job.work(api)}>
                  {own.carryOut(number(count.done))}
                </button>
              )}
              {step === "stopped" && (
                <button type="button" class="primary" onClick={() => void job.work(api)}>
                  {own.goOn}
                </button>
              )}
              {step !== "checked" && (
                <button
                  type="button"
                  onClick={() =>
                    saveFile("results.ndjson", "application/x-ndjson", resultsText(inOrder(results)))
                  }
                >
                  {own.saveResults}
                </button>
              )}
              {rejects !== "" && (
                <button type="button" onClick={() => saveFile(`rejects.${extension}`, "text/plain", rejects)}>
                  {own.saveRefused}
                </button>
              )}
              <button type="button" onClick={() => job.tell({ is: "left" })}>
                {own.another}
              </button>
            </div>
            {rejects !== "" && <p class="muted">{own.refusedHint}</p>}
            <Moves results={results} texts={own} />
          </>
        )}
        {hasEnded && refused.length > 0 && (
          <div class="wide">
            <table class="refusals">
              <caption>{own.refusals}</caption>
              <thead>
                <tr>
                  <th scope="col" class="number">
                    {own.line}
                  </th>
                  <th scope="col">{texts.pesel}</th>
                  <th scope="col">{own.why}</th>
                </tr>
              </thead>
              <tbody>
                {refused.slice(0, shownRefusals).map(({ line, error }) => (
                  <tr key={line.number}>
                    <td class="number">{number(line.number)}</td>
                    <td class="figures">{maskPesels(line.pesel ?? "–")}</td>
                    <td>{refusalOf(error)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
            {refused.length > shownRefusals && <p class="muted">{own.more}</p>}
          </div>
        )}
      </section>
    </main>
  );
}

function inOrder(results: readonly AnsweredLine[]): readonly AnsweredLine[] {
  return [...results].sort((a, b) => a.line.number - b.line.number);
}

const shownNames = 50;

/** The names that a wrong encoding would spoil, to be looked at before they are carried out. */
function Names({ lines, label }: { readonly lines: readonly KeyedLine[]; readonly label: string }) {
  const names = lines.flatMap(({ request }) => {
    if (request instanceof Error || request.kind !== "opening") return [];
    const name = `${request.name} ${request.surname}`;
    return /[^\0-\x7f]/.test(name) ? [name] : [];
  });
  if (names.length === 0) return null;
  const more = names.length > shownNames ? `, … (${names.length})` : "";
  return <p>{`${label} ${names.slice(0, shownNames).join(", ")}${more}`}</p>;
}

function Fact({ label, value }: { readonly label: string; readonly value: string }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd class="figures">{value}</dd>
    </div>
  );
}

interface DropProps {
  readonly label: string;
  readonly hint: string;
  readonly onFile: (file: File | undefined) => void;
}

/** Takes a file that is dropped on it, or chosen. */
function Drop({ label, hint, onFile }: DropProps) {
  const [isOver, setOver] = useState(false);
  return (
    <label
      class={isOver ? "drop over" : "drop"}
      onDragOver={() => setOver(true)}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        onFile(event.dataTransfer?.files[0]);
      }}
    >
      <strong>{label}</strong>
      <span class="muted">{hint}</span>
      <input
        type="file"
        accept=".csv,.tsv,.txt,.ndjson,.jsonl,.json"
        onChange={(event) => onFile(event.currentTarget.files?.[0])}
      />
    </label>
  );
}
