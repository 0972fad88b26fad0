import { parentPort, workerData } from "node:worker_threads";
import { FxError } from "../core/errors.ts";
import { booksOf } from "../ledger/books.ts";
import type { BooksAnswer, BooksQuestion } from "./books.ts";
import { openStore } from "./open.ts";

const { place, about, at } = workerData as BooksQuestion;
const answer = (message: BooksAnswer) => parentPort?.postMessage(message);

try {
  const store = await openStore(place, { access: "read" });
  try {
    const books = booksOf(store);
    const result =
      about === "audit" ? await books.audit((progress) => answer({ progress })) : await books.position(at);
    answer({ result });
  } finally {
    await store.close();
  }
} catch (error) {
  if (!(error instanceof FxError)) throw error;
  answer({ failure: { code: error.code, message: error.message } });
}
