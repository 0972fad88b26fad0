import { once } from "node:events";
import { constants, setPriority } from "node:os";
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { FxError } from "../core/errors.ts";
import type { AccountHead, AuditProgress } from "../core/service.ts";
import type { Range } from "../ledger/audit-part.ts";
import type { BooksAnswer, BooksQuestion, BooksWish } from "./books.ts";

const { place, about, at, against, givesHeads, range } = workerData as BooksQuestion;
const port = parentPort as MessagePort;
const answer = (message: BooksAnswer) => port.postMessage(message);

// First of all, since to load the code takes longer than a small audit. Elsewhere it would be the whole process's priority.
if (process.platform === "linux" && about !== "part") setPriority(constants.priority.PRIORITY_LOW);

try {
  const { openStore } = await import("./open.ts");
  const { booksOf } = await import("../ledger/books.ts");
  const { auditPart } = await import("../ledger/audit-part.ts");
  const store = await openStore(place, { access: "read" });
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= store.close();
    return closing;
  };
  const stopped = new Promise<[BooksWish]>((resolve) => {
    port.on("message", (wish: BooksWish) => {
      // What is under way then fails.
      if (wish === "stop") resolve(close().then(() => [wish]));
    });
  });
  const taken = async (message: BooksAnswer): Promise<BooksWish> => {
    const next = once(port, "message") as Promise<[BooksWish]>;
    answer(message);
    const [wish] = await Promise.race([next, stopped]);
    return wish;
  };
  try {
    const books = booksOf(store);
    const tellEntries = (entries: number) => answer({ progress: { accounts: 0, entries, totalEntries: 0 } });
    const onProgress = (progress: AuditProgress) => answer({ progress });
    const onHeads = givesHeads
      ? async (heads: readonly AccountHead[]) => void (await taken({ heads }))
      : undefined;
    if (about === "audit") answer({ result: await books.audit({ onProgress, onHeads, against }) });
    else if (about === "position") answer({ result: await books.position(at) });
    else if (about === "part") {
      let wish: BooksWish = range as Range;
      while (typeof wish === "object") {
        wish = await taken({ result: await auditPart(store, wish, Date.now, tellEntries) });
      }
    } else {
      for await (const part of books.export(about)) await taken({ part });
      answer({ result: undefined });
    }
  } finally {
    await close();
  }
} catch (error) {
  if (!(error instanceof FxError)) throw error;
  answer({ failure: { code: error.code, message: error.message } });
} finally {
  port.close();
}
