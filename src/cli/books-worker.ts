import { once } from "node:events";
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { FxError } from "../core/errors.ts";
import { booksOf } from "../ledger/books.ts";
import type { BooksAnswer, BooksQuestion } from "./books.ts";
import { openStore } from "./open.ts";

const { place, about } = workerData as BooksQuestion;
const answer = (message: BooksAnswer) => parentPort?.postMessage(message);

try {
  const store = await openStore(place, { access: "read" });
  try {
    const books = booksOf(store);
    if (about === "audit") answer({ result: await books.audit((progress) => answer({ progress })) });
    else if (about === "position") answer({ result: await books.position() });
    else {
      for await (const part of books.export(about)) {
        const read = once(parentPort as MessagePort, "message");
        answer({ part });
        await read;
      }
      answer({ result: undefined });
    }
  } finally {
    await store.close();
  }
} catch (error) {
  if (!(error instanceof FxError)) throw error;
  answer({ failure: { code: error.code, message: error.message } });
}
