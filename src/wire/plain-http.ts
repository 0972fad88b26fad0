/** Whether a name or an address, with or without brackets, leads to this machine only. */
export function isLoopback(name: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/i.test(name);
}

/** Names of secrets in the query of a URL. */
export const secretName = /[?&#][^=&]*(key|token|secret|passw|pwd|auth|sig)[^=&]*=/i;

/** A secret would go to another machine in clear text. Nothing was sent. */
export class PlainHttpError extends Error {
  override readonly name = "PlainHttpError";
}

/**
 * The network can read the token of a plain HTTP request, and what an address has of a user, password or key. Only to
 * an address of this machine there is no network; a name other than localhost may lead anywhere.
 * @throws PlainHttpError
 */
export function refusePlainHttp(url: URL, token: string | undefined): void {
  if (url.protocol !== "http:" || isLoopback(url.hostname)) return;
  const hasUser = url.username !== "" || url.password !== "";
  if (token === undefined && !hasUser && !secretName.test(url.search)) return;
  const secret = token !== undefined ? "a token" : hasUser ? "a user and password" : "a key";
  throw new PlainHttpError(
    `Refusing to send ${secret} to ${url.origin} over plain HTTP, where the network can read it. Nothing was sent.`,
  );
}
