import type { ProblemJson } from "../wire/schemas.ts";
import { type Done, type KeyedRequest, NoAnswer, ProblemAnswer, type Server } from "./answers.ts";

const timeoutMs = 30_000;

/** The public HTTP API of the server that the page came from. */
export class Api implements Server {
  #token: string | undefined;
  readonly #onUnauthorized: () => void;

  /** @param onUnauthorized is called when the server asks for a token, or for another */
  constructor(token: string | undefined, onUnauthorized: () => void) {
    this.#token = token;
    this.#onUnauthorized = onUnauthorized;
  }

  set token(token: string | undefined) {
    this.#token = token;
  }

  /** The same server and token, for work that goes on when the page is locked and forgets its token. */
  copy(): Api {
    return new Api(this.#token, this.#onUnauthorized);
  }

  async get<T>(url: string, signal?: AbortSignal): Promise<T> {
    return (await bodyOf(await this.#send(url, { signal }))) as T;
  }

  async change<T>(path: string, { body, key, tableId }: KeyedRequest): Promise<Done<T>> {
    const headers = {
      "content-type": "application/json",
      "idempotency-key": key,
      ...(tableId !== undefined && { "fx-table": tableId }),
    };
    const response = await this.#send(path, { method: "POST", headers, body: JSON.stringify(body) });
    const receipt = response.headers.get("fx-receipt") ?? "";
    return {
      body: (response.status === 204 ? undefined : await bodyOf(response)) as T,
      receiptId: receipt.slice(receipt.lastIndexOf("/") + 1),
      isReplayed: response.headers.get("idempotency-replayed") === "true",
    };
  }

  /** The lines of an answer, as many at a time as come together. It may take any time. */
  async *lines(
    path: string,
    signal: AbortSignal,
    init: Omit<RequestInit, "signal"> = {},
  ): AsyncGenerator<readonly string[]> {
    const { body } = await this.#send(path, { ...init, signal }, Infinity);
    const reader = (body ?? new Blob().stream()).pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read().catch((error: unknown) => {
        if (signal.aborted) throw error;
        throw new NoAnswer();
      });
      if (done) break;
      const lines = (rest + value).split("\n");
      rest = lines.pop() ?? "";
      if (lines.length > 0) yield lines;
    }
    // A line without an end was cut off.
    if (rest !== "") throw new NoAnswer();
  }

  async #send(
    path: string,
    init: Omit<RequestInit, "signal"> & { signal?: AbortSignal | undefined },
    withinMs = timeoutMs,
  ) {
    const { signal, ...rest } = init;
    const limit = withinMs === Infinity ? undefined : AbortSignal.timeout(withinMs);
    const headers = new Headers(init.headers);
    if (this.#token !== undefined) headers.set("authorization", `Bearer ${this.#token}`);
    let response: Response;
    try {
      response = await fetch(path, {
        ...rest,
        headers,
        cache: "no-store",
        redirect: "error",
        signal: AbortSignal.any([signal, limit].filter((each) => each !== undefined)),
      });
      if (response.ok) return response;
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new NoAnswer();
    }
    const problem = (await response.json().catch(() => undefined)) as ProblemJson | undefined;
    if (problem?.code === undefined) throw new NoAnswer();
    if (problem.code === "unauthorized") this.#onUnauthorized();
    const wait = Number(response.headers.get("retry-after"));
    throw new ProblemAnswer(problem, wait > 0 ? wait : undefined);
  }
}

/**
 * The body; of an account, whether it is closed, too, which a header says.
 * @throws NoAnswer if it is cut off
 */
async function bodyOf(response: Response): Promise<unknown> {
  const body: object = await response.json().catch(() => {
    throw new NoAnswer();
  });
  return response.headers.get("fx-account") === "closed" ? { ...body, closed: true } : body;
}
