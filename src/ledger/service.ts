import { Readable } from "node:stream";
import type { Account, Opening } from "../core/account.ts";
import { type Change, type Request, requireReadable } from "../core/change.ts";
import type { CurrencyCode } from "../core/currency.ts";
import { addDays, endOfTime, startOfDay } from "../core/date.ts";
import { FxError } from "../core/errors.ts";
import { type ExchangeOrder, type ExchangeTerms, type Quote, quoteExchange } from "../core/exchange.ts";
import type { Entry, Receipt } from "../core/journal.ts";
import type { Pesel } from "../core/pesel.ts";
import type { CurrentRates, LatestTable, RateOfTable } from "../core/rates.ts";
import type {
  AccountsRequest,
  AuditOptions,
  AuditReport,
  BulkAnswer,
  BulkLine,
  CommitFigures,
  ExchangeService,
  ExportRequest,
  Page,
  Position,
  Recorded,
  Settlement,
  Statement,
  StatementRequest,
} from "../core/service.ts";
import { accountAt, accountsAt, entriesOf } from "./as-of.ts";
import { auditLedger } from "./audit.ts";
import { type DecisionRules, Decisions, failureOf, Overlay } from "./decision.ts";
import { idsFrom } from "./entry-id.ts";
import { exportJournal } from "./export.ts";
import { GroupCommit } from "./group-commit.ts";
import { entryWithId, type Pause, pauses } from "./journal-reader.ts";
import { limits } from "./limits.ts";
import { positionOf } from "./position.ts";
import { type RefusalRetention, refusalRetention } from "./refusal.ts";
import type { AccountsPage, FoundEntry, Store, StoredAccount } from "./store.ts";

/** Of an id: its time, but for the last 65 seconds. */
const shortestBeginning = 8;
/** Of a bulk, taken in and not answered. */
const chunksAtOnce = 16;

/** ExchangeService over a store and the rates in force. `now` is injected so that tests control the time. */
export class LedgerService implements ExchangeService {
  readonly #store: Store;
  readonly #rates: CurrentRates;
  readonly #now: () => Date;
  readonly #commits: GroupCommit;
  readonly #rests: boolean;
  readonly #retention: RefusalRetention;

  constructor(
    store: Store,
    rates: CurrentRates,
    now: () => Date = () => new Date(),
    {
      retention = refusalRetention,
      rests = false,
    }: {
      retention?: RefusalRetention | undefined;
      /** Whether long reads rest between their pages, because others wait meanwhile. */
      rests?: boolean | undefined;
    } = {},
  ) {
    this.#store = store;
    this.#rates = rates;
    this.#now = now;
    this.#commits = new GroupCommit(store, () => this.#rules());
    this.#rests = rests;
    this.#retention = retention;
  }

  createAccount(opening: Opening): Promise<Recorded> {
    return this.#run({ kind: "opening", ...opening });
  }

  async account(pesel: Pesel, at?: Date): Promise<Account> {
    this.#requireSettled(at);
    const account = await this.#accountNow(pesel);
    if (at === undefined) return account;
    const then = await accountAt(this.#store, account, at);
    return then ?? accountNotFound("There was no account for this PESEL then.");
  }

  async #accountNow(pesel: Pesel): Promise<StoredAccount> {
    return (await this.#store.account(pesel)) ?? accountNotFound();
  }

  exchange(order: ExchangeOrder): Promise<Settlement> {
    return this.#run({ kind: "exchange", ...order }) as Promise<Settlement>;
  }

  change(change: Change): Promise<Settlement> {
    return this.#run(change) as Promise<Settlement>;
  }

  bulk(lines: AsyncIterable<readonly BulkLine[]>): AsyncIterable<readonly BulkAnswer[]> {
    return Readable.from(lines).map(
      (chunk: readonly BulkLine[]) => this.#commits.runAll(chunk.map(readable)),
      { concurrency: chunksAtOnce },
    );
  }

  async *dryRun(lines: AsyncIterable<readonly (Request | FxError)[]>): AsyncGenerator<readonly BulkAnswer[]> {
    const overlay = new Overlay();
    for await (const chunk of lines) {
      const asked = chunk.map(readable);
      yield await this.#store.look(asked.filter(isRequest), (loaded) => {
        const decisions = new Decisions(loaded, this.#rules(), overlay);
        return asked.map((line) => (isRequest(line) ? decisions.decide(line) : line));
      });
    }
  }

