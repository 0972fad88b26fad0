import { once } from "node:events";
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { FxError } from "../core/errors.ts";
import { booksOf } from "../ledger/books.ts";
import type { BooksAnswer, BooksQuestion, BooksWish } from "./books.ts";
import { openStore } from "./open.ts";

const { place, about } = workerData as BooksQuestion;
const port = parentPort as MessagePort;
const answer = (message: BooksAnswer) => port.postMessage(message);

try {
  const store = await openStore(place, { access: "read" });
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= store.close();
    return closing;
  };
  const stopped = new Promise<void>((resolve) => {
    port.on("message", (wish: BooksWish) => {
      // What is under way then fails.
      if (wish === "stop") resolve(close());
    });
  });
  try {
    const books = booksOf(store);
    if (about === "audit") answer({ result: await books.audit((progress) => answer({ progress })) });
    else if (about === "position") answer({ result: await books.position() });
    else {
      for await (const part of books.export(about)) {
        const next = once(port, "message");
        answer({ part });
        await Promise.race([next, stopped]);
      }
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
