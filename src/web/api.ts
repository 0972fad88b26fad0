import { decodeProblem } from "../wire/problem.ts";
import { type KeyedRequest, NoAnswer, type Server } from "./answers.ts";

const timeoutMs = 30_000;

/** The public HTTP API of the server that the page came from. */
export class Api implements Server {
  readonly #tokenInUse: () => string | undefined;
  readonly #onUnauthorized: (hadToken: boolean) => void;

  /** @param onUnauthorized is called when the server refuses the token in use, or asks for one */
  constructor(tokenInUse: () => string | undefined, onUnauthorized: (hadToken: boolean) => void) {
    this.#tokenInUse = tokenInUse;
    this.#onUnauthorized = onUnauthorized;
  }

  /** The same server and token, for work that goes on when the page is locked and forgets its token. */
  copy(): Api {
    const token = this.#tokenInUse();
    // When that token is refused, another one may be in use.
    return new Api(
      () => token,
      (hadToken) => token === this.#tokenInUse() && this.#onUnauthorized(hadToken),
    );
  }

  async get<T>(url: string, signal?: AbortSignal): Promise<T> {
    return (await bodyOf(await this.#send(url, { signal }))) as T;
  }

  /**
   * An answer as it is. It may take any time.
   * @throws NoAnswer if it is cut off
   */
  async file(url: string, signal: AbortSignal): Promise<Blob> {
    const response = await this.#send(url, { signal }, Infinity);
    return response.blob().catch(cutOff(signal));
  }

  async change(path: string, { body, key, tableId }: KeyedRequest): Promise<string> {
    const headers = {
      "content-type": "application/json",
      "idempotency-key": key,
      ...(tableId !== undefined && { "fx-table": tableId }),
    };
    const response = await this.#send(path, { method: "POST", headers, body: JSON.stringify(body) });
    if (response.status !== 204) await bodyOf(response);
    return response.headers.get("fx-receipt")?.split("/").at(-1) ?? "";
  }

  /** The lines of an answer, as many at a time as come together. It may take any time. */
  async *lines(
    path: string,
    signal: AbortSignal,
    init: Omit<RequestInit, "signal"> = {},
    onHead?: (headers: Headers) => void,
  ): AsyncGenerator<readonly string[]> {
    const { body, headers } = await this.#send(path, { ...init, signal }, Infinity);
    onHead?.(headers);
    const reader = (body ?? new Blob().stream()).pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read().catch(cutOff(signal));
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
    const token = this.#tokenInUse();
    if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
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
    const wait = Number(response.headers.get("retry-after"));
    const body: unknown = await response.json().catch(() => undefined);
    const refusal = decodeProblem(body, response.status, wait > 0 ? { retryAfterSeconds: wait } : {});
    // A proxy's.
    if (refusal === undefined) throw new NoAnswer();
    // The refusal of an earlier token says nothing of the one that was typed since.
    if (refusal.code === "unauthorized" && token === this.#tokenInUse())
      this.#onUnauthorized(token !== undefined);
    throw refusal;
  }
}

/** Tells an answer that was cut off from one that nobody waits for any more. */
function cutOff(signal: AbortSignal) {
  return (error: unknown): never => {
    throw signal.aborted ? error : new NoAnswer();
  };
}

/**
 * The body; of an account, whether it is closed or blocked, too, which a header says.
 * @throws NoAnswer if it is cut off
 */
async function bodyOf(response: Response): Promise<unknown> {
  const body: object = await response.json().catch(() => {
    throw new NoAnswer();
  });
  const state = response.headers.get("fx-account");
  return state === "closed" || state === "blocked" ? { ...body, [state]: true } : body;
}