  async quote(terms: ExchangeTerms): Promise<Quote> {
    return quoteExchange(terms, await this.#rates.forQuote());
  }

  rates(): Promise<LatestTable> {
    return this.#rates.latest();
  }

  async rateHistory(currency: CurrencyCode, days: number): Promise<readonly RateOfTable[]> {
    const rates = await this.#rates.history(currency, days);
    if (rates.length > 0) return rates;
    throw new FxError("unsupported-currency", "No rate table of these days quotes that currency.");
  }

  async statement(pesel: Pesel, { limit, cursor, from, to, key }: StatementRequest): Promise<Statement> {
    if (key !== undefined && (cursor ?? from ?? to) !== undefined) {
      throw invalid("key", "finds one entry, and cannot be given with from, to or cursor");
    }
    const account = await this.#accountNow(pesel);
    if (key !== undefined) {
      const found = await this.#store.look([{ pesel, key }], (loaded) => loaded.answered(pesel, key));
      const items = found !== undefined && "entry" in found ? [receiptOf(found)] : [];
      return { items, next: undefined, opening: undefined, closing: undefined };
    }
    const last = cursor === undefined ? undefined : await this.#entryAt(cursor);
    if (last !== undefined && last.pesel !== pesel) unknownCursor();
    const start = from === undefined ? undefined : startOfDay(from);
    const end = to === undefined || to === endOfTime ? undefined : startOfDay(addDays(to, 1));
    const period = { start, end, before: last?.sequence, limit };
    const { page, hasMore, opening, closing } = await entriesOf(this.#store, account, period);
    const items = page.map(receiptOf);
    return { items, next: hasMore ? items.at(-1)?.id : undefined, opening, closing };
  }

  /** A cursor is the id of an entry, because it comes to stand in a URL, where a PESEL must not. */
  async #entryAt(cursor: string): Promise<Entry> {
    return (await entryWithId(this.#store, cursor))?.entry ?? unknownCursor();
  }

  async receipt(id: string): Promise<Receipt> {
    const ids = idsFrom(id.toLowerCase());
    if (ids === undefined) throw receiptNotFound();
    if (id.length < shortestBeginning) {
      throw incompleteId(`Give at least ${shortestBeginning} characters of the id.`);
    }
    const [found, another] = await this.#store.entriesBetween(ids.first, ids.last, 2);
    if (found === undefined) throw receiptNotFound();
    if (another === undefined) return receiptOf(found);
    const both = `${found.entry.id} and ${another.entry.id}`;
    throw incompleteId(`More than one receipt begins so, such as ${both}. Give more of the id.`);
  }

  async accounts({ limit, cursor, name, at }: AccountsRequest): Promise<Page<Account>> {
    this.#requireSettled(at);
    const after = cursor === undefined ? undefined : (await this.#entryAt(cursor)).pesel;
    const { items, last } =
      at === undefined
        ? await this.#accountsNow({ after, limit, name })
        : await accountsAt(this.#store, { after, limit, name, at }, this.#pause());
    const [newest] = last === undefined ? [] : await this.#store.statement(last, { limit: 1 });
    return { items, next: newest?.entry.id };
  }

  async #accountsNow({ limit, ...page }: AccountsPage) {
    const found = await this.#store.accounts({ ...page, limit: limit + 1 });
    const items = found.slice(0, limit);
    return { items, last: found.length > limit ? items.at(-1)?.pesel : undefined };
  }

  async position(at?: Date, signal?: AbortSignal): Promise<Position> {
    this.#requireSettled(at);
    return positionOf(this.#store, at, this.#pause(signal));
  }

  async audit({ signal, ...options }: AuditOptions = {}): Promise<AuditReport> {
    const now = () => this.#now().getTime();
    return auditLedger(this.#store, { ...options, now, pause: this.#pause(signal) });
  }

  async *export(request: ExportRequest): AsyncGenerator<string> {
    const { from = "", to = endOfTime, at } = request;
    if (from > to) throw invalid("from", "is after to");
    this.#requireSettled(at);
    yield* exportJournal(this.#store, request, this.#pause());
  }

  /** @throws FxError invalid-request if entries from before `at` may still be on their way */
  #requireSettled(at: Date | undefined): void {
    if (at === undefined || at.getTime() + limits.settledAfterMs <= this.#now().getTime()) return;
    const detail = `must be at least ${limits.settledAfterMs / 1000} seconds ago`;
    const why = "because entries from before it may still be on their way";
    throw invalid("at", detail, `The request is not valid: at ${detail}, ${why}.`);
  }

  #pause(signal?: AbortSignal): Pause {
    return pauses({ rests: this.#rests, signal });
  }

  async #run(request: Request): Promise<Settlement | Recorded> {
    requireReadable(request);
    return this.#commits.run(request);
  }

  #rules(): DecisionRules {
    return {
      time: this.#now(),
      retention: this.#retention,
      tableOf: (inForce) => this.#rates.forOrder(inForce),
    };
  }

  get commits(): CommitFigures {
    return this.#commits.figures;
  }

  /** Answers what was taken in, then closes the rates and the store. */
  async close(): Promise<void> {
    await this.#commits.drained();
    await this.#rates.close();
    await this.#store.close();
  }
}

/** A line, or how it is wrong whatever the account is. */
function readable<Asked extends Request>(line: Asked | FxError): Asked | FxError {
  if (line instanceof FxError) return line;
  try {
    requireReadable(line);
    return line;
  } catch (error) {
    return failureOf(error);
  }
}

function isRequest(line: Request | FxError): line is Request {
  return !(line instanceof FxError);
}

function accountNotFound(message = "There is no account for this PESEL."): never {
  throw new FxError("account-not-found", message);
}

function receiptOf({ entry, reversedBy }: Pick<FoundEntry, "entry" | "reversedBy">): Receipt {
  return { ...entry, reversedBy };
}

function receiptNotFound(): FxError {
  return new FxError("not-found", "There is no receipt with this id.");
}

function incompleteId(message: string): FxError {
  return invalid("id", "is too short a beginning", message);
}

function unknownCursor(): never {
  throw invalid("cursor", "is not a cursor", "The cursor does not come from an earlier page.");
}

function invalid(
  parameter: string,
  detail: string,
  message = `The request is not valid: ${parameter} ${detail}.`,
): FxError {
  return new FxError("invalid-request", message, { fields: [{ pointer: `/${parameter}`, detail }] });
}
