import "./jitless.ts";
import { useEffect, useRef, useState } from "preact/hooks";
import { DryRun } from "../../batch/dry-run.ts";
import { UnfitFile } from "../../batch/unfit-file.ts";
import { warsawDate } from "../../core/date.ts";
import { FxError } from "../../core/errors.ts";
import { maskPesels } from "../../core/mask.ts";
import { NoAnswer } from "../api.ts";
import { useApp } from "../app.ts";
import { saveFile } from "../save.ts";
import { refusalText } from "../texts.ts";
import { type BatchFile, readBatch } from "./batch-file.ts";
import { carryOut, type LineResult, rejectsText, resultsText } from "./batch-run.ts";
import { batchTexts } from "./batch-texts.ts";
import { Moves } from "./moves.tsx";
import { Place } from "./place.ts";
import { Tile } from "./tile.tsx";

/** In bytes: what is read at once, and kept. */
const largestFile = 32 * 1024 * 1024;
/** Refused lines in sight. */
const shownRefusals = 100;

type Step = "choose" | "reading" | "checking" | "checked" | "working" | "stopped" | "finished";

/** A batch as it stands. */
interface State {
  readonly step: Step;
  readonly name: string;
  readonly file: BatchFile | undefined;
  /** Of the dry run until it is carried out. */
  readonly results: readonly LineResult[];
  readonly fault: string | undefined;
  /** What may be read in another encoding. */
  readonly undecoded: File | undefined;
}

const start: State = {
  step: "choose",
  name: "",
  file: undefined,
  results: [],
  fault: undefined,
  undecoded: undefined,
};

/** A file of orders, new accounts, deposits and withdrawals: tried first, then carried out. */
export function Batch() {
  const { api, format, language, texts } = useApp();
  const own = batchTexts[language];
  const [state, setState] = useState(start);
  const { step, name, file, results, fault, undecoded } = state;
  const set = (next: Partial<State>) => setState((before) => ({ ...before, ...next }));
  const control = useRef(new AbortController());
  /** Keys whose outcome is open. */
  const open = useRef(new Set<string>());
  const isBusy = step === "reading" || step === "checking" || step === "working";

  useEffect(() => () => control.current.abort(), []);
  useEffect(() => {
    // A file that misses its place would be opened instead of the page.
    const keep = (event: Event) => event.preventDefault();
    for (const name of ["dragover", "drop"] as const) addEventListener(name, keep);
    return () => {
      for (const name of ["dragover", "drop"] as const) removeEventListener(name, keep);
    };
  }, []);
  useEffect(() => {
    if (step !== "working") return undefined;
    const ask = (event: Event) => event.preventDefault();
    addEventListener("beforeunload", ask);
    return () => removeEventListener("beforeunload", ask);
  }, [step]);

  const failureText = (failure: unknown): string => {
    if (failure instanceof FxError) return refusalOf(failure);
    if (failure instanceof NoAnswer) return texts.offline;
    throw failure;
  };
  const refusalOf = ({ code, message }: FxError) =>
    refusalText({ code, detail: message } as Parameters<typeof refusalText>[0], language);

  const choose = async (chosen: File | undefined, encoding?: string) => {
    if (chosen === undefined || isBusy) return;
    control.current = new AbortController();
    const { signal } = control.current;
    setState({ ...start, name: chosen.name, step: "reading" });
    if (chosen.size > largestFile) return set({ step: "choose", fault: own.tooLarge });
    const today = warsawDate(new Date());
    let read: BatchFile;
    try {
      read = readBatch(new Uint8Array(await chosen.arrayBuffer()), today, encoding);
    } catch (error) {
      if (!(error instanceof UnfitFile)) return set({ step: "choose", fault: own.unreadable });
      const isOther = error.fault === "encoding";
      return set({
        step: "choose",
        fault: own.fileFault[error.fault] ?? error.message,
        undecoded: isOther && encoding === undefined ? chosen : undefined,
      });
    }
    if (signal.aborted) return;
    if (read.lines.length === 0) return set({ step: "choose", fault: own.empty });
    open.current = new Set();
    set({ step: "checking", file: read });
    const place = new Place(api, signal);
    const trial = new DryRun(place, { today, id: read.id });
    const customers = new Set(read.lines.map(({ pesel }) => pesel)).size;
    await run(read, trial, "checked", [], () => place.readAccounts(customers));
  };

  const run = async (
    batch: BatchFile,
    service: Parameters<typeof carryOut>[0],
    then: Step,
    before: readonly LineResult[],
    prepare = async () => {},
  ) => {
    const { signal } = control.current;
    const had = new Set(before.map(({ line }) => line));
    const all = [...before];
    const otherwise = then === "checked" ? "choose" : "stopped";
    const end = (failure: unknown) =>
      signal.aborted ? set({ step: otherwise }) : set({ step: otherwise, fault: failureText(failure) });
    try {
      await prepare();
      const left = batch.lines.filter((line) => !had.has(line));
      const failure = await carryOut(service, left, (more) => {
        all.push(...more);
        if (!signal.aborted) set({ results: [...all] });
      });
      if (failure === undefined) set({ step: then });
      else end(failure);
    } catch (failure) {
      end(failure);
    }
  };

  const work = (before: readonly LineResult[]) => {
    if (file === undefined || isBusy) return;
    control.current = new AbortController();
    set({ step: "working", results: before, fault: undefined });
    void run(file, new Place(api, control.current.signal, open.current), "finished", before);
  };

  const isTrial = step === "checking" || step === "checked";
  const count = (wanted: LineResult["state"]) => results.filter(({ state: each }) => each === wanted).length;
  const number = (value: number) => format.decimal(String(value));
  const refused = results.filter((result) => result.state === "refused");
  const total = file?.lines.length ?? 0;
  const hasEnded = step === "checked" || step === "stopped" || step === "finished";
  const facts: readonly (readonly [label: string, value: number, isBad?: boolean])[] = [
    [isTrial ? own.wouldBeDone : own.done, count("done")],
    [own.doneBefore, count("replayed")],
    [isTrial ? own.wouldBeRefused : own.refused, refused.length, true],
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
                {fault}
              </p>
            )}
            {undecoded !== undefined && (
              <button type="button" onClick={() => void choose(undecoded, "windows-1250")}>
                {own.tryOther}
              </button>
            )}
            <Drop label={own.choose} hint={own.drop} onFile={(chosen) => void choose(chosen)} />
            <details>
              <summary>{own.columns}</summary>
              <pre>
                {"pesel,from,to,toBuy,toSell\nname,surname,pesel,pln\nkind,pesel,amount,currency,note"}
              </pre>
            </details>
          </>
        )}
        {isBusy && (
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
              <button type="button" onClick={() => control.current.abort()}>
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
              {step === "checked" && count("done") > 0 && (
                <button type="button" class="primary" onClick={() => work([])}>
                  {own.carryOut(number(count("done")))}
                </button>
              )}
              {step === "stopped" && (
                <button type="button" class="primary" onClick={() => work(results)}>
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
              <button type="button" onClick={() => setState(start)}>
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

function inOrder(results: readonly LineResult[]): readonly LineResult[] {
  return [...results].sort((a, b) => a.line.number - b.line.number);
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
