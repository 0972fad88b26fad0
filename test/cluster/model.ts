import { Chance } from "../support/chance.ts";
import type { Event, Happening, Order, Read } from "./history.ts";
import { balancesAfter, type Final, type JournalEntry } from "./judge.ts";

/** A request in flight. */
interface Attempt {
  readonly attempt: number;
  readonly asked: Order | Read;
  /** The answer, set once the ledger has carried the request out. */
  outcome: Happening | undefined;
  /** Whether its client has given up. */
  isGivenUp: boolean;
}

/**
 * The random history of a correct ledger. It carries a request out between sending and answer; a request without an
 * answer also later or never. With `unwatched`, one reader has an old copy for some time.
 */
export function playCorrectly(
  seed: number,
  { unwatched = true }: { readonly unwatched?: boolean } = {},
): { readonly events: readonly Event[]; readonly final: Final } {
  const chance = new Chance(seed);
  const pesels = Array.from({ length: 1 + chance.below(3) }, (_, index) => `account ${index + 1}`);
  const clients = 1 + chance.below(6);
  const steps = 20 + chance.below(200);
  const events: Event[] = [];
  const journal: JournalEntry[] = [];
  const refused = new Map<string, Happening>();
  const underWay: Attempt[] = [];
  /** Orders that their clients repeat. */
  const open: Order[] = [];
  const answered: Order[] = [];
  let old: readonly JournalEntry[] | undefined;
  let attempts = 0;
  let keys = 0;

  const happens = (happening: Happening) => events.push({ at: events.length, ...happening });
  const send = (asked: Order | Read): Attempt => {
    attempts += 1;
    const attempt = { attempt: attempts, asked, outcome: undefined, isGivenUp: false };
    happens({ event: "sent", attempt: attempts, asked });
    underWay.push(attempt);
    return attempt;
  };
  const answer = (each: Attempt) => {
    underWay.splice(underWay.indexOf(each), 1);
    if (each.isGivenUp) return;
    happens(each.outcome as Happening);
    if (each.outcome?.event === "done") answered.push(each.asked as Order);
  };
  const giveUp = (each: Attempt) => {
    happens({ event: "unknown", attempt: each.attempt, why: "no answer in time" });
    each.isGivenUp = true;
    const { asked } = each;
    if ("key" in asked && asked.key !== null) open.push(asked);
  };

  const carryOut = (each: Attempt) => {
    const { attempt, asked } = each;
    each.outcome = "key" in asked ? order(attempt, asked) : read(attempt, asked);
  };
  const read = (attempt: number, { kind, pesel }: Read): Happening => {
    const copy = old !== undefined && chance.percent(50) ? old : journal;
    const entry = copy.filter((each) => each.pesel === pesel).at(-1);
    if (entry === undefined) return { event: "read", attempt, balances: null };
    const { id, sequence, balances } = entry;
    return { event: "read", attempt, balances, ...(kind === "newest" && { entry: { id, sequence } }) };
  };
  const order = (attempt: number, asked: Order): Happening => {
    const { pesel, key, kind, minor } = asked;
    const earlier = journal.find((entry) => key !== null && entry.pesel === pesel && entry.key === key);
    if (earlier !== undefined) return done(attempt, earlier, true);
    const refusal = refused.get(`${pesel} ${key}`);
    if (refusal !== undefined) return { ...refusal, attempt } as Happening;
    const moved = asked.kind === "exchange" ? undefined : { currency: asked.currency, minor };
    const entries = journal.filter((entry) => entry.pesel === pesel);
    const debited =
      asked.kind === "exchange"
        ? { currency: asked.from, minor: asked.side === "toSell" ? minor : 4 * minor }
        : kind === "withdrawal"
          ? (moved ?? null)
          : null;
    const credited =
      asked.kind === "exchange"
        ? { currency: asked.to, minor: asked.side === "toBuy" ? minor : 4 * minor }
        : kind === "withdrawal"
          ? null
          : (moved ?? null);
    const balances = balancesAfter(entries.at(-1)?.balances ?? {}, { debited, credited });
    if (Object.values(balances).some((held) => held < 0)) {
      const happening: Happening = { event: "refused", attempt, code: "insufficient-funds" };
      if (key !== null) refused.set(`${pesel} ${key}`, happening);
      return happening;
    }
    const sequence = entries.length + 1;
    const side = asked.kind === "exchange" ? asked.side : null;
    const id = `receipt ${journal.length + 1}`;
    const entry = { pesel, sequence, id, key, kind, side, debited, credited, balances };
    journal.push(entry);
    return done(attempt, entry, false);
  };

  const newOrder = (): Order => {
    keys += 1;
    const pesel = chance.pick(pesels);
    const key = chance.percent(15) ? null : `k${keys}`;
    const minor = key === null ? keys : 1 + chance.below(60);
    const kind = chance.pick(["deposit", "withdrawal", "exchange", "exchange"] as const);
    if (kind !== "exchange") return { kind, pesel, key, currency: "PLN", minor };
    const [from, to] = chance.percent(70) ? ["PLN", "USD"] : ["USD", "PLN"];
    return { kind, pesel, key, from, to, side: chance.pick(["toBuy", "toSell"] as const), minor } as Order;
  };

  for (const pesel of pesels) {
    const opening = send({ kind: "opening", pesel, key: "open", currency: "PLN", minor: 300 });
    carryOut(opening);
    answer(opening);
  }
  for (let step = 0; step < steps; step += 1) {
    const waiting = underWay.filter(({ isGivenUp }) => !isGivenUp);
    const each = underWay.length === 0 ? undefined : chance.pick(underWay);
    switch (chance.weighted({ send: 4, carryOut: 5, answer: 5, giveUp: 1, drop: 1, patroni: 1 })) {
      case "send":
        if (waiting.length >= clients) break;
        if (open.length > 0 && chance.percent(60))
          send(open.splice(chance.below(open.length), 1)[0] as Order);
        else if (chance.percent(40))
          send({ kind: chance.pick(["account", "newest"] as const), pesel: chance.pick(pesels) });
        else if (answered.length > 0 && chance.percent(10)) {
          const again = chance.pick(answered);
          if (again.key !== null) send(again);
        } else send(newOrder());
        break;
      case "carryOut":
        if (each !== undefined && each.outcome === undefined) carryOut(each);
        break;
      case "answer":
        if (each?.outcome !== undefined) answer(each);
        break;
      case "giveUp":
        if (each !== undefined && !each.isGivenUp) giveUp(each);
        break;
      case "drop":
        // A request whose client gave up may never arrive.
        if (each?.isGivenUp && each.outcome === undefined) underWay.splice(underWay.indexOf(each), 1);
        break;
      case "patroni":
        if (!unwatched) break;
        happens({ event: old === undefined ? "unwatched" : "watched", host: "db1" });
        old = old === undefined ? [...journal] : undefined;
        break;
    }
  }
  return { events, final: { journal, readers: [], repeated: new Set() } };
}

function done(attempt: number, { id, balances }: JournalEntry, replayed: boolean): Happening {
  return { event: "done", attempt, receipt: id, replayed, balances };
}
